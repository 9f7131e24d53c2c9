//! Which rows a table has: factorial designs, grids, numbers, mixtures that sum to one, columns that go together, and
//! the rows of an earlier campaign.

use crate::columns::Column;
use crate::prior::log_uniform;
use icee_base::math::{ln, normals, power};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// Levels of a grid and of a category; small numbers are more likely.
const GRID_LEVELS: RangeInclusive<f64> = 2.0..=14.0;
const CATEGORIES: RangeInclusive<f64> = 2.0..=24.0;
/// Exponents that crowd a column at one end.
const CROWDING: RangeInclusive<f64> = 0.25..=4.0;
/// A table with fewer different rows is drawn again.
pub(super) const LEAST_ROWS: usize = 24;
/// Share of columns that number the rows, or nearly.
const RUNNING: f64 = 0.01;
/// Share of tables in which cells are missing, and of the cells of their columns.
const GAPS: f64 = 0.06;
const MOST_GAPS: f64 = 0.4;

/// A column before it is scaled.
#[derive(Debug, Clone)]
pub(super) enum Raw {
    Numbers(Vec<f64>),
    Levels { of: usize, levels: Vec<usize> },
}

impl Raw {
    fn bits(&self, row: usize) -> u64 {
        match self {
            Raw::Numbers(numbers) => numbers[row].to_bits(),
            Raw::Levels { levels, .. } => levels[row] as u64,
        }
    }

    fn keep(&mut self, rows: &[usize]) {
        match self {
            Raw::Numbers(numbers) => *numbers = rows.iter().map(|&row| numbers[row]).collect(),
            Raw::Levels { levels, .. } => *levels = rows.iter().map(|&row| levels[row]).collect(),
        }
    }

    /// As it stands in the table, known by keys that are drawn.
    pub(super) fn column<R: Rng>(&self, rng: &mut R) -> Column {
        match self {
            Raw::Numbers(numbers) => Column::numbers(rng.next_u64(), numbers),
            Raw::Levels { of, levels } => {
                let keys = (0..*of).map(|_| rng.next_u64()).collect();
                Column::categories(rng.next_u64(), keys, levels.iter().map(|&level| Some(level)))
            }
        }
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        match self {
            Raw::Numbers(numbers) => numbers.len(),
            Raw::Levels { levels, .. } => levels.len(),
        }
    }
}

/// Up to `rows` different rows of `columns` columns.
pub(super) fn draw<R: Rng>(columns: usize, rows: usize, rng: &mut R) -> Vec<Raw> {
    loop {
        let mut drawn = once(columns, rows, rng);
        let mut seen = HashSet::new();
        let bits = |row: usize| drawn.iter().map(|column| column.bits(row)).collect::<Vec<_>>();
        let different: Vec<usize> = (0..rows).filter(|&row| seen.insert(bits(row))).collect();
        // Even one number gives as many different rows as one likes, and is drawn sooner or later.
        if different.len() >= LEAST_ROWS.min(rows) {
            drawn.iter_mut().for_each(|column| column.keep(&different));
            return drawn;
        }
    }
}

fn once<R: Rng>(columns: usize, rows: usize, rng: &mut R) -> Vec<Raw> {
    match rng.random_range(0..20) {
        0..8 => {
            // A factorial design, or a part of it.
            let words = [0.0, 0.25, 0.6, 1.0][rng.random_range(0..4)];
            (0..columns).map(|_| if rng.random_bool(words) { category(rows, rng) } else { grid(rows, rng) }).collect()
        }
        8..13 => (0..columns).map(|_| any(rows, rng)).collect(),
        13..15 => {
            let plain = rng.random_bool(0.5);
            (0..columns).map(|_| number(if plain { 1.0 } else { log_uniform(CROWDING, rng) }, rows, rng)).collect()
        }
        15..17 if columns > 2 => mixture(columns, rows, rng),
        17..18 => together(columns, rows, rng),
        _ => campaign(columns, rows, rng),
    }
}

fn any<R: Rng>(rows: usize, rng: &mut R) -> Raw {
    if rng.random_bool(RUNNING) {
        return Raw::Numbers((0..rows).map(|row| row as f64).collect());
    }
    match rng.random_range(0..8) {
        0..2 => number(1.0, rows, rng),
        2 => number(log_uniform(CROWDING, rng), rows, rng),
        3 => Raw::Numbers(normals(rng, rows)),
        4..6 => grid(rows, rng),
        _ => category(rows, rng),
    }
}

/// Uniform numbers, crowded at one end by an exponent.
fn number<R: Rng>(crowding: f64, rows: usize, rng: &mut R) -> Raw {
    let turned = rng.random_bool(0.5);
    let one = |rng: &mut R| {
        let x = power(rng.random::<f64>(), crowding);
        if turned { 1.0 - x } else { x }
    };
    Raw::Numbers((0..rows).map(|_| one(rng)).collect())
}

/// Numbers of a grid: even, in ratios, or as it comes.
fn grid<R: Rng>(rows: usize, rng: &mut R) -> Raw {
    let levels = log_uniform(GRID_LEVELS, rng).floor() as usize;
    let ticks: Vec<f64> = match rng.random_range(0..4) {
        0..2 => (0..levels).map(|k| k as f64).collect(),
        2 => {
            let ratio = rng.random_range(1.3..4.0);
            (0..levels).map(|k| power(ratio, k as f64)).collect()
        }
        _ => (0..levels).map(|_| rng.random()).collect(),
    };
    Raw::Numbers((0..rows).map(|_| ticks[rng.random_range(0..levels)]).collect())
}

/// Levels of a category, equally or very unequally frequent.
fn category<R: Rng>(rows: usize, rng: &mut R) -> Raw {
    let of = log_uniform(CATEGORIES, rng).floor() as usize;
    let uneven = if rng.random_bool(0.75) { 1.0 } else { rng.random_range(1.0..3.0) };
    let one = |rng: &mut R| ((power(rng.random::<f64>(), uneven) * of as f64) as usize).min(of - 1);
    Raw::Levels { of, levels: (0..rows).map(|_| one(rng)).collect() }
}

/// Three or more parts that sum to one, freely or in steps, with other columns beside them.
fn mixture<R: Rng>(columns: usize, rows: usize, rng: &mut R) -> Vec<Raw> {
    let parts = rng.random_range(3..=columns.min(8));
    let steps = rng.random_bool(0.6).then(|| f64::from(rng.random_range(4..=20)));
    let uneven = rng.random_range(0.7..2.5);
    let mut shares = vec![Vec::with_capacity(rows); parts];
    for _ in 0..rows {
        let drawn: Vec<f64> = (0..parts).map(|_| power(-ln(1.0 - rng.random::<f64>()), uneven)).collect();
        let total: f64 = drawn.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let mut left = 1.0;
        for (part, drawn) in drawn.iter().enumerate() {
            let share = drawn / total;
            let share = steps.map_or(share, |steps| (share * steps).round() / steps);
            let share = if part + 1 == parts { left } else { share.min(left) };
            left -= share;
            shares[part].push(steps.map_or(share, |steps| (share * steps).round() / steps));
        }
    }
    shares.shuffle(rng);
    let mut drawn: Vec<Raw> = shares.into_iter().map(Raw::Numbers).collect();
    drawn.extend((parts..columns).map(|_| any(rows, rng)));
    drawn.shuffle(rng);
    drawn
}

/// Numbers that follow from a few hidden ones, as descriptors of molecules do.
fn together<R: Rng>(columns: usize, rows: usize, rng: &mut R) -> Vec<Raw> {
    let hidden = rng.random_range(1..=columns.min(4));
    let sources: Vec<Vec<f64>> = (0..hidden).map(|_| normals(rng, rows)).collect();
    (0..columns)
        .map(|_| {
            let (loadings, own) = (normals(rng, hidden), log_uniform(0.05..=1.0, rng));
            let noise = normals(rng, rows);
            let at =
                |row: usize| own * noise[row] + loadings.iter().zip(&sources).map(|(l, s)| l * s[row]).sum::<f64>();
            Raw::Numbers((0..rows).map(at).collect())
        })
        .collect()
}

/// Rows as an earlier search left them: some anywhere, many around a few places.
fn campaign<R: Rng>(columns: usize, rows: usize, rng: &mut R) -> Vec<Raw> {
    let centres = rng.random_range(1..=4);
    let (width, share) = (log_uniform(0.02..=0.25, rng), rng.random_range(0.2..0.9));
    let near: Vec<Option<usize>> =
        (0..rows).map(|_| rng.random_bool(share).then(|| rng.random_range(0..centres))).collect();
    let rounded = rng.random_bool(0.4).then(|| f64::from(rng.random_range(10..=60)));
    (0..columns)
        .map(|_| {
            if rng.random_bool(0.1) {
                return any(rows, rng);
            }
            let places: Vec<f64> = (0..centres).map(|_| rng.random()).collect();
            let noise = normals(rng, rows);
            let at = |(row, near): (usize, &Option<usize>)| {
                let x = match near {
                    Some(centre) => (places[*centre] + width * noise[row]).clamp(0.0, 1.0),
                    None => rng.random(),
                };
                rounded.map_or(x, |steps| (x * steps).round() / steps)
            };
            Raw::Numbers(near.iter().enumerate().map(at).collect())
        })
        .collect()
}

/// Loses some cells of some tables.
pub(super) fn lose_cells<R: Rng>(columns: &mut [Column], rng: &mut R) {
    if !rng.random_bool(GAPS) {
        return;
    }
    for column in columns {
        if rng.random_bool(0.5) {
            let share = rng.random_range(0.0..MOST_GAPS);
            for row in 0..column.cells().len() {
                if rng.random_bool(share) {
                    column.lose(row);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_base::random;

    #[test]
    fn rows_are_different_and_as_many_as_asked_or_as_there_are() {
        let (mut words, mut small) = (0, 0);
        for seed in 0..300 {
            let mut rng = random::path(seed, &[]);
            let columns = 1 + seed as usize % 9;
            let drawn = draw(columns, 100, &mut rng);
            assert_eq!(drawn.len(), columns);
            let rows = drawn[0].rows();
            assert!((LEAST_ROWS..=100).contains(&rows));
            let mut all: Vec<Vec<u64>> = (0..rows).map(|row| drawn.iter().map(|c| c.bits(row)).collect()).collect();
            all.sort();
            all.dedup();
            assert_eq!(all.len(), rows);
            words += usize::from(drawn.iter().any(|column| matches!(column, Raw::Levels { .. })));
            small += usize::from(rows < 100);
            for column in &drawn {
                if let Raw::Levels { of, levels } = column {
                    assert!(levels.iter().all(|level| level < of));
                }
            }
        }
        assert!((60..260).contains(&words), "{words}");
        assert!((10..260).contains(&small), "{small}");
    }

    #[test]
    fn shares_of_a_mixture_sum_to_one() {
        for seed in 0..40 {
            let mut rng = random::path(seed, &[1]);
            let drawn = mixture(3, 50, &mut rng);
            for row in 0..50 {
                let sum: f64 = drawn.iter().map(|c| if let Raw::Numbers(n) = c { n[row] } else { 0.0 }).sum();
                assert!((sum - 1.0).abs() < 1e-9, "{sum}");
            }
        }
    }
}
