//! What places numbers: the ends that become 0 and 1, and the order in which a number has its rank.
//!
//! A study knows all rows of its pool, and they are the frame. Predictions for rows that come later have only some of
//! them ([`Frame::of_sample`]), or their range ([`Frame::between`]).

use crate::columns::ColumnKind;
use icee_base::random;
use rand::seq::index::sample;

/// The most different numbers of a grid.
const GRID_LEVELS: usize = 16;
/// Rows of a column, drawn once and for all, in whose order a number is placed; all of them where there are no more.
const RANKED: usize = 1 << 12;

/// The frame of reference of a column of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    low: f64,
    high: f64,
    kind: ColumnKind,
    order: Order,
}

/// In which order a number has its rank.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Order {
    /// All numbers between the ends are as likely.
    Even,
    /// The different numbers of a grid, or those of [`RANKED`] rows, ascending.
    Among(Vec<f32>),
}

impl Frame {
    /// The frame of all numbers of a column; what is not finite is missing.
    pub fn of(numbers: &[f64]) -> Self {
        let (low, high) = ends(numbers);
        let mut frame = Self { low, high, kind: ColumnKind::Number, order: Order::Even };
        let cells = frame.cells(numbers);
        let (kind, ranks) = match different(&cells) {
            Some(levels) => (ColumnKind::Grid, levels),
            None => (ColumnKind::Number, ranks(&cells)),
        };
        (frame.kind, frame.order) = (kind, Order::Among(ranks));
        frame
    }

    /// The frame of a column of which these are some numbers, and others will come.
    ///
    /// Of n numbers that are evenly spread the ends lie about an n-th of their distance further out than the outermost
    /// ones. Few numbers are a grid only where they come again.
    pub fn of_sample(numbers: &[f64]) -> Self {
        let present: Vec<f64> = numbers.iter().copied().filter(|x| x.is_finite()).collect();
        let all = Self::of(&present);
        let levels = match &all.order {
            Order::Among(levels) if all.kind == ColumnKind::Grid => levels.len(),
            _ => present.len(),
        };
        if levels < 2 || 2 * levels <= present.len() {
            return all;
        }
        let margin = (all.high - all.low) / (present.len() - 1) as f64;
        let mut frame = Self::between(all.low - margin, all.high + margin);
        let mut ranked = ranks(&frame.cells(&present));
        // The ends stand for all that lies beyond.
        ranked.insert(0, 0.0);
        ranked.push(1.0);
        frame.order = Order::Among(ranked);
        frame
    }

    /// Numbers between two ends, all as likely.
    pub fn between(low: f64, high: f64) -> Self {
        Self { low, high, kind: ColumnKind::Number, order: Order::Even }
    }

    /// Whether its numbers are many or a grid.
    pub fn kind(&self) -> ColumnKind {
        self.kind
    }

    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    /// Numbers in [0, 1]; those beyond the ends lie at the ends, and what is missing is NaN.
    pub(crate) fn cells(&self, numbers: &[f64]) -> Vec<f32> {
        let Self { low, high, .. } = *self;
        let scaled = |x: f64| if high > low { ((x - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 };
        numbers.iter().map(|&x| if x.is_finite() { scaled(x) as f32 } else { f32::NAN }).collect()
    }
}

impl Order {
    /// Where a number in [0, 1] stands, in [0, 1].
    pub fn position(&self, x: f32) -> f32 {
        let ranks = match self {
            Self::Even => return x,
            Self::Among(ranks) if ranks.len() < 2 => return 0.5,
            Self::Among(ranks) => ranks,
        };
        let (below, within) = (ranks.partition_point(|&r| r < x), ranks.partition_point(|&r| r <= x));
        // The middle of those that are equal; between two where it is none of those that were looked at.
        ((below + within) as f32 - 1.0).max(0.0) / (2 * (ranks.len() - 1)) as f32
    }
}

fn ends(numbers: &[f64]) -> (f64, f64) {
    let present = numbers.iter().copied().filter(|x| x.is_finite());
    present.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)))
}

/// The different numbers, ascending, where they are few enough for a grid.
fn different(cells: &[f32]) -> Option<Vec<f32>> {
    let mut levels: Vec<f32> = Vec::new();
    for &x in cells.iter().filter(|x| x.is_finite()) {
        if let Err(place) = levels.binary_search_by(|level| level.total_cmp(&x)) {
            if levels.len() == GRID_LEVELS {
                return None;
            }
            levels.insert(place, x);
        }
    }
    Some(levels)
}

/// The numbers of [`RANKED`] rows, ascending.
fn ranks(cells: &[f32]) -> Vec<f32> {
    let mut ranks: Vec<f32> = match cells.len() {
        ..=RANKED => cells.to_vec(),
        // By chance: every so-many-th row of a design may be always the same.
        many => sample(&mut random::path(0, &[many as u64]), many, RANKED).into_iter().map(|row| cells[row]).collect(),
    };
    ranks.retain(|x| x.is_finite());
    ranks.sort_by(f32::total_cmp);
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_leaves_room_at_its_ends() {
        let numbers: Vec<f64> = (0..11).map(f64::from).collect();
        let frame = Frame::of_sample(&numbers);
        assert_eq!(frame.kind(), ColumnKind::Number, "no number comes twice");
        assert_eq!(frame.cells(&[-1.0, 5.0, 11.0]), [0.0, 0.5, 1.0]);
        assert_eq!(frame.cells(&[-9.0, 99.0, f64::NAN])[..2], [0.0, 1.0]);
        let positions = frame.cells(&[-9.0, 0.0, 5.0, 10.0, 99.0]).into_iter().map(|x| frame.order().position(x));
        let positions: Vec<f32> = positions.collect();
        assert!(positions.windows(2).all(|pair| pair[0] < pair[1]), "{positions:?}");
        assert_eq!([positions[0], positions[2], positions[4]], [0.0, 0.5, 1.0]);
    }

    #[test]
    fn a_sample_of_numbers_that_come_again_is_a_grid() {
        let frame = Frame::of_sample(&[1.0, 2.0, 4.0, 1.0, 2.0, 4.0, f64::NAN]);
        assert_eq!(frame.kind(), ColumnKind::Grid);
        assert_eq!(frame.cells(&[1.0, 4.0, 9.0]), [0.0, 1.0, 1.0]);
        let x = frame.cells(&[2.0])[0];
        assert_eq!(frame.order().position(x), 0.5);
        // Nothing to scale by.
        for numbers in [&[][..], &[f64::NAN], &[3.0], &[3.0, 3.0]] {
            assert_eq!(Frame::of_sample(numbers).cells(&[3.0]), [0.5], "{numbers:?}");
        }
    }

    #[test]
    fn between_its_ends_a_numbers_rank_is_its_place() {
        let frame = Frame::between(-2.0, 2.0);
        let x = frame.cells(&[-1.0])[0];
        assert_eq!((x, frame.order().position(x)), (0.25, 0.25));
    }
}
