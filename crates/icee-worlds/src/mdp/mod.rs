//! Small Markov decision processes whose rules are hidden in part: random ones, a T-maze, a frozen lake with holes that cannot be
//! seen.

mod frozen_lake;
mod plan;
mod t_maze;
mod tabular;

pub use frozen_lake::FrozenLake;
pub use plan::{Mdp, Plan};
pub use t_maze::TMaze;
pub use tabular::TabularMdp;
