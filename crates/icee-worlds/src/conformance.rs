//! A test suite for every world, of this crate or yours: one line in a test.
//!
//! ```
//! let world = icee_worlds::Registry::builtin().make("DarkRoom-v0")?;
//! icee_worlds::conformance::check(&*world)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::{
    Observation, ObservationSpace, Observations, Policy, Purpose, Reference, Split, StreamRng, World, WorldError,
    WorldSpec, sample_action, shaped_reward, stream,
};
use rand::{Rng, RngExt};
use thiserror::Error;

/// A rule that a world breaks.
#[derive(Debug, Error)]
#[error("\"{world}\" breaks the rule \"{rule}\"{}{detail}", if detail.is_empty() { "" } else { ": " })]
#[non_exhaustive]
pub struct Violation {
    /// The world.
    pub world: String,
    /// The rule, in words.
    pub rule: &'static str,
    /// What was seen; empty where the rule says it all.
    pub detail: String,
}

/// Games of each kind that are tried.
const GAMES: u64 = 12;

/// Plays a few games in every way that the contract of [`World`] speaks of, and says what does not hold.
///
/// # Errors
/// The first [`Violation`] that was found.
pub fn check(world: &dyn World) -> Result<(), Violation> {
    check_spec(world.spec())?;
    for game in 0..GAMES {
        for split in [Split::Training, Split::Evaluation] {
            let mut world = world.clone_world();
            check_games_repeat(&mut *world, game, split)?;
            check_errors_change_nothing(&mut *world, game, split)?;
            for reference in Reference::ALL {
                check_policy(&mut *world, reference, game)?;
            }
        }
    }
    Ok(())
}

fn require(
    holds: bool,
    spec: &WorldSpec,
    rule: &'static str,
    detail: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation { world: spec.id.clone(), rule, detail: detail() }) }
}

fn check_spec(spec: &WorldSpec) -> Result<(), Violation> {
    let versioned = spec.id.rsplit_once("-v").is_some_and(|(name, version)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
            && version.parse::<u32>().is_ok()
    });
    require(versioned, spec, "an id is a name of letters, digits, - and _, and a version: Name-v0", String::new)?;
    require(spec.actions() > 0, spec, "there is at least one action", String::new)?;
    require(spec.episode_limit > 0 && spec.episodes > 0, spec, "T and K are at least 1", String::new)?;
    let (low, high) = spec.return_range;
    let range = low.is_finite() && high.is_finite() && low < high;
    require(range, spec, "the return-to-go range is finite and not empty", || format!("[{low}, {high}]"))?;
    let (low, high) = spec.reward_range;
    let range =
        low.is_finite() && high.is_finite() && low < high && spec.reward_levels.is_none_or(|levels| levels >= 2);
    require(range, spec, "the rewards' range is finite and not empty, with two levels at least", || {
        format!("[{low}, {high}], {:?} levels", spec.reward_levels)
    })?;
    let space = match &spec.observation_space {
        ObservationSpace::Discrete { size } => *size > 0,
        ObservationSpace::Grid { width, height } => *width > 0 && *height > 0,
        ObservationSpace::Vector { low, high } => {
            !low.is_empty() && low.len() == high.len() && low.iter().zip(high).all(|(low, high)| low <= high)
        }
    };
    require(space, spec, "the observation space is not empty", || format!("{:?}", spec.observation_space))
}

/// Steps that cannot be taken are errors, and leave no trace; an episode's end stays its end.
fn check_errors_change_nothing(world: &mut dyn World, seed: u64, split: Split) -> Result<(), Violation> {
    let spec = world.spec().clone();
    world.new_game(seed, split);
    let is_over = |step: Result<_, WorldError>| matches!(step, Err(WorldError::EpisodeOver { .. }));
    let actions = informed_actions(world, seed)?;
    let expected = record(world, seed, &actions)?;
    for _ in 0..3 {
        let over = is_over(world.step(0).map(|_| ()));
        require(over, &spec, "a step after the end is EpisodeOver, not a silent reset", String::new)?;
    }

    // The same episode again, with an impossible action before every step.
    world.reset(seed);
    for (index, &action) in actions[..expected.rewards.len()].iter().enumerate() {
        for impossible in [spec.actions(), usize::MAX] {
            let refused = matches!(world.step(impossible), Err(WorldError::ActionOutOfRange { .. }));
            require(refused, &spec, "an action that does not exist is ActionOutOfRange", || impossible.to_string())?;
        }
        let same = world.step(action).is_ok_and(|step| {
            step.reward == expected.rewards[index] && Some(step.observation) == expected.observations.get(index + 1)
        });
        require(same, &spec, "a refused step changes nothing", || format!("at step {index}"))?;
    }

    world.reset(seed);
    world.new_game(seed, split);
    let over = is_over(world.step(0).map(|_| ()));
    require(over, &spec, "a new game ends the running episode: a step before reset is EpisodeOver", String::new)
}

/// T actions that are likely to meet what is hidden: those of the behaviour policy at its best, then any.
fn informed_actions(world: &mut dyn World, seed: u64) -> Result<Vec<usize>, Violation> {
    let spec = world.spec().clone();
    let mut rng = stream(seed, Purpose::Agent, 1);
    let mut policy = world.behaviour();
    policy.begin_game();
    let mut actions = play_policy(world, &spec, &mut *policy, 0.0, seed, &mut rng)?;
    actions.resize_with(spec.episode_limit, || rng.random_range(0..spec.actions()));
    Ok(actions)
}

/// An episode as it was played.
#[derive(PartialEq)]
struct Episode {
    observations: Observations,
    rewards: Vec<f32>,
    terminated: bool,
}

/// Plays an episode by given actions and checks each step.
fn record(world: &mut dyn World, seed: u64, actions: &[usize]) -> Result<Episode, Violation> {
    let spec = world.spec().clone();
    let mut episode =
        Episode { observations: Observations::new(&spec.observation_space), rewards: Vec::new(), terminated: false };
    keep(&spec, world.reset(seed), &mut episode.observations)?;
    for &action in actions {
        let step = world.step(action).map_err(|error| broken(&spec, &error))?;
        keep(&spec, step.observation, &mut episode.observations)?;
        check_reward(&spec, step.reward)?;
        episode.rewards.push(step.reward);
        let (length, limit) = (episode.rewards.len(), spec.episode_limit);
        let not_both = !(step.terminated && step.truncated);
        require(not_both, &spec, "an episode is not terminated and truncated at once", String::new)?;
        let at_limit = step.truncated == (length == limit && !step.terminated);
        require(at_limit, &spec, "an episode is truncated at step T, and only there", || {
            format!("truncated = {} at step {length} of {limit}", step.truncated)
        })?;
        if step.done() {
            episode.terminated = step.terminated;
            check_returns(&spec, &episode.rewards)?;
            return Ok(episode);
        }
    }
    require(false, &spec, "an episode ends at step T at the latest", String::new)?;
    Ok(episode)
}

fn keep(spec: &WorldSpec, observation: Observation<'_>, kept: &mut Observations) -> Result<(), Violation> {
    let inside = spec.observation_space.contains(observation) && kept.push(observation);
    require(inside, spec, "observations are in their space", || format!("{observation:?}"))
}

/// A reward lies in the range that the spec states, and on one of its levels if it has some.
fn check_reward(spec: &WorldSpec, reward: f32) -> Result<(), Violation> {
    require(reward.is_finite(), spec, "rewards are finite", || reward.to_string())?;
    let (low, high) = spec.reward_range;
    let inside = (low..=high).contains(&reward);
    require(inside, spec, "rewards are in their range", || format!("{reward} in [{low}, {high}]"))?;
    let Some(levels) = spec.reward_levels else { return Ok(()) };
    let level = (reward - low) / (high - low) * (levels - 1) as f32;
    require((level - level.round()).abs() < 1e-4, spec, "rewards are on their levels", || {
        format!("{reward} is none of {levels} between {low} and {high}")
    })
}

/// Every return-to-go of the episode, with −1/T for steps without reward, lies in the range that the spec states.
fn check_returns(spec: &WorldSpec, rewards: &[f32]) -> Result<(), Violation> {
    let (low, high) = spec.return_range;
    let tolerance = 1e-4 * (high - low);
    let mut to_go = 0.0;
    for &reward in rewards.iter().rev() {
        to_go += shaped_reward(reward, spec.idle_price());
        let inside = (low - tolerance..=high + tolerance).contains(&to_go);
        require(inside, spec, "returns-to-go are in their range", || format!("{to_go} in [{low}, {high}]"))?;
    }
    Ok(())
}

/// Seeds fix everything; other episodes in between, and copies, make no difference.
fn check_games_repeat(world: &mut dyn World, seed: u64, split: Split) -> Result<(), Violation> {
    let spec = world.spec().clone();
    world.new_game(seed, split);
    let actions = informed_actions(world, seed)?;
    let first = record(world, seed, &actions)?;
    for other in 1..4 {
        record(world, seed + other, &actions)?;
    }
    let again = record(world, seed, &actions)?;
    require(first == again, &spec, "a game can be played again and again: reset leaves the hidden part", String::new)?;
    world.new_game(seed + 1, split);
    record(world, seed, &actions)?;
    world.new_game(seed, split);
    let anew = record(world, seed, &actions)?;
    require(first == anew, &spec, "equal seeds give equal games and episodes", String::new)?;

    // A copy in the middle of an episode goes on as the original does, and by itself.
    world.reset(seed);
    let half = first.rewards.len() / 2;
    for &action in &actions[..half] {
        world.step(action).map_err(|error| broken(&spec, &error))?;
    }
    let mut copy = world.clone_world();
    // And one made in the place of a world with another game.
    let mut in_place = world.clone_world();
    in_place.new_game(seed ^ 1, split);
    world.copy_to(&mut in_place);
    for (index, (&action, &expected)) in actions.iter().zip(&first.rewards).enumerate().skip(half) {
        for player in [&mut *world, &mut *copy, &mut *in_place] {
            let reward = player.step(action).map_err(|error| broken(&spec, &error))?.reward;
            let same = reward == expected;
            require(same, &spec, "a copy has the same game and state, and lives by itself", || {
                format!("step {index}")
            })?;
        }
    }
    Ok(())
}

fn broken(spec: &WorldSpec, error: &WorldError) -> Violation {
    let rule = "an episode runs until it says that it is over";
    Violation { world: spec.id.clone(), rule, detail: error.to_string() }
}

/// A reference policy, where there is one, plays whole episodes by probabilities that are some.
fn check_policy(world: &mut dyn World, reference: Reference, seed: u64) -> Result<(), Violation> {
    let spec = world.spec().clone();
    let Ok(mut policy) = reference.policy(world) else { return Ok(()) };
    let mut rng = stream(seed, Purpose::Agent, 2);
    policy.begin_game();
    for epsilon in [0.0, 0.5, 1.0] {
        play_policy(world, &spec, &mut *policy, epsilon, rng.next_u64(), &mut rng)?;
    }
    Ok(())
}

/// Plays an episode by a policy, checks its probabilities, and gives the actions that were taken.
fn play_policy(
    world: &mut dyn World,
    spec: &WorldSpec,
    policy: &mut dyn Policy,
    epsilon: f32,
    seed: u64,
    rng: &mut StreamRng,
) -> Result<Vec<usize>, Violation> {
    policy.begin_episode(epsilon);
    let mut actions = Vec::new();
    let mut observation = world.reset(seed);
    let mut probabilities = vec![f32::NAN; spec.actions()];
    for _ in 0..spec.episode_limit {
        probabilities.fill(f32::NAN);
        policy.probabilities(observation, rng, &mut probabilities);
        let possible = probabilities.iter().all(|p| (0.0..=1.0).contains(p));
        let sum: f32 = probabilities.iter().sum();
        require(possible && (sum - 1.0).abs() < 1e-5, spec, "a policy's probabilities sum to 1", || {
            format!("{probabilities:?}")
        })?;
        let action = sample_action(&probabilities, rng);
        let step = world.step(action).map_err(|error| broken(spec, &error))?;
        policy.observe(action, step.reward);
        actions.push(action);
        if step.done() {
            break;
        }
        observation = step.observation;
    }
    Ok(actions)
}
