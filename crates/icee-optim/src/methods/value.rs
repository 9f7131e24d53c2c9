//! `value`: do not model the choice, model what each choice leads to, and let the choice follow: p(a) ∝ EI(a)^β.

use super::{Method, Objective};

pub(super) const METHOD: Method = Method {
    name: "value",
    summary: "the value of every candidate given those evaluated; acts by expected improvement",
    objective: Objective::Value,
};
