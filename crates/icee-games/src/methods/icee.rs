//! ICEE: p̂(a | c, c̃, o, H) over all episodes of a game, free of the behaviour policy's bias.

use super::{Condition, Method, Span};
use icee_worlds::ExpertLabels;

pub(super) const METHOD: Method = Method {
    name: "icee",
    summary: "in-context exploration-exploitation: the action given a return, unbiased",
    span: Span::Game,
    condition: Condition::StepAndEpisode,
    importance_weights: true,
    bayes: true,
    expert_labels: ExpertLabels::Outcomes,
};
