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
const VARIANTS: [(&str, &str, &[&str]); 6] = [
    ("icee", "icee", &[]),
    ("icee-paper", "icee-paper", &["train.lr=1e-3", "train.steps=6000"]),
    ("icee-biased", "icee-biased", &["train.steps=5000"]),
    // Smaller networks do as well here: imitation needs less than search, and MGDT reads one episode.
    ("ad", "ad", &["model.layers=3", "train.steps=4000"]),
    ("ad-sorted", "ad-sorted", &["model.layers=3", "train.steps=4000"]),
    ("mgdt", "mgdt", &["model.layers=2", "model.width=64", "train.steps=3000"]),
];

/// Where a variant needs other settings on one world: with a return in 160 bins as its input, the paper's action network does not
/// find the key and the door again, and novices teach it what to do before it has.
const EXCEPTIONS: [(&str, &str, &[&str]); 1] =
    [("key-to-door", "icee-paper", &["train.lr=1e-3", "model.bins=64", "data.novices=0.6", "train.steps=10000"])];

/// What is trained on one world to see what one thing does: world, variant, method preset, settings.
const ABLATIONS: [(&str, &str, &str, &[&str]); 4] = [
    ("dark-room", "icee-weighted", "icee-weighted", &["train.steps=7000"]),
    ("dark-room", "icee-no-searchers", "icee", &["data.searchers=0", "train.steps=7000"]),
    ("dark-room", "icee-no-novices", "icee", &["data.searchers=0", "data.novices=0", "train.steps=7000"]),
    // From ICEE-biased only the weights differ.
    ("dark-room-biased", "icee-weighted", "icee-weighted", &["data.searchers=0"]),
];

/// The learned optimisers, preset and settings: the value model, the one for tables of one to eight columns and a small
/// one for them, the same on the paper's prior, the exact objective, the paper's own objective with and without
/// importance weights.
const OPTIMISERS: [(&str, &str, &[&str]); 7] = [
    ("value", "bo-value", &[]),
    ("value-columns", "bo-value-columns", &[]),
    ("value-columns-small", "bo-value-columns-small", &[]),
    ("value-paper-prior", "bo-value", &["world=GpPaper-v0", "train.steps=6000"]),
    ("exact", "bo-exact", &[]),
    ("paper", "bo-paper", &[]),
    ("biased", "bo-biased", &[]),
];

/// All of them.
#[must_use]
pub fn recipes() -> Vec<Recipe> {
    let on_world = |world, (variant, method, settings): (&str, _, _)| {
        let exception = EXCEPTIONS.into_iter().find(|exception| (exception.0, exception.1) == (world, variant));
        Recipe {
            name: format!("{world}__{variant}"),
            preset: world,
            method: Some(method),
            settings: exception.map_or(settings, |(_, _, settings)| settings),
        }
    };
    let worlds = WORLDS.into_iter().flat_map(|(world, _)| VARIANTS.map(|variant| on_world(world, variant)));
    let ablations = ABLATIONS.map(|(world, variant, method, settings)| on_world(world, (variant, method, settings)));
    let optimisers = OPTIMISERS.map(|(variant, preset, settings)| Recipe {
        name: format!("bo__{variant}"),
        preset,
        method: None,
        settings,
    });
    worlds.chain(ablations).chain(optimisers).collect()
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
