//! What predicts in a study: a Gaussian process, or a learned model that was trained for as many coordinates.
//!
//! A learned model takes part by an entry in [`Models`]: which numbers of coordinates it knows, how long a history it was
//! trained on, and how it is loaded. Everything else about a study is the same for all.

use crate::predictor::Predictor;
use crate::record::{ModelPin, SamplerKind};
use crate::{Error, Result};
use icee_bo::BoResult;
use icee_bo::acquisition::Rule;
use icee_bo::gp_surrogate::{FITTED_HISTORY, GpSurrogate, KNOWN_HISTORY};
use icee_bo::surrogate::Surrogate;
use std::ops::RangeInclusive;

/// Loads a learned model.
pub type Loader = Box<dyn Fn() -> BoResult<Box<dyn Surrogate>> + Send + Sync>;

/// A learned model that studies may use.
pub struct LearnedModel {
    /// Its name.
    pub name: String,
    /// A checksum of its description and weights: what it is, down to the last bit.
    pub hash: u64,
    /// The numbers of coordinates (columns after coding) that it was trained for.
    pub columns: RangeInclusive<usize>,
    /// The longest history that it was trained on.
    pub history: usize,
    /// Rows are drawn in proportion to this power of their expected improvement: β.
    pub sharpness: f64,
    /// Loads it.
    pub load: Loader,
}

/// The learned models at hand; by default none.
#[derive(Default)]
pub struct Models(Vec<LearnedModel>);

impl Models {
    /// These and one more.
    #[must_use]
    pub fn with(mut self, model: LearnedModel) -> Models {
        self.0.push(model);
        self
    }

    /// The most specialised model for a number of coordinates.
    fn fitting(&self, columns: usize) -> Option<&LearnedModel> {
        let fitting = self.0.iter().filter(|model| model.columns.contains(&columns));
        fitting.min_by_key(|model| model.columns.end() - model.columns.start())
    }

    /// Why no model fits.
    fn why_not(&self, columns: usize) -> String {
        match self.0.iter().map(|model| *model.columns.end()).max() {
            None => "no learned model is at hand".into(),
            Some(most) => {
                format!("{columns} coordinates are outside what the learned models were trained on (at most {most})")
            }
        }
    }

    /// What picks the rows of a pool, and what is to be said about it.
    pub(crate) fn resolve(&self, wanted: Option<SamplerKind>, columns: usize) -> Result<(SamplerKind, Option<String>)> {
        match wanted {
            Some(kind @ (SamplerKind::GpEi | SamplerKind::Random)) => Ok((kind, None)),
            Some(SamplerKind::Icee) if self.0.is_empty() => {
                Err(Error::Study(format!("{}; use --sampler gp-ei", self.why_not(columns))))
            }
            None | Some(SamplerKind::Icee) => Ok(match self.fitting(columns) {
                Some(_) => (SamplerKind::Icee, None),
                None => (SamplerKind::GpEi, Some(format!("{}: gp-ei picks the rows", self.why_not(columns)))),
            }),
        }
    }

    /// The learned model for a number of coordinates, as a journal remembers it.
    pub(crate) fn pin(&self, columns: usize) -> Option<ModelPin> {
        let pin = |model: &LearnedModel| ModelPin { name: model.name.clone(), hash: format!("{:016x}", model.hash) };
        self.fitting(columns).map(pin)
    }

    /// What predicts for a sampler; also for chance, whose answers are explained by a Gaussian process.
    pub(crate) fn predictor(&self, kind: SamplerKind, columns: usize) -> Result<Predictor> {
        if kind == SamplerKind::Icee {
            let Some(model) = self.fitting(columns) else {
                return Err(Error::Study(format!("{}; use --sampler gp-ei", self.why_not(columns))));
            };
            let thinning =
                format!("{} predicts from {} of them, as many as it was trained on", model.name, model.history);
            let rule = Rule::Sampled(model.sharpness);
            return Ok(Predictor { surrogate: (model.load)()?, rule, history: model.history, thinning });
        }
        let thinning =
            format!("gp-ei predicts from {KNOWN_HISTORY} of them and is fitted to {FITTED_HISTORY}, to stay fast");
        let rule = if kind == SamplerKind::Random { Rule::Random } else { Rule::Greatest };
        Ok(Predictor { surrogate: Box::new(GpSurrogate::for_tables()), rule, history: KNOWN_HISTORY, thinning })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: &str, columns: RangeInclusive<usize>) -> LearnedModel {
        let load: Loader = Box::new(|| Ok(Box::new(GpSurrogate::default())));
        LearnedModel { name: name.into(), hash: 7, columns, history: 64, sharpness: 2.0, load }
    }

    #[test]
    fn the_most_specialised_model_is_taken() {
        let models = Models::default().with(model("wide", 1..=8)).with(model("two", 2..=2));
        assert_eq!(models.fitting(2).unwrap().name, "two");
        assert_eq!(models.fitting(3).unwrap().name, "wide");
        assert_eq!(models.pin(3).unwrap().to_string(), "wide (0000000000000007)");
        assert_eq!(models.resolve(None, 8).unwrap(), (SamplerKind::Icee, None));
        for wanted in [None, Some(SamplerKind::Icee)] {
            let (kind, note) = models.resolve(wanted, 9).unwrap();
            assert_eq!(kind, SamplerKind::GpEi);
            assert!(note.unwrap().contains("9 coordinates are outside"));
        }
        assert_eq!(models.resolve(Some(SamplerKind::Random), 9).unwrap(), (SamplerKind::Random, None));
        assert!(models.predictor(SamplerKind::Icee, 9).is_err());
        assert_eq!(models.predictor(SamplerKind::Icee, 2).unwrap().history, 64);
    }

    #[test]
    fn without_a_model_the_default_falls_back_and_says_so() {
        let (kind, note) = Models::default().resolve(None, 2).unwrap();
        assert_eq!(
            (kind, note.unwrap().as_str()),
            (SamplerKind::GpEi, "no learned model is at hand: gp-ei picks the rows")
        );
        let refused = Models::default().resolve(Some(SamplerKind::Icee), 2).unwrap_err().to_string();
        assert!(refused.contains("no learned model is at hand; use --sampler gp-ei"));
    }
}
