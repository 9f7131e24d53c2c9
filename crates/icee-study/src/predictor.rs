//! The predictor of an answer, given as much of the history as it takes.

use crate::error::{OrProblem, Result};
use icee_bo::acquisition::Rule;
use icee_bo::belief::{Belief, Range};
use icee_bo::history::kept;
use icee_bo::pool::{Pool, Told};
use icee_bo::remaining::Remaining;
use icee_bo::surrogate::Surrogate;
use icee_protocol::Note;
use rand::Rng;

/// A model, and how much history it is given.
pub(crate) struct Predictor {
    pub surrogate: Box<dyn Surrogate>,
    /// How a row is picked by its predictions.
    pub rule: Rule,
    /// Results that it takes at most.
    pub history: usize,
    /// Rows of the pool that it scores at most for one answer.
    pub scored: usize,
    /// Its name, and to how many results it is fitted if those are fewer: for a note if there are more than it takes.
    pub name: String,
    pub fitted: Option<usize>,
}

impl Predictor {
    /// The note about more results than it takes.
    pub fn thinned(&self, results: usize) -> Note {
        Note::Thinned { results, used: self.history, fitted: self.fitted, model: self.name.clone() }
    }

    /// Predictions from as much of the history as the model takes.
    pub fn predict(&mut self, pool: &Pool, known: &[Told], rows: &[usize]) -> Result<Vec<Belief>> {
        self.surrogate.predict(pool, &self.some(known), rows).or_problem()
    }

    /// The same for several outcomes, each with a history of its own.
    pub fn predict_all(&mut self, pool: &Pool, known: &[Vec<Told>], rows: &[usize]) -> Result<Vec<Vec<Belief>>> {
        known.iter().map(|known| self.predict(pool, known, rows)).collect()
    }

    /// Keeps what this history teaches about the function as a whole, or drops it ([`Surrogate::hold`]).
    pub fn hold(&mut self, pool: &Pool, known: Option<&[Told]>) -> Result<()> {
        let known = known.map(|known| self.some(known));
        self.surrogate.hold(pool, known.as_deref()).or_problem()
    }

    /// The note about all rows that are left, if only these are scored.
    pub fn remaining(
        &mut self,
        pool: &Pool,
        known: &[Told],
        rows: &[usize],
        beliefs: &[Belief],
        better: Range,
        rng: &mut dyn Rng,
    ) -> Result<Remaining> {
        let known = self.some(known);
        Remaining::judge(&mut *self.surrogate, pool, &known, rows, beliefs, better, rng).or_problem()
    }

    fn some(&self, known: &[Told]) -> Vec<Told> {
        kept(known, self.history)
    }
}
