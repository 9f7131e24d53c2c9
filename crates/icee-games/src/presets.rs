//! The presets, short commented TOML files that travel in the binary: one a world, and one a method to lay over it.
//! A new one is a new file and a line here.

use crate::Result;
use icee_base::names::find;

/// A named text of TOML.
pub type Preset = (&'static str, &'static str);

macro_rules! presets {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../presets/", $folder, "/", $name, ".toml")))),+]
    };
}

/// One a world.
pub const WORLDS: &[Preset] = presets!("worlds":
    "dark-room",
    "dark-room-hard",
    "dark-room-biased",
    "key-to-door",
    "dark-room-hard-17",
    "key-to-door-ad-eps",
    "key-to-door-dicp",
    "dark-room-dpt",
    "dark-room-tiny",
    "dark-room-hard-tiny",
    "dark-room-permuted",
    "bernoulli-bandit",
    "gaussian-bandit",
    "bandit-tiny",
    "tabular-mdp",
);

/// For logs of your own, whatever they are of.
pub const CUSTOM: Preset = ("custom", include_str!("../../../presets/custom.toml"));

/// One a method and variant.
pub const METHODS: &[Preset] =
    presets!("methods": "icee", "icee-weighted", "icee-paper", "icee-biased", "ad", "ad-sorted", "dpt", "mgdt");

/// The text of a world's preset.
///
/// # Errors
/// [`Error::Unknown`](crate::Error::Unknown) with the nearest name.
pub fn world(name: &str) -> Result<&'static str> {
    Ok(find("preset", name, WORLDS)?)
}

/// The text of a method's preset.
///
/// # Errors
/// [`Error::Unknown`](crate::Error::Unknown) with the nearest name.
pub fn method(name: &str) -> Result<&'static str> {
    Ok(find("method preset", name, METHODS)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Blueprint, Config, GameSpec, Source, methods};
    use icee_worlds::Registry;

    /// Worlds without a preset of their own (most are there to test generalisation with), and whose preset trains them:
    /// `--set world=ID`.
    const VARIANTS: [(&str, &str); 14] = [
        ("DarkRoomHeldOut-v0", "dark-room"),
        ("DarkRoomHardHeldOut-v0", "dark-room-hard"),
        ("DarkKeyToDoorHeldOut-v0", "key-to-door"),
        ("DarkRoomAnyStart-v0", "dark-room"),
        ("DarkRoomInner7-v0", "dark-room"),
        ("DarkRoom17-v0", "dark-room"),
        ("DarkRoom20-v0", "dark-room"),
        ("BernoulliBandit10-v0", "bernoulli-bandit"),
        ("BernoulliBandit20-v0", "bernoulli-bandit"),
        ("GaussianBandit10-v0", "gaussian-bandit"),
        ("GaussianBandit20-v0", "gaussian-bandit"),
        ("LinearBandit-v0", "bernoulli-bandit"),
        ("TMaze-v0", "tabular-mdp"),
        ("FrozenLakeHidden-v0", "tabular-mdp"),
    ];

    #[test]
    fn every_preset_works_with_every_method() {
        for (world, text) in WORLDS {
            for (method, over) in METHODS {
                let config = Config::layered(&[text, over], &[]).unwrap_or_else(|e| panic!("{world} {method}: {e}"));
                let task = Source::of_config(&config, &Registry::builtin()).unwrap().task();
                Blueprint::new(&config, &task).unwrap_or_else(|e| panic!("{world} {method}: {e}"));
            }
        }
    }

    #[test]
    fn every_world_and_every_method_has_one() {
        let config = |text| Config::layered(&[text], &[]).unwrap();
        for spec in Registry::builtin().specs() {
            let own = WORLDS.iter().any(|(_, text)| config(text).world == spec.id);
            let lent = VARIANTS.iter().find(|(id, _)| *id == spec.id);
            assert!(own != lent.is_some(), "{}", spec.id);
            if let Some((id, preset)) = lent {
                let config = Config::layered(&[world(preset).unwrap()], &[format!("world={id}")]).unwrap();
                Blueprint::new(&config, &GameSpec::of_world(spec)).unwrap();
            }
        }
        for known in methods::ALL {
            assert!(METHODS.iter().any(|(_, text)| text.contains(&format!("method = \"{}\"", known.name))));
        }
        assert!(world("dark-rom").unwrap_err().to_string().contains("did you mean \"dark-room\"?"));
    }
}
