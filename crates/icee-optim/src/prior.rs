//! The priors over functions that models are trained on, by id.

use crate::Result;
use icee_base::names::Unknown;
use icee_bo::prior::Family;

/// The priors.
pub const PRIORS: [PriorSpec; 4] = [
    PriorSpec {
        id: "GpPaper-v0",
        summary: "the paper's: Matérn 5/2, two columns",
        most_columns: 2,
        mixed: false,
        family: Family::Paper,
    },
    PriorSpec {
        id: "GpWide-v0",
        summary: "wider than the paper's, two columns",
        most_columns: 2,
        mixed: false,
        family: Family::Wide,
    },
    PriorSpec {
        id: "GpTables-v0",
        summary: "the wider one on tables of one to eight columns: numbers, grids, categories",
        most_columns: 8,
        mixed: true,
        family: Family::Wide,
    },
    PriorSpec {
        id: TABLES,
        summary: "real-world tables with functions of every kind; for `table`",
        most_columns: 40,
        mixed: true,
        family: Family::Wide,
    },
];

/// The prior over real tables, which is no [`icee_bo::prior::Prior`].
pub(crate) const TABLES: &str = "Tables-v0";

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
    /// Which functions.
    pub family: Family,
}

impl PriorSpec {
    /// The prior of this id.
    ///
    /// # Errors
    /// [`Error::Unknown`](crate::Error::Unknown) with the nearest id.
    pub fn named(id: &str) -> Result<PriorSpec> {
        let found = PRIORS.into_iter().find(|prior| prior.id == id);
        found.ok_or_else(|| Unknown::new("prior", id, &PRIORS.map(|prior| prior.id)).into())
    }
}
