//! A linear bandit: arms with features that are the same in every game, and hidden weights that all arms share. A pull of one
//! arm says something about the others.

use super::arms::{NOISE, NOISE_CUT};
use super::policies::{Always, Committed, greatest, write_only};
use super::regression::{Regression, Vector, dot};
use crate::{
    EpisodeClock, Observation, ObservationSpace, Policy, Split, Step, StreamRng, World, WorldError, WorldSpec,
};
use icee_base::distributions::{bounded_normal, normal};
use icee_base::random;
use rand::SeedableRng;
use std::sync::Arc;

/// Features of an arm.
pub(super) const DIMENSIONS: usize = 5;
const ARMS: usize = 20;
/// The variance of every weight. The weights' length is about 1, and so are the best arms' means.
const VARIANCE: f64 = 1.0 / DIMENSIONS as f64;
/// Weights longer than this, one game in 8,000, are drawn again, so that returns have a range.
const LONGEST: f64 = 2.25;
/// The width of LinUCB's bounds, 1 + √(ln(2/δ)/2) for δ = 0.1 (Li, Chu, Langford and Schapire 2010).
const WIDTH: f64 = 2.224;

/// A linear bandit in play: 20 arms with five features, 500 pulls as 25 episodes of 20.
#[derive(Clone, Debug)]
pub struct LinearBandit {
    spec: Arc<WorldSpec>,
    features: Arc<[Vector; ARMS]>,
    /// The hidden part.
    weights: Vector,
    clock: EpisodeClock,
    rng: StreamRng,
}

impl Default for LinearBandit {
    fn default() -> Self {
        Self::new()
    }
}

impl LinearBandit {
    /// `LinearBandit-v0`, with the training game of seed 0 dealt.
    #[must_use]
    pub fn new() -> Self {
        let most = (LONGEST + NOISE * NOISE_CUT) as f32;
        let (episode_limit, episodes) = (20, 25);
        let spec = WorldSpec {
            id: "LinearBandit-v0".into(),
            rules: format!(
                "{ARMS} arms with {DIMENSIONS} features, the same in all tasks; an arm pays the product with hidden weights, with noise of standard deviation 0.3"
            ),
            observation_space: ObservationSpace::Discrete { size: 1 },
            action_names: (1..=ARMS).map(|arm| format!("arm {arm}")).collect(),
            episode_limit,
            episodes,
            return_range: (-most * episode_limit as f32, most * episode_limit as f32),
            reward_range: (-most, most),
            reward_levels: None,
        };
        let mut world = Self {
            spec: Arc::new(spec),
            features: Arc::new(features()),
            weights: [0.0; DIMENSIONS],
            clock: EpisodeClock::default(),
            rng: StreamRng::seed_from_u64(0),
        };
        world.new_game(0, Split::Training);
        world
    }

    /// What each arm of the current game pays on average.
    pub fn means(&self) -> impl Iterator<Item = f64> {
        self.features.iter().map(|features| dot(features, &self.weights))
    }

    fn best(&self) -> usize {
        greatest(self.means())
    }

    fn learning(&self, optimistic: bool) -> Box<dyn Policy> {
        Box::new(Learning { features: Arc::clone(&self.features), seen: Regression::new(VARIANCE, NOISE), optimistic })
    }
}

/// Directions of length 1 that are drawn once and for all.
fn features() -> [Vector; ARMS] {
    let mut rng = random::path(0, &[ARMS as u64, DIMENSIONS as u64]);
    std::array::from_fn(|_| {
        let drawn: Vector = std::array::from_fn(|_| normal(&mut rng));
        let length = dot(&drawn, &drawn).sqrt();
        drawn.map(|value| value / length)
    })
}

impl World for LinearBandit {
    fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    fn new_game(&mut self, seed: u64, _split: Split) {
        let mut rng = StreamRng::seed_from_u64(seed);
        loop {
            self.weights = std::array::from_fn(|_| VARIANCE.sqrt() * normal(&mut rng));
            if dot(&self.weights, &self.weights) <= LONGEST * LONGEST {
                break;
            }
        }
        self.clock.stop();
    }

    fn reset(&mut self, seed: u64) -> Observation<'_> {
        self.rng = StreamRng::seed_from_u64(seed);
        self.clock.begin();
        Observation::Discrete(0)
    }

    fn step(&mut self, action: usize) -> Result<Step<'_>, WorldError> {
        self.clock.check(&self.spec, action)?;
        let mean = dot(&self.features[action], &self.weights);
        let reward = (mean + NOISE * bounded_normal(&mut self.rng, NOISE_CUT)) as f32;
        let truncated = self.clock.tick(&self.spec, false);
        Ok(Step { observation: Observation::Discrete(0), reward, terminated: false, truncated })
    }

    fn behaviour(&self) -> Box<dyn Policy> {
        Box::new(Committed::behaviour(ARMS, self.best()))
    }

    fn expert(&self) -> Box<dyn Policy> {
        Box::new(Committed::expert(ARMS, self.best()))
    }

    fn oracle(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Always { arm: self.best() }))
    }

    /// Linear Thompson sampling.
    fn posterior(&self) -> Option<Box<dyn Policy>> {
        Some(self.learning(false))
    }

    /// LinUCB.
    fn ucb(&self) -> Option<Box<dyn Policy>> {
        Some(self.learning(true))
    }

    fn sparse_rewards(&self) -> bool {
        false
    }

    fn render(&self) -> String {
        self.means().enumerate().map(|(arm, mean)| format!("arm {}: {mean:.3}\n", arm + 1)).collect()
    }
}

/// Linear Thompson sampling, or LinUCB where it is optimistic.
#[derive(Clone, Debug)]
struct Learning {
    features: Arc<[Vector; ARMS]>,
    seen: Regression,
    optimistic: bool,
}

impl Policy for Learning {
    fn begin_game(&mut self) {
        self.seen = Regression::new(VARIANCE, NOISE);
    }

    fn begin_episode(&mut self, _epsilon: f32) {}

    fn probabilities(&mut self, _: Observation<'_>, rng: &mut StreamRng, probabilities: &mut [f32]) {
        let belief = self.seen.belief();
        let arms = self.features.iter();
        let chosen = if self.optimistic {
            greatest(arms.map(|arm| dot(arm, &belief.mean) + WIDTH * belief.deviation(arm)))
        } else {
            let weights = belief.draw(rng);
            greatest(arms.map(|arm| dot(arm, &weights)))
        };
        write_only(chosen, probabilities);
    }

    fn observe(&mut self, action: usize, reward: f32) {
        self.seen.observe(&self.features[action], f64::from(reward));
    }
}
