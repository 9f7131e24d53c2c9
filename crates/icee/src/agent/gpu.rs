//! The same decisions with networks, caches and rules on a GPU: only what was chosen comes back. Random numbers come from
//! the same streams as on the CPU, in the same order.

use super::Rules;
use super::chosen;
use super::memory::Memory;
use crate::Result;
use crate::blueprint::Blueprint;
use crate::config::{EpisodeRule, OutcomeReading};
use crate::device::{Device, GpuNetwork, Outcome, ReturnDraw, Tilt};
use icee_nn::Model;
use icee_nn::batch::{FieldValues, Tokens};
use rand::RngExt;

/// The networks of an agent on a GPU. They are made when it is known how many games are played.
pub(super) struct GpuBrain {
    device: Device,
    models: Vec<Model>,
    networks: Vec<GpuNetwork>,
}

impl GpuBrain {
    pub fn new(device: &Device, models: &[&Model]) -> GpuBrain {
        let models = models.iter().map(|&model| model.clone()).collect();
        GpuBrain { device: device.clone(), models, networks: Vec::new() }
    }

    /// Makes room for this many games. What caches hold of earlier games is cut off by the first tokens of new ones.
    pub fn begin(&mut self, games: usize) -> Result<()> {
        if self.networks.first().is_none_or(|network| network.games() != games) {
            // The old ones go before the new ones are made.
            self.networks.clear();
            let fresh = self.models.iter().map(|model| self.device.gpu_network(model, games));
            self.networks = fresh.collect::<Result<_>>()?;
        }
        Ok(())
    }

    pub fn append(&mut self, network: usize, games: &[u32], lengths: &[usize], tokens: &Tokens) -> Result<()> {
        self.networks[network].append(games, lengths, tokens)
    }

    /// Chooses c̃ and c of each game from the return head.
    pub fn choose_returns(
        &mut self,
        head: usize,
        blueprint: &Blueprint,
        rules: &Rules,
        memories: &mut [Memory],
        games: &[u32],
    ) -> Result<()> {
        let joint = blueprint.networks[0].spec.heads[head].classes != blueprint.bins.count;
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
        let drawn = self.networks[0].draw_returns(head, tilt, &draws)?;
        for (memory, (slice, bin)) in chosen(memories, games).zip(drawn) {
            if joint {
                memory.thought.episode_rtg = slice;
            }
            memory.thought.step_bin = bin;
        }
        Ok(())
    }

    /// p̂(a) of each game by Bayes' rule from the outcome head.
    pub fn choose_by_outcome(
        &mut self,
        head: usize,
        blueprint: &Blueprint,
        rules: &Rules,
        memories: &mut [Memory],
        games: &[u32],
    ) -> Result<()> {
        let bins = blueprint.bins.count as u32;
        let wanted: Vec<Outcome> = chosen(memories, games)
            .map(|memory| {
                let slice = memory.thought.episode_rtg * bins;
                let from = slice + memory.thought.step_bin;
                let to = match rules.acting.outcome {
                    OutcomeReading::Exactly => from + 1,
                    OutcomeReading::AtLeast => slice + bins,
                };
                Outcome { from, to }
            })
            .collect();
        let last = self.networks.len() - 1;
        let p = self.networks[last].outcome_posterior(head, &wanted, rules.acting.temperature)?;
        remember(memories, games, &p);
        Ok(())
    }

    /// p̂(a) of each game from an action head.
    pub fn choose_directly(
        &mut self,
        head: usize,
        rules: &Rules,
        conditions: &[FieldValues],
        memories: &mut [Memory],
        games: &[u32],
    ) -> Result<()> {
        let last = self.networks.len() - 1;
        let p = self.networks[last].class_posterior(head, conditions, rules.acting.temperature)?;
        remember(memories, games, &p);
        Ok(())
    }
}

fn remember(memories: &mut [Memory], games: &[u32], p: &[f32]) {
    let actions = p.len() / games.len().max(1);
    for (memory, p) in chosen(memories, games).zip(p.chunks_exact(actions.max(1))) {
        memory.thought.actions.clear();
        memory.thought.actions.extend(p.iter().map(|&p| f64::from(p)));
    }
}
