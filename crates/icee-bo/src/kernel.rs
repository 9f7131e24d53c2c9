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

/// Points in tiles, for the distances of one location to many: each distance is a sum over the coordinates in their order, as
/// in [`squared_distance`] and with the same bits, but a tile's sums go side by side instead of each waiting for itself.
pub struct Tiles {
    dimension: usize,
    /// [tiles, d, TILE]; the last tile is filled up with zeros.
    coordinates: Vec<f64>,
}

/// Points of a tile: as many sums as keep a processor busy.
const TILE: usize = 16;

impl Tiles {
    /// Lays out `points` ([n, d], row-major).
    pub fn new(points: &[f64], dimension: usize) -> Self {
        let n = points.len() / dimension;
        let mut coordinates = vec![0.0; n.next_multiple_of(TILE) * dimension];
        for (tile, points) in coordinates.chunks_exact_mut(TILE * dimension).zip(points.chunks(TILE * dimension)) {
            for (place, point) in points.chunks_exact(dimension).enumerate() {
                point.iter().zip(tile.iter_mut().skip(place).step_by(TILE)).for_each(|(x, entry)| *entry = *x);
            }
        }
        Self { dimension, coordinates }
    }

    /// ‖a − x_j‖² for the first points, as many as `squares` has room for.
    pub fn squared_distances(&self, a: &[f64], squares: &mut [f64]) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just been found to have AVX2, the only thing the function asks for.
            unsafe { self.squared_distances_avx2(a, squares) };
            return;
        }
        self.squared_distances_portable(a, squares);
    }

    /// The portable code again, compiled with wider registers: same operations, same order, same bits.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn squared_distances_avx2(&self, a: &[f64], squares: &mut [f64]) {
        self.squared_distances_portable(a, squares);
    }

    #[inline(always)]
    fn squared_distances_portable(&self, a: &[f64], squares: &mut [f64]) {
        for (tile, squares) in self.coordinates.chunks_exact(TILE * self.dimension).zip(squares.chunks_mut(TILE)) {
            let mut sums = [0.0; TILE];
            for (a, b) in a.iter().zip(tile.as_chunks::<TILE>().0) {
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum += (a - b) * (a - b);
                }
            }
            squares.copy_from_slice(&sums[..squares.len()]);
        }
    }
}

/// Adds w_j · (a − x_j)², coordinate by coordinate, to `sums`, for the first points ([n, d], row-major), one a weight: the points
/// in their order, so that every sum has the same bits whatever the vector width.
pub fn add_weighted_squares(sums: &mut [f64], weights: &[f64], a: &[f64], points: &[f64]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just been found to have AVX2, the only thing the function asks for.
        unsafe { add_weighted_squares_avx2(sums, weights, a, points) };
        return;
    }
    add_weighted_squares_portable(sums, weights, a, points);
}

/// The portable code again, compiled with wider registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_weighted_squares_avx2(sums: &mut [f64], weights: &[f64], a: &[f64], points: &[f64]) {
    add_weighted_squares_portable(sums, weights, a, points);
}

#[inline(always)]
fn add_weighted_squares_portable(sums: &mut [f64], weights: &[f64], a: &[f64], points: &[f64]) {
    for (weight, b) in weights.iter().zip(points.chunks_exact(a.len())) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += weight * (a - b) * (a - b);
        }
    }
}

/// Adds `variance` · k(x_i, x_j) to the lower triangle of `matrix` ([n, n], row-major), for scaled points ([n, d]).
pub fn add_covariance(matrix: &mut [f64], points: &[f64], dimension: usize, profile: Profile, variance: f64) {
    let n = points.len() / dimension;
    let tiles = Tiles::new(points, dimension);
    let mut squares = vec![0.0; n];
    for (i, (row, a)) in matrix.chunks_exact_mut(n).zip(points.chunks_exact(dimension)).enumerate() {
        tiles.squared_distances(a, &mut squares[..i]);
        for (entry, &square) in row[..i].iter_mut().zip(&squares) {
            *entry += variance * profile.covariance(square);
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
    fn distances_to_many_have_the_bits_of_one_by_one() {
        for (n, dimension) in [(1, 1), (7, 3), (8, 2), (21, 37)] {
            let points: Vec<f64> = (0..n * dimension).map(|k| (k as f64 * 0.618_034).fract() - 0.3).collect();
            let tiles = Tiles::new(&points, dimension);
            for (i, a) in points.chunks_exact(dimension).enumerate() {
                let mut squares = vec![0.0; i];
                tiles.squared_distances(a, &mut squares);
                let single: Vec<f64> = points.chunks_exact(dimension).take(i).map(|b| squared_distance(a, b)).collect();
                assert_eq!(squares, single);
                let (mut sums, mut expected) = (vec![0.5; dimension], vec![0.5; dimension]);
                add_weighted_squares(&mut sums, &squares, a, &points);
                for (weight, b) in squares.iter().zip(points.chunks_exact(dimension)) {
                    for k in 0..dimension {
                        expected[k] += weight * (a[k] - b[k]) * (a[k] - b[k]);
                    }
                }
                assert_eq!(sums, expected);
            }
        }
    }

    #[test]
    fn ragged_or_broken_points_are_refused() {
        assert!(matches!(count_points("points", &[1.0; 5], 2), Err(BoError::Size { found: 5, expected: 6, .. })));
        assert!(matches!(count_points("points", &[1.0, f64::NAN], 2), Err(BoError::NotFinite { index: 1, .. })));
        assert!(count_points("points", &[], 0).is_err());
    }
}
