//! MGDT (Multi-Game Decision Transformer): one episode is all it sees, and c all it is asked for.

use super::{Condition, Method, Span};
use icee_worlds::ExpertLabels;

pub(super) const METHOD: Method = Method {
    name: "mgdt",
    summary: "Multi-Game Decision Transformer: conditioned on the return, one episode a context",
    span: Span::Episode,
    condition: Condition::Step,
    importance_weights: false,
    bayes: false,
    expert_labels: ExpertLabels::Outcomes,
};
