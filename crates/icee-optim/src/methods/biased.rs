//! `biased`: the paper's ablation. As `paper`, but all weights are 1, so it leans towards the behaviour policy.

use super::{Method, Objective};

pub(super) const METHOD: Method = Method {
    name: "biased",
    summary: "the paper's ICEE-biased: the drawn candidate given c̃, unweighted",
    objective: Objective::Drawn { unbiased: false },
};
