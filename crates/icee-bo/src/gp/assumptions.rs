//! What a process assumes before it sees data: its kernel, which coordinates share a length scale, and priors on its
//! hyperparameters.

use super::objective::{GammaPrior, LENGTH_SCALE_PRIOR, NOISE_PRIOR, OUTPUT_SCALE_PRIOR};
use crate::kernel::Profile;
use icee_base::math::ln;
use std::f64::consts::{SQRT_2, TAU};

/// The standard deviation of the logarithm of a length scale, √3.
const LENGTH_DEVIATION: f64 = 1.732_050_807_568_877_2;

/// Assumptions about functions of several columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Assumptions {
    /// The column of each coordinate: those of one column share a length scale.
    columns: Vec<usize>,
    /// How many coordinates each column has.
    widths: Vec<usize>,
    family: Family,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// BoTorch's when the paper was written: Matérn 5/2, gamma priors.
    Former,
    /// BoTorch's since: squared exponential, length scales that grow with the root of the number of columns.
    DimensionScaled,
}

/// A prior on one hyperparameter.
#[derive(Debug, Clone, Copy)]
pub(super) enum HyperPrior {
    Gamma(GammaPrior),
    /// The logarithm is normal.
    LogNormal {
        mean: f64,
        deviation: f64,
    },
    /// It is what it is.
    None,
}

impl HyperPrior {
    pub(super) fn log_density(&self, x: f64) -> f64 {
        match *self {
            HyperPrior::Gamma(prior) => prior.log_density(x),
            HyperPrior::LogNormal { mean, deviation } => {
                let z = (ln(x) - mean) / deviation;
                -0.5 * z * z - ln(x) - ln(deviation) - 0.5 * ln(TAU)
            }
            HyperPrior::None => 0.0,
        }
    }

    pub(super) fn slope(&self, x: f64) -> f64 {
        match *self {
            HyperPrior::Gamma(prior) => prior.slope(x),
            HyperPrior::LogNormal { mean, deviation } => -((ln(x) - mean) / (deviation * deviation) + 1.0) / x,
            HyperPrior::None => 0.0,
        }
    }
}

impl Assumptions {
    /// Those of the paper's rival: a length scale for each coordinate.
    #[must_use]
    pub fn former(dimension: usize) -> Self {
        Self { columns: (0..dimension).collect(), widths: vec![1; dimension], family: Family::Former }
    }

    /// Those for tables: `widths` are the coordinates of each column, one for a number and one for each level of a category.
    /// Levels then differ by the same distance whatever they are, and a category costs one length scale.
    #[must_use]
    pub fn of_table(widths: &[usize]) -> Self {
        let widths: Vec<usize> = widths.iter().copied().filter(|&width| width > 0).collect();
        let columns = widths.iter().enumerate().flat_map(|(at, &width)| std::iter::repeat_n(at, width)).collect();
        Self { columns, widths, family: Family::DimensionScaled }
    }

    /// The number of coordinates.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.columns.len()
    }

    /// The number of length scales.
    pub(super) fn scales(&self) -> usize {
        self.widths.len()
    }

    /// The length scale of each coordinate.
    pub(super) fn spread(&self, scales: &[f64]) -> Vec<f64> {
        self.columns.iter().map(|&column| scales[column]).collect()
    }

    /// Sums over the coordinates of each column.
    pub(super) fn gather(&self, coordinates: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut sums = vec![0.0; self.scales()];
        self.columns.iter().zip(coordinates).for_each(|(&column, value)| sums[column] += value);
        sums
    }

    /// How much of its column's prior a coordinate carries.
    pub(super) fn share(&self, coordinate: usize) -> f64 {
        1.0 / self.widths[self.columns[coordinate]] as f64
    }

    /// The kernel.
    #[must_use]
    pub fn profile(&self) -> Profile {
        match self.family {
            Family::Former => Profile::Matern52,
            Family::DimensionScaled => Profile::Rbf,
        }
    }

    pub(super) fn length_prior(&self) -> HyperPrior {
        match self.family {
            Family::Former => HyperPrior::Gamma(LENGTH_SCALE_PRIOR),
            Family::DimensionScaled => {
                HyperPrior::LogNormal { mean: SQRT_2 + 0.5 * ln(self.scales() as f64), deviation: LENGTH_DEVIATION }
            }
        }
    }

    pub(super) fn output_prior(&self) -> HyperPrior {
        match self.family {
            Family::Former => HyperPrior::Gamma(OUTPUT_SCALE_PRIOR),
            Family::DimensionScaled => HyperPrior::None,
        }
    }

    pub(super) fn noise_prior(&self) -> HyperPrior {
        match self.family {
            Family::Former => HyperPrior::Gamma(NOISE_PRIOR),
            Family::DimensionScaled => HyperPrior::LogNormal { mean: -4.0, deviation: 1.0 },
        }
    }

    /// The output scale where it is not fitted: values are standardised.
    pub(super) fn fixed_output(&self) -> Option<f64> {
        (self.family == Family::DimensionScaled).then_some(1.0)
    }

    /// Length scale, output scale and noise to start from: BoTorch's own start, a rough function without noise, a smooth one.
    pub(super) fn starts(&self) -> [[f64; 3]; 3] {
        let longer = (self.scales() as f64).sqrt();
        match self.family {
            Family::Former => [[0.7, 0.7, 0.7], [0.1, 1.0, 1e-3], [0.4, 5.0, 1e-3]],
            Family::DimensionScaled => {
                // The prior's mode e^(√2 − 3) √d first.
                [[0.205 * longer, 1.0, 7e-3], [0.7 * longer, 1.0, 7e-3], [0.4 * longer, 1.0, 0.1]]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_share_and_priors_have_their_slopes() {
        let table = Assumptions::of_table(&[1, 3, 0, 2]);
        assert_eq!((table.dimension(), table.scales()), (6, 3));
        assert_eq!(table.spread(&[1.0, 2.0, 3.0]), [1.0, 2.0, 2.0, 2.0, 3.0, 3.0]);
        assert_eq!(table.gather([1.0, 2.0, 3.0, 4.0, 5.0, 6.0].into_iter()), [1.0, 9.0, 11.0]);
        let shares: f64 = (0..6).map(|at| table.share(at)).sum();
        assert!((shares - 3.0).abs() < 1e-12);
        for prior in [table.length_prior(), table.noise_prior(), Assumptions::former(2).length_prior()] {
            for x in [0.01, 0.3, 2.0] {
                let numeric = (prior.log_density(x * (1.0 + 1e-6)) - prior.log_density(x * (1.0 - 1e-6))) / (2e-6 * x);
                assert!((numeric - prior.slope(x)).abs() < 1e-4 * (1.0 + numeric.abs()), "{prior:?} {x}");
            }
        }
        // The log-normal density integrates to one: by the trapezium rule over its logarithm.
        let noise = table.noise_prior();
        let sum: f64 = (-1200..1200)
            .map(|k| {
                let log = -4.0 + f64::from(k) * 0.005;
                (noise.log_density(log.exp()) + log).exp() * 0.005
            })
            .sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
    }
}
