//! Means with their 95 % intervals, by Student's t.

use serde::{Deserialize, Serialize};

/// How many standard deviations lie between a Gaussian's mean and the ends of its 95 % interval.
pub const NORMAL_95: f64 = 1.959_963_984_540_054;

/// A mean and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95 % interval, by Student's t; infinite for a single value.
    pub half_width: f64,
}

impl Estimate {
    /// Of a sample of independent values; NaN for none.
    #[must_use]
    pub fn of(sample: &[f64]) -> Estimate {
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        if sample.len() < 2 {
            return Estimate { mean, half_width: f64::INFINITY };
        }
        let variance = sample.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1.0);
        Estimate { mean, half_width: student_quantile(sample.len() - 1) * (variance / n).sqrt() }
    }

    /// Half the width of the interval; none for a single value, which leaves it unknown.
    #[must_use]
    pub fn known_half_width(&self) -> Option<f64> {
        self.half_width.is_finite().then_some(self.half_width)
    }
}

/// Half the width of the 95 % interval of a share that was seen in `n` cases (normal approximation).
#[must_use]
pub fn share_half_width(share: f64, n: usize) -> f64 {
    NORMAL_95 * (share * (1.0 - share) / n.max(1) as f64).sqrt()
}

/// The 97.5 % quantile of Student's t: from a table, then by the first terms of Fisher's expansion about the normal one.
#[must_use]
pub fn student_quantile(freedom: usize) -> f64 {
    const FIRST: [f64; 6] = [12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912];
    if let Some(&quantile) = freedom.checked_sub(1).and_then(|at| FIRST.get(at)) {
        return quantile;
    }
    let (z, v) = (NORMAL_95, freedom as f64);
    let [z3, z5, z7] = [3, 5, 7].map(|power| z.powi(power));
    let first = (z3 + z) / 4.0;
    let second = (5.0 * z5 + 16.0 * z3 + 3.0 * z) / 96.0;
    let third = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / 384.0;
    z + first / v + second / (v * v) + third / (v * v * v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_the_tables() {
        for (freedom, expected) in
            [(1, 12.706), (4, 2.776), (5, 2.571), (7, 2.365), (9, 2.262), (30, 2.042), (79, 1.990), (999, 1.962)]
        {
            assert!((student_quantile(freedom) - expected).abs() < 2e-3, "{freedom}: {}", student_quantile(freedom));
        }
    }

    #[test]
    fn estimates_are_the_textbooks() {
        let found = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(found.mean, 3.0);
        assert!((found.half_width - 2.776_445 * (2.5f64 / 5.0).sqrt()).abs() < 1e-12);
        assert_eq!(found.known_half_width(), Some(found.half_width));
        assert_eq!(Estimate::of(&[1.0]).half_width, f64::INFINITY);
        assert_eq!(Estimate::of(&[1.0]).known_half_width(), None);
        assert!((share_half_width(0.5, 100) - 0.098).abs() < 1e-3);
    }
}
