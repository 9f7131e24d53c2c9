//! `table`: the value of every row of a table, cell by cell: numbers, grids, categories, gaps, any number of columns in any
//! order.

use super::{Method, Objective};

pub(super) const METHOD: Method = Method {
    name: "table",
    summary: "the value of every row of a table given those evaluated, cell by cell; acts by expected improvement",
    objective: Objective::Table,
};
