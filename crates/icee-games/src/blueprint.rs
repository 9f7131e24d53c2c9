//! From a config and a task to networks, and from labelled sequences to what each network learns from.
//!
//! `late`: one trunk that sees (o, a, r); returns enter in its heads. `paper`: a return model that also sees c̃ and an
//! action model that also sees c and c̃.

use crate::config::{ActionRule, Architecture, Config};
use crate::heads::{AuxiliaryWeights, GivenReturns, Head};
use crate::label::{Labels, ReturnBins, Weighing};
use crate::methods::{Condition, Method};
use crate::novelty::Novelty;
use crate::sequences::Sequences;
use crate::task::{GameSpec, ObservationKind};
use crate::tokens::{ReturnInputs, TokenFormat};
use crate::{Error, Result};
use icee_nn::batch::{Batch, ClassTargets};
use icee_nn::{History, Model, ModelSpec};
use icee_train::{Initialisation, NetworkSpec, networks};

/// One network: what its tokens hold and what it is.
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    /// Its name in the checkpoint.
    pub name: &'static str,
    /// Its tokens.
    pub format: TokenFormat,
    /// Its heads, in order.
    pub heads: Vec<Head>,
    /// Its description.
    pub spec: ModelSpec,
}

/// The networks of a method on a task.
#[derive(Clone, Debug)]
pub struct Blueprint {
    /// The games.
    pub task: GameSpec,
    /// The method.
    pub method: &'static Method,
    /// K: episodes of a sequence that the networks have places for.
    pub episodes: usize,
    /// The bins of c.
    pub bins: ReturnBins,
    /// The networks, in the order in which they are asked.
    pub networks: Vec<NetworkPlan>,
    auxiliary: AuxiliaryWeights,
    initialisation: Initialisation,
    weighing: Weighing,
}

impl Blueprint {
    /// The networks that a config describes.
    ///
    /// # Errors
    /// [`crate::Error::Config`] where config and task do not fit, or the engine's where a size cannot be.
    pub fn new(config: &Config, task: &GameSpec) -> Result<Blueprint> {
        config.check()?;
        task.check()?;
        let method = config.method()?;
        let model = &config.model;
        if model.novelty_head > 0.0 && matches!(task.observation, ObservationKind::Vector { .. }) {
            let why = "model.novelty_head needs places, and observations are vectors; set it to 0";
            return Err(Error::Config(why.into()));
        }
        if model.coordinates && !matches!(task.observation, ObservationKind::Grid { .. }) {
            return Err(Error::Config("model.coordinates needs a world on a grid; set it to false".into()));
        }
        let episodes = config.remembered_episodes(task)?;
        let (low, high) = task.return_range;
        let bins = ReturnBins { low, high, count: model.bins };
        let plan = |name, returns, mut heads: Vec<Head>| {
            if model.reward_head > 0.0 {
                heads.push(Head::Reward);
            }
            if model.novelty_head > 0.0 {
                heads.push(Head::Novelty);
            }
            let format = TokenFormat::new(task, episodes, model.bins, returns);
            let format = if model.coordinates { format.with_coordinates() } else { format };
            let format = if model.transitions { format.with_transitions() } else { format };
            let spec = ModelSpec {
                layers: model.layers,
                width: model.width,
                attention_heads: model.attention_heads,
                mlp_width: model.width.saturating_mul(model.mlp_ratio),
                context: task.tokens(episodes),
                history: History::Causal,
                row_attention: false,
                fields: format.fields(),
                heads: heads.iter().map(|head| head.spec(task, model.bins, model.width)).collect(),
                pool_heads: vec![],
            };
            NetworkPlan { name, format, heads, spec }
        };
        let action = |given| Head::Action { given, weighted: method.importance_weights };
        let joint = method.condition == Condition::StepAndEpisode;
        let networks = match (method.condition, model.architecture) {
            (Condition::Nothing, _) => vec![plan("trunk", ReturnInputs::None, vec![action(GivenReturns::Nothing)])],
            (wanted, Architecture::Late) => {
                let second = match (method.bayes && model.action_rule == ActionRule::Bayes, wanted) {
                    (true, _) => Head::Outcome { joint },
                    (false, Condition::StepAndEpisode) => action(GivenReturns::StepAndEpisode),
                    (false, _) => action(GivenReturns::Step),
                };
                vec![plan("trunk", ReturnInputs::None, vec![Head::Return { joint }, second])]
            }
            (wanted, Architecture::Paper) => {
                let (for_return, for_action) = match wanted {
                    Condition::StepAndEpisode => (ReturnInputs::Episode, ReturnInputs::Both),
                    _ => (ReturnInputs::None, ReturnInputs::Step),
                };
                vec![
                    plan("return", for_return, vec![Head::Return { joint: false }]),
                    plan("action", for_action, vec![action(GivenReturns::Nothing)]),
                ]
            }
        };
        for network in &networks {
            network.spec.check()?;
        }
        Ok(Blueprint {
            task: task.clone(),
            method,
            episodes,
            bins,
            networks,
            auxiliary: AuxiliaryWeights { reward: model.reward_head as f32, novelty: model.novelty_head as f32 },
            initialisation: model.initialisation(),
            weighing: Weighing {
                clip: config.train.weight_clip as f32,
                search: config.data.search_weight as f32,
                goals_in_turn: config.data.goals_in_turn,
            },
        })
    }

    /// The networks' names and descriptions.
    #[must_use]
    pub fn specs(&self) -> Vec<NetworkSpec> {
        self.networks.iter().map(|plan| NetworkSpec { name: plan.name, spec: plan.spec.clone() }).collect()
    }

    /// How their weights are initialised.
    #[must_use]
    pub fn initialisation(&self) -> Initialisation {
        self.initialisation
    }

    /// Fresh models, their weights fixed by the seed.
    ///
    /// # Errors
    /// The engine's.
    pub fn fresh_models(&self, seed: u64) -> Result<Vec<Model>> {
        Ok(networks::fresh(&self.specs(), seed, self.initialisation)?)
    }

    /// Labels of sequences.
    #[must_use]
    pub fn labels(&self, sequences: &Sequences) -> Labels {
        let mut labels = Labels::new(sequences, self.bins, self.task.idle_price(), self.weighing);
        if self.auxiliary.novelty > 0.0 {
            labels.novelty = Novelty::new(sequences, self.weighing.goals_in_turn);
        }
        labels
    }

    /// What each network learns from labelled sequences.
    #[must_use]
    pub fn batches(&self, sequences: &Sequences, labels: &Labels) -> Vec<Batch> {
        let count = labels.actions.len();
        let mean = 1.0 / labels.learned.iter().sum::<f32>().max(1.0);
        let targets = |(index, head): (usize, &Head)| ClassTargets {
            head: index,
            rows: (0..count as u32).collect(),
            conditions: head.conditions(labels),
            classes: head.targets(labels, &self.task, self.bins.count),
            weights: head.weights(labels),
            scale: mean * head.loss_weight(self.auxiliary),
        };
        let batch = |network: &NetworkPlan| Batch {
            history: network.format.tokens(sequences, labels),
            queries: None,
            class_targets: network.heads.iter().enumerate().map(targets).collect(),
            pool_targets: vec![],
        };
        self.networks.iter().map(batch).collect()
    }

    /// The head of the last network from which actions follow, and its number.
    pub(crate) fn deciding_head(&self) -> Result<(usize, Head)> {
        let found = self.networks.last().and_then(|network| network.head(Head::decides));
        found.ok_or_else(|| Error::Config("the model has no head that decides on actions".into()))
    }

    /// Whether importance weights are used, so that their statistics mean something.
    #[must_use]
    pub fn uses_weights(&self) -> bool {
        let weighted = |head: &Head| matches!(head, Head::Action { weighted: true, .. });
        self.networks.iter().any(|network| network.heads.iter().any(weighted))
    }
}

impl NetworkPlan {
    /// The head that a rule picks, and its number.
    pub(crate) fn head(&self, wanted: impl Fn(Head) -> bool) -> Option<(usize, Head)> {
        self.heads.iter().copied().enumerate().find(|(_, head)| wanted(*head))
    }
}
