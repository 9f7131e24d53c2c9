//! The truth before anyone measures it: a function of all columns that matter.
//!
//! Smooth ones (Gaussian processes, networks, bowls and peaks), sums of effects with a few interactions, products of
//! factors ("works only if base and ligand both do"), and steps (trees and forests); half of all functions are a sum of two.

use super::factors::{Factor, sigmoid};
use crate::fourier;
use crate::prior::log_uniform;
use crate::standard::standardise;
use icee_base::math::{exp, normals};
use rand::seq::index;
use rand::{Rng, RngExt};
use std::ops::RangeInclusive;

/// Length scales of a column in a table of one; in one of d they are longer by √d, as distances are.
const LENGTHS: RangeInclusive<f64> = 0.08..=2.0;
/// Share of factors that a Gaussian process hardly sees.
const FLAT: f64 = 0.15;
/// Waves of which a Gaussian process is a sum.
const FEATURES: usize = 160;
/// Share of functions that are a sum of two kinds.
const TWO: f64 = 0.45;

/// Values of one function at all rows, mean 0 and standard deviation 1; lower is better.
pub(super) fn draw<R: Rng>(factors: &[Factor], rows: usize, rng: &mut R) -> Vec<f64> {
    let mut values = one(factors, rows, rng);
    standardise(&mut values);
    if rng.random_bool(TWO) {
        let (mut second, share) = (one(factors, rows, rng), rng.random_range(0.1_f64..0.9));
        standardise(&mut second);
        let (a, b) = (share.sqrt(), (1.0 - share).sqrt());
        values.iter_mut().zip(second).for_each(|(value, second)| *value = a * *value + b * second);
        standardise(&mut values);
    }
    values
}

fn one<R: Rng>(factors: &[Factor], rows: usize, rng: &mut R) -> Vec<f64> {
    match rng.random_range(0..20) {
        0..6 => gaussian_process(factors, rng),
        6..10 => sum(factors, rows, rng),
        10..12 => product(factors, rows, rng),
        12..16 => forest(factors, rows, rng),
        16..18 => network(factors, rows, rng),
        _ => peak(factors, rows, rng),
    }
}

/// All positions side by side, [rows, width], and the factor of each coordinate.
fn joined(factors: &[Factor]) -> (Vec<f64>, Vec<usize>) {
    let owners: Vec<usize> =
        factors.iter().enumerate().flat_map(|(at, factor)| std::iter::repeat_n(at, factor.width)).collect();
    let rows = factors[0].positions.len() / factors[0].width;
    let row = |row: usize| factors.iter().flat_map(move |f| &f.positions[row * f.width..(row + 1) * f.width]).copied();
    ((0..rows).flat_map(row).collect(), owners)
}

fn gaussian_process<R: Rng>(factors: &[Factor], rng: &mut R) -> Vec<f64> {
    let (points, owners) = joined(factors);
    let longer = (factors.len() as f64).sqrt();
    let common = log_uniform(LENGTHS, rng);
    let alike = rng.random_bool(0.3);
    let lengths: Vec<f64> = factors
        .iter()
        .map(|_| {
            let flat = if rng.random_bool(FLAT) { 8.0 } else { 1.0 };
            flat * longer * if alike { common } else { log_uniform(LENGTHS, rng) }
        })
        .collect();
    let lengths: Vec<f64> = owners.iter().map(|&owner| lengths[owner]).collect();
    fourier::sample(fourier::any_profile(rng), &points, owners.len(), &lengths, FEATURES, rng)
}

/// Effects that add up, some of them far greater than others, with interactions of two columns.
fn sum<R: Rng>(factors: &[Factor], rows: usize, rng: &mut R) -> Vec<f64> {
    let uneven = rng.random_range(0.0..1.5);
    let mut values = vec![0.0; rows];
    let mut add = |effect: &[f64], weight: f64| values.iter_mut().zip(effect).for_each(|(v, e)| *v += weight * e);
    for (factor, z) in factors.iter().zip(normals(rng, factors.len())) {
        add(&factor.effect(rng), exp(uneven * z));
    }
    if factors.len() > 1 && rng.random_bool(0.5) {
        for _ in 0..rng.random_range(1..=factors.len()) {
            let pair = index::sample(rng, factors.len(), 2).into_vec();
            let (a, b) = (factors[pair[0]].effect(rng), factors[pair[1]].effect(rng));
            let both: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
            add(&both, log_uniform(0.1..=1.0, rng));
        }
    }
    values
}

/// It works only where every factor does.
fn product<R: Rng>(factors: &[Factor], rows: usize, rng: &mut R) -> Vec<f64> {
    let count = rng.random_range(1..=factors.len().min(5));
    let mut values = vec![-1.0; rows];
    for at in index::sample(rng, factors.len(), count) {
        let effect = factors[at].effect(rng);
        let (steep, threshold) = (log_uniform(0.7..=5.0, rng), rng.random_range(-1.2..1.0));
        let least = if rng.random_bool(0.5) { 0.0 } else { rng.random_range(0.0..0.6) };
        for (value, effect) in values.iter_mut().zip(effect) {
            *value *= least + (1.0 - least) * sigmoid(steep * (effect - threshold));
        }
    }
    values
}

/// A sum of trees: steps at thresholds and between groups of levels.
fn forest<R: Rng>(factors: &[Factor], rows: usize, rng: &mut R) -> Vec<f64> {
    let trees = log_uniform(1.0..=40.0, rng).floor() as usize;
    let depth = rng.random_range(1..=6);
    // Some columns are split more often than others.
    let weights: Vec<f64> = normals(rng, factors.len()).into_iter().map(exp).collect();
    let mut values = vec![0.0; rows];
    for _ in 0..trees {
        let mut leaves = vec![(0..rows).collect::<Vec<usize>>()];
        let mut level = 0;
        let fading = rng.random_bool(0.5);
        while level < depth && !leaves.is_empty() {
            let mut next = Vec::with_capacity(2 * leaves.len());
            for leaf in leaves {
                let (left, right) = split(factors, &weights, leaf, rng);
                for side in [left, right] {
                    if side.is_empty() {
                        continue;
                    }
                    // Every split adds its own: values of neighbouring leaves resemble each other.
                    let step = normals(rng, 1)[0] / if fading { (level + 1) as f64 } else { 1.0 };
                    side.iter().for_each(|&row| values[row] += step);
                    if side.len() > 1 {
                        next.push(side);
                    }
                }
            }
            (leaves, level) = (next, level + 1);
        }
    }
    values
}

fn split<R: Rng>(factors: &[Factor], weights: &[f64], leaf: Vec<usize>, rng: &mut R) -> (Vec<usize>, Vec<usize>) {
    let factor = &factors[icee_base::math::sample(weights, rng)];
    if let Some((of, levels)) = &factor.levels {
        let side: Vec<bool> = (0..*of).map(|_| rng.random()).collect();
        return leaf.into_iter().partition(|&row| side[levels[row]]);
    }
    let threshold = factor.positions[leaf[rng.random_range(0..leaf.len())]];
    leaf.into_iter().partition(|&row| factor.positions[row] < threshold)
}

/// A small network with random weights.
fn network<R: Rng>(factors: &[Factor], rows: usize, rng: &mut R) -> Vec<f64> {
    let (mut values, owners) = joined(factors);
    values.iter_mut().for_each(|x| *x = 2.0 * *x - 1.0);
    let mut width = owners.len();
    let (hidden, layers, gain) = (rng.random_range(4..=24), rng.random_range(1..=3), log_uniform(0.7..=4.0, rng));
    let bends = rng.random_range(0..3);
    for layer in 0..=layers {
        let out = if layer == layers { 1 } else { hidden };
        let scale = gain / (width as f64).sqrt();
        let (weights, biases) = (normals(rng, width * out), normals(rng, out));
        let mut next = Vec::with_capacity(rows * out);
        for row in values.chunks_exact(width) {
            for (weights, bias) in weights.chunks_exact(width).zip(&biases) {
                let x = bias + scale * row.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>();
                next.push(match bends {
                    _ if layer == layers => x,
                    0 => 2.0 * sigmoid(2.0 * x) - 1.0,
                    1 => x.max(0.0),
                    _ => x.abs(),
                });
            }
        }
        (values, width) = (next, out);
    }
    values
}

/// A bowl around one place, or a few peaks that stand out of a plain.
fn peak<R: Rng>(factors: &[Factor], rows: usize, rng: &mut R) -> Vec<f64> {
    let (points, owners) = joined(factors);
    let width = owners.len();
    let peaks = if rng.random_bool(0.6) { 1 } else { rng.random_range(2..=5) };
    let plain = rng.random_bool(0.5);
    let mut values = vec![0.0; rows];
    for _ in 0..peaks {
        // At a row of the table, so that it can be found.
        let at = rng.random_range(0..rows);
        let centre = points[at * width..][..width].to_vec();
        let steep: Vec<f64> = factors.iter().map(|_| log_uniform(0.3..=6.0, rng)).collect();
        let height = if peaks == 1 { 1.0 } else { rng.random_range(0.4..1.0) };
        let skew: Vec<f64> = normals(rng, width).into_iter().map(|z| 0.5 * z).collect();
        for (value, point) in values.iter_mut().zip(points.chunks_exact(width)) {
            let away = || point.iter().zip(&centre).map(|(x, c)| x - c);
            let own: f64 = away().zip(&owners).map(|(x, &owner)| (x * steep[owner]) * (x * steep[owner])).sum();
            let shared: f64 = away().zip(&skew).map(|(x, s)| x * s).sum();
            let square = (own + shared * shared) / width as f64;
            *value += height * if plain { -exp(-3.0 * square) } else { square };
        }
    }
    values
}
