//! Locations as networks see them: x and sin, cos of 2πfx for f = ½, 1, 2, 4, 8, for every column.
//!
//! A network for pools of up to d columns has places for d; each then also has a flag that says whether the column is
//! there, and a missing one is all zeros.

use icee_base::math::{ln, sin_cos_pi};

/// Frequencies f; each is twice the one before, so each sine follows from the one before.
const FREQUENCIES: usize = 5;
/// Numbers of a coordinate: itself, and a sine and a cosine for each frequency.
pub(crate) const WAVES: usize = 1 + 2 * FREQUENCIES;

/// x and its sines and cosines.
pub(crate) fn waves(x: f64) -> [f32; WAVES] {
    let mut out = [x as f32; WAVES];
    let (mut sine, mut cosine) = sin_cos_pi(x);
    for pair in out[1..].chunks_exact_mut(2) {
        pair.copy_from_slice(&[sine as f32, cosine as f32]);
        (sine, cosine) = (2.0 * sine * cosine, cosine * cosine - sine * sine);
    }
    out
}

/// The number of results as networks see it: about 0 to 1 for 2 to 64.
pub(crate) fn history_size(told: usize) -> f32 {
    ln(told as f64 / 64.0) as f32 * 0.25 + 1.0
}

/// How locations are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// The most columns.
    pub columns: usize,
    /// Whether there may be fewer.
    pub padded: bool,
}

impl Features {
    /// Numbers for one location.
    #[must_use]
    pub fn size(&self) -> usize {
        self.columns * self.column_size()
    }

    fn column_size(&self) -> usize {
        WAVES + usize::from(self.padded)
    }

    /// Appends the features of a location; it has at most `columns` coordinates.
    pub fn write(&self, location: impl ExactSizeIterator<Item = f64>, out: &mut Vec<f32>) {
        let end = out.len() + self.size();
        for x in location {
            out.extend(waves(x));
            if self.padded {
                out.push(1.0);
            }
        }
        out.resize(end, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    #[test]
    fn features_are_the_waves_and_missing_columns_are_zero() {
        let x = [0.37, 1.0];
        for padded in [false, true] {
            let features = Features { columns: if padded { 3 } else { 2 }, padded };
            let mut out = vec![9.0];
            features.write(x.into_iter(), &mut out);
            assert_eq!(out.len(), 1 + features.size());
            for (column, x) in x.into_iter().enumerate() {
                let at = &out[1 + column * features.column_size()..];
                assert_eq!(at[0], x as f32);
                for (k, f) in [0.5, 1.0, 2.0, 4.0, 8.0].into_iter().enumerate() {
                    assert!((f64::from(at[1 + 2 * k]) - (TAU * f * x).sin()).abs() < 1e-6);
                    assert!((f64::from(at[2 + 2 * k]) - (TAU * f * x).cos()).abs() < 1e-6);
                }
                assert!(!padded || at[11] == 1.0);
            }
            assert!(!padded || out[out.len() - 12..].iter().all(|&v| v == 0.0));
        }
    }
}
