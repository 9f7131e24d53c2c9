//! Decisions on the CPU: logits come back, and the rules are applied to them here.

use super::brain::{Brain, HeadAt, Mind, chosen};
use super::memory::{Memory, Thought};
use crate::Result;
use crate::config::EpisodeRule;
use crate::heads::Head;
use icee_base::math::softmax;
use icee_nn::Model;
use icee_nn::batch::Tokens;
use icee_nn::cpu::Cache;
use icee_train::{Device, Inference};

/// The networks of an agent on the CPU.
pub(super) struct CpuBrain {
    networks: Vec<Inference>,
    /// By network, then by game.
    caches: Vec<Vec<Cache>>,
    /// What the network that was appended to last made of the tokens, [tokens, width].
    trunk: Vec<f32>,
}

impl CpuBrain {
    pub fn new(device: &Device, models: &[&Model]) -> CpuBrain {
        let networks = models.iter().map(|model| device.inference(model)).collect();
        CpuBrain { networks, caches: Vec::new(), trunk: Vec::new() }
    }
}

impl Brain for CpuBrain {
    fn begin(&mut self, games: usize) -> Result<()> {
        let fresh = |network: &Inference| (0..games).map(|_| network.cache()).collect();
        self.caches = self.networks.iter().map(fresh).collect();
        Ok(())
    }

    fn append(&mut self, network: usize, games: &[u32], lengths: &[usize], tokens: &Tokens) -> Result<()> {
        let mut caches: Vec<&mut Cache> = chosen(&mut self.caches[network], games).collect();
        caches.iter_mut().zip(lengths).for_each(|(cache, &length)| cache.truncate(length));
        self.trunk = self.networks[network].append(&mut caches, tokens)?;
        Ok(())
    }

    fn choose_returns(&mut self, mind: Mind<'_>, memories: &mut [Memory], games: &[u32]) -> Result<()> {
        let Mind { blueprint, rules } = mind;
        let found = blueprint.networks[0].head(|head| matches!(head, Head::Return { .. }));
        let Some((index, Head::Return { joint })) = found else { return Ok(()) };
        let logits = self.networks[0].logits(index, &self.trunk, &[])?;
        let classes = logits.len() / games.len().max(1);
        let bins = blueprint.bins.count;
        for (memory, logits) in chosen(memories, games).zip(logits.chunks_exact(classes)) {
            let probabilities = softmax(logits);
            memory.thought.marginal = match joint {
                true => (0..bins).map(|bin| probabilities[bin] + probabilities[bins + bin]).collect(),
                false => probabilities.clone(),
            };
            let slice = if joint {
                if memory.at_episode_start() && rules.acting.episode_rule == EpisodeRule::Joint {
                    memory.thought.episode_rtg = rules.draw_episode_rtg(&probabilities, &mut memory.rng);
                }
                &probabilities[memory.thought.episode_rtg as usize * bins..][..bins]
            } else {
                &probabilities[..]
            };
            memory.thought.step_bin = rules.draw_step_bin(slice, &mut memory.rng);
            let mass: f64 = slice.iter().sum();
            memory.thought.returns = slice.iter().map(|p| p / mass.max(f64::MIN_POSITIVE)).collect();
        }
        Ok(())
    }

    fn choose_actions(&mut self, mind: Mind<'_>, memories: &mut [Memory], games: &[u32]) -> Result<()> {
        let Mind { blueprint, rules } = mind;
        let (actions, bins) = (blueprint.task.actions, blueprint.bins.count);
        let (index, head) = blueprint.deciding_head()?;
        let network = &mut self.networks[blueprint.networks.len() - 1];
        match head {
            Head::Outcome { .. } => {
                let logits = network.logits_for_each(index, &self.trunk)?;
                let classes = logits.len() / (games.len().max(1) * actions);
                for (memory, logits) in chosen(memories, games).zip(logits.chunks_exact(actions * classes)) {
                    let Thought { episode_rtg, step_bin, .. } = memory.thought;
                    let slice = episode_rtg as usize * bins;
                    memory.thought.actions = rules.posterior(logits, classes, slice, step_bin);
                }
            }
            Head::Action { .. } | Head::Return { .. } | Head::Reward | Head::Novelty => {
                let conditions = Thought::conditions(head, memories, games);
                let logits = network.logits(index, &self.trunk, &conditions)?;
                for (memory, logits) in chosen(memories, games).zip(logits.chunks_exact(actions)) {
                    memory.thought.actions = rules.direct(logits);
                }
            }
        }
        Ok(())
    }
    fn imagine(&mut self, head: HeadAt, game: usize, length: usize, tokens: &[Tokens]) -> Result<Vec<f32>> {
        let network = &mut self.networks[head.network];
        // A fork, which shares all but the last page with the game's own cache.
        let mut cache = self.caches[head.network][game].fork();
        let mut logits = Vec::new();
        for token in tokens {
            cache.truncate(length);
            let trunk = network.append(&mut [&mut cache], token)?;
            logits.extend_from_slice(network.logits_for_each(head.head, &trunk)?);
        }
        Ok(logits)
    }
}
