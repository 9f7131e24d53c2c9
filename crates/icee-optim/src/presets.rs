//! The presets, short commented TOML files that travel in the binary: one a prior over functions and a method. A new one is a
//! new file and a line here.

use crate::Result;
use icee_base::names;

/// A named text of TOML.
pub type Preset = (&'static str, &'static str);

macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../presets/functions/", $name, ".toml")))),+]
    };
}

/// All of them.
pub const FUNCTIONS: &[Preset] = presets!("bo-value", "bo-table", "bo-paper", "bo-biased", "bo-exact", "bo-tiny",);

/// The text of a preset.
///
/// # Errors
/// [`Error::Unknown`](crate::Error::Unknown) with the nearest name.
pub fn find(name: &str) -> Result<&'static str> {
    Ok(names::find("preset of functions", name, FUNCTIONS)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Functions, METHODS, PRIORS};

    #[test]
    fn presets_cover_all_methods_and_priors() {
        let configs: Vec<Config> =
            FUNCTIONS.iter().map(|(name, text)| Config::layered(&[text], &[]).expect(name)).collect();
        for config in &configs {
            Functions::new(config.clone()).unwrap();
        }
        assert!(METHODS.iter().all(|method| configs.iter().any(|config| config.method == method.name)));
        for prior in PRIORS {
            let preset = if prior.id == crate::prior::TABLES { "bo-table" } else { "bo-value" };
            let config = Config::layered(&[find(preset).unwrap()], &[format!("world={}", prior.id)]).expect(prior.id);
            Functions::new(config).unwrap();
        }
        assert!(find("bo-vale").unwrap_err().to_string().contains("did you mean \"bo-value\""));
    }
}
