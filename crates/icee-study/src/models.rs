//! The models that predict in a study: a Gaussian process, or a learned model that was trained for pools like this one.
//!
//! A learned model takes part by an entry in [`Models`]: which pools it reads, how long a history it was trained on, how it
//! picks and how it is loaded. Everything else about a study is the same for all.

use crate::encode::Column;
use crate::error::{OrProblem, Result};
use crate::predictor::Predictor;
use crate::record::{ModelPin, SamplerKind};
use icee_bo::BoResult;
use icee_bo::acquisition::Rule;
use icee_bo::gp_surrogate::{FITTED_HISTORY, GpSurrogate, KNOWN_HISTORY};
use icee_bo::surrogate::Surrogate;
use icee_protocol::{Misfit, Note, Problem};
use std::ops::RangeInclusive;

/// Rows that are scored at most for one answer, of up to [`WIDE`] coordinates; fewer of wider ones.
const SCORED: usize = 1 << 14;
const WIDE: usize = 32;
const LEAST_SCORED: usize = 1 << 11;
/// The same for a model that reads cells: as many rows as have so many cells, including the result's.
const SCORED_CELLS: usize = 1 << 15;
const LEAST_SCORED_BY_CELLS: usize = 1 << 8;

/// Loads a learned model.
pub type Loader = Box<dyn Fn() -> BoResult<Box<dyn Surrogate>> + Send + Sync>;

/// The pools that a model reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Points of so many coordinates (columns after coding).
    Coordinates(RangeInclusive<usize>),
    /// Cells of so many columns, numbers or words.
    Columns(RangeInclusive<usize>),
}

/// How wide a pool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Width {
    /// Input columns.
    pub columns: usize,
    /// Coordinates that they become.
    pub coordinates: usize,
}

impl Width {
    /// If an earlier study is used, one more column says which rows belong to which.
    pub fn of(columns: &[Column], earlier: bool) -> Width {
        let coordinates: usize = columns.iter().map(|column| column.code.width()).sum();
        let mark = usize::from(earlier);
        Width { columns: columns.len() + mark, coordinates: coordinates + mark }
    }
}

impl Reads {
    fn fits(&self, width: Width) -> bool {
        match self {
            Reads::Coordinates(range) => range.contains(&width.coordinates),
            Reads::Columns(range) => range.contains(&width.columns),
        }
    }

    /// Rows of such a pool that are scored at most: an answer should take well below a second.
    fn scored(&self, width: Width) -> usize {
        match self {
            Reads::Coordinates(_) => (SCORED * WIDE / width.coordinates.max(WIDE)).max(LEAST_SCORED),
            Reads::Columns(_) => (SCORED_CELLS / (width.columns + 1)).max(LEAST_SCORED_BY_CELLS),
        }
    }
}

/// A learned model that studies may use.
pub struct LearnedModel {
    /// Its name.
    pub name: String,
    /// A checksum of its description and weights: it identifies the model to the last bit.
    pub hash: u64,
    /// The pools that it was trained for.
    pub reads: Reads,
    /// The longest history that it was trained on.
    pub history: usize,
    /// How a row is picked by its predictions.
    pub rule: Rule,
    /// Loads it.
    pub load: Loader,
}

impl LearnedModel {
    /// As the journal records it.
    fn pin(&self) -> ModelPin {
        ModelPin { name: self.name.clone(), hash: format!("{:016x}", self.hash) }
    }
}

/// The learned models at hand, the preferred one first; by default none.
#[derive(Default)]
pub struct Models(Vec<LearnedModel>);

impl Models {
    /// These and one more.
    #[must_use]
    pub fn with(mut self, model: LearnedModel) -> Models {
        self.0.push(model);
        self
    }

    /// The model for a pool: the one that the study uses, if it is available, else the first that fits.
    fn fitting(&self, width: Width, used: Option<&ModelPin>) -> Option<&LearnedModel> {
        let fitting = || self.0.iter().filter(|model| model.reads.fits(width));
        fitting().find(|model| used == Some(&model.pin())).or_else(|| fitting().next())
    }

    /// The reason why no model fits.
    fn why_not(&self, width: Width) -> Misfit {
        let Width { columns, coordinates } = width;
        match self.0.first().map(|model| &model.reads) {
            None => Misfit::NoneAtHand,
            Some(Reads::Columns(range)) => Misfit::Columns { columns, most: *range.end() },
            Some(Reads::Coordinates(range)) => Misfit::Coordinates { columns: coordinates, most: *range.end() },
        }
    }

    /// The sampler of a pool, and the notes about it.
    pub(crate) fn resolve(&self, wanted: Option<SamplerKind>, width: Width) -> Result<(SamplerKind, Option<Note>)> {
        match wanted {
            Some(kind @ (SamplerKind::GpEi | SamplerKind::Random)) => Ok((kind, None)),
            Some(SamplerKind::Learned) if self.0.is_empty() => Err(Problem::NoModel { misfit: self.why_not(width) }),
            None | Some(SamplerKind::Learned) => Ok(match self.fitting(width, None) {
                Some(_) => (SamplerKind::Learned, None),
                None => (SamplerKind::GpEi, Some(Note::GpPicks { misfit: self.why_not(width) })),
            }),
        }
    }

    /// The learned model for a pool, as the journal records it.
    pub(crate) fn pin(&self, width: Width, used: Option<&ModelPin>) -> Option<ModelPin> {
        self.fitting(width, used).map(LearnedModel::pin)
    }

    /// The predictor of a sampler; for random rows too, a Gaussian process predicts for readers.
    pub(crate) fn predictor(&self, kind: SamplerKind, width: Width, used: Option<&ModelPin>) -> Result<Predictor> {
        if kind == SamplerKind::Learned {
            let misfit = || Problem::NoModel { misfit: self.why_not(width) };
            let model = self.fitting(width, used).ok_or_else(misfit)?;
            return Ok(Predictor {
                surrogate: (model.load)().or_problem()?,
                rule: model.rule,
                history: model.history,
                scored: model.reads.scored(width),
                name: model.name.clone(),
                fitted: None,
            });
        }
        let rule = if kind == SamplerKind::Random { Rule::Random } else { Rule::Greatest };
        Ok(Predictor {
            surrogate: Box::new(GpSurrogate::for_tables()),
            rule,
            history: KNOWN_HISTORY,
            scored: Reads::Coordinates(1..=1).scored(width),
            name: SamplerKind::GpEi.name().to_owned(),
            fitted: Some(FITTED_HISTORY),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: &str, reads: Reads) -> LearnedModel {
        let load: Loader = Box::new(|| Ok(Box::new(GpSurrogate::default())));
        LearnedModel { name: name.into(), hash: 7, reads, history: 64, rule: Rule::Sampled(2.0), load }
    }

    fn width(columns: usize, coordinates: usize) -> Width {
        Width { columns, coordinates }
    }

    #[test]
    fn the_first_model_that_fits_is_taken_and_the_one_in_use_is_kept() {
        let models = Models::default()
            .with(model("table", Reads::Columns(1..=64)))
            .with(model("two", Reads::Coordinates(2..=2)));
        let pin = |models: &Models, width, used: Option<&ModelPin>| models.pin(width, used).unwrap();
        assert_eq!(pin(&models, width(3, 40), None).to_string(), "table (0000000000000007)");
        let two = ModelPin { name: "two".into(), hash: "0000000000000007".into() };
        assert_eq!(pin(&models, width(2, 2), Some(&two)), two);
        // Another model of that name is not the one in use, and one that does not fit cannot be.
        let other = ModelPin { hash: "0000000000000008".into(), ..two.clone() };
        assert_eq!(pin(&models, width(2, 2), Some(&other)).name, "table");
        assert_eq!(pin(&models, width(2, 3), Some(&two)).name, "table");
        assert_eq!(models.resolve(None, width(64, 900)).unwrap(), (SamplerKind::Learned, None));
        for wanted in [None, Some(SamplerKind::Learned)] {
            let (kind, note) = models.resolve(wanted, width(65, 80)).unwrap();
            assert_eq!(kind, SamplerKind::GpEi);
            assert_eq!(note, Some(Note::GpPicks { misfit: Misfit::Columns { columns: 65, most: 64 } }));
        }
        let wide = width(65, 80);
        assert_eq!(models.resolve(Some(SamplerKind::Random), wide).unwrap(), (SamplerKind::Random, None));
        assert!(models.predictor(SamplerKind::Learned, wide, None).is_err());
        assert_eq!(models.predictor(SamplerKind::Learned, width(2, 2), None).unwrap().history, 64);
    }

    #[test]
    fn wide_pools_are_scored_in_part() {
        let cells = Reads::Columns(1..=64);
        assert_eq!((cells.scored(width(4, 4)), cells.scored(width(5, 40))), (6553, 5461));
        assert_eq!(cells.scored(width(1000, 1000)), LEAST_SCORED_BY_CELLS);
        let points = Reads::Coordinates(1..=8);
        assert_eq!((points.scored(width(4, 4)), points.scored(width(64, 64))), (SCORED, SCORED / 2));
    }

    #[test]
    fn without_a_model_the_default_falls_back_and_says_so() {
        let (kind, note) = Models::default().resolve(None, width(2, 2)).unwrap();
        assert_eq!((kind, note), (SamplerKind::GpEi, Some(Note::GpPicks { misfit: Misfit::NoneAtHand })));
        let refused = Models::default().resolve(Some(SamplerKind::Learned), width(2, 2)).unwrap_err();
        assert_eq!(refused, Problem::NoModel { misfit: Misfit::NoneAtHand });
    }
}
