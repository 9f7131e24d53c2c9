//! AD (Algorithm Distillation) on the same data: predict the action, whatever it led to.

use super::{Condition, Method, Span};
use icee_worlds::ExpertLabels;

pub(super) const METHOD: Method = Method {
    name: "ad",
    summary: "Algorithm Distillation: imitates the episodes as they come",
    span: Span::Game,
    condition: Condition::Nothing,
    importance_weights: false,
    bayes: false,
    expert_labels: ExpertLabels::Outcomes,
};
