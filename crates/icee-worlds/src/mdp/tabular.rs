//! Random tabular processes, after RL² (Duan and others 2016): ten states, five actions, rewards and transitions that differ from
//! game to game.

use super::plan::{Mdp, Plan, Planned, write_epsilon_greedy};
use crate::{
    EpisodeClock, Observation, ObservationSpace, Policy, Split, Step, StreamRng, World, WorldError, WorldSpec,
};
use icee_base::distributions::{bounded_normal, dirichlet_in_place, normal};
use icee_base::math::sample;
use rand::SeedableRng;
use std::sync::Arc;

const STATES: usize = 10;
const ACTIONS: usize = 5;
const EPISODE_LIMIT: usize = 10;
/// Mean rewards are N(1, 1), and a reward is N(mean, 1). Both are cut at four deviations, so that returns have a range.
const MEAN_REWARD: f64 = 1.0;
const CUT: f64 = 4.0;

/// A random process in play. All episodes begin in state 0.
#[derive(Clone, Debug)]
pub struct TabularMdp {
    spec: Arc<WorldSpec>,
    /// The hidden part.
    rules: Arc<Mdp>,
    state: usize,
    clock: EpisodeClock,
    rng: StreamRng,
}

impl Default for TabularMdp {
    fn default() -> Self {
        Self::new()
    }
}

impl TabularMdp {
    /// `TabularMdp-v0`, with the training game of seed 0 dealt.
    #[must_use]
    pub fn new() -> Self {
        let (low, high) = ((MEAN_REWARD - 2.0 * CUT) as f32, (MEAN_REWARD + 2.0 * CUT) as f32);
        let steps = EPISODE_LIMIT as f32;
        let spec = WorldSpec {
            id: "TabularMdp-v0".into(),
            rules: format!(
                "{STATES} states, starts in the first; transitions ~ Dirichlet(1); mean rewards ~ N(1, 1), with noise of standard deviation 1"
            ),
            observation_space: ObservationSpace::Discrete { size: STATES },
            action_names: (1..=ACTIONS).map(|action| format!("action {action}")).collect(),
            episode_limit: EPISODE_LIMIT,
            episodes: 50,
            return_range: (low * steps, high * steps),
            reward_range: (low, high),
            reward_levels: None,
        };
        let mut world = Self {
            spec: Arc::new(spec),
            rules: Arc::new(Mdp::new(STATES, ACTIONS)),
            state: 0,
            clock: EpisodeClock::default(),
            rng: StreamRng::seed_from_u64(0),
        };
        world.new_game(0, Split::Training);
        world
    }

    /// The best plan for the current game.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.rules.plan(EPISODE_LIMIT)
    }
}

impl World for TabularMdp {
    fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    fn new_game(&mut self, seed: u64, _split: Split) {
        let mut rng = StreamRng::seed_from_u64(seed);
        let mut rules = Mdp::new(STATES, ACTIONS);
        for state in 0..STATES {
            for action in 0..ACTIONS {
                let next = rules.next_mut(state, action);
                next.fill(1.0);
                dirichlet_in_place(&mut rng, next);
                *rules.reward_mut(state, action) = MEAN_REWARD + bounded_normal(&mut rng, CUT);
            }
        }
        self.rules = Arc::new(rules);
        self.clock.stop();
    }

    fn reset(&mut self, seed: u64) -> Observation<'_> {
        self.rng = StreamRng::seed_from_u64(seed);
        self.state = 0;
        self.clock.begin();
        Observation::Discrete(0)
    }

    fn step(&mut self, action: usize) -> Result<Step<'_>, WorldError> {
        self.clock.check(&self.spec, action)?;
        let reward = self.rules.reward(self.state, action) + bounded_normal(&mut self.rng, CUT);
        self.state = sample(self.rules.next(self.state, action), &mut self.rng);
        let truncated = self.clock.tick(&self.spec, false);
        let observation = Observation::Discrete(self.state as u32);
        Ok(Step { observation, reward: reward as f32, terminated: false, truncated })
    }

    fn behaviour(&self) -> Box<dyn Policy> {
        Box::new(Planned::new(self.plan(), true))
    }

    fn oracle(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Planned::new(self.plan(), false)))
    }

    fn posterior(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(PosteriorSampling::new()))
    }

    fn sparse_rewards(&self) -> bool {
        false
    }
}

/// Posterior sampling for reinforcement learning, PSRL (Strens 2000; Osband, Russo and Van Roy 2013): at the start of an episode
/// it draws a process from all that was seen, and follows the best plan for it to the episode's end.
#[derive(Clone, Debug)]
struct PosteriorSampling {
    /// How often each state has followed. `[STATES, ACTIONS, STATES]`
    followed: Vec<f64>,
    /// How often a reward was seen, and the sum of the rewards. `[STATES, ACTIONS]`
    rewards: Vec<(f64, f64)>,
    plan: Option<Plan>,
    step: usize,
    state: usize,
    /// The action that led to the state that is seen next.
    from: Option<(usize, usize)>,
}

impl PosteriorSampling {
    fn new() -> Self {
        let pairs = STATES * ACTIONS;
        let (followed, rewards) = (vec![0.0; pairs * STATES], vec![(0.0, 0.0); pairs]);
        Self { followed, rewards, plan: None, step: 0, state: 0, from: None }
    }

    /// A process from the posterior: Dirichlet(1 + counts), and N((1 + Σr)/(1 + n), 1/(1 + n)).
    fn draw(&self, rng: &mut StreamRng) -> Mdp {
        let mut drawn = Mdp::new(STATES, ACTIONS);
        for state in 0..STATES {
            for action in 0..ACTIONS {
                let pair = state * ACTIONS + action;
                let next = drawn.next_mut(state, action);
                next.iter_mut().zip(&self.followed[pair * STATES..]).for_each(|(p, count)| *p = 1.0 + count);
                dirichlet_in_place(rng, next);
                let (count, sum) = self.rewards[pair];
                let certainty = 1.0 + count;
                *drawn.reward_mut(state, action) = (MEAN_REWARD + sum) / certainty + normal(rng) / certainty.sqrt();
            }
        }
        drawn
    }
}

impl Policy for PosteriorSampling {
    fn begin_game(&mut self) {
        *self = Self::new();
    }

    fn begin_episode(&mut self, _epsilon: f32) {
        (self.plan, self.step, self.from) = (None, 0, None);
    }

    fn probabilities(&mut self, observation: Observation<'_>, rng: &mut StreamRng, probabilities: &mut [f32]) {
        let Observation::Discrete(state) = observation else { return probabilities.fill(0.0) };
        self.state = state as usize;
        if let Some((before, action)) = self.from.take() {
            self.followed[(before * ACTIONS + action) * STATES + self.state] += 1.0;
        }
        let plan = self.plan.take().unwrap_or_else(|| self.draw(rng).plan(EPISODE_LIMIT));
        write_epsilon_greedy(plan.action(self.step, self.state), 0.0, probabilities);
        self.plan = Some(plan);
    }

    fn observe(&mut self, action: usize, reward: f32) {
        let (count, sum) = &mut self.rewards[self.state * ACTIONS + action];
        *count += 1.0;
        *sum += f64::from(reward);
        self.from = Some((self.state, action));
        self.step += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Games, Reference, ReferenceAgent};

    /// The dynamic program says what the oracle earns, game by game.
    #[test]
    fn the_oracle_earns_what_its_plan_says() {
        let mut world = TabularMdp::new();
        let mut difference = 0.0;
        let (games, episodes) = (40, 100);
        for game in 0..games {
            world.new_game(game, Split::Evaluation);
            let value = world.plan().value(0);
            let mut oracle = world.oracle().expect("an oracle");
            let mut rng = StreamRng::seed_from_u64(game);
            for episode in 0..episodes {
                oracle.begin_episode(1.0);
                let mut observation = world.reset(1_000 * game + episode);
                for _ in 0..EPISODE_LIMIT {
                    let mut probabilities = [0.0; ACTIONS];
                    oracle.probabilities(observation, &mut rng, &mut probabilities);
                    let action = crate::sample_action(&probabilities, &mut rng);
                    let step = world.step(action).expect("a running episode");
                    oracle.observe(action, step.reward);
                    difference += f64::from(step.reward);
                    observation = step.observation;
                }
                difference -= value;
            }
        }
        // An episode's return deviates by about √10 for the noise, and no more than twice that in all.
        let mean = difference / (games * episodes) as f64;
        assert!(mean.abs() < 4.0 * 6.3 / f64::from(4_000_u32).sqrt(), "{mean}");
    }

    /// Chance earns the mean reward at every step.
    #[test]
    fn chance_earns_one_a_step() {
        let mut games = Games::deal(&TabularMdp::new(), 2_000, 1, Split::Evaluation).expect("games");
        let mut chance = ReferenceAgent::new(Reference::Random, &games).expect("an agent");
        let first = games.play(&mut chance, 1).expect("returns").estimate(0);
        assert!((first.mean - 10.0).abs() < 2.0 * first.half_width, "{}", first.mean);
    }

    /// What is drawn after many visits is what is true; before, it is the prior.
    #[test]
    fn the_posterior_closes_in_on_the_truth() {
        let world = TabularMdp::new();
        let mut sampling = PosteriorSampling::new();
        let mut rng = StreamRng::seed_from_u64(1);
        let truth = &world.rules;
        let gap = |drawn: &Mdp| {
            let all = (0..STATES * ACTIONS).map(|pair| (pair / ACTIONS, pair % ACTIONS));
            all.map(|(s, a)| (drawn.reward(s, a) - truth.reward(s, a)).abs()).fold(0.0, f64::max)
        };
        assert!(gap(&sampling.draw(&mut rng)) > 0.5);
        for pair in 0..STATES * ACTIONS {
            let (state, action) = (pair / ACTIONS, pair % ACTIONS);
            sampling.rewards[pair] = (10_000.0, 10_000.0 * truth.reward(state, action));
            let next = truth.next(state, action).iter().map(|p| 10_000.0 * p);
            sampling.followed[pair * STATES..].iter_mut().zip(next).for_each(|(count, n)| *count = n);
        }
        let drawn = sampling.draw(&mut rng);
        assert!(gap(&drawn) < 0.05);
        assert!((drawn.plan(EPISODE_LIMIT).value(0) - world.plan().value(0)).abs() < 0.5);
    }
}
