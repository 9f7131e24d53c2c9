//! Samples of Gaussian processes by random Fourier features: Σ a cos(ω·x + b), which costs rows × features where the exact
//! sample costs the cube of the rows, and comes as close as a prior needs.

use icee_base::math::{normals, sin_cos_pi};
use rand::{Rng, RngExt};

/// Values at `points` ([rows, dimension]) of one function with these length scales: squared exponential, or Matérn 3/2 or 5/2,
/// whose frequencies have Student's t distribution.
pub(super) fn sample<R: Rng>(
    points: &[f64],
    dimension: usize,
    lengths: &[f64],
    features: usize,
    rng: &mut R,
) -> Vec<f64> {
    let freedom = [0, 3, 5][rng.random_range(0..3)];
    let mut frequencies = Vec::with_capacity(features * dimension);
    for _ in 0..features {
        let spread = match freedom {
            0 => 1.0,
            freedom => (normals(rng, freedom).iter().map(|z| z * z).sum::<f64>() / freedom as f64).max(1e-3).sqrt(),
        };
        let drawn = normals(rng, dimension);
        frequencies.extend(drawn.iter().zip(lengths).map(|(z, length)| z / (length * spread * std::f64::consts::PI)));
    }
    let amplitudes = normals(rng, features);
    let phases: Vec<f64> = (0..features).map(|_| rng.random_range(0.0..2.0)).collect();
    let scale = (2.0 / features as f64).sqrt();
    let value = |point: &[f64]| {
        let waves = frequencies.chunks_exact(dimension).zip(&phases).zip(&amplitudes);
        let wave = |((frequency, phase), amplitude): ((&[f64], &f64), &f64)| {
            let angle: f64 = frequency.iter().zip(point).map(|(f, x)| f * x).sum::<f64>() + phase;
            amplitude * sin_cos_pi(angle).1
        };
        scale * waves.map(wave).sum::<f64>()
    };
    points.chunks_exact(dimension).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_base::random;

    /// Over many draws the covariance at a distance lies between those of the three kernels, whose mean it is.
    #[test]
    fn draws_have_the_covariance_of_the_kernels() {
        let (length, distance) = (0.4_f64, 0.3_f64);
        let r = distance / length;
        let root = |n: f64| n.sqrt() * r;
        let kernels = [
            (-0.5 * r * r).exp(),
            (1.0 + root(3.0)) * (-root(3.0)).exp(),
            (1.0 + root(5.0) + 5.0 * r * r / 3.0) * (-root(5.0)).exp(),
        ];
        let expected = kernels.iter().sum::<f64>() / 3.0;
        let draws = 6000;
        let (mut product, mut square) = (0.0, 0.0);
        for seed in 0..draws {
            let values = sample(&[0.2, 0.2 + distance], 1, &[length], 64, &mut random::path(seed, &[]));
            product += values[0] * values[1];
            square += values[0] * values[0];
        }
        let draws = draws as f64;
        assert!((product / draws - expected).abs() < 0.06, "{} {expected}", product / draws);
        assert!((square / draws - 1.0).abs() < 0.08, "{}", square / draws);
    }
}
