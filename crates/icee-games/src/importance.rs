//! Importance sampling of single actions: estimates, with bounds, the return of the logged policy with one action replaced by the
//! agent's.
//!
//! A weight w = agent / log has mean 1 in every state, so Σ (w − 1) (G − b) is unbiased for any baseline b. Weights are clipped. The
//! clipped weights of a state have mean 1 − m, where m is the probability of agent actions that are almost absent from the log; this
//! adds a bias m (b − V) in a state of value V. With a mean return as b, an agent would look better wherever such states are poor,
//! even if its actions had no effect. So there are two baselines: the least possible return gives a lower bound, the greatest
//! possible return an upper bound. Unseen actions count as the worst in the first and as the best in the second.

use icee_base::stats::{Estimate, student_quantile};
use serde::Serialize;
use std::collections::BTreeMap;

/// Differences below this share of what is compared are rounding errors.
const ROUNDING: f64 = 1e-6;

/// One step of a logged task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tried {
    pub game: usize,
    /// The importance weight: the agent's probability of the logged action over the log's.
    pub weight: f64,
    /// The return that followed, and its possible range.
    pub to_go: f64,
    pub bounds: (f64, f64),
}

/// The effect of replacing one logged action by the agent's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Improvement {
    /// The mean return-to-go of the logged actions.
    pub logged: f64,
    /// The same with the agent's action.
    pub agent: f64,
    /// The range of the agent's (95 %). Actions that are almost absent from the log count as the worst, or the best, possible result.
    pub at_least: f64,
    /// See `at_least`.
    pub at_most: f64,
    /// The share of the agent's actions that are almost absent from the log, where it is significant.
    pub unseen: f64,
}

impl Improvement {
    /// Whether the agent is significantly better, or worse.
    #[must_use]
    pub fn verdict(&self) -> Option<bool> {
        let Improvement { logged, agent, at_least, at_most, .. } = *self;
        let rounding = ROUNDING * agent.abs().max(logged.abs());
        // Bounds that cross mean that the probabilities are wrong.
        let (better, worse) = (at_least > logged + rounding, at_most < logged - rounding);
        (at_least <= at_most && better != worse).then_some(better)
    }

    /// The estimate from these steps; none without steps. Standard errors are over tasks: steps of one task are not independent.
    pub(crate) fn of(steps: &[Tried]) -> Option<Improvement> {
        if steps.is_empty() {
            return None;
        }
        let count = steps.len() as f64;
        // Weights are clipped at √n (Ionides, 2008).
        let greatest = count.sqrt();
        let weight = |step: &Tried| step.weight.min(greatest);
        let mean = |of: &dyn Fn(&Tried) -> f64| steps.iter().map(of).sum::<f64>() / count;
        let logged = mean(&|step| step.to_go);
        let (lowest, highest) =
            steps.iter().fold((f64::MAX, f64::MIN), |(low, high), step| (low.min(step.to_go), high.max(step.to_go)));
        let least = |step: &Tried| step.bounds.0.max(lowest);
        let most = |step: &Tried| step.bounds.1.min(highest);
        let low = over_games(steps, &|step| (weight(step) - 1.0) * (step.to_go - least(step)));
        let high = over_games(steps, &|step| (weight(step) - 1.0) * (step.to_go - most(step)));
        let at_least = (logged + low.mean - low.half_width).max(mean(&least));
        let at_most = (logged + high.mean + high.half_width).min(mean(&most));
        let agent = logged + mean(&|step| (weight(step) - 1.0) * (step.to_go - logged));
        let agent = if at_least <= at_most { agent.clamp(at_least, at_most) } else { agent };
        let cut = over_games(steps, &|step| 1.0 - weight(step));
        let unseen = if cut.mean > cut.half_width { cut.mean } else { 0.0 };
        Some(Improvement { logged, agent, at_least, at_most, unseen })
    }
}

/// The mean of something over steps, with an interval over tasks.
fn over_games(steps: &[Tried], of: &dyn Fn(&Tried) -> f64) -> Estimate {
    let mut games: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for step in steps {
        let (sum, count) = games.entry(step.game).or_default();
        *sum += of(step);
        *count += 1.0;
    }
    let (n, count) = (games.len(), steps.len() as f64);
    let mean = games.values().map(|(sum, _)| sum).sum::<f64>() / count;
    if n < 2 {
        return Estimate { mean, half_width: f64::INFINITY };
    }
    let squares: f64 = games.values().map(|(sum, steps)| (sum - mean * steps).powi(2)).sum();
    let error = (squares * n as f64 / (n - 1) as f64).sqrt() / count;
    Estimate { mean, half_width: student_quantile(n - 1) * error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_base::random;
    use rand::RngExt;

    /// Games of 4 episodes of 4 steps with two actions, of which the second has this probability in good states and in bad ones; the agent
    /// takes either. `pays` is what a step earns, by its state and action; a state is that of its game, or drawn for every step.
    fn games(
        seed: u64,
        hidden: bool,
        probabilities: (f64, f64),
        pays: impl Fn(bool, bool) -> f64,
    ) -> Option<Improvement> {
        let mut rng = random::path(seed, &[]);
        let mut steps = Vec::new();
        for game in 0..100 {
            let mut good = rng.random::<f64>() < 0.5;
            for _ in 0..4 {
                let mut to_go = 0.0;
                // From the last step on.
                for left in 1..=4 {
                    good = if hidden { good } else { rng.random::<f64>() < 0.5 };
                    let second = if good { probabilities.0 } else { probabilities.1 };
                    let takes = rng.random::<f64>() < second;
                    to_go += pays(good, takes);
                    let weight = 0.5 / if takes { second } else { 1.0 - second };
                    steps.push(Tried { game, weight, to_go, bounds: (0.0, f64::from(left)) });
                }
            }
        }
        Improvement::of(&steps)
    }

    /// How often of 200 games are said to be better, and worse.
    fn verdicts(of: impl Fn(u64) -> Option<Improvement>) -> (usize, usize) {
        let said: Vec<Option<bool>> = (0..200).map(|seed| of(seed).and_then(|all| all.verdict())).collect();
        let count = |wanted| said.iter().filter(|one| **one == Some(wanted)).count();
        (count(true), count(false))
    }

    #[test]
    fn actions_that_do_nothing_are_seldom_better_or_worse_however_rare_they_are_in_the_log() {
        for hidden in [true, false] {
            for rare in [0.5, 0.1, 0.01, 1e-3, 1e-5] {
                for (probabilities, what) in [((0.5, rare), "bad"), ((rare, 0.5), "good"), ((rare, rare), "all")] {
                    let (better, worse) =
                        verdicts(|seed| games(seed, hidden, probabilities, |good, _| f64::from(good)));
                    assert!(better.max(worse) <= 10, "{better}, {worse} of 200: {rare} in {what}, hidden: {hidden}");
                }
            }
        }
    }

    #[test]
    fn actions_that_do_something_are_found_out() {
        // The log takes the second action now and then, the agent every other time.
        for second in [0.2, 0.05] {
            let (better, _) = verdicts(|seed| games(seed, true, (second, second), |_, takes| f64::from(takes)));
            let (_, worse) = verdicts(|seed| games(seed, true, (second, second), |_, takes| f64::from(!takes)));
            assert!(better >= 190 && worse >= 190, "{better}, {worse} of 200");
        }
        // What was hardly ever done earns the least that there is, for all that is known.
        let unknown = games(1, true, (1e-5, 1e-5), |_, takes| f64::from(takes)).expect("steps");
        assert!(unknown.verdict().is_none() && unknown.unseen > 0.4, "{unknown:?}");
    }

    #[test]
    fn weights_that_no_right_probabilities_have_say_nothing() {
        let step = |game: usize| Tried { game, weight: 3.0, to_go: (1 + game % 2) as f64, bounds: (0.0, 5.0) };
        let all = Improvement::of(&(0..20).map(step).collect::<Vec<Tried>>()).expect("steps");
        assert!(all.at_least > all.at_most && all.verdict().is_none(), "{all:?}");
    }

    #[test]
    fn nothing_is_infinite() {
        assert_eq!(Improvement::of(&[]), None);
        let step = |game, weight, to_go| Tried { game, weight, to_go, bounds: (0.0, 5.0) };
        // One game has no interval; an agent that would have done nothing of what was done has no weights.
        for steps in [[step(0, 1.0, 1.0), step(0, 2.0, 2.0)], [step(0, 0.0, 1.0), step(1, 0.0, 2.0)]] {
            let all = Improvement::of(&steps).expect("steps");
            assert_eq!((all.logged, all.at_least, all.at_most, all.verdict()), (1.5, 1.0, 2.0, None), "{all:?}");
        }
    }
}
