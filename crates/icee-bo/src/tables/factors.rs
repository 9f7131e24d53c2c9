//! What a column means for the truth: where each of its cells lies, and the effect that it may have alone.

use super::design::Raw;
use crate::fourier;
use crate::prior::log_uniform;
use crate::standard::standardise;
use icee_base::math::{exp, normals, power};
use rand::{Rng, RngExt};
use std::ops::RangeInclusive;

/// Share of columns of numbers that matter by a power of themselves, and the exponents.
const BENT: f64 = 0.3;
const BENDS: RangeInclusive<f64> = 0.3..=3.0;
/// The standard deviation of hidden positions of levels: as far apart as numbers in [0, 1] are, or somewhat further.
const LEVEL_SPREAD: RangeInclusive<f64> = 0.25..=0.6;
const MOST_HIDDEN: usize = 3;

/// A column as the truth sees it.
#[derive(Debug, Clone)]
pub(super) struct Factor {
    /// Numbers of a row's position.
    pub width: usize,
    /// [rows, width].
    pub positions: Vec<f64>,
    /// The level of each row and how many there are, of a category.
    pub levels: Option<(usize, Vec<usize>)>,
}

impl Factor {
    pub(super) fn draw<R: Rng>(raw: &Raw, rng: &mut R) -> Self {
        match raw {
            Raw::Numbers(numbers) => {
                let (low, high) =
                    numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)));
                let bend = if rng.random_bool(BENT) { log_uniform(BENDS, rng) } else { 1.0 };
                let span = (high - low).max(f64::MIN_POSITIVE);
                let positions = numbers.iter().map(|x| power((x - low) / span, bend)).collect();
                Self { width: 1, positions, levels: None }
            }
            Raw::Levels { of, levels } => {
                let (width, spread) = (rng.random_range(1..=MOST_HIDDEN), log_uniform(LEVEL_SPREAD, rng));
                let hidden: Vec<f64> = normals(rng, of * width).into_iter().map(|z| z * spread).collect();
                let positions = levels.iter().flat_map(|&level| &hidden[level * width..][..width]).copied().collect();
                Self { width, positions, levels: Some((*of, levels.clone())) }
            }
        }
    }

    /// A function of this column alone, standardised over the rows.
    pub(super) fn effect<R: Rng>(&self, rng: &mut R) -> Vec<f64> {
        let mut values = self.raw_effect(rng);
        standardise(&mut values);
        values
    }

    fn raw_effect<R: Rng>(&self, rng: &mut R) -> Vec<f64> {
        if let Some((of, levels)) = &self.levels {
            // Each level has a value of its own; in one column of three a few stand out.
            let mut own = normals(rng, *of);
            if rng.random_bool(1.0 / 3.0) {
                own.iter_mut().for_each(|value| *value = *value * *value * *value);
            }
            return levels.iter().map(|&level| own[level]).collect();
        }
        let x = &self.positions;
        let (centre, sign) = (rng.random::<f64>(), if rng.random_bool(0.5) { 1.0 } else { -1.0 });
        let steep = log_uniform(3.0..=40.0, rng);
        let shape: Box<dyn Fn(f64) -> f64> = match rng.random_range(0..7) {
            0 => Box::new(|x| x),
            1 => Box::new(move |x| (x - centre) * (x - centre)),
            2 => Box::new(move |x| f64::from(x > centre)),
            3 => Box::new(move |x| sigmoid(steep * (x - centre))),
            4 => Box::new(move |x| x / (x + 0.02 + centre * centre)),
            _ => {
                let length = log_uniform(0.08..=1.5, rng);
                return fourier::sample(fourier::any_profile(rng), x, 1, &[length], 32, rng);
            }
        };
        x.iter().map(|&x| sign * shape(x)).collect()
    }
}

pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}
