//! The methods, as parallel short files. A new method is a new file and a line in [`METHODS`].

mod biased;
mod exact;
mod paper;
mod table;
mod value;

use crate::Result;
use icee_base::names::Unknown;

/// All methods, the default first.
pub const METHODS: [&Method; 5] = [&value::METHOD, &table::METHOD, &exact::METHOD, &paper::METHOD, &biased::METHOD];

/// What is learned from functions.
#[derive(Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name in configs.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// What it learns.
    pub objective: Objective,
}

/// What is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The value of every candidate, p(y | x, H).
    Value,
    /// The same for the rows of a table, cell by cell.
    Table,
    /// The candidate that the behaviour policy drew, given c̃; `unbiased` weighs it by (1/n)/π.
    Drawn {
        /// Whether draws are weighted.
        unbiased: bool,
    },
    /// A candidate that improves, spread over all of them.
    Improvers,
}

impl Method {
    /// The method of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`](crate::Error::Unknown) with the nearest name.
    pub fn named(name: &str) -> Result<&'static Method> {
        METHODS
            .into_iter()
            .find(|method| method.name == name)
            .ok_or_else(|| Unknown::new("method for functions", name, &METHODS.map(|method| method.name)).into())
    }
}
