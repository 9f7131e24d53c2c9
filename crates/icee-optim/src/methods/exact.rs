//! `exact`: the paper's model with its expectation over a ~ U taken exactly. In training every candidate's value is
//! known, so the target at c̃ = 1 is spread over all that improve, and nothing is estimated from one weighted draw.

use super::{Method, Objective};

pub(super) const METHOD: Method = Method {
    name: "exact",
    summary: "picks a candidate that improves; learned from all of them",
    objective: Objective::Improvers,
};
