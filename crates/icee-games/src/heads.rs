//! The heads of a network: what each predicts, given what, and what it learns from a labelled step. A new head is a new
//! variant, and the compiler names every place that must know it.

use crate::label::Labels;
use crate::task::GameSpec;
use icee_nn::batch::FieldValues;
use icee_nn::{ConditionSpec, FieldKind, HeadSpec};

/// A head of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// p(c̃, c | h); p(c | h) where c̃ is an input or not used.
    Return {
        /// Whether it predicts c̃, too.
        joint: bool,
    },
    /// The same after an action: p(c̃, c | a, h).
    Outcome {
        /// Whether it predicts c̃, too.
        joint: bool,
    },
    /// p(a | …).
    Action {
        /// On which returns the head itself is conditioned, beside what its network reads.
        given: GivenReturns,
        /// Whether actions count by U(a)/π(a|o).
        weighted: bool,
    },
    /// p(r | a, h), auxiliary.
    Reward,
    /// p(new | a, h): whether the next place is a new one, auxiliary.
    Novelty,
}

/// The weights of the auxiliary losses; 0 where there is no such head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuxiliaryWeights {
    pub reward: f32,
    pub novelty: f32,
}

/// The returns on which an action head is conditioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenReturns {
    /// None.
    Nothing,
    /// c.
    Step,
    /// c and c̃.
    StepAndEpisode,
}

/// One condition of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    Action,
    TakenAction,
    StepRtg,
    EpisodeRtg,
}

impl Given {
    fn spec(self, task: &GameSpec, bins: usize) -> ConditionSpec {
        let (name, size) = match self {
            Given::Action | Given::TakenAction => ("action", task.actions),
            Given::StepRtg => ("step_rtg", bins),
            Given::EpisodeRtg => ("episode_rtg", 2),
        };
        ConditionSpec { name: name.into(), kind: FieldKind::categorical(size) }
    }

    fn values(self, labels: &Labels) -> FieldValues {
        FieldValues::Categorical(match self {
            Given::Action => labels.actions.clone(),
            Given::TakenAction => labels.novelty.actions.clone(),
            Given::StepRtg => labels.step_bins.clone(),
            Given::EpisodeRtg => labels.episode_rtg.clone(),
        })
    }
}

impl Head {
    /// Its name in checkpoints.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Head::Return { .. } => "return",
            Head::Outcome { .. } => "outcome",
            Head::Action { .. } => "action",
            Head::Reward => "reward",
            Head::Novelty => "novelty",
        }
    }

    pub(crate) fn given(self) -> &'static [Given] {
        match self {
            Head::Return { .. } => &[],
            Head::Outcome { .. } | Head::Reward => &[Given::Action],
            Head::Novelty => &[Given::TakenAction],
            Head::Action { given: GivenReturns::Nothing, .. } => &[],
            Head::Action { given: GivenReturns::Step, .. } => &[Given::StepRtg],
            Head::Action { given: GivenReturns::StepAndEpisode, .. } => &[Given::StepRtg, Given::EpisodeRtg],
        }
    }

    /// Its description, for games with returns in `bins` bins and an MLP of `hidden` neurons.
    pub(crate) fn spec(self, task: &GameSpec, bins: usize, hidden: usize) -> HeadSpec {
        let classes = match self {
            Head::Return { joint } | Head::Outcome { joint } => bins * if joint { 2 } else { 1 },
            Head::Action { .. } => task.actions,
            Head::Reward => task.reward_classes,
            Head::Novelty => 2,
        };
        let conditions = self.given().iter().map(|given| given.spec(task, bins)).collect();
        HeadSpec { name: self.name().into(), conditions, hidden: vec![hidden], classes }
    }

    /// The values of its conditions at every labelled step.
    pub(crate) fn conditions(self, labels: &Labels) -> Vec<FieldValues> {
        self.given().iter().map(|given| given.values(labels)).collect()
    }

    /// The class to be predicted at every labelled step.
    pub(crate) fn targets(self, labels: &Labels, task: &GameSpec, bins: usize) -> Vec<u32> {
        match self {
            Head::Return { joint } | Head::Outcome { joint } => {
                let pairs = labels.episode_rtg.iter().zip(&labels.step_bins);
                // c̃ and c as one class.
                pairs.map(|(&episode, &step)| if joint { episode * bins as u32 + step } else { step }).collect()
            }
            Head::Action { .. } => labels.actions.clone(),
            Head::Reward => labels.rewards.iter().map(|&reward| task.reward_class(reward)).collect(),
            Head::Novelty => labels.novelty.new.clone(),
        }
    }

    /// How much every labelled step counts.
    pub(crate) fn weights(self, labels: &Labels) -> Vec<f32> {
        match self {
            // As if the behaviour policy had acted.
            Head::Return { .. } => labels.behaviour_weights.clone(),
            Head::Action { weighted: true, .. } => labels.weights.clone(),
            Head::Action { weighted: false, .. } | Head::Outcome { .. } | Head::Reward => labels.learned.clone(),
            Head::Novelty => labels.novelty.known.clone(),
        }
    }

    /// Whether actions follow from it.
    pub(crate) fn decides(self) -> bool {
        match self {
            Head::Outcome { .. } | Head::Action { .. } => true,
            Head::Return { .. } | Head::Reward | Head::Novelty => false,
        }
    }

    /// The weight of its loss, given those of the auxiliary heads.
    pub(crate) fn loss_weight(self, auxiliary: AuxiliaryWeights) -> f32 {
        match self {
            Head::Reward => auxiliary.reward,
            Head::Novelty => auxiliary.novelty,
            Head::Return { .. } | Head::Outcome { .. } | Head::Action { .. } => 1.0,
        }
    }
}
