//! Values without their units: centred and scaled by the mean and the standard deviation of what has been evaluated.
//! Any scale and offset of a user's values then gives the same suggestions.

use icee_bo::standard::{Standard, Variance};

/// The scale of the values of a history: that of a population, as networks were trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    standard: Standard,
    /// The lowest value.
    pub best: f64,
}

impl Scale {
    /// The scale of at least one finite value.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Scale {
        let best = values.clone().fold(f64::INFINITY, f64::min);
        let standard = Standard::of(values.clone(), Variance::Population);
        Scale { standard, best }
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.standard.mean()
    }

    /// One standard deviation; 1 where all values are equal and nothing tells a scale.
    pub fn deviation(&self) -> f64 {
        if self.standard.is_flat() { 1.0 } else { self.standard.unit() }
    }

    /// A value in standard deviations from the mean.
    #[must_use]
    pub fn standard(&self, value: f64) -> f64 {
        if self.standard.is_flat() { value - self.mean() } else { self.standard.locate(value) }
    }

    /// What a network is told of an evaluated value: itself and its distance from the best.
    #[must_use]
    pub fn inputs(&self, value: f64) -> [f32; 2] {
        // Bounded, since huge values that differ by rounding only may still lie many units apart.
        let bounded = |z: f64| z.clamp(-20.0, 20.0) as f32;
        [bounded(self.standard(value)), bounded((value - self.best) / self.deviation())]
    }
}

/// The equal bins into which a standardised value falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueBins {
    /// How many.
    pub count: usize,
}

impl ValueBins {
    /// The lower end of the first bin.
    pub const LOW: f64 = -5.0;
    /// The upper end of the last.
    pub const HIGH: f64 = 4.0;

    /// The width of a bin.
    #[must_use]
    pub fn width(&self) -> f64 {
        (Self::HIGH - Self::LOW) / self.count as f64
    }

    /// The bin of a standardised value; those beyond the ends fall into the first or the last.
    #[must_use]
    pub fn class(&self, standard: f64) -> u32 {
        let bin = ((standard - Self::LOW) / self.width()).floor();
        bin.clamp(0.0, (self.count - 1) as f64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_by_hand() {
        let scale = Scale::of([1.0, 3.0, 5.0, 7.0].into_iter());
        assert_eq!((scale.mean(), scale.best), (4.0, 1.0));
        assert!((scale.deviation() - 5.0f64.sqrt()).abs() < 1e-12);
        assert_eq!(scale.inputs(4.0), [0.0, (3.0 / 5.0f64.sqrt()) as f32]);
        for equal in [[0.0; 3], [7.1; 3], [-1e300; 3]] {
            assert_eq!(Scale::of(equal.into_iter()).deviation(), 1.0);
            assert_eq!(Scale::of(equal.into_iter()).standard(equal[0]), 0.0);
            assert_eq!(Scale::of(equal.into_iter()).inputs(equal[0])[1], 0.0);
        }
        let huge = Scale::of([1e300, -1e300].into_iter());
        assert!(huge.mean() == 0.0 && (huge.deviation() / 1e300 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn bins_by_hand() {
        let bins = ValueBins { count: 128 };
        assert_eq!(bins.width(), 9.0 / 128.0);
        for (value, bin) in
            [(-9.0, 0), (-5.0, 0), (-4.93, 0), (-4.92, 1), (0.0, 71), (3.99, 127), (4.0, 127), (1e9, 127)]
        {
            assert_eq!(bins.class(value), bin, "{value}");
        }
    }
}
