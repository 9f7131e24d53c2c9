//! A look back: what the study would have said of each row before it was told, and what came out.
//!
//! Nothing of this stands in the journal. Every forecast is made anew, from what was told before the row.

use crate::Result;
use crate::answer::Forecast;
use crate::record::SamplerKind;
use crate::study::{Study, not_loaded};
use crate::trials::{Trial, Trials};
use icee_bo::belief::Belief;
use serde::Serialize;

/// Rows that are looked back at: the latest.
const REVIEWED: usize = 64;
/// The probabilities of the intervals that are checked.
pub const LEVELS: [f64; 3] = [0.5, 0.8, 0.95];

/// A study from its first value to the latest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Review {
    /// The rows with an outcome, in the order told.
    pub steps: Vec<Step>,
    /// How many forecasts were checked.
    pub checked: usize,
    /// How many of them held: the values that lay in the intervals of [`LEVELS`].
    pub held: [usize; 3],
}

/// One row that was told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// What the user calls it.
    pub id: String,
    /// Its value; none where it failed or cannot be made.
    pub value: Option<f64>,
    /// The best value up to here of those rows whose limits hold.
    pub best: Option<f64>,
    /// What was to be expected of it by what was told before; nothing where that was too little, or is long ago.
    pub forecast: Option<Forecast>,
}

impl Study {
    /// Looks back at all that was told.
    ///
    /// # Errors
    /// Where the pool cannot be used.
    pub fn review(&mut self, sampler: Option<SamplerKind>) -> Result<Review> {
        self.load()?;
        let (sampler, _) = self.resolve(sampler)?;
        self.check_model(sampler)?;
        let mut predictor = self.predictor(sampler)?;
        let Some(rows) = &self.rows else { return Err(not_loaded()) };
        let goals = self.header.goals();
        let least = predictor.surrogate.least_history();
        let mut review = Review { steps: Vec::new(), checked: 0, held: [0; LEVELS.len()] };
        let mut best: Option<(f64, f64)> = None;
        for (at, trial) in self.trials.told.iter().enumerate() {
            let looked_at = at + REVIEWED >= self.trials.told.len() && trial.value().is_some();
            let aims = looked_at.then(|| self.aims_after(&self.trials.first(at))).filter(|aims| aims.suffice(least));
            let mut forecast = None;
            if let Some(aims) = aims {
                let beliefs = predictor.predict_all(&rows.points, &aims.histories(predictor.history), &[trial.row])?;
                let beliefs: Vec<&Belief> = beliefs.iter().map(|beliefs| &beliefs[0]).collect();
                forecast = Some(Forecast::new(&beliefs, &aims, &aims.front(), &goals));
                let value = aims.main().units.standard(trial.value().unwrap_or_default());
                review.checked += 1;
                for (level, held) in LEVELS.into_iter().zip(&mut review.held) {
                    let (low, high) = beliefs[0].interval(level);
                    *held += usize::from((low..=high).contains(&value));
                }
            }
            let losses = goals.losses(&self.trials.outcomes_of(trial));
            if let (Some(losses), Some(value)) = (losses, trial.value())
                && best.is_none_or(|(least, _)| losses[0] < least)
            {
                best = Some((losses[0], value));
            }
            let best = best.map(|(_, value)| value);
            review.steps.push(Step { id: trial.name.shown(), value: trial.value(), best, forecast });
        }
        Ok(review)
    }

    /// What is believed of some rows; nothing where too little was told.
    pub(crate) fn forecasts(
        &mut self,
        rows_wanted: &[usize],
        sampler: Option<SamplerKind>,
    ) -> Result<Option<Vec<Forecast>>> {
        let (sampler, _) = self.resolve(sampler)?;
        self.check_model(sampler)?;
        let mut predictor = self.predictor(sampler)?;
        let Some(rows) = &self.rows else { return Err(not_loaded()) };
        let goals = self.header.goals();
        let aims = self.aims();
        if !aims.suffice(predictor.surrogate.least_history()) {
            return Ok(None);
        }
        let front = aims.front();
        let beliefs = predictor.predict_all(&rows.points, &aims.histories(predictor.history), rows_wanted)?;
        let forecast = |at: usize| {
            let beliefs: Vec<&Belief> = beliefs.iter().map(|beliefs| &beliefs[at]).collect();
            Forecast::new(&beliefs, &aims, &front, &goals)
        };
        Ok(Some((0..rows_wanted.len()).map(forecast).collect()))
    }
}

impl Trials {
    /// What the first outcomes alone come to.
    fn first(&self, count: usize) -> Trials {
        let told: Vec<Trial> = self.told[..count].to_vec();
        self.with_told(told)
    }
}
