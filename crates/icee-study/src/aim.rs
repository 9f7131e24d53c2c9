//! The goal for one outcome, as models see it: its unit, its history, and by how much a row may beat all
//! earlier results.

use crate::goals::{Bounds, Direction, Wanted};
use crate::trials::{Known, Trials};
use icee_base::math::ln;
use icee_bo::belief::{Belief, Range};
use icee_bo::history::rounded;
use icee_bo::pool::Told;
use icee_bo::standard::{Standard, Variance};
use rand::Rng;

/// The unit in which models see values: lower is better, mean 0, standard deviation 1.
///
/// Rounded: another scale or offset of the results changes only their last bits, and so changes nothing here.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    sign: f64,
    scale: Standard,
}

impl Units {
    /// The unit for some results, which are multiplied by `sign`.
    pub fn of(values: impl Iterator<Item = f64> + Clone, sign: f64) -> Units {
        Units { sign, scale: Standard::of(values.map(|value| sign * value), Variance::Sample) }
    }

    /// A measured result.
    pub fn standard(&self, value: f64) -> f64 {
        rounded(&self.scale, self.sign * value)
    }

    /// A number that no measured result must equal: it stays different from theirs even if they are all the same.
    fn place(&self, value: f64) -> f64 {
        match self.is_flat() {
            true => self.scale.locate(self.sign * value),
            // Computed by the same steps, so that a result at a bound is neither above nor below it.
            false => self.standard(value),
        }
    }

    /// Whether all results are the same.
    pub fn is_flat(&self) -> bool {
        self.scale.is_flat()
    }

    /// A model's number in the user's unit; the greatest finite one if it would be beyond.
    pub fn shown(&self, standard: f64) -> f64 {
        // 0 is 0, whatever its sign.
        self.sign * self.scale.undo(standard).clamp(f64::MIN, f64::MAX) + 0.0
    }
}

/// The goal for one outcome, in the models' unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Want {
    /// As low as possible.
    Low,
    /// As near to this as possible.
    Near(f64),
    /// No higher than this.
    Limit(f64),
}

/// One outcome: its unit, its goal, and its results.
#[derive(Clone, Debug)]
pub struct Aim {
    /// Its unit.
    pub units: Units,
    pub want: Want,
    /// The range of possible results.
    floor: f64,
    ceiling: f64,
    /// The same in the user's unit.
    ends: [f64; 2],
    /// The results as models see them, every replicate by itself, so that they see the spread within a row. A failed
    /// row counts as no better than the worst result; an impossible one is left out.
    pub history: Vec<Told>,
    /// The results of an earlier study, in units of their own: only their relation to each other carries over.
    pub earlier: Vec<Told>,
    /// How many rows have a result, in both.
    pub values: usize,
}

impl Aim {
    /// `earlier` are results of an earlier study, whose rows follow those of the pool.
    pub fn of(trials: &Trials, number: usize, wanted: Wanted, bounds: Bounds, earlier: &[f64]) -> Aim {
        let sign = match wanted {
            Wanted::Best(direction) => direction.sign(),
            Wanted::AtLeast(_) => -1.0,
            Wanted::AtMost(_) => 1.0,
        };
        let own = trials.told.iter().filter_map(|trial| trial.outcome(number));
        let earlier_units = Units::of(earlier.iter().copied(), sign);
        // As long as this study has no results, the earlier study's unit is used.
        let borrowed = earlier.len() > 1 && own.clone().next().is_none();
        let units = if borrowed { earlier_units } else { Units::of(own, sign) };
        // Bounds that earlier results exceed are in another unit.
        let foreign = borrowed && earlier.iter().any(|value| !bounds.hold(*value));
        let bounds = if foreign { Bounds::default() } else { bounds };
        let want = match wanted {
            Wanted::Best(Direction::Target(target)) => Want::Near(units.place(target)),
            Wanted::Best(_) => Want::Low,
            Wanted::AtLeast(limit) | Wanted::AtMost(limit) => Want::Limit(units.place(limit)),
        };
        let ends = bounds.ends().map(|end| if end.is_finite() { units.place(end) } else { sign * end });
        let place =
            |(at, &value): (usize, &f64)| Told { candidate: trials.rows() + at, value: earlier_units.standard(value) };
        let earlier: Vec<Told> = earlier.iter().enumerate().map(place).collect();
        let values = trials.values(number) + earlier.len();
        let (floor, ceiling) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let mut aim = Aim { units, want, floor, ceiling, ends: bounds.ends(), history: vec![], earlier, values };
        let told = trials.told.iter().filter_map(|trial| trial.outcome(number));
        let worst = told
            .map(|value| units.standard(value))
            .reduce(|worst, value| if aim.badness(value) > aim.badness(worst) { value } else { worst });
        for trial in &trials.told {
            let entry = |value: f64| Told { candidate: trial.row, value };
            match (&trial.known, worst) {
                (Known::Values(_), _) => {
                    aim.history.extend(trial.outcomes(number).map(|value| entry(units.standard(value))));
                }
                (Known::Failed, Some(worst)) => aim.history.push(entry(worst)),
                (Known::Failed | Known::Impossible, _) => {}
            }
        }
        aim
    }

    /// How bad a result is, also beyond a limit.
    pub fn badness(&self, value: f64) -> f64 {
        if let Want::Near(target) = self.want { (value - target).abs() } else { value }
    }

    /// The results that are better than a loss.
    pub fn better(&self, loss: f64) -> Range {
        match self.want {
            // The part of a prediction beyond a bound counts as the bound itself.
            Want::Near(target) => {
                let (low, high) = (target - loss.max(0.0), target + loss.max(0.0));
                let low = if low < self.floor { f64::NEG_INFINITY } else { low };
                Range { low, high: if high > self.ceiling { f64::INFINITY } else { high } }
            }
            // An impossible result is not an improvement.
            Want::Low | Want::Limit(_) if loss <= self.floor => Range { low: self.floor, high: self.floor },
            Want::Low | Want::Limit(_) => Range::below(loss),
        }
    }

    /// ln E[(best − loss)⁺].
    pub fn log_gain(&self, belief: &Belief, best: f64) -> f64 {
        match self.want {
            // (d − |y − t|)⁺ = (t + d − y)⁺ − 2 (t − y)⁺ + (t − d − y)⁺
            Want::Near(target) => {
                let below = |bound: f64| belief.improvement(bound);
                let far = below((target - best).max(self.floor));
                // (t + d − y)⁺ of results at the ceiling.
                let near = match target + best > self.ceiling {
                    true => below(self.ceiling) + target + best - self.ceiling,
                    false => below(target + best),
                };
                ln((near - 2.0 * below(target) + far).max(0.0))
            }
            _ if best <= self.floor => f64::NEG_INFINITY,
            // The part of a prediction below the floor counts as the floor itself.
            _ if self.floor.is_finite() => ln((belief.improvement(best) - belief.improvement(self.floor)).max(0.0)),
            _ => belief.log_improvement(best),
        }
    }

    /// The expected loss.
    pub fn loss(&self, belief: &Belief) -> f64 {
        match self.want {
            // E|y − t| = E y − t + 2 E(t − y)⁺
            Want::Near(target) => belief.mean() - target + 2.0 * belief.improvement(target),
            Want::Low | Want::Limit(_) => belief.mean(),
        }
    }

    /// A possible result drawn from a prediction.
    pub fn draw(&self, belief: &Belief, rng: &mut dyn Rng) -> f64 {
        self.possible(belief.sample(rng))
    }

    /// A model's number in the user's unit, moved into the range of possible results.
    pub fn shown(&self, standard: f64) -> f64 {
        self.units.shown(self.possible(standard)).clamp(self.ends[0], self.ends[1])
    }

    /// The nearest possible result.
    pub fn possible(&self, value: f64) -> f64 {
        value.clamp(self.floor, self.ceiling)
    }

    /// P(a limit holds).
    pub fn holds(&self, belief: &Belief) -> Option<f64> {
        if let Want::Limit(limit) = self.want { Some(belief.below(limit)) } else { None }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use icee_bo::normal::Prediction;
    use proptest::prelude::*;

    pub fn aim(want: Want, floor: f64, ceiling: f64) -> Aim {
        let units = Units::of([-1.0, 1.0].into_iter(), 1.0);
        let ends = [f64::NEG_INFINITY, f64::INFINITY];
        Aim { units, want, floor, ceiling, ends, history: vec![], earlier: vec![], values: 2 }
    }

    pub fn normal(mean: f64, deviation: f64) -> Belief {
        Belief::Normal(Prediction { mean, variance: deviation * deviation })
    }

    /// E[(best − loss)⁺] by quantiles, over possible results.
    fn by_quantiles(aim: &Aim, belief: &Belief, best: f64) -> f64 {
        let levels = (0..4_000).map(|k| (f64::from(k) + 0.5) / 4_000.0);
        let gain = |level| (best - aim.badness(aim.possible(belief.quantile(level)))).max(0.0);
        levels.map(gain).sum::<f64>() / 4_000.0
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn gains_are_expectations(
            mean in -2.0..2.0, deviation in 0.2..2.0, best in 0.05..1.5, target in -1.0..1.0, floor in -2.0..0.0,
        ) {
            let belief = normal(mean, deviation);
            let near = aim(Want::Near(target), f64::NEG_INFINITY, f64::INFINITY);
            prop_assert!((near.log_gain(&belief, best).exp() - by_quantiles(&near, &belief, best)).abs() < 2e-3);
            let within = aim(Want::Near(target), target - 0.5 * best - 0.3, target + 0.7);
            prop_assert!((within.log_gain(&belief, best).exp() - by_quantiles(&within, &belief, best)).abs() < 2e-3);
            let bounded = aim(Want::Low, floor, f64::INFINITY);
            prop_assert!((bounded.log_gain(&belief, best).exp() - by_quantiles(&bounded, &belief, best)).abs() < 2e-3);
            let loss = (0..4_000).map(|k| near.badness(belief.quantile((f64::from(k) + 0.5) / 4_000.0))).sum::<f64>();
            prop_assert!((near.loss(&belief) - loss / 4_000.0).abs() < 2e-3);
            // A lower loss is better.
            let range = near.better(best);
            prop_assert!((near.badness(range.low + 1e-9) < best) && (near.badness(range.high + 1e-9) > best));
        }
    }

    #[test]
    fn nothing_is_better_than_a_bound() {
        let bounded = aim(Want::Low, 0.0, 1.0);
        let belief = normal(0.2, 1.0);
        assert_eq!(bounded.log_gain(&belief, 0.0), f64::NEG_INFINITY);
        assert_eq!(belief.within(bounded.better(0.0)), 0.0);
        assert_eq!([-3.0, 0.5, 7.0].map(|value| bounded.possible(value)), [0.0, 0.5, 1.0]);
    }
}
