//! `paper`: ICEE as published. The drawn candidate given c̃, weighted by U(a)/π(a) = (1/n)/π(a).

use super::{Method, Objective};

pub(super) const METHOD: Method = Method {
    name: "paper",
    summary: "the paper's ICEE: the drawn candidate given c̃, weighted by (1/n)/π",
    objective: Objective::Drawn { unbiased: true },
};
