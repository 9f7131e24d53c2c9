//! Samples of Gaussian processes by random Fourier features: Σ a cos(ω·x + b), which costs rows × features where the exact
//! sample costs the cube of the rows, and comes as close as a prior needs.

use crate::kernel::Profile;
use icee_base::math::{cos_pi_in_place, normals};
use rand::{Rng, RngExt};

/// One of the three kernels, each as likely as the others.
pub(crate) fn any_profile<R: Rng>(rng: &mut R) -> Profile {
    [Profile::Rbf, Profile::Matern32, Profile::Matern52][rng.random_range(0..3)]
}

/// Values at `points` ([rows, dimension]) of one function with these length scales. The frequencies of a Matérn kernel have
/// Student's t distribution, those of the squared exponential the normal one.
pub(crate) fn sample<R: Rng>(
    profile: Profile,
    points: &[f64],
    dimension: usize,
    lengths: &[f64],
    features: usize,
    rng: &mut R,
) -> Vec<f64> {
    let freedom = match profile {
        Profile::Rbf => 0,
        Profile::Matern32 => 3,
        Profile::Matern52 => 5,
    };
    // [dimension, features], so that all waves at a point are summed up side by side.
    let mut frequencies = vec![0.0; features * dimension];
    for wave in 0..features {
        let spread = match freedom {
            0 => 1.0,
            freedom => (normals(rng, freedom).iter().map(|z| z * z).sum::<f64>() / freedom as f64).max(1e-3).sqrt(),
        };
        for (at, (z, length)) in normals(rng, dimension).iter().zip(lengths).enumerate() {
            frequencies[at * features + wave] = z / (length * spread * std::f64::consts::PI);
        }
    }
    let scale = (2.0 / features as f64).sqrt();
    let amplitudes: Vec<f64> = normals(rng, features).into_iter().map(|z| z * scale).collect();
    let phases: Vec<f64> = (0..features).map(|_| rng.random_range(0.0..2.0)).collect();
    let mut waves = vec![0.0; features];
    let mut value = |point: &[f64]| {
        waves.copy_from_slice(&phases);
        for (x, frequencies) in point.iter().zip(frequencies.chunks_exact(features)) {
            waves.iter_mut().zip(frequencies).for_each(|(wave, frequency)| *wave += frequency * x);
        }
        cos_pi_in_place(&mut waves);
        waves.iter().zip(&amplitudes).map(|(wave, amplitude)| wave * amplitude).sum::<f64>()
    };
    points.chunks_exact(dimension).map(&mut value).collect()
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
            let mut rng = random::path(seed, &[]);
            let values = sample(any_profile(&mut rng), &[0.2, 0.2 + distance], 1, &[length], 64, &mut rng);
            product += values[0] * values[1];
            square += values[0] * values[0];
        }
        let draws = draws as f64;
        assert!((product / draws - expected).abs() < 0.06, "{} {expected}", product / draws);
        assert!((square / draws - 1.0).abs() < 0.08, "{}", square / draws);
    }
}
