//! Worlds by id.

use crate::bandit::{self, BanditWorld, LinearBandit};
use crate::grid::{self, GridWorld, PermutedRoom};
use crate::mdp::{FrozenLake, TMaze, TabularMdp};
use crate::{World, WorldError, WorldSpec};
use icee_base::names::Unknown;

/// Worlds by their id, in the order in which they were registered.
pub struct Registry {
    worlds: Vec<Box<dyn World>>,
}

impl Registry {
    /// The worlds of this crate.
    #[must_use]
    pub fn builtin() -> Self {
        let rooms = grid::presets().into_iter().map(|rules| boxed(GridWorld::new(rules)));
        let bandits = bandit::presets().into_iter().map(|rules| boxed(BanditWorld::new(rules)));
        let others = [
            boxed(PermutedRoom::new()),
            boxed(Ok(LinearBandit::new())),
            boxed(Ok(TabularMdp::new())),
            boxed(Ok(TMaze::new())),
            boxed(Ok(FrozenLake::new())),
        ];
        // A test sees to it that all are made.
        Self { worlds: rooms.chain(bandits).chain(others).flatten().collect() }
    }

    /// Adds your world under the id of its spec.
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
    /// [`WorldError::Unknown`], with the nearest names.
    pub fn make(&self, id: &str) -> Result<Box<dyn World>, WorldError> {
        self.worlds.iter().find(|world| world.spec().id == id).map(|world| world.clone_world()).ok_or_else(|| {
            let known: Vec<&str> = self.specs().map(|spec| spec.id.as_str()).collect();
            Unknown::new("world", id, &known).into()
        })
    }

    /// What is known of every world.
    pub fn specs(&self) -> impl Iterator<Item = &WorldSpec> {
        self.worlds.iter().map(|world| world.spec())
    }
}

fn boxed<W: World>(world: Result<W, WorldError>) -> Option<Box<dyn World>> {
    world.ok().map(|world| Box::new(world) as Box<dyn World>)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_made_and_named_once() {
        let registry = Registry::builtin();
        let rooms = grid::presets().into_iter().map(|rules| rules.id);
        let bandits = bandit::presets().into_iter().map(|rules| rules.id);
        let others = ["DarkRoomPermuted-v0", "LinearBandit-v0", "TabularMdp-v0", "TMaze-v0", "FrozenLakeHidden-v0"];
        let all: Vec<String> = rooms.chain(bandits).chain(others.map(String::from)).collect();
        let registered: Vec<String> = registry.specs().map(|spec| spec.id.clone()).collect();
        assert_eq!(registered, all, "a preset does not pass its own checks");
        let mut registry = registry;
        let again = registry.make("DarkRoom-v0").expect("a known world");
        assert!(matches!(registry.register(again), Err(WorldError::DuplicateWorld { .. })));
    }

    #[test]
    fn a_typing_error_is_answered_with_the_nearest_names() {
        let said = |id: &str| Registry::builtin().make(id).err().expect("an unknown world").to_string();
        assert!(said("DarkRom-v0").contains("did you mean \"DarkRoom-v0\""), "{}", said("DarkRom-v0"));
        let strange = said("CartPole");
        assert!(strange.contains("known are DarkRoom-v0, "), "{strange}");
    }
}
