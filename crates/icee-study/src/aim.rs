//! What is wanted of one outcome, as models see it: its unit, its history, and how much better than all before it may turn out
//! to be.

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
/// Rounded, so that another scale or offset of the user's values, which changes their last bits, changes nothing at all.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    sign: f64,
    scale: Standard,
}

impl Units {
    /// The unit for some values, which are multiplied with `sign`.
    pub fn of(values: impl Iterator<Item = f64> + Clone, sign: f64) -> Units {
        Units { sign, scale: Standard::of(values.map(|value| sign * value), Variance::Sample) }
    }

    /// A value that was told.
    pub fn standard(&self, value: f64) -> f64 {
        rounded(&self.scale, self.sign * value)
    }

    /// A value that none of those told need be: also where they do not differ, it is another one than theirs.
    fn place(&self, value: f64) -> f64 {
        match self.is_flat() {
            true => self.scale.locate(self.sign * value),
            // By the same steps: who is at a bound is neither above nor below it.
            false => self.standard(value),
        }
    }

    /// Whether the values do not differ.
    pub fn is_flat(&self) -> bool {
        self.scale.is_flat()
    }

    /// A model's number as the user would say it; the greatest there is, where it would be beyond.
    pub fn shown(&self, standard: f64) -> f64 {
        // 0 is 0, whatever its sign.
        self.sign * self.scale.undo(standard).clamp(f64::MIN, f64::MAX) + 0.0
    }
}

/// What is wanted of one outcome, in the models' unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Want {
    /// As low as can be.
    Low,
    /// As near to this as can be.
    Near(f64),
    /// No higher than this.
    Limit(f64),
}

/// One outcome: its unit, what is wanted of it, and what was told of it.
#[derive(Clone, Debug)]
pub struct Aim {
    /// Its unit.
    pub units: Units,
    pub want: Want,
    /// The ends between which it lies at all.
    floor: f64,
    ceiling: f64,
    /// The same in the user's unit.
    ends: [f64; 2],
    /// What was told, as models see it: every measurement for itself, so that they see how far those of one row differ. A failed
    /// row counts as no better than the worst value told, one that cannot be had is not there.
    pub history: Vec<Told>,
    /// What an earlier study has found, each in units of its own: what is alike is how values lie to each other.
    pub earlier: Vec<Told>,
    /// How many rows have a value, of both.
    pub values: usize,
}

impl Aim {
    /// `earlier` are values of an earlier study, whose rows follow those of the pool.
    pub fn of(trials: &Trials, number: usize, wanted: Wanted, bounds: Bounds, earlier: &[f64]) -> Aim {
        let sign = match wanted {
            Wanted::Best(direction) => direction.sign(),
            Wanted::AtLeast(_) => -1.0,
            Wanted::AtMost(_) => 1.0,
        };
        let own = trials.told.iter().filter_map(|trial| trial.outcome(number));
        let earlier_units = Units::of(earlier.iter().copied(), sign);
        // As long as there is no value of one's own, the earlier study's unit will do.
        let borrowed = earlier.len() > 1 && own.clone().next().is_none();
        let units = if borrowed { earlier_units } else { Units::of(own, sign) };
        // Bounds that the earlier values do not keep are in another unit.
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

    /// How bad a value is, also beyond a limit.
    pub fn badness(&self, value: f64) -> f64 {
        if let Want::Near(target) = self.want { (value - target).abs() } else { value }
    }

    /// The values that are better than a loss.
    pub fn better(&self, loss: f64) -> Range {
        match self.want {
            // What a belief has beyond a bound lies on it.
            Want::Near(target) => {
                let (low, high) = (target - loss.max(0.0), target + loss.max(0.0));
                let low = if low < self.floor { f64::NEG_INFINITY } else { low };
                Range { low, high: if high > self.ceiling { f64::INFINITY } else { high } }
            }
            // What cannot be is not better.
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
                // (t + d − y)⁺ of values that lie on the ceiling.
                let near = match target + best > self.ceiling {
                    true => below(self.ceiling) + target + best - self.ceiling,
                    false => below(target + best),
                };
                ln((near - 2.0 * below(target) + far).max(0.0))
            }
            _ if best <= self.floor => f64::NEG_INFINITY,
            // What a belief has below the floor lies on it.
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

    /// A value drawn from a belief, such as can be.
    pub fn draw(&self, belief: &Belief, rng: &mut dyn Rng) -> f64 {
        self.possible(belief.sample(rng))
    }

    /// A model's number as the user would say it, such as can be.
    pub fn shown(&self, standard: f64) -> f64 {
        self.units.shown(self.possible(standard)).clamp(self.ends[0], self.ends[1])
    }

    /// The nearest value that can be.
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

    /// E[(best − loss)⁺] by quantiles, of values such as can be.
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
            // Better than a loss is what has a lower one.
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
