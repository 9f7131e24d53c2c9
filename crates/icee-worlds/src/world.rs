//! What a world is: Gymnasium's semantics, with the hidden game drawn apart from the start of an episode.

use crate::{Observation, ObservationSpace, Policy, WorldError};
use std::any::Any;

/// A family of games that differ in a part that agents cannot see.
///
/// # Contract
/// - [`new_game`](World::new_game) draws the hidden part; [`reset`](World::reset) begins an episode of *that* game, as
///   often as one likes. A newly made world holds some game already, and no episode runs.
/// - The same `new_game` seed, split, `reset` seed and actions give the same episode, bit by bit.
/// - [`step`](World::step) on an episode that is over, or with an action that does not exist, is an error and changes
///   nothing. It never resets silently.
/// - An episode is truncated at its step T unless it terminates there or before; it is never both.
///
/// [`EpisodeClock`] keeps the last two for you; [`conformance::check`](crate::conformance::check) tests all of them.
pub trait World: CloneWorld + Any + Send + Sync {
    /// What is known of the world before playing.
    fn spec(&self) -> &WorldSpec;

    /// Draws the hidden part of a game. A running episode is over.
    fn new_game(&mut self, seed: u64, split: Split);

    /// Begins an episode of the current game and gives its first observation.
    fn reset(&mut self, seed: u64) -> Observation<'_>;

    /// Takes an action.
    ///
    /// # Errors
    /// [`WorldError::EpisodeOver`] and [`WorldError::ActionOutOfRange`].
    fn step(&mut self, action: usize) -> Result<Step<'_>, WorldError>;

    /// The policy that makes the training data of the current game. It may know the hidden part.
    fn behaviour(&self) -> Box<dyn Policy>;

    /// The policy that relabels the steps of exploring policies, see [`Relabel`](crate::Relabel): the behaviour
    /// policy, unless somebody who knows the hidden part as well is of more use there.
    fn expert(&self) -> Box<dyn Policy> {
        self.behaviour()
    }

    /// The best policy for the current game, which knows the hidden part.
    fn oracle(&self) -> Option<Box<dyn Policy>> {
        None
    }

    /// A policy that samples what is hidden from the exact posterior and acts as if it were so.
    fn posterior(&self) -> Option<Box<dyn Policy>> {
        None
    }

    /// A policy that visits what it has not visited, nearest first.
    fn sweep(&self) -> Option<Box<dyn Policy>> {
        None
    }

    /// A policy of optimism: what has the highest upper confidence bound, as UCB1 and LinUCB do.
    fn ucb(&self) -> Option<Box<dyn Policy>> {
        None
    }

    /// A policy that pulls the arm with the greatest Gittins index.
    fn gittins(&self) -> Option<Box<dyn Policy>> {
        None
    }

    /// Whether there is something to be found: to somebody who does not know the game, most episodes pay nothing at first.
    /// Then a share of the exploring policies' sequences begins with such episodes ([`Collection::searchers`](crate::Collection)).
    fn sparse_rewards(&self) -> bool {
        true
    }

    /// The state as lines of text, hidden part included, for people; empty where there is nothing to show.
    fn render(&self) -> String {
        String::new()
    }
}

/// Copies a world behind its trait. Every world that is `Clone` has it; nobody implements it by hand.
pub trait CloneWorld {
    /// A copy with the same game and the same state.
    fn clone_world(&self) -> Box<dyn World>;

    /// Makes `other` a copy, in its place where it is a world of the same type: no allocation where `Clone::clone_from`
    /// needs none.
    fn copy_to(&self, other: &mut Box<dyn World>);
}

impl<W: World + Clone> CloneWorld for W {
    fn clone_world(&self) -> Box<dyn World> {
        Box::new(self.clone())
    }

    fn copy_to(&self, other: &mut Box<dyn World>) {
        match (&mut **other as &mut dyn Any).downcast_mut::<W>() {
            Some(same) => same.clone_from(self),
            None => *other = self.clone_world(),
        }
    }
}

/// What is known of a world before playing.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldSpec {
    /// Its versioned name, `Name-v0`.
    pub id: String,
    /// The rules in one line, for people.
    pub rules: String,
    /// What an agent sees.
    pub observation_space: ObservationSpace,
    /// The actions' names; an action is an index into them.
    pub action_names: Vec<String>,
    /// T: the most steps that an episode has.
    pub episode_limit: usize,
    /// K: the episodes of one sequence.
    pub episodes: usize,
    /// `[c_min, c_max]`: the least and the greatest in-episode return-to-go, with the −1/T of steps without reward.
    pub return_range: (f32, f32),
    /// The least and the greatest reward of a step.
    pub reward_range: (f32, f32),
    /// How many different rewards there are, evenly spaced from the least to the greatest; none where they are reals.
    pub reward_levels: Option<usize>,
}

impl WorldSpec {
    /// The number of actions.
    #[must_use]
    pub fn actions(&self) -> usize {
        self.action_names.len()
    }
}

/// Which games are drawn. In most worlds both are alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Games to learn from.
    #[default]
    Training,
    /// Games to be judged by.
    Evaluation,
}

/// What a step gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<'a> {
    /// What is seen after the action.
    pub observation: Observation<'a>,
    /// The reward of the action.
    pub reward: f32,
    /// The episode is over because nothing more can be earned.
    pub terminated: bool,
    /// The episode is over because it reached its limit T.
    pub truncated: bool,
}

impl Step<'_> {
    /// Whether the episode is over.
    #[must_use]
    pub fn done(&self) -> bool {
        self.terminated || self.truncated
    }
}

/// Counts an episode's steps and guards its end, so that no world has to do it again.
#[derive(Clone, Copy, Debug, Default)]
pub struct EpisodeClock {
    elapsed: usize,
    running: bool,
}

impl EpisodeClock {
    /// An episode begins.
    pub fn begin(&mut self) {
        *self = Self { elapsed: 0, running: true };
    }

    /// The episode is over, whatever it was doing.
    pub fn stop(&mut self) {
        self.running = false;
    }

    /// Steps taken in this episode.
    #[must_use]
    pub fn elapsed(&self) -> usize {
        self.elapsed
    }

    /// To be asked before a step changes anything.
    ///
    /// # Errors
    /// [`WorldError::EpisodeOver`] and [`WorldError::ActionOutOfRange`].
    #[inline]
    pub fn check(&self, spec: &WorldSpec, action: usize) -> Result<(), WorldError> {
        if !self.running {
            return Err(WorldError::EpisodeOver { world: spec.id.clone() });
        }
        if action >= spec.actions() {
            return Err(WorldError::ActionOutOfRange { world: spec.id.clone(), action, actions: spec.actions() });
        }
        Ok(())
    }

    /// A step was taken. Says whether it truncates the episode.
    #[inline]
    pub fn tick(&mut self, spec: &WorldSpec, terminated: bool) -> bool {
        self.elapsed += 1;
        let truncated = !terminated && self.elapsed >= spec.episode_limit;
        self.running = !(terminated || truncated);
        truncated
    }
}
