//! Every model that the paper's report needs, and the command that trains it. Kept by hand: a new model is a line here.

/// How a model is trained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The model's name, `<world>__<variant>`.
    pub name: String,
    /// The world's preset; `bo` for an optimiser.
    pub preset: &'static str,
    /// The method's preset.
    pub method: &'static str,
    /// What is changed in them.
    pub settings: &'static [&'static str],
}

/// The preset of Bayesian optimisation.
pub const BO: &str = "bo";

/// The paper's four worlds: preset and id.
pub const WORLDS: [(&str, &str); 4] = [
    ("dark-room", "DarkRoom-v0"),
    ("dark-room-hard", "DarkRoomHard-v0"),
    ("key-to-door", "DarkKeyToDoor-v0"),
    ("dark-room-biased", "DarkRoomBiased-v0"),
];

/// What is trained on every world: variant, method preset, settings.
const VARIANTS: [(&str, &str, &[&str]); 8] = [
    ("icee", "icee", &[]),
    ("icee-paper", "icee-paper", &[]),
    ("icee-weighted", "icee-weighted", &[]),
    ("icee-biased", "icee-biased", &[]),
    ("icee-no-novices", "icee", &["data.novices=0"]),
    ("ad", "ad", &[]),
    ("ad-sorted", "ad-sorted", &[]),
    ("mgdt", "mgdt", &[]),
];

/// The learned optimisers: the value model, the same on the paper's prior, the exact objectives, the paper's own
/// objective with and without importance weights.
const OPTIMISERS: [&str; 6] = ["value", "value-paper-prior", "exact-ei", "exact-ts", "paper", "paper-biased"];

/// All of them.
#[must_use]
pub fn recipes() -> Vec<Recipe> {
    let recipe = |preset, (variant, method, settings): (&str, &'static str, &'static [&'static str])| Recipe {
        name: format!("{preset}__{variant}"),
        preset,
        method,
        settings,
    };
    let worlds = WORLDS.into_iter().flat_map(|(preset, _)| VARIANTS.map(|variant| recipe(preset, variant)));
    worlds.chain(OPTIMISERS.map(|method| recipe(BO, (method, method, &[])))).collect()
}

/// The recipe of a model.
#[must_use]
pub fn find(name: &str) -> Option<Recipe> {
    recipes().into_iter().find(|recipe| recipe.name == name)
}

impl Recipe {
    /// Whether it optimises functions instead of playing a world.
    #[must_use]
    pub fn is_optimiser(&self) -> bool {
        self.preset == BO
    }

    /// The command that trains it.
    #[must_use]
    pub fn command(&self) -> String {
        let settings: String = self.settings.iter().map(|setting| format!(" --set {setting}")).collect();
        format!("icee train {} --method {}{settings} --seed 1", self.preset, self.method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee::{Config, presets};

    #[test]
    fn every_world_model_has_presets_that_work_and_a_name_of_its_own() {
        let all = recipes();
        for (index, recipe) in all.iter().enumerate() {
            assert!(all[..index].iter().all(|other| other.name != recipe.name), "{}", recipe.name);
            if recipe.is_optimiser() {
                continue;
            }
            let layers = [presets::world(recipe.preset).unwrap(), presets::method(recipe.method).unwrap()];
            let settings: Vec<String> = recipe.settings.iter().map(ToString::to_string).collect();
            let config = Config::layered(&layers, &settings).unwrap();
            assert!(WORLDS.contains(&(recipe.preset, config.world.as_str())), "{}", recipe.name);
        }
    }

    #[test]
    fn what_travels_in_the_program_is_known() {
        for name in include_str!("../embedded.txt").lines() {
            assert!(find(name).is_some(), "{name}");
        }
    }
}
