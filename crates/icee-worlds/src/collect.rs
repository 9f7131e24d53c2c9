//! Data for training: the behaviour policy plays K episodes of each of many games, in parallel, straight into the flat
//! layout. Every game has a random stream of its own and games are cut into parts of fixed size, so that the number of
//! threads leaves no trace.

use crate::relabel::{Expert, Searcher};
use crate::{
    ExpertLabels, Policy, Purpose, SequenceBatch, Split, StepLabel, StreamRng, World, WorldError, sample_action, stream,
};
use rand::{Rng, RngExt};
use rayon::prelude::*;
use std::ops::Range;

/// The most steps that one batch may hold.
pub const MAX_STEPS: u128 = 1 << 28;

/// Games in one parallel part: small enough to balance two threads on a batch of 64, large enough to make copying
/// worlds and joining parts cheap.
const GAMES_PER_PART: usize = 8;

/// The share of an exploring policy's sequences that begin with episodes in which nothing was found. With half of them, what is found
/// late is made better use of, and what could be found early is found later.
const QUIET: f32 = 0.25;

/// Games that are dealt before fewer episodes without a find are asked for.
const PATIENCE: usize = 24;

/// What to collect.
#[derive(Clone, Debug, PartialEq)]
pub struct Collection {
    /// The number of games, each of which gives one sequence.
    pub games: usize,
    /// Episodes of each game; the world's K unless there is a reason.
    pub episodes: usize,
    /// Fixes everything.
    pub seed: u64,
    /// The number of the first game. Under one seed, games 0..64 and 64..128 are what games 0..128 would be: fresh
    /// games for every batch.
    pub first_game: u64,
    /// The share of sequences with a noisy policy's history: their first m ~ U{0..K} episodes have ε ~ U(0.6, 0.9), as of
    /// a policy that has found nothing yet; an exploring policy's noise is then ~ U(0.6, 1).
    pub novices: f32,
    /// The share of sequences of exploring policies, see
    /// [`Relabel`](crate::Relabel).
    pub searchers: f32,
    /// What an expert tells of their steps.
    pub expert_labels: ExpertLabels,
}

impl Collection {
    /// Sequences of the paper's protocol: ε ~ U(0, 1) in every episode, no noisy policies, no exploring policies, from game 0.
    #[must_use]
    pub fn new(games: usize, episodes: usize, seed: u64) -> Self {
        let expert_labels = ExpertLabels::default();
        Self { games, episodes, seed, first_game: 0, novices: 0.0, searchers: 0.0, expert_labels }
    }

    fn check(&self, world: &dyn World) -> Result<(), WorldError> {
        if self.games == 0 {
            return Err(WorldError::Zero { what: "games" });
        }
        if self.episodes == 0 {
            return Err(WorldError::Zero { what: "episodes" });
        }
        let steps = self.games as u128 * self.episodes as u128;
        let steps = steps.saturating_mul(world.spec().episode_limit as u128);
        if steps > MAX_STEPS {
            return Err(WorldError::TooMany { what: "steps", asked: steps, limit: MAX_STEPS });
        }
        for (what, value) in [("novices", self.novices), ("searchers", self.searchers)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(WorldError::InvalidShare { what, value });
            }
        }
        Ok(())
    }
}

/// Plays training games by the behaviour policy and gives one sequence a game.
///
/// Runs on the current thread pool of rayon; the result is the same, bit by bit, on any.
///
/// # Errors
/// Where nothing or too much is asked for, or where the world breaks its own contract.
pub fn collect(world: &dyn World, collection: &Collection) -> Result<SequenceBatch, WorldError> {
    collection.check(world)?;
    let starts = (0..collection.games).step_by(GAMES_PER_PART);
    let parts: Vec<Range<usize>> = starts.map(|start| start..(start + GAMES_PER_PART).min(collection.games)).collect();
    let parts: Vec<SequenceBatch> = parts
        .into_par_iter()
        .map(|games| collect_part(world.clone_world(), collection, games))
        .collect::<Result<_, _>>()?;

    let mut batch = SequenceBatch::new(world.spec());
    batch.reserve(parts.iter().map(SequenceBatch::steps).sum(), collection.games * collection.episodes);
    for part in &parts {
        batch.append(part)?;
    }
    Ok(batch)
}

fn collect_part(
    mut world: Box<dyn World>,
    collection: &Collection,
    games: Range<usize>,
) -> Result<SequenceBatch, WorldError> {
    let mut batch = SequenceBatch::new(world.spec());
    let episodes = games.len() * collection.episodes;
    batch.reserve(episodes * world.spec().episode_limit, episodes);
    for game in games {
        let index = collection.first_game.wrapping_add(game as u64);
        let mut rng = stream(collection.seed, Purpose::Collection, index);
        world.new_game(rng.next_u64(), Split::Training);
        // Not drawn where there are none, so that their absence leaves older batches as they were.
        let searches = collection.searchers > 0.0 && rng.random::<f32>() < collection.searchers;
        let novice_episodes = draw_novice_episodes(collection, &mut rng);
        if searches {
            batch.append(&search_sequence(&mut *world, collection, novice_episodes, &mut rng)?)?;
        } else {
            let mut policy = world.behaviour();
            policy.begin_game();
            for episode in 0..collection.episodes {
                let epsilon = if episode < novice_episodes { rng.random_range(0.6..0.9) } else { rng.random::<f32>() };
                collect_episode(&mut *world, &mut *policy, epsilon, None, &mut rng, &mut batch)?;
            }
            batch.end_sequence();
        }
    }
    Ok(batch)
}

/// An exploring policy's sequence, every step relabelled by the expert.
///
/// Most games are searched for a few episodes only, and are easy from then on. So a share of the sequences begins with
/// m ~ U{0..K/2} episodes in which nothing was found (or, where more than one thing can be, no more than one): other games are
/// dealt until it is so. From there on the game is what it would be had nobody asked for that, given what was seen; before, it
/// is not, so nothing is learned there. Where every step may pay there is no such beginning.
fn search_sequence(
    world: &mut dyn World,
    collection: &Collection,
    novice_episodes: usize,
    rng: &mut StreamRng,
) -> Result<SequenceBatch, WorldError> {
    let several = world.spec().return_range.1 >= 2.0;
    let most = if several && rng.random::<bool>() { 1.0 } else { 0.0 };
    let mut quiet = if rng.random::<f32>() < QUIET { rng.random_range(0..=collection.episodes / 2) } else { 0 };
    if !world.sparse_rewards() {
        quiet = 0;
    }
    let mut sequence = SequenceBatch::new(world.spec());
    sequence.reserve(collection.episodes * world.spec().episode_limit, collection.episodes);
    for attempt in 1.. {
        let mut searcher = Searcher::new(world, rng)?;
        searcher.begin_game();
        let mut found = false;
        while !found && sequence.episodes() < quiet {
            let noise = Searcher::draw_noise(sequence.episodes() < novice_episodes, rng);
            collect_episode(world, &mut searcher, noise, None, rng, &mut sequence)?;
            found = sequence.episode_return(sequence.episodes() - 1) > most;
        }
        if !found {
            sequence.skip_labels();
            let mut expert = Expert::new(world, collection.expert_labels)?;
            for episode in quiet..collection.episodes {
                let noise = Searcher::draw_noise(episode < novice_episodes, rng);
                collect_episode(world, &mut searcher, noise, Some(&mut expert), rng, &mut sequence)?;
            }
            break;
        }
        sequence.clear();
        world.new_game(rng.next_u64(), Split::Training);
        // Good exploring policies find nearly everything before long.
        if attempt % PATIENCE == 0 {
            quiet /= 2;
        }
    }
    sequence.end_sequence();
    Ok(sequence)
}

/// m ~ U{0..K} in a share of the sequences, 0 in the others.
fn draw_novice_episodes(collection: &Collection, rng: &mut StreamRng) -> usize {
    if rng.random::<f32>() < collection.novices { rng.random_range(0..=collection.episodes) } else { 0 }
}

/// One episode of a policy; with an expert, what the behaviour policy would have made of every step is
/// noted, too.
fn collect_episode(
    world: &mut dyn World,
    policy: &mut dyn Policy,
    epsilon: f32,
    mut expert: Option<&mut Expert>,
    rng: &mut StreamRng,
    batch: &mut SequenceBatch,
) -> Result<(), WorldError> {
    let limit = world.spec().episode_limit;
    let actions = batch.action_count;
    let first_step = batch.steps();
    policy.begin_episode(epsilon);
    let mut observation = world.reset(rng.next_u64());
    for _ in 0..limit {
        if !batch.observations.push(observation) {
            return Err(WorldError::ObservationKind { world: batch.world.clone() });
        }
        let start = batch.probabilities.len();
        batch.probabilities.resize(start + actions, 0.0);
        let probabilities = &mut batch.probabilities[start..];
        policy.probabilities(observation, rng, probabilities);
        let action = sample_action(probabilities, rng);
        if let Some(expert) = &mut expert {
            let relabel = expert.relabel(&*world, batch, first_step, rng)?;
            batch.push_label(StepLabel::Relabelled(relabel));
        }
        let step = world.step(action)?;
        policy.observe(action, step.reward);
        batch.actions.push(action as u32);
        batch.rewards.push(step.reward);
        if step.done() {
            batch.end_episode(epsilon, step.terminated);
            return Ok(());
        }
        observation = step.observation;
    }
    Err(WorldError::EpisodeTooLong { world: batch.world.clone(), limit })
}
