//! Planning by dynamic programming over the steps that are left: the oracle of every world whose states are few.

use crate::{Observation, Policy, StreamRng};

/// A process with known rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Mdp {
    states: usize,
    actions: usize,
    /// P(s' | s, a). `[states, actions, states]`
    transitions: Vec<f64>,
    /// E(r | s, a). `[states, actions]`
    rewards: Vec<f64>,
}

/// What is best at every step and in every state.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    states: usize,
    /// The best action. `[steps, states]`
    best: Vec<u32>,
    /// What it earns to the episode's end from the first step on. `[states]`
    values: Vec<f64>,
}

impl Mdp {
    /// Nothing is paid and nothing leads anywhere yet.
    #[must_use]
    pub fn new(states: usize, actions: usize) -> Self {
        let transitions = vec![0.0; states * actions * states];
        Self { states, actions, transitions, rewards: vec![0.0; states * actions] }
    }

    /// The probability of every next state.
    #[must_use]
    pub fn next(&self, state: usize, action: usize) -> &[f64] {
        let start = (state * self.actions + action) * self.states;
        &self.transitions[start..start + self.states]
    }

    /// The same, to be written.
    pub fn next_mut(&mut self, state: usize, action: usize) -> &mut [f64] {
        let start = (state * self.actions + action) * self.states;
        &mut self.transitions[start..start + self.states]
    }

    /// What an action pays on average.
    #[must_use]
    pub fn reward(&self, state: usize, action: usize) -> f64 {
        self.rewards[state * self.actions + action]
    }

    /// The same, to be written.
    pub fn reward_mut(&mut self, state: usize, action: usize) -> &mut f64 {
        &mut self.rewards[state * self.actions + action]
    }

    /// The best plan for so many steps.
    #[must_use]
    pub fn plan(&self, steps: usize) -> Plan {
        let mut best = vec![0; steps * self.states];
        let mut values = vec![0.0; self.states];
        for step in (0..steps).rev() {
            let mut now = vec![0.0; self.states];
            for state in 0..self.states {
                let value = |action| {
                    let later: f64 = self.next(state, action).iter().zip(&values).map(|(p, value)| p * value).sum();
                    self.reward(state, action) + later
                };
                let mut most = (0, value(0));
                for action in 1..self.actions {
                    let value = value(action);
                    if value > most.1 {
                        most = (action, value);
                    }
                }
                best[step * self.states + state] = most.0 as u32;
                now[state] = most.1;
            }
            values = now;
        }
        Plan { states: self.states, best, values }
    }
}

impl Plan {
    /// The best action at a step, counted from 0; past the last step that of the last.
    #[must_use]
    pub fn action(&self, step: usize, state: usize) -> usize {
        let last = self.best.len() / self.states - 1;
        self.best[step.min(last) * self.states + state] as usize
    }

    /// What it earns on average, beginning in a state.
    #[must_use]
    pub fn value(&self, state: usize) -> f64 {
        self.values[state]
    }
}

/// Follows a plan: with 1 − ε its action, with ε one of the others. The oracle takes no notice of ε.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    plan: Plan,
    noisy: bool,
    epsilon: f32,
    step: usize,
}

impl Planned {
    pub fn new(plan: Plan, noisy: bool) -> Self {
        Self { plan, noisy, epsilon: 0.0, step: 0 }
    }
}

impl Policy for Planned {
    fn begin_episode(&mut self, epsilon: f32) {
        self.epsilon = if self.noisy { epsilon } else { 0.0 };
        self.step = 0;
    }

    fn probabilities(&mut self, observation: Observation<'_>, _: &mut StreamRng, probabilities: &mut [f32]) {
        let Observation::Discrete(state) = observation else { return probabilities.fill(0.0) };
        write_epsilon_greedy(self.plan.action(self.step, state as usize), self.epsilon, probabilities);
    }

    fn observe(&mut self, _action: usize, _reward: f32) {
        self.step += 1;
    }
}

/// 1 − ε for one action, ε shared by the others.
pub(super) fn write_epsilon_greedy(action: usize, epsilon: f32, probabilities: &mut [f32]) {
    probabilities.fill(epsilon / (probabilities.len() - 1) as f32);
    probabilities[action] = 1.0 - epsilon;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prelude::*, test_runner::RngSeed};

    /// Two states. Action 0 stays and pays 1 in state 1; action 1 leads to state 1 and costs 0.5 in state 0.
    fn ladder() -> Mdp {
        let mut mdp = Mdp::new(2, 2);
        mdp.next_mut(0, 0)[0] = 1.0;
        mdp.next_mut(0, 1)[1] = 1.0;
        mdp.next_mut(1, 0)[1] = 1.0;
        mdp.next_mut(1, 1)[1] = 1.0;
        *mdp.reward_mut(0, 1) = -0.5;
        *mdp.reward_mut(1, 0) = 1.0;
        mdp
    }

    #[test]
    fn a_plan_by_hand() {
        let plan = ladder().plan(3);
        // Climbing costs 0.5 and pays 1 at each of the two steps that are left; at the last step it does not pay.
        assert_eq!((plan.value(0), plan.value(1)), (1.5, 3.0));
        assert_eq!([0, 1, 2].map(|step| plan.action(step, 0)), [1, 1, 0]);
        assert_eq!(plan.action(9, 0), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, rng_seed: RngSeed::Fixed(9), failure_persistence: None, ..ProptestConfig::default() })]

        /// No fixed sequence of choices by state does better than the plan, in random processes.
        #[test]
        fn no_stationary_policy_beats_the_plan(numbers in proptest::collection::vec(0.01_f64..1.0, 3 * 2 * 4), policy in proptest::collection::vec(0_usize..2, 3)) {
            let mut mdp = Mdp::new(3, 2);
            for state in 0..3 {
                for action in 0..2 {
                    let drawn = &numbers[(state * 2 + action) * 4..][..4];
                    let sum: f64 = drawn[..3].iter().sum();
                    mdp.next_mut(state, action).iter_mut().zip(drawn).for_each(|(p, x)| *p = x / sum);
                    *mdp.reward_mut(state, action) = drawn[3];
                }
            }
            let mut values = [0.0; 3];
            for _ in 0..5 {
                values = std::array::from_fn(|state| {
                    let action = policy[state];
                    mdp.reward(state, action) + mdp.next(state, action).iter().zip(&values).map(|(p, v)| p * v).sum::<f64>()
                });
            }
            let plan = mdp.plan(5);
            prop_assert!((0..3).all(|state| plan.value(state) >= values[state] - 1e-12));
        }
    }
}
