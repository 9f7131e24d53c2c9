//! A look back: the prediction of each row before its result, and the result.
//!
//! None of this is in the journal. Every prediction is made anew, from the results before the row.

use crate::answer::{forecast, status_of};
use crate::error::Result;
use crate::record::SamplerKind;
use crate::study::Study;
use crate::trials::{Trial, Trials};
use icee_bo::belief::Belief;
use icee_protocol::{Forecast, LEVELS, Reviewed, ReviewedRow};

/// How many rows a review covers: the latest.
const REVIEWED: usize = 64;
impl Study {
    /// Reviews all results.
    ///
    /// # Errors
    /// Where the pool cannot be used.
    pub fn review(&mut self, sampler: Option<SamplerKind>) -> Result<Reviewed> {
        self.load()?;
        let mut predictor = self.looking(sampler)?;
        let rows = self.loaded()?;
        let goals = self.header.goals();
        let least = predictor.surrogate.least_history();
        let mut review = Reviewed { steps: Vec::new(), checked: 0, held: [0; LEVELS.len()] };
        let mut best: Option<(f64, f64)> = None;
        for (at, trial) in self.trials.told.iter().enumerate() {
            let looked_at = at + REVIEWED >= self.trials.told.len() && trial.value().is_some();
            let aims = looked_at.then(|| self.aims_after(&self.trials.first(at))).filter(|aims| aims.suffice(least));
            let mut predicted = None;
            if let Some(aims) = aims {
                let beliefs = predictor.predict_all(&rows.points, &aims.histories(predictor.history), &[trial.row])?;
                let beliefs: Vec<&Belief> = beliefs.iter().map(|beliefs| &beliefs[0]).collect();
                predicted = Some(forecast(&beliefs, &aims, &aims.front(), &goals));
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
            let (id, value) = (trial.name.shown(), trial.value());
            let status = status_of(&trial.known);
            review.steps.push(ReviewedRow { id, status, value, best, forecast: predicted });
        }
        Ok(review)
    }

    /// Predictions of some rows; none if there are too few results.
    pub(crate) fn forecasts(
        &mut self,
        rows_wanted: &[usize],
        sampler: Option<SamplerKind>,
    ) -> Result<Option<Vec<Forecast>>> {
        let mut predictor = self.looking(sampler)?;
        let rows = self.loaded()?;
        let goals = self.header.goals();
        let aims = self.aims();
        if !aims.suffice(predictor.surrogate.least_history()) {
            return Ok(None);
        }
        let front = aims.front();
        let beliefs = predictor.predict_all(&rows.points, &aims.histories(predictor.history), rows_wanted)?;
        let of_row = |at: usize| {
            let beliefs: Vec<&Belief> = beliefs.iter().map(|beliefs| &beliefs[at]).collect();
            forecast(&beliefs, &aims, &front, &goals)
        };
        Ok(Some((0..rows_wanted.len()).map(of_row).collect()))
    }
}

impl Trials {
    /// The state after the first outcomes alone.
    fn first(&self, count: usize) -> Trials {
        let told: Vec<Trial> = self.told[..count].to_vec();
        self.with_told(told)
    }
}
