//! A world of one's own in one file: a bandit whose arms pay with probabilities that cannot be seen.
//!
//! `docs/adding-a-world.md` walks through it.

use icee_worlds::{
    EpisodeClock, Observation, ObservationSpace, Policy, Split, Step, StreamRng, World, WorldError, WorldSpec,
};
use rand::{RngExt, SeedableRng};

const ARMS: usize = 5;

/// The whole state of a game.
#[derive(Clone)]
pub struct Bandit {
    spec: WorldSpec,
    /// Hidden: how often each arm pays.
    chances: [f32; ARMS],
    clock: EpisodeClock,
    rng: StreamRng,
}

impl Bandit {
    /// A bandit with a game of its own.
    pub fn new() -> Self {
        let spec = WorldSpec {
            id: "Bandit-v0".into(),
            rules: "5 arms; an arm pays 1 with a chance of its own; 10 pulls an episode".into(),
            observation_space: ObservationSpace::Discrete { size: 1 },
            action_names: (1..=ARMS).map(|arm| format!("arm {arm}")).collect(),
            episode_limit: 10,
            episodes: 20,
            return_range: (-1.0, 10.0),
            reward_range: (0.0, 1.0),
            reward_levels: Some(2),
        };
        let (clock, rng) = (EpisodeClock::default(), StreamRng::seed_from_u64(0));
        let mut bandit = Self { spec, chances: [0.0; ARMS], clock, rng };
        bandit.new_game(0, Split::Training);
        bandit
    }

    fn best_arm(&self) -> usize {
        (0..ARMS).max_by(|&a, &b| self.chances[a].total_cmp(&self.chances[b])).unwrap_or(0)
    }
}

impl World for Bandit {
    fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    fn new_game(&mut self, seed: u64, _split: Split) {
        self.chances = StreamRng::seed_from_u64(seed).random();
        self.clock.stop();
    }

    fn reset(&mut self, seed: u64) -> Observation<'_> {
        self.rng = StreamRng::seed_from_u64(seed);
        self.clock.begin();
        Observation::Discrete(0)
    }

    fn step(&mut self, action: usize) -> Result<Step<'_>, WorldError> {
        self.clock.check(&self.spec, action)?;
        let pays = self.rng.random::<f32>() < self.chances[action];
        let truncated = self.clock.tick(&self.spec, false);
        let reward = if pays { 1.0 } else { 0.0 };
        Ok(Step { observation: Observation::Discrete(0), reward, terminated: false, truncated })
    }

    fn behaviour(&self) -> Box<dyn Policy> {
        Box::new(MostlyBest { best: self.best_arm(), noise: None, epsilon: 0.0 })
    }

    fn oracle(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(MostlyBest { best: self.best_arm(), noise: Some(0.0), epsilon: 0.0 }))
    }
}

/// Pulls the best arm with 1 − ε, and each of the others with an equal share of ε.
struct MostlyBest {
    best: usize,
    /// An ε of its own, instead of the episode's.
    noise: Option<f32>,
    epsilon: f32,
}

impl Policy for MostlyBest {
    fn begin_episode(&mut self, epsilon: f32) {
        self.epsilon = self.noise.unwrap_or(epsilon);
    }

    fn probabilities(&mut self, _: Observation<'_>, _: &mut StreamRng, probabilities: &mut [f32]) {
        probabilities.fill(self.epsilon / (ARMS - 1) as f32);
        probabilities[self.best] = 1.0 - self.epsilon;
    }

    fn observe(&mut self, _action: usize, _reward: f32) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_worlds::{Collection, Games, Reference, ReferenceAgent, Registry, collect, conformance};

    #[test]
    fn the_bandit_keeps_the_contract() {
        conformance::check(&Bandit::new()).unwrap_or_else(|violation| panic!("{violation}"));
    }

    #[test]
    fn the_bandit_pays_what_was_computed_by_hand() {
        let mut games = Games::deal(&Bandit::new(), 4_000, 1, Split::Evaluation).expect("games");
        // Chances are uniform: their mean is 1/2, the mean of the greatest of five is 5/6.
        for (kind, by_hand) in [(Reference::Random, 5.0), (Reference::Oracle, 10.0 * 5.0 / 6.0)] {
            let mut agent = ReferenceAgent::new(kind, &games).expect("an agent");
            let summary = games.play(&mut agent, 1).expect("returns").estimate(0);
            let allowed = 2.0 * summary.half_width;
            assert!((summary.mean - by_hand).abs() < allowed, "{}: {}", kind.name(), summary.mean);
        }
    }

    #[test]
    fn the_bandit_is_registered_and_collected_like_any_world() {
        let mut registry = Registry::builtin();
        registry.register(Box::new(Bandit::new())).expect("a new id");
        let world = registry.make("Bandit-v0").expect("a known world");
        let batch = collect(&*world, &Collection::new(3, 20, 1)).expect("a batch");
        assert_eq!((batch.sequences(), batch.steps()), (3, 3 * 20 * 10));
        let missing = Reference::Sweep.policy(&*world).err().expect("bandits are not swept").to_string();
        assert!(missing.contains("has no sweep agent"), "{missing}");
    }
}
