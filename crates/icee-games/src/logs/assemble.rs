//! From the lines of a log to flat arrays, with sizes and ranges.

use super::lines::{Line, Read, Seen};
use super::{FEWEST_TO_SPLIT, Logs, MAX_TOKENS};
use crate::task::{GameSpec, LOGS, ObservationKind, REWARD_CLASSES};
use icee_base::numbers::short;
use icee_train::DataFile;
use icee_worlds::{Observation, ObservationSpace, Observations, SequenceBatch, WorldSpec, idle_price, returns_to_go};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many times the greatest reward of all other games one must be to be a slip, and of how many games one may have some.
const FAR_REWARD: f32 = 100.0;
const GAMES_OF_A_SLIP: usize = 1000;

pub(super) fn assemble(read: Read, file: DataFile) -> Logs {
    let Read { mut lines, unread, gap } = read;
    let outlying = bring_in(&mut lines);
    let actions = lines.iter().map(|l| l.action).max().unwrap_or(0) as usize + 1;
    let without_probability = lines.iter().filter(|l| l.probability.is_none()).count();
    let has_probabilities = without_probability == 0;
    let (space, observation) = match &lines[0].observation {
        Seen::Index(_) | Seen::Below(_) => {
            let largest = lines.iter().map(|l| if let Seen::Index(i) = l.observation { i } else { 0 }).max();
            let size = largest.unwrap_or(0) as usize + 1;
            (ObservationSpace::Discrete { size }, ObservationKind::Discrete { size })
        }
        Seen::Reals(values) => {
            let size = values.len();
            let space = ObservationSpace::Vector { low: vec![f32::MIN; size], high: vec![f32::MAX; size] };
            (space, ObservationKind::Vector { size })
        }
    };
    let mut data = SequenceBatch::new(&WorldSpec {
        id: LOGS.into(),
        rules: String::new(),
        observation_space: space.clone(),
        action_names: vec![String::new(); actions],
        episode_limit: 1,
        episodes: 1,
        return_range: (0.0, 1.0),
        reward_range: (0.0, 1.0),
        reward_levels: None,
    });
    data.observations = Observations::new(&space);
    for (index, line) in lines.iter().enumerate() {
        // `lines` has checked that all are of one kind and length.
        let _ = match &line.observation {
            Seen::Index(index) => data.observations.push(Observation::Discrete(*index)),
            Seen::Reals(values) => data.observations.push(Observation::Vector(values)),
            Seen::Below(_) => false,
        };
        data.actions.push(line.action);
        data.rewards.push(line.reward);
        // Only the taken action's probability is known; without any, U(a) makes every weight 1.
        let uniform = 1.0 / actions as f32;
        let taken = if has_probabilities { line.probability.unwrap_or(uniform) } else { uniform };
        let start = data.probabilities.len();
        data.probabilities.resize(start + actions, 0.0);
        data.probabilities[start + line.action as usize] = taken;
        let next = lines.get(index + 1);
        if next.is_none_or(|n| (n.place, n.episode) != (line.place, line.episode)) {
            data.epsilons.push(0.0);
            data.terminated.push(true);
            data.episode_offsets.push(index + 1);
        }
        if next.is_none_or(|n| n.place != line.place) {
            data.sequence_episodes.push(data.epsilons.len());
            data.sequence_offsets.push(index + 1);
        }
    }
    let task = task_of(&data, observation);
    let split = ((0..data.sequences()).collect(), vec![]);
    let data = Arc::new(data);
    let mut logs =
        Logs { data, task, has_probabilities, without_probability, unread, gap, outlying, file, firsts: vec![], split };
    logs.firsts = logs.firsts();
    logs
}

/// Brings rewards that can only be slips back to the greatest or least of the others, and says so: one of them would be the unit of all
/// returns, and those of all other games nothing. A slip is far beyond all rewards of other games, and in hardly any game.
fn bring_in(lines: &mut [Line]) -> Option<String> {
    let mut greatest: BTreeMap<usize, f32> = BTreeMap::new();
    for line in &*lines {
        let of_game = greatest.entry(line.place).or_default();
        *of_game = of_game.max(line.reward.abs());
    }
    let mut greatest: Vec<f32> = greatest.into_values().collect();
    greatest.sort_by(|a, b| b.total_cmp(a));
    let few = (greatest.len() / GAMES_OF_A_SLIP).max(1);
    let others = *greatest.get(few).filter(|others| **others > 0.0 && greatest.len() >= FEWEST_TO_SPLIT)?;
    let slips = |reward: f32| reward.abs() / FAR_REWARD > others;
    let (mut low, mut high) = (f32::MAX, f32::MIN);
    for line in lines.iter().filter(|line| !slips(line.reward)) {
        (low, high) = (low.min(line.reward), high.max(line.reward));
    }
    let mut told: Option<String> = None;
    let count = lines.iter().filter(|line| slips(line.reward)).count();
    for Line { game, episode, step, reward, .. } in lines.iter_mut().filter(|line| slips(line.reward)) {
        let taken = reward.clamp(low, high);
        told.get_or_insert_with(|| {
            let more = if count > 1 { format!(", and {} more like it,", count - 1) } else { String::new() };
            format!(
                "reward {} (game {game}, episode {episode}, step {step}){more} is far beyond those of all other games; {} is used \
                 instead. Fix it if it is wrong",
                short(f64::from(*reward)),
                short(f64::from(taken))
            )
        });
        *reward = taken;
    }
    told
}

/// Sizes and ranges, as far as the data shows them.
fn task_of(data: &SequenceBatch, observation: ObservationKind) -> GameSpec {
    let longest = (0..data.episodes()).map(|e| data.episode_steps(e).len()).max().unwrap_or(1);
    let most = (0..data.sequences()).map(|s| data.sequence_episodes(s).len()).max().unwrap_or(1);
    let range = |values: &mut dyn Iterator<Item = f32>| {
        let (low, high) = values.fold((f32::MAX, f32::MIN), |(low, high), v| (low.min(v), high.max(v)));
        // Of a single value the other end is nothing; and of nothing any.
        if low < high { (low, high) } else { (low.min(0.0), if low == 0.0 { 1.0 } else { high.max(0.0) }) }
    };
    let reward_range = range(&mut data.rewards.iter().copied());
    let idle_costs = idle_price(reward_range, longest) > 0.0;
    let reward_unit = if idle_costs { reward_range.1 } else { 1.0 };
    let price = if idle_costs { reward_unit / longest as f32 } else { 0.0 };
    let mut returns = (0..data.episodes()).flat_map(|e| returns_to_go(&data.rewards[data.episode_steps(e)], price));
    let two_values = data.rewards.iter().all(|&r| r == reward_range.0 || r == reward_range.1);
    GameSpec {
        name: LOGS.into(),
        observation,
        actions: data.action_count,
        episode_limit: longest,
        episodes: most.min((MAX_TOKENS / longest).max(1)),
        return_range: range(&mut returns),
        reward_range,
        reward_classes: if two_values { 2 } else { REWARD_CLASSES },
        idle_costs,
        reward_unit,
        observation_scale: scale(&data.observations),
    }
}

/// Mean and standard deviation of every column of reals; a column that never changes is only moved to 0.
fn scale(observations: &Observations) -> Option<Vec<[f32; 2]>> {
    let Observations::Vector { width, values } = observations else { return None };
    let rows = (values.len() / width).max(1) as f64;
    let of = |column: usize| {
        let column = || values.iter().skip(column).step_by(*width).map(|&value| f64::from(value));
        let mean = column().sum::<f64>() / rows;
        let deviation = (column().map(|value| (value - mean) * (value - mean)).sum::<f64>() / rows).sqrt();
        // Below that, a difference is one of rounding.
        let varies = deviation > 1e-6 * mean.abs() && deviation as f32 > 0.0;
        [mean as f32, if varies { deviation as f32 } else { 1.0 }]
    };
    Some((0..*width).map(of).collect())
}
