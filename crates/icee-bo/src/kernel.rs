//! Stationary kernels: covariance as a function of the distance between two scaled locations.

use crate::error::{BoError, BoResult, require_finite};
use icee_base::math::exp;

const SQRT_3: f64 = 1.732_050_807_568_877_2;
const SQRT_5: f64 = 2.236_067_977_499_79;

/// How fast covariance falls with the scaled distance r; one at r = 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// (1 + √5 r + 5r²/3) exp(−√5 r): twice differentiable functions.
    Matern52,
    /// (1 + √3 r) exp(−√3 r): once differentiable functions.
    Matern32,
    /// exp(−r²/2): smooth functions.
    Rbf,
}

impl Profile {
    /// The covariance at squared distance r².
    #[inline]
    pub fn covariance(self, square: f64) -> f64 {
        match self {
            Self::Matern52 => {
                let r = SQRT_5 * square.sqrt();
                (1.0 + r + r * r / 3.0) * exp(-r)
            }
            Self::Matern32 => {
                let r = SQRT_3 * square.sqrt();
                (1.0 + r) * exp(-r)
            }
            Self::Rbf => exp(-0.5 * square),
        }
    }
}

/// `points` ([n, d], row-major) with each coordinate divided by its length scale.
pub fn scaled(points: &[f64], length_scales: &[f64]) -> Vec<f64> {
    points.chunks_exact(length_scales.len()).flat_map(|x| x.iter().zip(length_scales).map(|(x, l)| x / l)).collect()
}

/// ‖a − b‖².
#[inline]
pub fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Adds `variance` · k(x_i, x_j) to the lower triangle of `matrix` ([n, n], row-major), for scaled points ([n, d]).
pub fn add_covariance(matrix: &mut [f64], points: &[f64], dimension: usize, profile: Profile, variance: f64) {
    let n = points.len() / dimension;
    for (i, (row, a)) in matrix.chunks_exact_mut(n).zip(points.chunks_exact(dimension)).enumerate() {
        for (entry, b) in row[..i].iter_mut().zip(points.chunks_exact(dimension)) {
            *entry += variance * profile.covariance(squared_distance(a, b));
        }
        row[i] += variance;
    }
}

/// Checks that `points` holds whole rows of `dimension` finite numbers, and gives the number of rows.
pub(crate) fn count_points(what: &'static str, points: &[f64], dimension: usize) -> BoResult<usize> {
    if dimension == 0 {
        return Err(BoError::setting("dimension", 0, "at least 1"));
    }
    if !points.len().is_multiple_of(dimension) {
        let expected = points.len().next_multiple_of(dimension);
        return Err(BoError::Size { what, found: points.len(), expected });
    }
    require_finite(what, points)?;
    Ok(points.len() / dimension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_start_at_one_and_meet_known_values() {
        for profile in [Profile::Matern52, Profile::Matern32, Profile::Rbf] {
            assert_eq!(profile.covariance(0.0), 1.0);
            assert!(profile.covariance(1e6) < 1e-100);
        }
        // At r = 1, by hand: (1 + √5 + 5/3) e^−√5, (1 + √3) e^−√3, e^−½.
        assert!((Profile::Matern52.covariance(1.0) - 0.523_994_108_831_820_3).abs() < 1e-12);
        assert!((Profile::Matern32.covariance(1.0) - 0.483_357_724_596_507_7).abs() < 1e-12);
        assert!((Profile::Rbf.covariance(1.0) - 0.606_530_659_712_633_4).abs() < 1e-12);
    }

    #[test]
    fn length_scales_act_each_on_its_own_coordinate() {
        assert_eq!(scaled(&[1.0, 1.0, 2.0, 4.0], &[0.5, 2.0]), [2.0, 0.5, 4.0, 2.0]);
        let mut matrix = vec![0.0; 4];
        add_covariance(&mut matrix, &[0.0, 0.0, 0.6, 0.8], 2, Profile::Rbf, 3.0);
        assert_eq!(matrix[0], 3.0);
        assert!((matrix[2] - 3.0 * (-0.5f64).exp()).abs() < 1e-15);
    }

    #[test]
    fn ragged_or_broken_points_are_refused() {
        assert!(matches!(count_points("points", &[1.0; 5], 2), Err(BoError::Size { found: 5, expected: 6, .. })));
        assert!(matches!(count_points("points", &[1.0, f64::NAN], 2), Err(BoError::NotFinite { index: 1, .. })));
        assert!(count_points("points", &[], 0).is_err());
    }
}
