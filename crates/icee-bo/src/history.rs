//! What models are given of a history: values on a common scale, and no more of them than they can use.

use crate::pool::Told;
use crate::standard::{Standard, Variance};

/// Steps in one standard deviation.
const STEPS: f64 = (1u64 << 32) as f64;

/// A history as models see it: lower is better, mean 0, standard deviation 1. Its values must be finite.
pub(crate) fn standardised(told: &[Told]) -> Vec<Told> {
    let scale = Standard::of(told.iter().map(|told| told.value), Variance::Sample);
    told.iter().map(|told| Told { value: rounded(&scale, told.value), ..*told }).collect()
}

/// A value on a scale, rounded to a fixed number of steps, so that another scale or offset of the values, which changes their
/// last bits, changes nothing at all.
pub fn rounded(scale: &Standard, value: f64) -> f64 {
    (scale.apply(value) * STEPS).round() / STEPS
}

/// The positions in `told` that are kept where a model takes `limit` values at most, ascending.
///
/// Half are the best (lowest; the earlier of equals), a quarter the latest of the rest, and a quarter lie evenly over the
/// ranks of what is left, so that mean and spread of the values stay about what they are.
pub fn thinned(told: &[Told], limit: usize) -> Vec<usize> {
    if told.len() <= limit {
        return (0..told.len()).collect();
    }
    let mut kept = vec![false; told.len()];
    let mut by_value: Vec<usize> = (0..told.len()).collect();
    by_value.sort_by(|&a, &b| told[a].value.total_cmp(&told[b].value));
    let best = limit.div_ceil(2);
    by_value[..best].iter().for_each(|&place| kept[place] = true);
    let latest: Vec<usize> = (0..told.len()).rev().filter(|&at| !kept[at]).take((limit - best).div_ceil(2)).collect();
    latest.iter().for_each(|&place| kept[place] = true);
    let rest: Vec<usize> = by_value.into_iter().filter(|&place| !kept[place]).collect();
    let room = limit - best - latest.len();
    // The middles of as many equal stretches of the ranks.
    (0..room).for_each(|k| kept[rest[(2 * k + 1) * rest.len() / (2 * room)]] = true);
    (0..told.len()).filter(|&place| kept[place]).collect()
}

/// What is [`thinned`] of a history.
pub fn kept(told: &[Told], limit: usize) -> Vec<Told> {
    thinned(told, limit).into_iter().map(|place| told[place]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(values: &[f64]) -> Vec<Told> {
        values.iter().enumerate().map(|(candidate, &value)| Told { candidate, value }).collect()
    }

    proptest! {
        #[test]
        fn thinning_keeps_the_best_and_the_latest(
            values in prop::collection::vec(-1e3..1e3, 1..200),
            limit in 1usize..80,
        ) {
            let told = told(&values);
            let kept = thinned(&told, limit);
            prop_assert_eq!(kept.len(), limit.min(told.len()));
            prop_assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
            let best = (0..values.len()).min_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap();
            prop_assert!(kept.contains(&best));
            // The last is the latest of the rest, unless it is among the best.
            if limit >= 2 {
                prop_assert!(kept.contains(&(values.len() - 1)));
            }
        }
    }

    #[test]
    fn the_rest_is_spread_evenly() {
        // Falling values: the best are the latest, too.
        let values: Vec<f64> = (0..100).map(|k| -f64::from(k)).collect();
        let kept = thinned(&told(&values), 20);
        assert_eq!(kept[5..], [85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99]);
        assert_eq!(kept[..5], [8, 25, 42, 59, 76]);
    }
}
