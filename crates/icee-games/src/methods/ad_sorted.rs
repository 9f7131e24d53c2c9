//! AD-sorted: AD on episodes sorted from the noisiest to the best, which look like the progress of a learner.

use super::{Condition, Method, Span};
use icee_worlds::ExpertLabels;

pub(super) const METHOD: Method = Method {
    name: "ad-sorted",
    summary: "Algorithm Distillation on episodes sorted by their noise, noisiest first",
    span: Span::GameSorted,
    condition: Condition::Nothing,
    importance_weights: false,
    bayes: false,
    expert_labels: ExpertLabels::Outcomes,
};
