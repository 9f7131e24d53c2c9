//! From a config and a task to networks, and from labelled sequences to what each network learns from.
//!
//! `late`: one trunk that sees (o, a, r); returns enter in its heads. `paper`: a return model that also sees c̃ and an
//! action model that also sees c and c̃.

use crate::Result;
use crate::config::{ActionRule, Architecture, Config};
use crate::label::{Labels, ReturnBins};
use crate::methods::{Condition, Method, Span};
use crate::networks::{self, NetworkSpec};
use crate::sequences::Sequences;
use crate::task::Task;
use crate::tokens::{ReturnInputs, TokenFormat};
use icee_nn::batch::{Batch, ClassTargets, FieldValues};
use icee_nn::{ConditionSpec, FieldKind, HeadSpec, History, Model, ModelSpec};

/// p(c̃, c | h), or p(c | h) where c̃ is an input or not used.
pub(crate) const RETURN: &str = "return";
/// p(c̃, c | a, h).
pub(crate) const OUTCOME: &str = "outcome";
/// p(a | …).
pub(crate) const ACTION: &str = "action";
/// p(r | a, h), auxiliary.
pub(crate) const REWARD: &str = "reward";

/// One network: what its tokens hold and what it is.
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    /// Its name in the checkpoint.
    pub name: &'static str,
    /// Its tokens.
    pub format: TokenFormat,
    /// Its description.
    pub spec: ModelSpec,
}

/// The networks of a method on a task.
#[derive(Clone, Debug)]
pub struct Blueprint {
    /// The games.
    pub task: Task,
    /// The method.
    pub method: &'static Method,
    /// K: episodes of a sequence that the networks have places for.
    pub episodes: usize,
    /// The bins of c.
    pub bins: ReturnBins,
    /// The networks, in the order in which they are asked.
    pub networks: Vec<NetworkPlan>,
    weight_clip: f32,
    reward_weight: f32,
    init_std: f64,
}

impl Blueprint {
    /// The networks that a config describes.
    ///
    /// # Errors
    /// [`crate::Error::Config`] where config and task do not fit, or the engine's where a size cannot be.
    pub fn new(config: &Config, task: &Task) -> Result<Blueprint> {
        config.check()?;
        task.check()?;
        let method = config.method()?;
        let model = &config.model;
        let episodes = match (method.span, config.data.episodes) {
            (Span::Episode, _) => 1,
            (_, 0) => task.episodes,
            (_, episodes) => episodes,
        };
        let (low, high) = task.return_range;
        let bins = ReturnBins { low, high, count: model.bins };
        let plan = |name, returns, heads| {
            let format = TokenFormat::new(task, episodes, model.bins, returns);
            let spec = ModelSpec {
                layers: model.layers,
                width: model.width,
                attention_heads: model.attention_heads,
                mlp_width: model.width.saturating_mul(model.mlp_ratio),
                context: task.tokens(episodes),
                history: History::Causal,
                fields: format.fields(),
                heads,
                pool_heads: vec![],
            };
            NetworkPlan { name, format, spec }
        };
        let condition = |name: &str, size| ConditionSpec { name: name.into(), kind: FieldKind::categorical(size) };
        let head = |name: &str, conditions, classes| HeadSpec {
            name: name.into(),
            conditions,
            hidden: vec![model.width],
            classes,
        };
        let by_action = || vec![condition("action", task.actions)];
        let joint = if method.condition == Condition::StepAndEpisode { 2 * model.bins } else { model.bins };
        let mut networks = match (method.condition, model.architecture) {
            (Condition::Nothing, _) => {
                vec![plan("trunk", ReturnInputs::None, vec![head(ACTION, vec![], task.actions)])]
            }
            (_, Architecture::Late) => {
                let mut heads = vec![head(RETURN, vec![], joint)];
                if method.bayes && model.action_rule == ActionRule::Bayes {
                    heads.push(head(OUTCOME, by_action(), joint));
                } else {
                    let mut conditions = vec![condition("step_rtg", model.bins)];
                    if method.condition == Condition::StepAndEpisode {
                        conditions.push(condition("episode_rtg", 2));
                    }
                    heads.push(head(ACTION, conditions, task.actions));
                }
                vec![plan("trunk", ReturnInputs::None, heads)]
            }
            (wanted, Architecture::Paper) => {
                let (for_return, for_action) = match wanted {
                    Condition::StepAndEpisode => (ReturnInputs::Episode, ReturnInputs::Both),
                    _ => (ReturnInputs::None, ReturnInputs::Step),
                };
                vec![
                    plan("return", for_return, vec![head(RETURN, vec![], model.bins)]),
                    plan("action", for_action, vec![head(ACTION, vec![], task.actions)]),
                ]
            }
        };
        if model.reward_head > 0.0 {
            for network in &mut networks {
                network.spec.heads.push(head(REWARD, by_action(), task.reward_classes));
            }
        }
        for network in &networks {
            network.spec.check()?;
        }
        Ok(Blueprint {
            task: task.clone(),
            method,
            episodes,
            bins,
            networks,
            weight_clip: config.train.weight_clip as f32,
            reward_weight: model.reward_head as f32,
            init_std: model.init_std,
        })
    }

    /// The networks' names and descriptions.
    #[must_use]
    pub fn specs(&self) -> Vec<NetworkSpec> {
        self.networks.iter().map(|plan| NetworkSpec { name: plan.name, spec: plan.spec.clone() }).collect()
    }

    /// Fresh models, their weights fixed by the seed.
    ///
    /// # Errors
    /// The engine's.
    pub fn fresh_models(&self, seed: u64) -> Result<Vec<Model>> {
        networks::fresh(&self.specs(), seed, networks::Start { std: self.init_std, aligned: false })
    }

    /// c̃ and c as one class of the joint heads.
    #[must_use]
    pub fn joint_class(&self, episode_rtg: u32, step_bin: u32) -> u32 {
        match self.method.condition {
            Condition::StepAndEpisode => episode_rtg * self.bins.count as u32 + step_bin,
            _ => step_bin,
        }
    }

    /// Labels of sequences.
    #[must_use]
    pub fn labels(&self, sequences: &Sequences) -> Labels {
        Labels::new(sequences, self.bins, self.task.episode_limit, self.weight_clip)
    }

    /// What each network learns from labelled sequences.
    #[must_use]
    pub fn batches(&self, sequences: &Sequences, labels: &Labels) -> Vec<Batch> {
        let count = labels.actions.len();
        let mean = 1.0 / labels.learned.iter().sum::<f32>().max(1.0);
        let condition = |name: &str| {
            FieldValues::Categorical(match name {
                "action" => labels.actions.clone(),
                "step_rtg" => labels.step_bins.clone(),
                _ => labels.episode_rtg.clone(),
            })
        };
        let targets = |(index, head): (usize, &HeadSpec)| {
            let joint = head.classes != self.bins.count;
            let returns = || {
                let pairs = labels.episode_rtg.iter().zip(&labels.step_bins);
                pairs.map(|(&e, &c)| if joint { self.joint_class(e, c) } else { c }).collect()
            };
            ClassTargets {
                head: index,
                rows: (0..count as u32).collect(),
                conditions: head.conditions.iter().map(|c| condition(&c.name)).collect(),
                classes: match head.name.as_str() {
                    ACTION => labels.actions.clone(),
                    REWARD => labels.rewards.iter().map(|&reward| self.task.reward_class(reward)).collect(),
                    _ => returns(),
                },
                weights: match head.name.as_str() {
                    ACTION if self.method.importance_weights => labels.weights.clone(),
                    RETURN => labels.behaviour_weights.clone(),
                    _ => labels.learned.clone(),
                },
                scale: if head.name == REWARD { mean * self.reward_weight } else { mean },
            }
        };
        let batch = |network: &NetworkPlan| Batch {
            history: network.format.tokens(sequences, labels),
            queries: None,
            class_targets: network.spec.heads.iter().enumerate().map(targets).collect(),
            pool_targets: vec![],
        };
        self.networks.iter().map(batch).collect()
    }

    /// Whether importance weights are used, so that their statistics mean something.
    #[must_use]
    pub fn uses_weights(&self) -> bool {
        let action_head = self.networks.iter().any(|network| network.spec.head(ACTION).is_some());
        self.method.importance_weights && action_head
    }
}
