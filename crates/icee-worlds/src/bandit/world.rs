//! A bandit with independent arms.

use super::arms::Arms;
use super::gittins::{Gittins, MOST_PULLS};
use super::policies::{Always, Committed, Counting, Index, greatest};
use crate::{
    EpisodeClock, LEAST_RETURN_TO_GO, Observation, ObservationSpace, Policy, Split, Step, StreamRng, World, WorldError,
    WorldSpec,
};
use rand::SeedableRng;
use std::sync::Arc;

/// Everything in which one bandit differs from another.
#[derive(Clone, Debug, PartialEq)]
pub struct BanditRules {
    /// The versioned id, `Name-v0`.
    pub id: String,
    /// What arms pay.
    pub arms: Arms,
    /// How many there are.
    pub count: usize,
    /// T: pulls of an episode.
    pub episode_limit: usize,
    /// K: episodes of a sequence.
    pub episodes: usize,
}

/// The named bandits: 500 pulls as 25 episodes of 20, and a small one of 100 pulls to try things on.
#[must_use]
pub fn presets() -> Vec<BanditRules> {
    let named = |name: &str, arms, count| BanditRules {
        id: format!("{name}{count}-v0"),
        arms,
        count,
        episode_limit: 20,
        episodes: 25,
    };
    let mut all: Vec<BanditRules> = Vec::new();
    for (name, arms) in [("BernoulliBandit", Arms::Bernoulli), ("GaussianBandit", Arms::Gaussian)] {
        all.extend([5, 10, 20].map(|count| named(name, arms, count)));
    }
    let tiny = named("BernoulliBandit", Arms::Bernoulli, 5);
    all.push(BanditRules { id: "BernoulliBanditTiny-v0".into(), episode_limit: 10, episodes: 10, ..tiny });
    all
}

/// A bandit in play.
#[derive(Clone, Debug)]
pub struct BanditWorld {
    spec: Arc<WorldSpec>,
    arms: Arms,
    /// The hidden part: what each arm pays on average.
    means: Arc<[f64]>,
    clock: EpisodeClock,
    rng: StreamRng,
}

impl BanditWorld {
    /// A bandit by these rules, with the training game of seed 0 dealt.
    ///
    /// # Errors
    /// [`WorldError::InvalidRules`].
    pub fn new(rules: BanditRules) -> Result<Self, WorldError> {
        let BanditRules { id, arms, count, episode_limit, episodes } = rules;
        if count == 0 || episode_limit == 0 || episodes == 0 {
            let reason = "a bandit needs at least one arm, one pull an episode and one episode".into();
            return Err(WorldError::InvalidRules { id, reason });
        }
        let pays = match arms {
            Arms::Bernoulli => "an arm pays 1 with its own probability, uniform in [0, 1]",
            Arms::Gaussian => "an arm has its own mean, uniform in [0, 1], with noise of standard deviation 0.3",
        };
        let (low, high) = arms.reward_range();
        let pulls = episode_limit as f32;
        let spec = WorldSpec {
            id,
            rules: format!("{count} arms; {pays}"),
            observation_space: ObservationSpace::Discrete { size: 1 },
            action_names: (1..=count).map(|arm| format!("arm {arm}")).collect(),
            episode_limit,
            episodes,
            return_range: (if low < 0.0 { low * pulls } else { LEAST_RETURN_TO_GO }, high * pulls),
            reward_range: (low, high),
            reward_levels: arms.reward_levels(),
        };
        let rng = StreamRng::seed_from_u64(0);
        let clock = EpisodeClock::default();
        let mut world = Self { spec: Arc::new(spec), arms, means: Arc::new([]), clock, rng };
        world.new_game(0, Split::Training);
        Ok(world)
    }

    /// What each arm of the current game pays on average.
    #[must_use]
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    fn best(&self) -> usize {
        greatest(self.means.iter().copied())
    }

    fn counting(&self, index: Index) -> Box<dyn Policy> {
        Box::new(Counting::new(self.arms, self.means.len(), index))
    }
}

impl World for BanditWorld {
    fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    fn new_game(&mut self, seed: u64, _split: Split) {
        let mut rng = StreamRng::seed_from_u64(seed);
        self.means = (0..self.spec.actions()).map(|_| self.arms.draw_mean(&mut rng)).collect();
        self.clock.stop();
    }

    fn reset(&mut self, seed: u64) -> Observation<'_> {
        self.rng = StreamRng::seed_from_u64(seed);
        self.clock.begin();
        Observation::Discrete(0)
    }

    fn step(&mut self, action: usize) -> Result<Step<'_>, WorldError> {
        self.clock.check(&self.spec, action)?;
        let reward = self.arms.pay(self.means[action], &mut self.rng);
        let truncated = self.clock.tick(&self.spec, false);
        Ok(Step { observation: Observation::Discrete(0), reward, terminated: false, truncated })
    }

    fn behaviour(&self) -> Box<dyn Policy> {
        Box::new(Committed::behaviour(self.means.len(), self.best()))
    }

    fn expert(&self) -> Box<dyn Policy> {
        Box::new(Committed::expert(self.means.len(), self.best()))
    }

    fn oracle(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Always { arm: self.best() }))
    }

    /// Thompson sampling.
    fn posterior(&self) -> Option<Box<dyn Policy>> {
        Some(self.counting(Index::Thompson))
    }

    /// UCB1.
    fn ucb(&self) -> Option<Box<dyn Policy>> {
        Some(self.counting(Index::Ucb1))
    }

    /// The Gittins index, of Bernoulli arms.
    fn gittins(&self) -> Option<Box<dyn Policy>> {
        let pulls = self.spec.episodes.saturating_mul(self.spec.episode_limit);
        let known = self.arms == Arms::Bernoulli && pulls <= MOST_PULLS;
        known.then(|| self.counting(Index::Gittins(Gittins::of(pulls))))
    }

    fn sparse_rewards(&self) -> bool {
        false
    }

    fn render(&self) -> String {
        let means = self.means.iter().enumerate().map(|(arm, mean)| format!("arm {}: {mean:.3}\n", arm + 1));
        means.collect()
    }
}
