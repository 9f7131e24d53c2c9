//! Which evaluated candidates a network sees where there are more than it was trained on.

use icee_bo::sampler::Told;

/// Positions in `told` of the at most `most` that are kept, ascending: half of them the best (the earlier of equals),
/// a quarter the latest of the rest, and a quarter spread evenly over the ranks of what is left, so that mean and
/// spread of the values stay what they are.
#[must_use]
pub fn thin(told: &[Told], most: usize) -> Vec<usize> {
    if told.len() <= most {
        return (0..told.len()).collect();
    }
    let mut by_value: Vec<usize> = (0..told.len()).collect();
    by_value.sort_by(|&a, &b| told[a].value.total_cmp(&told[b].value));
    let best = most.div_ceil(2);
    let mut kept = by_value[..best].to_vec();
    let mut is_kept = vec![false; told.len()];
    kept.iter().for_each(|&at| is_kept[at] = true);
    let latest: Vec<usize> = (0..told.len()).rev().filter(|&at| !is_kept[at]).take((most - best).div_ceil(2)).collect();
    latest.iter().for_each(|&at| is_kept[at] = true);
    kept.extend(latest);
    let rest: Vec<usize> = by_value.into_iter().filter(|&at| !is_kept[at]).collect();
    let places = most - kept.len();
    // The middles of `places` equal stretches of the ranks.
    kept.extend((0..places).map(|place| rest[(2 * place + 1) * rest.len() / (2 * places)]));
    kept.sort_unstable();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(values: &[f64]) -> Vec<Told> {
        values.iter().enumerate().map(|(candidate, &value)| Told { candidate, value }).collect()
    }

    #[test]
    fn the_best_the_latest_and_some_of_the_rest() {
        // Values fall from 99 to 0 and rise again to 99.
        let values: Vec<f64> = (0..200).map(|i| f64::from((i - 100i32).abs())).collect();
        let kept = thin(&told(&values), 16);
        assert_eq!(kept.len(), 16);
        assert!((97..=103).all(|at| kept.contains(&at)), "{kept:?}");
        assert!((196..=199).all(|at| kept.contains(&at)), "{kept:?}");
        let rest: Vec<f64> =
            kept.iter().filter(|at| !(96..=104).contains(*at) && **at < 196).map(|&at| values[at]).collect();
        assert!(rest.iter().any(|&v| v < 40.0) && rest.iter().any(|&v| v > 60.0), "{rest:?}");
    }

    proptest! {
        #[test]
        fn as_many_as_asked_all_different_with_the_best_and_the_last(
            values in prop::collection::vec(-5i32..5, 1..120), most in 2usize..40
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let kept = thin(&told(&values), most);
            prop_assert_eq!(kept.len(), most.min(values.len()));
            prop_assert!(kept.windows(2).all(|w| w[0] < w[1]) && kept[kept.len() - 1] < values.len());
            let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!(kept.iter().any(|&at| values[at] == lowest));
            // The last is the latest of the rest, unless it is among the best.
            prop_assert!(kept.contains(&(values.len() - 1)));
            let shifted: Vec<f64> = values.iter().map(|v| 3.0 * v + 7.0).collect();
            prop_assert_eq!(kept, thin(&told(&shifted), most));
        }
    }
}
