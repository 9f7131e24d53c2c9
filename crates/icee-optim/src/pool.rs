//! The paper's model of discrete Bayesian optimisation: a causal history of evaluations, and an MLP on (transformer
//! output, candidate's embedding) that scores each candidate, so any pool of any size can be scored.
//!
//! One token a decision: the location and value of the evaluation before it and, where the target depends on it, c̃ of
//! the one to come: whether it beats all before. Values are standardised over the whole pool, as in the paper.

use crate::Result;
use crate::config::{Config, DataConfig, Spread};
use crate::features::Features;
use crate::methods::Objective;
use icee_bo::behaviour::{RankPolicy, draw_sharpness};
use icee_bo::prior::FunctionGroup;
use icee_nn::batch::{Batch, FieldValues, PoolTargets, Pools, Tokens};
use icee_nn::{FieldKind, FieldSpec, History, ModelSpec, PoolHeadSpec};
use rand::Rng;

/// Head number of the candidates' scores.
pub(crate) const CANDIDATE_HEAD: usize = 0;

/// The network of `paper`, `biased` and `exact`, and what it learns from.
#[derive(Clone, Debug)]
pub struct PoolPlan {
    /// How locations are written.
    pub features: Features,
    /// The network.
    pub spec: ModelSpec,
    objective: Objective,
    data: DataConfig,
    weight_clip: f64,
}

impl PoolPlan {
    /// The network that a config describes.
    ///
    /// # Errors
    /// The engine's, where a size cannot be.
    pub fn new(config: &Config) -> Result<PoolPlan> {
        let (model, objective) = (&config.model, config.method()?.objective);
        let features = Features { columns: config.prior()?.most_columns, padded: false };
        let mut fields = vec![
            FieldSpec::history("location", FieldKind::vector(features.size())),
            FieldSpec::history("value", FieldKind::vector(2)),
        ];
        if matches!(objective, Objective::Drawn { .. }) {
            fields.push(FieldSpec::history("episode_rtg", FieldKind::categorical(2)));
        }
        let spec = ModelSpec {
            fields,
            pool_heads: vec![PoolHeadSpec {
                name: "candidate".into(),
                candidate: "location".into(),
                hidden: vec![model.width; model.pool_layers],
            }],
            ..model.trunk(History::Causal, config.data.longest)
        };
        spec.check()?;
        let (data, weight_clip) = (config.data.clone(), config.train.weight_clip);
        Ok(PoolPlan { features, spec, objective, data, weight_clip })
    }

    /// What the network learns from these functions, one sequence a function.
    ///
    /// # Errors
    /// Where a function's values cannot be ranked.
    pub fn batch<R: Rng>(&self, groups: &[FunctionGroup], rng: &mut R) -> Result<Batch> {
        let mut tokens = self.writer();
        let mut targets = TargetWriter::default();
        for group in groups {
            let mut locations = Vec::with_capacity(group.pool() * self.features.size());
            for location in group.locations().chunks_exact(group.dimension()) {
                self.features.write(location.iter().map(|&x| f64::from(x)), &mut locations);
            }
            let location = |candidate: usize| &locations[candidate * self.features.size()..][..self.features.size()];
            for values in group.functions() {
                let policy = RankPolicy::new(values, draw_sharpness(rng))?;
                let drawn: Vec<usize> = (0..self.data.longest).map(|_| policy.sample(rng)).collect();
                targets.begin_pool(&locations, group.pool());
                let mut best = f32::INFINITY;
                let mut before = None;
                for &candidate in &drawn {
                    let value = values[candidate];
                    match self.objective {
                        Objective::Improvers => {
                            let spread = improvers(values, best, self.data.spread);
                            targets.push(tokens.count, &spread, 1.0);
                        }
                        Objective::Drawn { unbiased: true } => {
                            let weight = policy.weight(candidate).min(self.weight_clip);
                            targets.push(tokens.count, &[(candidate as u32, 1.0)], weight as f32);
                        }
                        _ => targets.push(tokens.count, &[(candidate as u32, 1.0)], 1.0),
                    }
                    let previous = before.map(|before: usize| (location(before), f64::from(values[before])));
                    tokens.push(previous, value < best);
                    best = best.min(value);
                    before = Some(candidate);
                }
                tokens.end_sequence();
            }
        }
        let history = tokens.finish();
        Ok(Batch { history, queries: None, class_targets: vec![], pool_targets: vec![targets.finish()] })
    }

    /// An empty list of tokens.
    pub(crate) fn writer(&self) -> PoolTokens {
        PoolTokens {
            features: self.features.size(),
            asks: matches!(self.objective, Objective::Drawn { .. }),
            offsets: vec![0],
            count: 0,
            locations: Vec::new(),
            values: Vec::new(),
            episode_rtg: Vec::new(),
        }
    }
}

/// The target distribution of `exact`: the candidates below `best`, none where there is none. Before anything is known
/// every candidate improves, and equally.
fn improvers(values: &[f32], best: f32, spread: Spread) -> Vec<(u32, f32)> {
    let gain = |value: f32| match spread {
        Spread::Ei if best.is_finite() => f64::from(best) - f64::from(value),
        _ => 1.0,
    };
    let better = values.iter().enumerate().filter(|(_, value)| **value < best);
    let total: f64 = better.clone().map(|(_, &value)| gain(value)).sum();
    better.map(|(candidate, &value)| (candidate as u32, (gain(value) / total) as f32)).collect()
}

/// Tokens being written, field by field.
pub(crate) struct PoolTokens {
    features: usize,
    asks: bool,
    offsets: Vec<usize>,
    count: usize,
    locations: Vec<f32>,
    values: Vec<f32>,
    episode_rtg: Vec<u32>,
}

impl PoolTokens {
    /// Appends a decision: the features and the value of the evaluation before it, and c̃ of the one to come.
    pub fn push(&mut self, before: Option<(&[f32], f64)>, improves: bool) {
        match before {
            Some((location, value)) => {
                self.locations.extend_from_slice(location);
                self.values.extend([value as f32, 0.0]);
            }
            None => {
                self.locations.resize(self.locations.len() + self.features, 0.0);
                self.values.extend([0.0, 1.0]);
            }
        }
        self.episode_rtg.push(u32::from(improves));
        self.count += 1;
    }

    /// The current sequence is complete.
    pub fn end_sequence(&mut self) {
        self.offsets.push(self.count);
    }

    /// All tokens.
    pub fn finish(self) -> Tokens {
        let mut fields = vec![FieldValues::Vector(self.locations), FieldValues::Vector(self.values)];
        if self.asks {
            fields.push(FieldValues::Categorical(self.episode_rtg));
        }
        Tokens::new(self.offsets, fields)
    }
}

/// Targets being written.
#[derive(Default)]
struct TargetWriter {
    pools: Pools,
    rows: Vec<u32>,
    row_pools: Vec<u32>,
    target_offsets: Vec<usize>,
    targets: Vec<u32>,
    probabilities: Vec<f32>,
    weights: Vec<f32>,
}

impl TargetWriter {
    fn begin_pool(&mut self, locations: &[f32], size: usize) {
        if self.pools.offsets.is_empty() {
            self.pools.offsets.push(0);
            self.target_offsets.push(0);
        }
        self.pools.candidates.extend_from_slice(locations);
        self.pools.offsets.push(self.pools.offsets[self.pools.offsets.len() - 1] + size);
    }

    /// A row with its target in the current pool; no target, no row.
    fn push(&mut self, row: usize, spread: &[(u32, f32)], weight: f32) {
        if spread.is_empty() {
            return;
        }
        self.rows.push(row as u32);
        self.row_pools.push(self.pools.offsets.len() as u32 - 2);
        self.targets.extend(spread.iter().map(|(candidate, _)| candidate));
        self.probabilities.extend(spread.iter().map(|(_, probability)| probability));
        self.target_offsets.push(self.targets.len());
        self.weights.push(weight);
    }

    fn finish(self) -> PoolTargets {
        let scale = 1.0 / self.rows.len().max(1) as f32;
        let TargetWriter { pools, rows, row_pools, target_offsets, targets, probabilities, weights } = self;
        PoolTargets {
            head: CANDIDATE_HEAD,
            pools,
            rows,
            row_pools,
            target_offsets,
            targets,
            probabilities,
            weights,
            scale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_spread_over_all_that_improve() {
        let values = [0.5, -1.0, 2.0, 0.0];
        assert_eq!(improvers(&values, 0.5, Spread::Ts), [(1, 0.5), (3, 0.5)]);
        assert_eq!(improvers(&values, 0.5, Spread::Ei), [(1, 0.75), (3, 0.25)]);
        assert_eq!(improvers(&values, -1.0, Spread::Ei), []);
        assert_eq!(improvers(&values, f32::INFINITY, Spread::Ei).len(), 4);
        assert_eq!(improvers(&values, f32::INFINITY, Spread::Ei)[2], (2, 0.25));
    }
}
