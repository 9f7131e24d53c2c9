//! The prior over functions that the models are trained on: samples of Gaussian processes at random locations.
//!
//! Sampling is exact: values = L z for the Cholesky factor L of the covariance and normal z. The factor costs a
//! thousand times what one more z costs, so functions come in groups that share locations, length scales and L and
//! differ in everything else. Each group, and each function in it, has its own random stream: the samples do not
//! depend on the number of threads.

mod covariance;
mod shape;
mod table;

use crate::error::{BoError, BoResult};
use crate::linalg::Cholesky;
use covariance::Covariance;
pub(crate) use covariance::log_uniform;
use icee_base::math::normals;
use icee_base::random;
use rand::Rng;
use rayon::prelude::*;
use shape::Shape;
use table::Table;

/// Added to the covariance's diagonal: white noise of 1e-5 standard deviations keeps nearly equal locations apart.
const JITTER: f64 = 1e-10;
/// How often the jitter may grow tenfold, for kernels so smooth that rounding makes them indefinite.
const JITTER_STEPS: usize = 6;
/// Functions drawn by one task: a multiple of the kernel's width.
const FUNCTIONS_PER_TASK: usize = 32;

/// Which functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The paper's: Matérn 5/2, each length scale from U[0.05, 0.3].
    Paper,
    /// The wider one of the `value` model: three kernels, longer and shorter scales, second and periodic components,
    /// bowls and warped values.
    Wide,
}

/// Shares of functions whose values are not what a smooth function gives.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Blemishes {
    /// Values that carry noise.
    pub noisy: f64,
    /// Values rounded to a few levels, so that many are equal.
    pub stepped: f64,
}

/// Which columns a pool has.
#[derive(Debug, Clone, Copy)]
enum Columns {
    /// So many, uniform, all of which matter.
    Even(usize),
    /// One to so many, as in people's tables.
    Mixed(usize),
}

/// A prior over functions on [0, 1]^d, seen at a pool of randomly drawn locations.
#[derive(Debug, Clone)]
pub struct Prior {
    family: Family,
    columns: Columns,
    pool: usize,
    functions_per_factor: usize,
    blemishes: Blemishes,
    additive: f64,
}

/// Functions that were drawn at the same locations.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionGroup {
    dimension: usize,
    locations: Vec<f32>,
    values: Vec<f32>,
}

impl FunctionGroup {
    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The locations in [0, 1]^d, [pool, dimension], row-major.
    pub fn locations(&self) -> &[f32] {
        &self.locations
    }

    /// The number of locations.
    pub fn pool(&self) -> usize {
        self.locations.len() / self.dimension
    }

    /// The values of each function at all locations, standardised to mean 0 and variance 1.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values.chunks_exact(self.pool())
    }
}

impl Prior {
    /// A prior with `pool` locations in `dimension` coordinates, `functions_per_factor` functions for each factor.
    pub fn new(family: Family, dimension: usize, pool: usize, functions_per_factor: usize) -> BoResult<Self> {
        Self::with_columns(family, Columns::Even(dimension), pool, functions_per_factor)
    }

    /// A prior over people's tables: one to `most` columns, of which some may be grids, categories or of no relevance,
    /// and up to `pool` different rows.
    pub fn mixed(family: Family, most: usize, pool: usize, functions_per_factor: usize) -> BoResult<Self> {
        Self::with_columns(family, Columns::Mixed(most), pool, functions_per_factor)
    }

    /// The same prior with blemished values.
    pub fn with_blemishes(self, blemishes: Blemishes) -> BoResult<Self> {
        require_share("share of noisy functions", blemishes.noisy)?;
        require_share("share of steps", blemishes.stepped)?;
        Ok(Self { blemishes, ..self })
    }

    /// The same prior with this share of components that are sums over coordinates; the paper's family has none.
    pub fn with_additive(self, additive: f64) -> BoResult<Self> {
        require_share("share of additive components", additive)?;
        Ok(Self { additive, ..self })
    }

    fn with_columns(family: Family, columns: Columns, pool: usize, functions_per_factor: usize) -> BoResult<Self> {
        let (Columns::Even(dimension) | Columns::Mixed(dimension)) = columns;
        if dimension == 0 {
            return Err(BoError::setting("dimension", dimension, "at least 1"));
        }
        if pool < 2 {
            return Err(BoError::setting("pool", pool, "at least 2, so that values can be standardised"));
        }
        if functions_per_factor == 0 {
            return Err(BoError::setting("functions_per_factor", functions_per_factor, "at least 1"));
        }
        Ok(Self { family, columns, pool, functions_per_factor, blemishes: Blemishes::default(), additive: 0.0 })
    }

    /// Draws `functions` functions in groups; the last group may be smaller.
    pub fn sample(&self, seed: u64, functions: usize) -> BoResult<Vec<FunctionGroup>> {
        let groups = functions.div_ceil(self.functions_per_factor);
        (0..groups)
            .into_par_iter()
            .map(|group| {
                let size = self.functions_per_factor.min(functions - group * self.functions_per_factor);
                self.sample_group(seed, group as u64, size)
            })
            .collect()
    }

    fn sample_group(&self, seed: u64, group: u64, functions: usize) -> BoResult<FunctionGroup> {
        let mut rng = random::path(seed, &[group]);
        let (covariance, table) = match self.columns {
            Columns::Even(dimension) => {
                let covariance = Covariance::draw(self.family, dimension, self.additive, &mut rng);
                (covariance, Table::even(dimension, self.pool, &mut rng))
            }
            Columns::Mixed(most) => {
                let table = Table::mixed(most, self.pool, &mut rng)?;
                (Covariance::draw(self.family, table.relevant.len(), self.additive, &mut rng), table)
            }
        };
        let (columns, relevant) = (table.relevant.len(), table.relevant_locations());
        let pool = relevant.len() / columns;
        let factor = factorise(&covariance, &relevant)?;
        let mut values = vec![0.0f32; functions * pool];
        values.par_chunks_mut(FUNCTIONS_PER_TASK * pool).enumerate().for_each(|(task, chunk)| {
            let count = chunk.len() / pool;
            let mut rngs: Vec<_> =
                (0..count).map(|k| random::path(seed, &[group, (task * FUNCTIONS_PER_TASK + k) as u64])).collect();
            let drawn: Vec<Vec<f64>> = rngs.iter_mut().map(|rng| normals(rng, pool)).collect();
            let z: Vec<f64> = (0..pool * count).map(|entry| drawn[entry % count][entry / count]).collect();
            let samples = factor.multiply_lower(&z, count); // [pool, count]
            let mut function = vec![0.0; pool];
            for (k, (target, rng)) in chunk.chunks_exact_mut(pool).zip(&mut rngs).enumerate() {
                function.iter_mut().enumerate().for_each(|(i, value)| *value = samples[i * count + k]);
                Shape::draw(self.family, columns, rng).apply(&mut function, &relevant);
                shape::blemish(self.blemishes, &mut function, rng);
                target.iter_mut().zip(&function).for_each(|(to, &from)| *to = from as f32);
            }
        });
        let locations = table.locations.into_iter().map(|x| x as f32).collect();
        Ok(FunctionGroup { dimension: table.dimension, locations, values })
    }
}

/// Values at `locations` ([n, dimension], within [0, 1]) of one function of the wide family, mean 0 and variance 1, drawn by random
/// waves: as good for learning as the exact ones, at a price that does not grow with the cube of n.
pub(crate) fn wide_by_waves<R: Rng>(locations: &[f64], dimension: usize, additive: f64, rng: &mut R) -> Vec<f64> {
    let mut values = Covariance::draw(Family::Wide, dimension, additive, rng).sample_by_waves(locations, rng);
    Shape::draw(Family::Wide, dimension, rng).apply(&mut values, locations);
    values
}

fn require_share(setting: &'static str, share: f64) -> BoResult<()> {
    if (0.0..=1.0).contains(&share) { Ok(()) } else { Err(BoError::setting(setting, share, "between 0 and 1")) }
}

/// The factor of the covariance at `locations`, with as little jitter as it takes.
fn factorise(covariance: &Covariance, locations: &[f64]) -> BoResult<Cholesky> {
    let mut matrix = covariance.matrix(locations);
    let n = matrix.len().isqrt();
    let (mut added, mut jitter) = (0.0, JITTER);
    for _ in 0..JITTER_STEPS {
        (0..n).for_each(|i| matrix[i * n + i] += jitter - added);
        added = jitter;
        if let Ok(factor) = Cholesky::new(matrix.clone(), n) {
            return Ok(factor);
        }
        jitter *= 10.0;
    }
    Err(BoError::NotPositiveDefinite { size: n })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_covariance_of_the_kernel() {
        let locations: Vec<f64> = [0.1, 0.15, 0.3, 0.32, 0.6, 0.95].into();
        for family in [Family::Paper, Family::Wide] {
            let covariance = Covariance::draw(family, 1, 0.0, &mut random::path(4, &[]));
            let expected = covariance.matrix(&locations);
            let factor = factorise(&covariance, &locations).unwrap();
            let draws = 100_000;
            let mut rng = random::path(5, &[]);
            let samples = factor.multiply_lower(&normals(&mut rng, 6 * draws), draws);
            for i in 0..6 {
                for j in 0..=i {
                    let (a, b) = (&samples[i * draws..(i + 1) * draws], &samples[j * draws..(j + 1) * draws]);
                    let found = a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / draws as f64;
                    // Five standard errors of a mean of products of unit normals.
                    assert!((found - expected[i * 6 + j]).abs() < 5.0 * (2.0 / draws as f64).sqrt());
                }
            }
        }
    }

    #[test]
    fn waves_have_the_covariance_of_the_kernel() {
        let locations = [0.1, 0.15, 0.3, 0.6];
        for seed in 0..6 {
            let covariance = Covariance::draw(Family::Wide, 1, 0.0, &mut random::path(seed, &[1]));
            let expected = covariance.matrix(&locations);
            let draws = 4000;
            let mut found = [0.0; 16];
            let mut rng = random::path(seed, &[2]);
            for _ in 0..draws {
                let values = covariance.sample_by_waves(&locations, &mut rng);
                (0..16).for_each(|at| found[at] += values[at / 4] * values[at % 4] / f64::from(draws));
            }
            for (i, j) in (0..4).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                assert!((found[i * 4 + j] - expected[i * 4 + j]).abs() < 0.12, "{i} {j} {found:?} {expected:?}");
            }
        }
    }

    #[test]
    fn samples_are_standardised_and_as_many_as_asked() {
        for (family, dimension, pool) in [(Family::Paper, 2, 200), (Family::Wide, 1, 64), (Family::Wide, 8, 50)] {
            let prior = Prior::new(family, dimension, pool, 40).unwrap();
            let groups = prior.sample(1, 100).unwrap();
            assert_eq!(groups.iter().map(|group| group.functions().len()).collect::<Vec<_>>(), [40, 40, 20]);
            for group in &groups {
                assert_eq!(group.pool(), pool);
                assert!(group.locations().iter().all(|x| (0.0..=1.0).contains(x)));
                for values in group.functions() {
                    let n = pool as f64;
                    let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
                    let variance = values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n;
                    assert!(mean.abs() < 1e-5 && (variance - 1.0).abs() < 1e-4, "{mean} {variance}");
                }
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let prior = Prior::new(Family::Wide, 2, 70, 50).unwrap();
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| prior.sample(9, 130).unwrap())
        };
        let one = with(1);
        assert_eq!(one, with(3));
        assert_ne!(one, prior.sample(10, 130).unwrap());
        assert_ne!(one[0].locations(), one[1].locations());
    }

    #[test]
    fn tables_and_blemishes() {
        let prior = Prior::mixed(Family::Wide, 8, 90, 4).unwrap();
        let clean = prior.sample(3, 240).unwrap();
        assert!(clean.iter().any(|g| g.dimension() == 1) && clean.iter().any(|g| g.dimension() == 8));
        let blemished = prior.with_blemishes(Blemishes { noisy: 0.5, stepped: 0.25 }).unwrap().sample(3, 240).unwrap();
        let (mut same, mut stepped) = (0, 0);
        for (clean, group) in clean.iter().zip(&blemished) {
            assert_eq!(clean.locations(), group.locations());
            for (a, b) in clean.functions().zip(group.functions()) {
                assert!(b.iter().all(|value| value.is_finite()));
                same += usize::from(a == b);
                let mut levels = b.to_vec();
                levels.sort_by(f32::total_cmp);
                levels.dedup();
                stepped += usize::from(levels.len() <= 13);
            }
        }
        // Of 240: 3/8 untouched, 1/8 in steps without noise.
        assert!((60..=120).contains(&same), "{same}");
        assert!((15..=50).contains(&stepped), "{stepped}");
    }

    #[test]
    fn smooth_kernels_and_crowded_pools_have_factors() {
        let prior = Prior::new(Family::Wide, 1, 300, 1).unwrap();
        let groups = prior.sample(2, 40).unwrap();
        assert!(groups.iter().flat_map(FunctionGroup::functions).flatten().all(|value| value.is_finite()));
    }

    #[test]
    fn empty_priors_are_refused() {
        assert!(Prior::new(Family::Paper, 0, 10, 1).is_err());
        assert!(Prior::new(Family::Paper, 2, 1, 1).is_err());
        assert!(Prior::new(Family::Paper, 2, 10, 0).is_err());
        assert!(Prior::mixed(Family::Wide, 0, 10, 1).is_err());
        let wrong = Blemishes { noisy: 1.5, stepped: 0.0 };
        assert!(Prior::new(Family::Wide, 2, 10, 1).unwrap().with_blemishes(wrong).is_err());
        assert!(Prior::new(Family::Paper, 2, 10, 1).unwrap().sample(0, 0).unwrap().is_empty());
    }
}
