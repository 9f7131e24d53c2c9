//! Dark rooms: a grid whose goals cannot be seen. One parametrised definition, [`GridRules`], from which every room
//! of the paper and the variants of other papers are made ([`presets`]).

mod informed;
mod permuted;
mod presets;
mod room;
mod rules;
mod search;
mod world;

pub use permuted::PermutedRoom;
pub use presets::presets;
pub use room::{ACTION_NAMES, ACTIONS, DOWN, LEFT, RIGHT, STAY, UP};
pub use rules::{Bias, GoalSplit, Goals, GridRules, Start};
pub use world::GridWorld;
