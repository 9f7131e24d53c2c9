//! The formulas themselves, in their plain textbook forms: nothing rescaled, angles in radians.

use std::f64::consts::PI;

pub(super) fn branin(x: f64, y: f64) -> f64 {
    let bend = y - 5.1 / (4.0 * PI * PI) * x * x + 5.0 / PI * x - 6.0;
    bend * bend + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * x.cos() + 10.0
}

pub(super) fn beale(x: f64, y: f64) -> f64 {
    (1.5 - x + x * y).powi(2) + (2.25 - x + x * y * y).powi(2) + (2.625 - x + x * y * y * y).powi(2)
}

pub(super) fn bohachevsky(x: f64, y: f64) -> f64 {
    // The constant 0.7 is split between the cosines: each bracket is then exactly zero at its minimum.
    x * x + 2.0 * y * y + 0.3 * (1.0 - (3.0 * PI * x).cos()) + 0.4 * (1.0 - (4.0 * PI * y).cos())
}

pub(super) fn bukin6(x: f64, y: f64) -> f64 {
    100.0 * (y - 0.01 * x * x).abs().sqrt() + 0.01 * (x + 10.0).abs()
}

/// Shekel's foxholes: 25 narrow pits on a 5 × 5 grid.
pub(super) fn de_jong5(x: f64, y: f64) -> f64 {
    let grid = [-32.0, -16.0, 0.0, 16.0, 32.0];
    let mut pits = 0.002;
    for (row, centre_y) in grid.into_iter().enumerate() {
        for (column, centre_x) in grid.into_iter().enumerate() {
            let number = (5 * row + column + 1) as f64;
            pits += 1.0 / (number + f64::powi(x - centre_x, 6) + f64::powi(y - centre_y, 6));
        }
    }
    1.0 / pits
}

pub(super) fn drop_wave(x: f64, y: f64) -> f64 {
    let square = x * x + y * y;
    -(1.0 + (12.0 * square.sqrt()).cos()) / (0.5 * square + 2.0)
}

pub(super) fn eggholder(x: f64, y: f64) -> f64 {
    let shifted = y + 47.0;
    -shifted * (shifted + x / 2.0).abs().sqrt().sin() - x * (x - shifted).abs().sqrt().sin()
}

pub(super) fn goldstein_price(x: f64, y: f64) -> f64 {
    let first = (x + y + 1.0).powi(2) * (19.0 - 14.0 * x + 3.0 * x * x - 14.0 * y + 6.0 * x * y + 3.0 * y * y);
    let second =
        (2.0 * x - 3.0 * y).powi(2) * (18.0 - 32.0 * x + 12.0 * x * x + 48.0 * y - 36.0 * x * y + 27.0 * y * y);
    (1.0 + first) * (30.0 + second)
}

pub(super) fn holder_table(x: f64, y: f64) -> f64 {
    -(x.sin() * y.cos() * (1.0 - x.hypot(y) / PI).abs().exp()).abs()
}

pub(super) fn kim1(x: f64, y: f64) -> f64 {
    x.sin() + y.cos() + 0.016 * (x - 5.0).powi(2) + 0.008 * (y - 5.0).powi(2)
}

pub(super) fn kim2(x: f64, y: f64) -> f64 {
    octaves(x, y) + 0.0032 * (x - 20.0).powi(2) + 0.0016 * (y - 20.0).powi(2)
}

pub(super) fn kim3(x: f64, y: f64) -> f64 {
    // Two Gaussian wells of variance 1000 at (−120, ±120).
    let well = |centre_y: f64| {
        let square = (x + 120.0).powi(2) + (y - centre_y).powi(2);
        256_000.0 * (-square / 2000.0).exp() / (2000.0 * PI)
    };
    octaves(x, y) + 0.0016 * (x - 40.0).powi(2) + 0.0008 * (y - 40.0).powi(2) - well(-120.0) - well(120.0)
}

/// Waves of five wavelengths, each twice the one before.
fn octaves(x: f64, y: f64) -> f64 {
    [1.0, 2.0, 4.0, 8.0, 16.0].into_iter().map(|length| f64::sin(x / length) + f64::cos(y / length)).sum()
}

pub(super) fn michalewicz(x: f64, y: f64) -> f64 {
    -(x.sin() * (x * x / PI).sin().powi(20) + y.sin() * (2.0 * y * y / PI).sin().powi(20))
}

pub(super) fn shubert(x: f64, y: f64) -> f64 {
    let factor = |v: f64| -> f64 { (1..=5).map(f64::from).map(|i| i * ((i + 1.0) * v + i).cos()).sum() };
    factor(x) * factor(y)
}

pub(super) fn six_hump_camel(x: f64, y: f64) -> f64 {
    let (x2, y2) = (x * x, y * y);
    (4.0 - 2.1 * x2 + x2 * x2 / 3.0) * x2 + x * y + (-4.0 + 4.0 * y2) * y2
}

pub(super) fn three_hump_camel(x: f64, y: f64) -> f64 {
    let x2 = x * x;
    2.0 * x2 - 1.05 * x2 * x2 + x2 * x2 * x2 / 6.0 + x * y + y * y
}
