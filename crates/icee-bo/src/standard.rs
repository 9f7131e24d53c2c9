//! One way to take the unit off values: mean 0 and variance 1, whatever their magnitude.

/// What the squares are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variance {
    /// n − 1, the unbiased one: what Gaussian processes and studies scale by, as BoTorch does.
    Sample,
    /// n: what whole pools are scaled by, as in the paper, and what networks see, which were trained so.
    Population,
}

/// The scale on which values have mean 0 and variance 1.
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
    pub fn of(values: impl Iterator<Item = f64> + Clone, variance: Variance) -> Self {
        let largest = values.clone().fold(0.0, |largest: f64, value| value.abs().max(largest));
        let magnitude = if largest > 0.0 { largest } else { 1.0 };
        let count = values.clone().count() as f64;
        let mean = values.clone().map(|value| value / magnitude).sum::<f64>() / count.max(1.0);
        let square = |x: f64| x * x;
        let squares: f64 = values.map(|value| square(value / magnitude - mean)).sum();
        let degrees = if variance == Variance::Sample { count - 1.0 } else { count };
        let deviation = (squares / degrees.max(1.0)).sqrt();
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

    /// The mean in the values' own unit.
    pub fn mean(&self) -> f64 {
        self.mean * self.magnitude
    }

    /// One standard deviation in the values' own unit.
    pub fn unit(&self) -> f64 {
        self.relative_unit() * self.magnitude
    }

    /// Whether the values do not differ, so that nothing tells a scale.
    pub fn is_flat(&self) -> bool {
        self.deviation == 0.0
    }

    fn relative_unit(&self) -> f64 {
        if self.deviation > 0.0 { self.deviation } else { 1.0 }
    }
}

/// Scales values in place to mean 0 and variance 1 as a population; zeros where they do not differ.
pub(crate) fn standardise(values: &mut [f64]) {
    let scale = Standard::of(values.iter().copied(), Variance::Population);
    values.iter_mut().for_each(|value| *value = scale.apply(*value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_to_their_scale_and_back() {
        let values = [1.0, 2.0, 4.0];
        let scale = Standard::of(values.into_iter(), Variance::Sample);
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
            for variance in [Variance::Sample, Variance::Population] {
                let scale = Standard::of(values.iter().copied(), variance);
                assert!(values.iter().all(|&value| scale.apply(value).is_finite()), "{values:?}");
                assert!(scale.undo(0.5).is_finite() && scale.unit() > 0.0, "{values:?}");
            }
        }
        assert_eq!(Standard::of([4.0; 3].into_iter(), Variance::Sample).apply(4.0), 0.0);
    }
}
