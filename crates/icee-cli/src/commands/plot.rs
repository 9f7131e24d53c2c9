//! Curves as text: a small one of braille dots, and a large one of letters.

use icee_base::numbers::short;
use std::ops::RangeInclusive;

/// Points from left to right.
pub type Curve = Vec<(u64, f64)>;

/// Dots of a braille character: across, and up.
const DOTS: (usize, usize) = (2, 4);
/// Their bits by column, from the lowest dot to the highest.
const BITS: [[u32; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];
/// Where curves cross.
const SEVERAL: char = '*';

/// One curve as lines of braille dots, with its greatest and its least value at the left.
pub fn braille(curve: &[(u64, f64)], (columns, rows): (usize, usize)) -> Vec<String> {
    let Some(frame) = Frame::around([curve], columns * DOTS.0) else { return Vec::new() };
    let (across, up) = (columns * DOTS.0, rows * DOTS.1);
    let mut cells = vec![0; columns * rows];
    let heights = frame.heights(curve, across, up);
    let mut before = None;
    for (x, height) in heights.into_iter().enumerate() {
        let Some(here) = height else { continue };
        // Steep parts are drawn through, so that the eye sees one line.
        for y in between(before.unwrap_or(here), here) {
            cells[(rows - 1 - y / DOTS.1) * columns + x / DOTS.0] |= BITS[x % DOTS.0][y % DOTS.1];
        }
        before = Some(here);
    }
    let drawn = cells.chunks(columns).map(|row| row.iter().filter_map(|bits| char::from_u32(0x2800 + bits)).collect());
    frame.labelled(drawn.collect())
}

/// Several curves on one pair of axes, each with its letter, and the steps below.
pub fn letters(curves: &[(char, &[(u64, f64)])], (columns, rows): (usize, usize)) -> Vec<String> {
    let Some(frame) = Frame::around(curves.iter().map(|(_, curve)| *curve), columns) else { return Vec::new() };
    let mut cells = vec![vec![' '; columns]; rows];
    for (letter, curve) in curves {
        for (x, height) in frame.heights(curve, columns, rows).into_iter().enumerate() {
            let Some(y) = height else { continue };
            let cell = &mut cells[rows - 1 - y][x];
            *cell = if *cell == ' ' { *letter } else { SEVERAL };
        }
    }
    let mut lines = frame.labelled(cells.into_iter().map(|row| row.into_iter().collect()).collect());
    let (first, last) = (frame.steps.0.to_string(), frame.steps.1.to_string());
    let margin = lines[0].chars().count().saturating_sub(columns);
    let between = columns.saturating_sub(first.len());
    lines.push(format!("{:margin$}{}", "", "-".repeat(columns)));
    lines.push(format!("{:margin$}{first}{last:>between$}", ""));
    let several = lines.iter().any(|line| line.contains(SEVERAL));
    lines
        .into_iter()
        .map(|line| line.trim_end().to_owned())
        .chain(several.then(|| format!("{SEVERAL}: several")))
        .collect()
}

/// At most so many points: the means of neighbours.
pub fn thinned(curve: &[(u64, f64)], most: usize) -> Curve {
    let size = curve.len().div_ceil(most.max(1)).max(1);
    let mean = |part: &[(u64, f64)]| {
        let count = part.len() as f64;
        let step = part.iter().map(|(step, _)| *step as f64).sum::<f64>() / count;
        (step.round() as u64, part.iter().map(|(_, value)| value / count).sum())
    };
    curve.chunks(size).map(mean).collect()
}

/// The steps and values that a plot shows.
struct Frame {
    steps: (u64, u64),
    values: (f64, f64),
}

impl Frame {
    /// Around all of these curves, as they are drawn in so many columns; none where there is nothing to show.
    fn around<'a>(curves: impl IntoIterator<Item = &'a [(u64, f64)]>, columns: usize) -> Option<Frame> {
        let (mut steps, mut values) = ((u64::MAX, 0), (f64::INFINITY, f64::NEG_INFINITY));
        for curve in curves {
            for (step, _) in curve {
                steps = (steps.0.min(*step), steps.1.max(*step));
            }
            for (_, value) in thinned(curve, columns) {
                values = (values.0.min(value), values.1.max(value));
            }
        }
        (values.0 <= values.1).then_some(Frame { steps, values })
    }

    /// For every column the row of the curve, from below; none where the curve has not begun or has ended.
    fn heights(&self, curve: &[(u64, f64)], columns: usize, rows: usize) -> Vec<Option<usize>> {
        let Some((&(from, _), &(to, _))) = curve.first().zip(curve.last()) else { return vec![None; columns] };
        let (first, last) = self.steps;
        let width = (last - first) as f64 / columns.saturating_sub(1).max(1) as f64;
        let step = |column: usize| first as f64 + width * column as f64;
        let shown = from as f64 - width / 2.0..=to as f64 + width / 2.0;
        let curve = thinned(curve, columns);
        let height = |column| shown.contains(&step(column)).then(|| self.row(value_at(&curve, step(column)), rows));
        (0..columns).map(height).collect()
    }

    fn row(&self, value: f64, rows: usize) -> usize {
        let (low, high) = self.values;
        // Halves first: the greatest numbers are further apart than a number can say.
        let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        // A flat curve lies in the middle.
        let share = if share.is_finite() { share } else { 0.5 };
        (share * (rows - 1) as f64).round() as usize
    }

    /// With the greatest and the least value at the left.
    fn labelled(&self, rows: Vec<String>) -> Vec<String> {
        let (low, high) = (short(self.values.0), short(self.values.1));
        let width = low.len().max(high.len());
        let last = rows.len() - 1;
        let label = |row: usize| match row {
            0 => high.as_str(),
            row if row == last => low.as_str(),
            _ => "",
        };
        rows.iter().enumerate().map(|(row, drawn)| format!("{:>width$} {drawn}", label(row))).collect()
    }
}

/// The curve's value at a step: on the straight line between its neighbours, or that of its nearer end.
fn value_at(curve: &[(u64, f64)], step: f64) -> f64 {
    let after = curve.partition_point(|(at, _)| (*at as f64) < step);
    match (after.checked_sub(1).and_then(|before| curve.get(before)), curve.get(after)) {
        (Some(&(x0, y0)), Some(&(x1, y1))) => {
            let share = (step - x0 as f64) / (x1 - x0).max(1) as f64;
            y0 * (1.0 - share) + y1 * share
        }
        (Some((_, value)), None) | (None, Some((_, value))) => *value,
        (None, None) => 0.0,
    }
}

/// All rows from one to the next, without the one that is drawn already.
fn between(before: usize, here: usize) -> RangeInclusive<usize> {
    match before {
        lower if lower < here => lower + 1..=here,
        higher if higher > here => here..=higher - 1,
        _ => here..=here,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_curve_by_hand() {
        let rising: Curve = (0..4).map(|k| (k * 10, k as f64)).collect();
        assert_eq!(braille(&rising, (2, 1)), ["3 ⡠⠊"]);
        assert_eq!(braille(&rising, (4, 2)), ["3 \u{2800}\u{2800}⡠⠊", "0 ⡠⠊\u{2800}\u{2800}"]);
        assert!(braille(&[], (4, 2)).is_empty());
    }

    #[test]
    fn letters_stand_where_the_curves_are() {
        let a: Curve = vec![(0, 0.0), (100, 4.0)];
        let b: Curve = vec![(0, 4.0), (50, 2.0)];
        let drawn = letters(&[('a', &a), ('b', &b)], (5, 5));
        assert_eq!(drawn, ["4 b   a", "   b a", "    *", "   a", "0 a", "  -----", "  0 100", "*: several"]);
        assert!(letters(&[('a', &[])], (5, 5)).is_empty());
    }

    #[test]
    fn odd_curves_stay_in_their_frame() {
        let flat: Curve = vec![(3, 1.0)];
        let huge: Curve = vec![(0, f64::MIN), (u64::MAX, f64::MAX)];
        let many: Curve = (0..10_000).map(|k| (k, (k % 7) as f64)).collect();
        for curve in [&flat, &huge, &many] {
            assert_eq!(braille(curve, (10, 3)).len(), 3);
            assert_eq!(letters(&[('a', curve)], (10, 3)).len(), 5);
        }
        let noisy: Curve = (0..1000).map(|k| (k, if k == 500 { 1e6 } else { k as f64 })).collect();
        let drawn = letters(&[('a', &noisy)], (10, 3));
        assert!(
            drawn[0].contains('a') && drawn[2].contains(" a"),
            "means fill the frame from its first column: {drawn:?}"
        );
        assert_eq!(thinned(&many, 100).len(), 100);
        assert_eq!(thinned(&flat, 100), flat);
        assert_eq!(thinned(&[(0, 1.0), (2, 3.0)], 1), [(1, 2.0)]);
    }
}
