//! DPT (Decision-Pretrained Transformer): the best action of one who knows the game, given a history of one who does not.
//! Actions that are drawn from it are those of posterior sampling, step by step.

use super::{Condition, Method, Span};
use icee_worlds::ExpertLabels;

pub(super) const METHOD: Method = Method {
    name: "dpt",
    summary: "Decision-Pretrained Transformer: predicts the best action, which an expert tells",
    span: Span::Game,
    condition: Condition::Nothing,
    importance_weights: false,
    bayes: false,
    expert_labels: ExpertLabels::BestActions,
};
