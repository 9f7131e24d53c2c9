//! From lines to games: flat arrays, and sizes and ranges as far as they show them.

use super::lines::{Read, Seen};
use super::{Logs, MAX_TOKENS};
use crate::task::{GameSpec, LOGS, ObservationKind, REWARD_CLASSES};
use icee_train::DataFile;
use icee_worlds::{Observation, ObservationSpace, Observations, SequenceBatch, WorldSpec, idle_price, returns_to_go};
use std::sync::Arc;

pub(super) fn assemble(read: Read, file: DataFile) -> Logs {
    let Read { lines, unread } = read;
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
    Logs { data, task, has_probabilities, without_probability, unread, file, split }
}

/// Sizes and ranges, as far as the data shows them.
fn task_of(data: &SequenceBatch, observation: ObservationKind) -> GameSpec {
    let longest = (0..data.episodes()).map(|e| data.episode_steps(e).len()).max().unwrap_or(1);
    let most = (0..data.sequences()).map(|s| data.sequence_episodes(s).len()).max().unwrap_or(1);
    let range = |values: &mut dyn Iterator<Item = f32>| {
        let (low, high) = values.fold((f32::MAX, f32::MIN), |(low, high), v| (low.min(v), high.max(v)));
        if low < high { (low, high) } else { (low.min(0.0), high.max(low.min(0.0) + 1.0)) }
    };
    let reward_range = range(&mut data.rewards.iter().copied());
    let price = idle_price(reward_range, longest);
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
        idle_costs: price > 0.0,
        observation_scale: scale(&data.observations),
    }
}

/// Mean and deviation of every column of reals; a column that never changes is only moved to 0.
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
