//! The 16 two-dimensional benchmark functions of the paper's Bayesian optimisation experiments, all minimised.
//!
//! Every function carries its domain, its global minimum and its minimisers, so that regret can be measured without
//! trusting anything outside this table; the tests check each entry against independent reference values. Minima and
//! minimisers are the stationary points polished to double precision, which is why they show more digits than the
//! collections of test functions they come from.

mod formulas;

use crate::error::{BoError, BoResult};
use icee_base::names::Unknown;
use std::f64::consts::{FRAC_PI_2, PI};

/// One benchmark function with everything that is known about it.
#[derive(Debug, Clone, Copy)]
pub struct BenchmarkFunction {
    /// The name, in the paper's spelling.
    pub name: &'static str,
    /// Lower and upper end of each coordinate's domain.
    pub domain: [[f64; 2]; 2],
    /// The global minimum over the domain.
    pub minimum: f64,
    /// The points that attain the minimum.
    pub minimisers: &'static [[f64; 2]],
    formula: fn(f64, f64) -> f64,
}

impl BenchmarkFunction {
    /// The value at `x`, given in the function's own coordinates.
    pub fn value(&self, x: [f64; 2]) -> f64 {
        // Adding zero turns −0 into 0, so that no one has to read "-0".
        (self.formula)(x[0], x[1]) + 0.0
    }

    /// The value at `x`, or an error that names the coordinate that is not a number of the domain.
    pub fn checked_value(&self, x: [f64; 2]) -> BoResult<f64> {
        for (axis, (value, [low, high])) in x.into_iter().zip(self.domain).enumerate() {
            if !(low..=high).contains(&value) {
                return Err(BoError::OutsideDomain { function: self.name, axis: axis + 1, value, low, high });
            }
        }
        Ok(self.value(x))
    }

    /// The point of the domain that corresponds to `unit` in [0, 1]².
    pub fn from_unit(&self, unit: [f64; 2]) -> [f64; 2] {
        let scale = |axis: usize| {
            let [low, high] = self.domain[axis];
            low + unit[axis] * (high - low)
        };
        [scale(0), scale(1)]
    }
}

/// All 16 functions, in the paper's order.
pub fn all() -> &'static [BenchmarkFunction] {
    &FUNCTIONS
}

/// The function of that name, whatever its capitals; an unknown name gives an error with the nearest known one.
pub fn find(name: &str) -> BoResult<&'static BenchmarkFunction> {
    let name = name.trim();
    FUNCTIONS.iter().find(|function| function.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        Unknown::new("benchmark function", name, &FUNCTIONS.each_ref().map(|function| function.name)).into()
    })
}

/// π rounded up to nine decimals, as the collection of test functions states this domain.
#[allow(clippy::approx_constant)]
const MICHALEWICZ_END: f64 = 3.141_592_654;

// The one-dimensional factor of Shubert's product has its lowest and highest values once a period of 2π; a product
// of one of each is a global minimiser, which makes 18 in the domain.
const SHUBERT_LOW: [f64; 3] = [-7.708_313_735_499_347, -1.425_128_428_319_761, 4.858_056_878_859_826];
const SHUBERT_HIGH: [f64; 3] = [-7.083_506_407_651_559, -0.800_321_100_471_973, 5.482_864_206_707_613];
const SHUBERT: [[f64; 2]; 18] = {
    let mut points = [[0.0; 2]; 18];
    let mut k = 0;
    while k < 9 {
        points[k] = [SHUBERT_LOW[k / 3], SHUBERT_HIGH[k % 3]];
        points[k + 9] = [SHUBERT_HIGH[k / 3], SHUBERT_LOW[k % 3]];
        k += 1;
    }
    points
};

static FUNCTIONS: [BenchmarkFunction; 16] = [
    BenchmarkFunction {
        name: "Branin",
        domain: [[-5.0, 10.0], [0.0, 15.0]],
        minimum: 0.397_887_357_729_738_3,
        minimisers: &[[-PI, 12.275], [PI, 2.275], [3.0 * PI, 2.475]],
        formula: formulas::branin,
    },
    BenchmarkFunction {
        name: "Beale",
        domain: [[-4.5, 4.5]; 2],
        minimum: 0.0,
        minimisers: &[[3.0, 0.5]],
        formula: formulas::beale,
    },
    BenchmarkFunction {
        name: "Bohachevsky",
        domain: [[-100.0, 100.0]; 2],
        minimum: 0.0,
        minimisers: &[[0.0, 0.0]],
        formula: formulas::bohachevsky,
    },
    BenchmarkFunction {
        name: "Bukin6",
        domain: [[-15.0, -5.0], [-3.0, 3.0]],
        minimum: 0.0,
        minimisers: &[[-10.0, 1.0]],
        formula: formulas::bukin6,
    },
    BenchmarkFunction {
        name: "DeJong5",
        domain: [[-65.536, 65.536]; 2],
        minimum: 0.998_003_837_794_450_3,
        // The bottom is so flat that points some hundredths away agree to eight digits; this is its lowest point.
        minimisers: &[[-31.978_334_835_656_97, -31.978_334_837_300_795]],
        formula: formulas::de_jong5,
    },
    BenchmarkFunction {
        name: "DropWave",
        domain: [[-5.12, 5.12]; 2],
        minimum: -1.0,
        minimisers: &[[0.0, 0.0]],
        formula: formulas::drop_wave,
    },
    BenchmarkFunction {
        name: "Eggholder",
        domain: [[-512.0, 512.0]; 2],
        minimum: -959.640_662_720_850_8,
        minimisers: &[[512.0, 404.231_805_113_757_8]],
        formula: formulas::eggholder,
    },
    BenchmarkFunction {
        name: "GoldsteinPrice",
        domain: [[-2.0, 2.0]; 2],
        minimum: 3.0,
        minimisers: &[[0.0, -1.0]],
        formula: formulas::goldstein_price,
    },
    BenchmarkFunction {
        name: "HolderTable",
        domain: [[-10.0, 10.0]; 2],
        minimum: -19.208_502_567_886_73,
        minimisers: &[
            [8.055_023_475_736_563, 9.664_590_019_241_272],
            [8.055_023_475_736_563, -9.664_590_019_241_272],
            [-8.055_023_475_736_563, 9.664_590_019_241_272],
            [-8.055_023_475_736_563, -9.664_590_019_241_272],
        ],
        formula: formulas::holder_table,
    },
    BenchmarkFunction {
        name: "Kim1",
        domain: [[-16.0, 16.0]; 2],
        minimum: -1.971_523_234_790_577,
        minimisers: &[[4.721_307_266_089_871, 3.170_863_024_604_674]],
        formula: formulas::kim1,
    },
    BenchmarkFunction {
        name: "Kim2",
        domain: [[-128.0, 128.0]; 2],
        minimum: -3.454_387_473_489_023,
        minimisers: &[[-2.101_346_511_767_636, 34.145_262_556_604_926]],
        formula: formulas::kim2,
    },
    BenchmarkFunction {
        name: "Kim3",
        domain: [[-256.0, 256.0]; 2],
        minimum: -4.943_967_919_350_99,
        minimisers: &[[48.124_771_610_162_41, 34.198_590_642_120_95]],
        formula: formulas::kim3,
    },
    BenchmarkFunction {
        name: "Michalewicz",
        domain: [[0.0, MICHALEWICZ_END]; 2],
        minimum: -1.801_303_410_098_552_5,
        minimisers: &[[2.202_905_520_172_609_3, FRAC_PI_2]],
        formula: formulas::michalewicz,
    },
    BenchmarkFunction {
        name: "Shubert",
        domain: [[-10.0, 10.0]; 2],
        minimum: -186.730_908_831_023_83,
        minimisers: &SHUBERT,
        formula: formulas::shubert,
    },
    BenchmarkFunction {
        name: "SixHumpCamel",
        domain: [[-3.0, 3.0], [-2.0, 2.0]],
        minimum: -1.031_628_453_489_877_4,
        minimisers: &[
            [0.089_842_013_100_318_06, -0.712_656_403_020_739_6],
            [-0.089_842_013_100_318_06, 0.712_656_403_020_739_6],
        ],
        formula: formulas::six_hump_camel,
    },
    BenchmarkFunction {
        name: "ThreeHumpCamel",
        domain: [[-5.0, 5.0]; 2],
        minimum: 0.0,
        minimisers: &[[0.0, 0.0]],
        formula: formulas::three_hump_camel,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_typos_get_the_nearest() {
        assert_eq!(find("hoLdertable").unwrap().name, "HolderTable");
        let nearest = |name: &str| match find(name) {
            Err(BoError::Unknown(unknown)) => unknown.nearest[0].clone(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(nearest("drop-wave"), "DropWave");
        assert_eq!(nearest("shubbert"), "Shubert");
        assert_eq!(nearest("6-humpcamel"), "SixHumpCamel");
    }

    #[test]
    fn the_unit_square_maps_onto_the_domain() {
        let branin = find("branin").unwrap();
        assert_eq!(branin.from_unit([0.0, 1.0]), [-5.0, 15.0]);
        assert!(matches!(branin.checked_value([10.5, 0.0]), Err(BoError::OutsideDomain { axis: 1, .. })));
        assert!(matches!(branin.checked_value([0.0, f64::NAN]), Err(BoError::OutsideDomain { axis: 2, .. })));
    }
}
