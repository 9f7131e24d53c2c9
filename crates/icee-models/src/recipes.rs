//! Every model that the report needs, and the command that trains it: the catalogue, written out.

use crate::catalogue::{self, ENTRIES, Role, optimiser_model};
use crate::kind::Kind;

/// How a model is trained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The model's name, `<world>__<variant>`.
    pub name: String,
    /// What it learns.
    pub kind: Kind,
    /// The preset of the world, or of the functions.
    pub preset: &'static str,
    /// The method's preset; none for an optimiser, whose preset says it.
    pub method: Option<&'static str>,
    /// What is changed in them.
    pub settings: &'static [&'static str],
    /// The seed of the one that is stored.
    pub seed: u64,
}

/// Where several were trained, another one may have been taken than that of seed 1.
const SEEDS: [(&str, u64); 4] = [
    ("bernoulli-bandit__icee", 3),
    ("dark-room-hard__icee", 5),
    ("dark-room-permuted__icee", 3),
    ("key-to-door__icee-offline", 2),
];

fn seed_of(name: &str) -> u64 {
    SEEDS.iter().find(|(other, _)| *other == name).map_or(1, |(_, seed)| *seed)
}

/// All of them: world by world, then the optimisers.
#[must_use]
pub fn recipes() -> Vec<Recipe> {
    let mut recipes = Vec::new();
    for world in catalogue::worlds() {
        for (entry, agent) in world.trained() {
            let Some(settings) = agent.settings_on(world) else { continue };
            let (name, method) = (world.model(entry.key), Some(agent.method));
            let seed = seed_of(&name);
            recipes.push(Recipe { name, kind: Kind::Games, preset: world.key, method, settings, seed });
        }
    }
    let optimiser = |key: &str, preset, settings| Recipe {
        name: optimiser_model(key),
        kind: Kind::Functions,
        preset,
        method: None,
        settings,
        seed: seed_of(&optimiser_model(key)),
    };
    for entry in &ENTRIES {
        if let Role::Optimiser { preset, settings, .. } = entry.role {
            recipes.push(optimiser(entry.key, preset, settings));
        }
    }
    recipes
}

/// The recipe of a model.
#[must_use]
pub fn find(name: &str) -> Option<Recipe> {
    recipes().into_iter().find(|recipe| recipe.name == name)
}

impl Recipe {
    /// The command that trains it.
    #[must_use]
    pub fn command(&self) -> String {
        let settings: String = self.settings.iter().map(|setting| format!(" --set {setting}")).collect();
        let method = self.method.map_or(String::new(), |method| format!(" --method {method}"));
        format!("icee train {}{method}{settings} --seed {}", self.preset, self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::new_problem;
    use icee_worlds::Registry;

    #[test]
    fn every_model_has_presets_that_work_and_a_name_of_its_own() {
        let all = recipes();
        for (index, recipe) in all.iter().enumerate() {
            assert!(all[..index].iter().all(|other| other.name != recipe.name), "{}", recipe.name);
            let settings: Vec<String> = recipe.settings.iter().map(ToString::to_string).collect();
            let problem = new_problem(recipe.preset, recipe.method, &settings, None, &Registry::builtin());
            let problem = problem.unwrap_or_else(|error| panic!("{}: {error}", recipe.name));
            assert_eq!(problem.kind(), recipe.kind.tag(), "{}", recipe.name);
            let world = catalogue::world(recipe.preset);
            assert!(world.is_none_or(|world| world.id == problem.name()), "{}", recipe.name);
        }
        assert_eq!(all.len(), 44);
    }

    #[test]
    fn seeds_are_those_of_the_models_that_are_stored() {
        let models = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        let mut found = 0;
        for recipe in recipes() {
            let Ok(text) = std::fs::read_to_string(models.join(&recipe.name).join("config.json")) else { continue };
            let config: serde_json::Value = serde_json::from_str(&text).unwrap();
            let mut stored = vec![];
            seeds(&config, &mut stored);
            assert!(
                stored.iter().all(|seed| *seed == recipe.seed) && !stored.is_empty(),
                "{}: {stored:?}",
                recipe.name
            );
            found += 1;
        }
        assert!(found > 0);
    }

    /// All numbers that are called a seed.
    fn seeds(value: &serde_json::Value, found: &mut Vec<u64>) {
        match value {
            serde_json::Value::Object(members) => {
                found.extend(members.get("seed").and_then(serde_json::Value::as_u64));
                members.values().for_each(|member| seeds(member, found));
            }
            serde_json::Value::Array(members) => members.iter().for_each(|member| seeds(member, found)),
            _ => {}
        }
    }

    #[test]
    fn what_travels_in_the_program_is_known() {
        for name in include_str!("../embedded.txt").lines() {
            assert!(find(name).is_some(), "{name}");
        }
    }
}
