//! The Gittins index of Bernoulli arms for a game of known length: the most that an arm can earn a pull, on average, if it is
//! pulled for as long as that pays.
//!
//! With discounting for ever, to pull the arm of the greatest index is optimal (Gittins 1979). With so many pulls left it is not
//! quite, but nearly: a test compares it with the dynamic program over all arms, which no game of 500 pulls would fit.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Indices are known to 1/256.
const LEVELS: u16 = 256;
/// Games of more pulls have no index: a table is as large as the cube of the pulls, 21 MB of 500 and 168 MB of 1,000.
pub(super) const MOST_PULLS: usize = 1_000;

/// The index of an arm by what it has paid and by how many pulls are left.
#[derive(Debug)]
pub(super) struct Gittins {
    pulls: usize,
    /// For m = 1, 2, …, `pulls` pulls left and n = 0, 1, …, `pulls` − m pulls of this arm, of which s paid: `LEVELS` · index.
    levels: Vec<u8>,
    /// Where those of m begin.
    starts: Vec<usize>,
}

impl Gittins {
    /// The table for games of so many pulls, made when it is first asked for.
    pub fn of(pulls: usize) -> Arc<Gittins> {
        static TABLES: LazyLock<Mutex<HashMap<usize, Arc<Gittins>>>> = LazyLock::new(Mutex::default);
        let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tables.entry(pulls).or_insert_with(|| Arc::new(Gittins::new(pulls))))
    }

    /// For every λ, V(n, s, m) is the most that `n`, `s` and m further pulls can earn if each costs λ and one may stop at any:
    /// 0, or p − λ and what follows, where p = (s + 1)/(n + 2). The index is the greatest λ at which it is above 0.
    fn new(pulls: usize) -> Gittins {
        let triangle = |n: usize| n * (n + 1) / 2;
        let mut starts = vec![0, 0];
        for m in 1..=pulls {
            starts.push(starts[m] + triangle(pulls - m + 1));
        }
        let mut levels = vec![0u8; starts[pulls + 1]];
        let mut values = vec![0.0f32; triangle(pulls + 1)];
        for level in 1..LEVELS {
            let price = f32::from(level) / f32::from(LEVELS);
            values.fill(0.0);
            for m in 1..=pulls {
                for n in 0..=pulls - m {
                    let (now, next) = values[triangle(n)..].split_at_mut(n + 1);
                    let out = &mut levels[starts[m] + triangle(n)..][..=n];
                    let share = 1.0 / (n as f32 + 2.0);
                    for (s, (value, level)) in now.iter_mut().zip(out).enumerate() {
                        let p = (s as f32 + 1.0) * share;
                        *value = (p - price + p * next[s + 1] + (1.0 - p) * next[s]).max(0.0);
                        *level += u8::from(*value > 0.0);
                    }
                }
            }
        }
        Gittins { pulls, levels, starts }
    }

    /// The index of an arm that has paid `s` times in `n` pulls when the game has had `t` in all. Past the game's length
    /// it is as if one were left.
    pub fn index(&self, n: usize, s: usize, t: usize) -> f64 {
        let left = self.pulls.saturating_sub(t);
        match left {
            0 => (s as f64 + 1.0) / (n as f64 + 2.0),
            m => f64::from(self.levels[self.starts[m] + n * (n + 1) / 2 + s]) / f64::from(LEVELS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two arms as (n, s) each.
    type State = [(usize, usize); 2];

    /// What a policy earns on average in all further pulls, by the dynamic program over both arms; the best there is without one.
    fn earns(state: State, left: usize, policy: Option<&dyn Fn(State) -> usize>) -> f64 {
        fn solve(
            state: State,
            left: usize,
            policy: Option<&dyn Fn(State) -> usize>,
            known: &mut HashMap<State, f64>,
        ) -> f64 {
            if left == 0 {
                return 0.0;
            }
            if let Some(&value) = known.get(&state) {
                return value;
            }
            let mut pull = |arm: usize| {
                let (n, s) = state[arm];
                let p = (s as f64 + 1.0) / (n as f64 + 2.0);
                let mut after = |paid: usize| {
                    let mut next = state;
                    next[arm] = (n + 1, s + paid);
                    solve(next, left - 1, policy, known)
                };
                p * (1.0 + after(1)) + (1.0 - p) * after(0)
            };
            let value = match policy {
                Some(policy) => pull(policy(state)),
                None => pull(0).max(pull(1)),
            };
            known.insert(state, value);
            value
        }
        solve(state, left, policy, &mut HashMap::new())
    }

    #[test]
    fn the_index_is_near_the_dynamic_program_and_greed_is_not() {
        const PULLS: usize = 40;
        let table = Gittins::of(PULLS);
        let better = |a: f64, b: f64| usize::from(b > a);
        let by_index = |state: State| {
            let t = state[0].0 + state[1].0;
            let [a, b] = state.map(|(n, s)| table.index(n, s, t));
            better(a, b)
        };
        let by_mean = |state: State| {
            let [a, b] = state.map(|(n, s)| (s as f64 + 1.0) / (n as f64 + 2.0));
            better(a, b)
        };
        let start = [(0, 0); 2];
        let best = earns(start, PULLS, None);
        let (index, greedy) = (earns(start, PULLS, Some(&by_index)), earns(start, PULLS, Some(&by_mean)));
        // The regret that remains is that of not knowing the arms: the better of two has a mean of 2/3.
        let regret = |earned: f64| PULLS as f64 * 2.0 / 3.0 - earned;
        assert!(regret(index) < 1.02 * regret(best), "{} of {}", regret(index), regret(best));
        assert!(regret(greedy) > 1.1 * regret(best), "{} of {}", regret(greedy), regret(best));
    }

    #[test]
    fn indices_by_hand() {
        let table = Gittins::new(2);
        let near =
            |index: f64, by_hand: f64| assert!((index - by_hand).abs() <= 1.0 / f64::from(LEVELS), "{index} {by_hand}");
        // One pull left: the mean. Two left: λ = (1/2 + 1/2 · 2/3)/(1 + 1/2), for who goes on only after a payment.
        near(table.index(1, 1, 1), 2.0 / 3.0);
        near(table.index(0, 0, 1), 0.5);
        near(table.index(0, 0, 0), 5.0 / 9.0);
        // Past the end, the mean as well.
        near(table.index(3, 2, 9), 0.6);
    }
}
