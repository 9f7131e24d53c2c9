//! Decisions with networks, caches and rules on a GPU: only the chosen values come back.

use super::brain::{Brain, HeadAt, Mind, chosen};
use super::memory::{Memory, Thought};
use crate::config::{EpisodeRule, OutcomeReading};
use crate::heads::Head;
use crate::{Error, Result};
use icee_nn::Model;
use icee_nn::batch::Tokens;
use icee_nn::cuda::{ClassRange, ReturnDraw, Tilt};
use icee_train::{Device, GpuInference};
use rand::RngExt;

/// The networks of an agent on a GPU. They are made when it is known how many games are played.
pub(super) struct GpuBrain {
    device: Device,
    models: Vec<Model>,
    networks: Vec<GpuInference>,
}

impl GpuBrain {
    pub fn new(device: &Device, models: &[&Model]) -> GpuBrain {
        let models = models.iter().map(|&model| model.clone()).collect();
        GpuBrain { device: device.clone(), models, networks: Vec::new() }
    }
}

impl Brain for GpuBrain {
    /// What caches hold of earlier games is cut off by the first tokens of new ones.
    fn begin(&mut self, games: usize) -> Result<()> {
        if self.networks.first().is_none_or(|network| network.games() != games) {
            // The old ones go before the new ones are made.
            self.networks.clear();
            let fresh = self.models.iter().map(|model| self.device.gpu_inference(model, games));
            self.networks = fresh.collect::<icee_train::Result<_>>()?;
        }
        Ok(())
    }

    fn append(&mut self, network: usize, games: &[u32], lengths: &[usize], tokens: &Tokens) -> Result<()> {
        Ok(self.networks[network].append(games, lengths, tokens)?)
    }

    fn choose_returns(&mut self, mind: Mind<'_>, memories: &mut [Memory], games: &[u32]) -> Result<()> {
        let Mind { blueprint, rules } = mind;
        let found = blueprint.networks[0].head(|head| matches!(head, Head::Return { .. }));
        let Some((index, Head::Return { joint })) = found else { return Ok(()) };
        let draws = chosen(memories, games).map(|memory| {
            let begins = joint && memory.at_episode_start();
            let drawn = begins && rules.acting.episode_rule == EpisodeRule::Joint;
            let slice_uniform = if drawn { memory.rng.random() } else { 0.0 };
            let slice = match (joint, drawn) {
                (true, true) => None,
                (true, false) => Some(memory.thought.episode_rtg),
                _ => Some(0),
            };
            ReturnDraw { slice, slice_uniform, uniform: memory.rng.random() }
        });
        let draws: Vec<ReturnDraw> = draws.collect();
        let tilt = Tilt { bins: &rules.tilt, guard: rules.acting.guard };
        let drawn = self.networks[0].draw_returns(index, tilt, &draws)?;
        for (memory, (slice, bin)) in chosen(memories, games).zip(drawn) {
            if joint {
                memory.thought.episode_rtg = slice;
            }
            memory.thought.step_bin = bin;
        }
        Ok(())
    }

    fn choose_actions(&mut self, mind: Mind<'_>, memories: &mut [Memory], games: &[u32]) -> Result<()> {
        let Mind { blueprint, rules } = mind;
        let (index, head) = blueprint.deciding_head()?;
        let last = self.networks.len() - 1;
        let temperature = rules.acting.temperature;
        let p = match head {
            Head::Outcome { .. } => {
                let bins = blueprint.bins.count as u32;
                let wanted = chosen(memories, games).map(|memory| {
                    let slice = memory.thought.episode_rtg * bins;
                    let from = slice + memory.thought.step_bin;
                    let to = match rules.acting.outcome {
                        OutcomeReading::Exactly => from + 1,
                        OutcomeReading::AtLeast => slice + bins,
                    };
                    ClassRange { from, to }
                });
                let wanted: Vec<ClassRange> = wanted.collect();
                self.networks[last].outcome_posterior(index, &wanted, temperature)?
            }
            Head::Action { .. } | Head::Return { .. } | Head::Reward | Head::Novelty => {
                let conditions = Thought::conditions(head, memories, games);
                self.networks[last].class_posterior(index, &conditions, temperature)?
            }
        };
        let actions = p.len() / games.len().max(1);
        for (memory, p) in chosen(memories, games).zip(p.chunks_exact(actions.max(1))) {
            memory.thought.actions.clear();
            memory.thought.actions.extend(p.iter().map(|&p| f64::from(p)));
        }
        Ok(())
    }
    fn imagine(&mut self, _: HeadAt, _: usize, _: usize, _: &[Tokens]) -> Result<Vec<f32>> {
        Err(Error::Agent("what is expected of other places is known on the CPU alone; play on the CPU".into()))
    }
}
