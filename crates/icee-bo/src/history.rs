//! What models are given of a history: values on a common scale, and no more of them than they can use.

use crate::sampler::Told;

/// The scale on which values have mean 0 and (unbiased) variance 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standard {
    /// The greatest magnitude; dividing by it first keeps squares from overflowing.
    magnitude: f64,
    /// Mean of the values over the magnitude.
    mean: f64,
    /// Their standard deviation over the magnitude; 0 where they do not differ.
    deviation: f64,
}

impl Standard {
    /// The scale of `values`, which must be finite.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let largest = values.clone().fold(0.0, |largest: f64, value| value.abs().max(largest));
        let magnitude = if largest > 0.0 { largest } else { 1.0 };
        let count = values.clone().count() as f64;
        let mean = values.clone().map(|value| value / magnitude).sum::<f64>() / count.max(1.0);
        let squares: f64 = values.map(|value| (value / magnitude - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
        // Values that differ by rounding only do not differ.
        Self { magnitude, mean, deviation: if deviation > 1e-12 { deviation } else { 0.0 } }
    }

    /// A value on this scale; 0 where the values do not differ.
    pub fn apply(&self, value: f64) -> f64 {
        let scale = if self.deviation > 0.0 { self.deviation.recip() } else { 0.0 };
        (value / self.magnitude - self.mean) * scale
    }

    /// What stands for `standard` in the values' own unit. Where they do not differ, their magnitude is the unit.
    pub fn undo(&self, standard: f64) -> f64 {
        (self.mean + standard * self.relative_unit()) * self.magnitude
    }

    /// Undoes [`Standard::undo`]; other than [`Standard::apply`] also where the values do not differ.
    pub fn locate(&self, value: f64) -> f64 {
        (value / self.magnitude - self.mean) / self.relative_unit()
    }

    /// One standard deviation in the values' own unit.
    pub fn unit(&self) -> f64 {
        self.relative_unit() * self.magnitude
    }

    fn relative_unit(&self) -> f64 {
        if self.deviation > 0.0 { self.deviation } else { 1.0 }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(values: &[f64]) -> Vec<Told> {
        values.iter().enumerate().map(|(candidate, &value)| Told { candidate, value }).collect()
    }

    #[test]
    fn values_go_to_their_scale_and_back() {
        let values = [1.0, 2.0, 4.0];
        let scale = Standard::of(values.into_iter());
        // BoTorch's.
        let expected = [-0.872_871_560_943_969_6, -0.218_217_890_235_992_4, 1.091_089_451_179_962];
        for (value, expected) in values.into_iter().zip(expected) {
            assert!((scale.apply(value) - expected).abs() < 1e-12);
            assert!((scale.undo(scale.apply(value)) - value).abs() < 1e-12);
        }
        assert!((scale.undo(1.0) - scale.undo(0.0) - scale.unit()).abs() < 1e-12);
    }

    #[test]
    fn equal_and_extreme_values_have_a_scale() {
        for values in [vec![], vec![3.0], vec![0.0; 3], vec![-7.5; 4], vec![1e300, -1e300, 5.0], vec![1e-300, 3e-300]] {
            let scale = Standard::of(values.iter().copied());
            assert!(values.iter().all(|&value| scale.apply(value).is_finite()), "{values:?}");
            assert!(scale.undo(0.5).is_finite() && scale.unit() > 0.0, "{values:?}");
        }
        assert_eq!(Standard::of([4.0; 3].into_iter()).apply(4.0), 0.0);
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
