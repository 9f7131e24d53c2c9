//! ICEE-biased: as ICEE with an action head, but all weights are 1; so the posterior leans towards the behaviour
//! policy. The paper's ablation.

use super::{Condition, Method, Span};
use icee_worlds::ExpertLabels;

pub(super) const METHOD: Method = Method {
    name: "icee-biased",
    summary: "ICEE without importance weights: biased towards the behaviour policy",
    span: Span::Game,
    condition: Condition::StepAndEpisode,
    importance_weights: false,
    bayes: false,
    expert_labels: ExpertLabels::Outcomes,
};
