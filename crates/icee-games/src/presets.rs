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
);

/// One a method and variant.
pub const METHODS: &[Preset] =
    presets!("methods": "icee", "icee-weighted", "icee-paper", "icee-biased", "ad", "ad-sorted", "mgdt");

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
    use crate::{Blueprint, Config, Source, methods};
    use icee_worlds::Registry;

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
            assert!(WORLDS.iter().any(|(_, text)| config(text).world == spec.id), "{}", spec.id);
        }
        for known in methods::ALL {
            assert!(METHODS.iter().any(|(_, text)| text.contains(&format!("method = \"{}\"", known.name))));
        }
        assert!(world("dark-rom").unwrap_err().to_string().contains("did you mean \"dark-room\"?"));
    }
}
