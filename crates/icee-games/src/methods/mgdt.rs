//! MGDT (Multi-Game Decision Transformer): sees one episode and conditions on c.

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
