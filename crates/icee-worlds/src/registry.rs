//! Worlds by their id, and what was probably meant by an id that does not exist.

use crate::grid::{GridWorld, presets};
use crate::{World, WorldError, WorldSpec};

/// Worlds by their id, in the order in which they were registered.
pub struct Registry {
    worlds: Vec<Box<dyn World>>,
}

impl Registry {
    /// The worlds of this crate.
    #[must_use]
    pub fn builtin() -> Self {
        let worlds = presets().into_iter().filter_map(|rules| GridWorld::new(rules).ok());
        Self { worlds: worlds.map(|world| Box::new(world) as Box<dyn World>).collect() }
    }

    /// Adds a world of one's own under the id of its spec.
    ///
    /// # Errors
    /// [`WorldError::DuplicateWorld`].
    pub fn register(&mut self, world: Box<dyn World>) -> Result<(), WorldError> {
        let id = &world.spec().id;
        if self.specs().any(|spec| spec.id == *id) {
            return Err(WorldError::DuplicateWorld { id: id.clone() });
        }
        self.worlds.push(world);
        Ok(())
    }

    /// A world of that id, ready to play.
    ///
    /// # Errors
    /// [`WorldError::UnknownWorld`], with the nearest names.
    pub fn make(&self, id: &str) -> Result<Box<dyn World>, WorldError> {
        self.worlds.iter().find(|world| world.spec().id == id).map(|world| world.clone_world()).ok_or_else(|| {
            let known: Vec<String> = self.specs().map(|spec| spec.id.clone()).collect();
            WorldError::UnknownWorld { id: id.into(), nearest: nearest_names(id, &known), known }
        })
    }

    /// What is known of every world.
    pub fn specs(&self) -> impl Iterator<Item = &WorldSpec> {
        self.worlds.iter().map(|world| world.spec())
    }
}

/// Up to three of the known names that are near the one that was typed, best first. Case does not count; a name is
/// near where about a third of what was typed would have to change, or where it contains what was typed.
#[must_use]
pub fn nearest_names(typed: &str, known: &[String]) -> Vec<String> {
    let typed = typed.to_lowercase();
    let length = typed.chars().count();
    let distance_to = |name: &String| {
        let name = name.to_lowercase();
        let distance = edit_distance(&typed, &name);
        let near = distance <= length / 3 + 1 || (length > 2 && name.contains(&typed));
        near.then_some(distance)
    };
    let mut near: Vec<(usize, &String)> = known.iter().filter_map(|name| Some((distance_to(name)?, name))).collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(3).map(|(_, name)| name.clone()).collect()
}

/// Levenshtein's distance: the fewest insertions, deletions and replacements that turn one into the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_made_and_named_once() {
        let registry = Registry::builtin();
        assert_eq!(registry.specs().count(), presets().len(), "a preset does not pass its own checks");
        for rules in presets() {
            assert_eq!(registry.make(&rules.id).map(|world| world.spec().id.clone()).ok(), Some(rules.id));
        }
        let mut registry = registry;
        let again = registry.make("DarkRoom-v0").expect("a known world");
        assert!(matches!(registry.register(again), Err(WorldError::DuplicateWorld { .. })));
    }

    #[test]
    fn distances_by_hand() {
        for (a, b, distance) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2)] {
            assert_eq!((edit_distance(a, b), edit_distance(b, a)), (distance, distance), "{a} {b}");
        }
    }

    #[test]
    fn a_typing_error_is_answered_with_the_nearest_names() {
        let said = |id: &str| Registry::builtin().make(id).err().expect("an unknown world").to_string();
        assert!(said("DarkRom-v0").contains("did you mean \"DarkRoom-v0\""), "{}", said("DarkRom-v0"));
        assert!(said("darkroomhard").contains("\"DarkRoomHard-v0\""), "{}", said("darkroomhard"));
        assert!(said("DarkKeyToDoor").contains("did you mean \"DarkKeyToDoor-v0\""), "{}", said("DarkKeyToDoor"));
        assert!(said("ToDoor").contains("\"DarkKeyToDoor-v0\""), "{}", said("ToDoor"));
        let strange = said("CartPole");
        assert!(strange.contains("known are DarkRoom-v0, "), "{strange}");
        said("");
        said(&"x".repeat(10_000));
    }
}
