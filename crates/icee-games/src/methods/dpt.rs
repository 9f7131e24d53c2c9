//! DPT (Decision-Pretrained Transformer): the expert's best action, given a history of an exploring policy. Drawing actions from
//! it is posterior sampling, step by step.

use super::{Condition, Method, Span};
use icee_worlds::ExpertLabels;

pub(super) const METHOD: Method = Method {
    name: "dpt",
    summary: "Decision-Pretrained Transformer: predicts the best action of an expert",
    span: Span::Game,
    condition: Condition::Nothing,
    importance_weights: false,
    bayes: false,
    expert_labels: ExpertLabels::BestActions,
};
