//! Every model that the paper's report needs, and the command that trains it. Kept by hand: a new model is a line here.

/// How a model is trained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The model's name, `<world>__<variant>`.
    pub name: String,
    /// The preset of the world, or of the functions.
    pub preset: &'static str,
    /// The method's preset; none for an optimiser, whose preset says it.
    pub method: Option<&'static str>,
    /// What is changed in them.
    pub settings: &'static [&'static str],
}

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

/// The learned optimisers, preset and settings: the value model, the one for tables of one to eight columns and a small
/// one for them, the same on the paper's prior, the exact objectives, the paper's own objective with and without
/// importance weights.
const OPTIMISERS: [(&str, &str, &[&str]); 8] = [
    ("value", "bo-value", &[]),
    ("value-columns", "bo-value-columns", &[]),
    ("value-columns-small", "bo-value-columns-small", &[]),
    ("value-paper-prior", "bo-value", &["world=GpPaper-v0"]),
    ("exact-ei", "bo-exact", &[]),
    ("exact-ts", "bo-exact", &["data.spread=ts"]),
    ("paper", "bo-paper", &[]),
    ("biased", "bo-biased", &[]),
];

/// All of them.
#[must_use]
pub fn recipes() -> Vec<Recipe> {
    let on_world = |world, (variant, method, settings): (&str, _, _)| Recipe {
        name: format!("{world}__{variant}"),
        preset: world,
        method: Some(method),
        settings,
    };
    let worlds = WORLDS.into_iter().flat_map(|(world, _)| VARIANTS.map(|variant| on_world(world, variant)));
    let optimisers = OPTIMISERS.map(|(variant, preset, settings)| Recipe {
        name: format!("bo__{variant}"),
        preset,
        method: None,
        settings,
    });
    worlds.chain(optimisers).collect()
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
        self.method.is_none()
    }

    /// The command that trains it.
    #[must_use]
    pub fn command(&self) -> String {
        let settings: String = self.settings.iter().map(|setting| format!(" --set {setting}")).collect();
        let method = self.method.map_or(String::new(), |method| format!(" --method {method}"));
        format!("icee train {}{method}{settings} --seed 1", self.preset)
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
            let Some(method) = recipe.method else { continue };
            let layers = [presets::world(recipe.preset).unwrap(), presets::method(method).unwrap()];
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
