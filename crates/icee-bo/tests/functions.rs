//! The benchmark functions against reference values made by an independent implementation (bayeso-benchmarks 0.2.0,
//! rounded to ten decimals), and their stated minima against everything a grid and random points can find.

use icee_bo::functions::{self, BenchmarkFunction};
use proptest::prelude::*;

/// Rounding of a sum of terms far larger than the result.
fn rounding(function: &BenchmarkFunction) -> f64 {
    1e-12 * function.minimum.abs().max(1.0)
}

#[test]
fn reference_values_are_met() {
    let mut checked = 0;
    for line in include_str!("golden/functions.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| -> f64 { fields[i].parse().unwrap() };
        let value = functions::find(fields[0]).unwrap().checked_value([number(1), number(2)]).unwrap();
        let error = (value - number(3)).abs();
        assert!(error <= 1e-9 * number(3).abs().max(1.0), "{line}: {value}");
        checked += 1;
    }
    assert_eq!(checked, 3 * functions::all().len());
}

#[test]
fn minimisers_attain_the_minimum() {
    assert_eq!(functions::all().len(), 16);
    for function in functions::all() {
        for &minimiser in function.minimisers {
            let value = function.checked_value(minimiser).unwrap();
            assert!((value - function.minimum).abs() <= rounding(function), "{}: {value}", function.name);
        }
    }
}

#[test]
fn minimisers_are_lowest_among_their_neighbours() {
    for function in functions::all() {
        for &[x, y] in function.minimisers {
            for (dx, dy) in [(1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (0.0, -1e-3)] {
                if let Ok(value) = function.checked_value([x + dx, y + dy]) {
                    assert!(value > function.minimum - rounding(function), "{} at ({x}, {y})", function.name);
                }
            }
        }
    }
}

#[test]
fn no_grid_point_lies_below_the_minimum() {
    for function in functions::all() {
        let side = 400;
        for i in 0..=side {
            for j in 0..=side {
                let x = function.from_unit([f64::from(i) / f64::from(side), f64::from(j) / f64::from(side)]);
                let value = function.value(x);
                assert!(value >= function.minimum - rounding(function), "{} at {x:?}: {value}", function.name);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random points, and random points near a minimiser, where a wrong minimum would show first.
    #[test]
    fn no_point_lies_below_the_minimum(which in 0usize..16, unit in [0.0..=1.0, 0.0..=1.0], zoom in 0.0f64..=12.0) {
        let function = &functions::all()[which];
        for &minimiser in function.minimisers {
            let free = function.from_unit(unit);
            let mut near = minimiser;
            for axis in 0..2 {
                let step = (free[axis] - minimiser[axis]) * 10f64.powf(-zoom);
                near[axis] = (minimiser[axis] + step).clamp(function.domain[axis][0], function.domain[axis][1]);
            }
            for x in [free, near] {
                let value = function.value(x);
                prop_assert!(value.is_finite());
                prop_assert!(value >= function.minimum - rounding(function), "{} at {:?}: {}", function.name, x, value);
            }
        }
    }
}
