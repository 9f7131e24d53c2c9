//! The priors over functions that models are trained on, by id.

use crate::bo::DataConfig;
use crate::{Error, Result};
use icee_bo::prior::{Blemishes, Family, Prior};

/// The priors.
pub const PRIORS: [PriorSpec; 3] = [
    PriorSpec { id: "GpPaper-v0", summary: "the paper's: Matérn 5/2, two columns", most_columns: 2, mixed: false },
    PriorSpec { id: "GpWide-v0", summary: "wider than the paper's, two columns", most_columns: 2, mixed: false },
    PriorSpec {
        id: "GpTables-v0",
        summary: "the wider one on tables of one to eight columns: numbers, grids, categories",
        most_columns: 8,
        mixed: true,
    },
];

/// A prior over functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorSpec {
    /// Its id, where a game would have its world's.
    pub id: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// The most columns of a pool.
    pub most_columns: usize,
    /// Whether pools have any number of columns up to that, as people's tables have.
    pub mixed: bool,
}

/// Whether a world's id means functions, known or not.
#[must_use]
pub fn is_prior(id: &str) -> bool {
    id.starts_with("Gp")
}

impl PriorSpec {
    /// The prior of this id.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the nearest id.
    pub fn named(id: &str) -> Result<PriorSpec> {
        let found = PRIORS.into_iter().find(|prior| prior.id == id);
        found.ok_or_else(|| Error::unknown("prior", id, &PRIORS.map(|prior| prior.id)))
    }

    /// The prior, ready to be drawn from.
    ///
    /// # Errors
    /// Where a setting cannot work.
    pub fn build(&self, data: &DataConfig) -> Result<Prior> {
        let family = if self.id == "GpPaper-v0" { Family::Paper } else { Family::Wide };
        let make = if self.mixed { Prior::mixed } else { Prior::new };
        let prior = make(family, self.most_columns, data.pool, data.functions_per_factor)?;
        let blemishes = Blemishes { noisy: data.noisy, stepped: data.stepped };
        Ok(prior.with_blemishes(blemishes)?.with_additive(data.additive)?)
    }
}
