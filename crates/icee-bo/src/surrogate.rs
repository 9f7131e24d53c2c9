//! What predicts: the interface between whatever knows something of candidates and whatever decides on them.
//!
//! A [`Surrogate`] gives every candidate a [`Belief`]. Expected improvement, intervals, the probability of beating the best
//! and sampled outcomes follow from it, the same for a Gaussian process and for a learned model.

use crate::belief::{Belief, Range};
use crate::error::BoResult;
use crate::history::kept;
use crate::normal::open_unit;
use crate::pool::{Pool, Told};
use rand::Rng;

/// Predicts values of candidates from values of others.
pub trait Surrogate: Send {
    /// A short name for tables.
    fn name(&self) -> &'static str;

    /// The fewest results from which it can predict.
    fn least_history(&self) -> usize;

    /// One prediction a candidate, in their order. Depends on nothing but the arguments.
    fn predict(&mut self, pool: &Pool, told: &[Told], candidates: &[usize]) -> BoResult<Vec<Belief>>;

    /// From now on, predicts by what this history teaches about the function as a whole (length scales, noise), also from
    /// longer ones; with `None`, learns that from every history anew, as in the beginning. For the long row of histories
    /// that a batch of candidates makes, each with one more value, and that one only imagined. Models that learn nothing
    /// of the kind have nothing to hold on to.
    ///
    /// # Errors
    /// The model's.
    fn hold(&mut self, _pool: &Pool, _told: Option<&[Told]>) -> BoResult<()> {
        Ok(())
    }

    /// One prediction a history, all about the same candidate: what [`Surrogate::predict`] says after each of them. Models
    /// that are faster with several at once do them together.
    fn predict_after(&mut self, pool: &Pool, histories: &[&[Told]], candidate: usize) -> BoResult<Vec<Belief>> {
        histories.iter().map(|told| Ok(self.predict(pool, told, &[candidate])?.remove(0))).collect()
    }

    /// How much [`Surrogate::any_below`] looks at.
    fn joint(&self) -> Joint {
        Joint { candidates: 16, paths: 8, history: usize::MAX }
    }

    /// P(at least one of the candidates has a value below `bound`), for no more than [`Surrogate::joint`] says.
    fn any_below(
        &mut self,
        pool: &Pool,
        told: &[Told],
        candidates: &[usize],
        bound: f64,
        rng: &mut dyn Rng,
    ) -> BoResult<f64> {
        self.any_within(pool, told, candidates, Range::below(bound), rng)
    }

    /// P(at least one of the candidates has a value within a range), for no more than [`Surrogate::joint`] says.
    ///
    /// Single probabilities cannot say it, because neighbours stand and fall together. So the candidates are
    /// taken one after another, each given a sampled outcome that is *not* within the range for those before it:
    /// P(none) is the product of what is left at every step (Geweke, Hajivassiliou, Keane), averaged over paths. The
    /// paths go side by side, so that a model can predict for all of them at once.
    fn any_within(
        &mut self,
        pool: &Pool,
        told: &[Told],
        candidates: &[usize],
        range: Range,
        rng: &mut dyn Rng,
    ) -> BoResult<f64> {
        let Joint { paths, history, .. } = self.joint();
        let told = kept(told, history);
        // Drawn path by path and beforehand, so that none depends on where another path ends.
        let mut alive: Vec<Path> = (0..paths).map(|_| Path::new(&told, candidates.len(), rng)).collect();
        for (step, &candidate) in candidates.iter().enumerate() {
            let beliefs = if step == 0 {
                // Nothing tells the paths apart yet.
                vec![self.predict(pool, &told, &[candidate])?.remove(0); alive.len()]
            } else {
                let histories: Vec<&[Told]> = alive.iter().map(|path| path.known.as_slice()).collect();
                self.predict_after(pool, &histories, candidate)?
            };
            for (path, belief) in alive.iter_mut().zip(&beliefs) {
                let (inside, under) = (belief.within(range), belief.within(Range::below(range.low)));
                path.none *= 1.0 - inside;
                let level = (1.0 - inside) * path.draws[step];
                let value = belief.quantile(if level < under { level } else { level + inside });
                path.known.push(Told { candidate, value });
            }
            alive.retain(|path| path.none >= NEGLIGIBLE);
        }
        let none: f64 = alive.iter().map(|path| path.none).sum();
        Ok((1.0 - none / paths as f64).clamp(0.0, 1.0))
    }
}

/// How much [`Surrogate::any_below`] looks at: a prediction for each candidate and path, hence few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joint {
    /// Candidates, the most promising ones.
    pub candidates: usize,
    /// Ways in which things may turn out.
    pub paths: usize,
    /// The results so far.
    pub history: usize,
}

/// A way in which things may turn out, none of them below a bound.
struct Path {
    known: Vec<Told>,
    none: f64,
    draws: Vec<f64>,
}

impl Path {
    fn new(told: &[Told], steps: usize, rng: &mut dyn Rng) -> Path {
        Path { known: told.to_vec(), none: 1.0, draws: (0..steps).map(|_| open_unit(rng)).collect() }
    }
}

/// A path that is less likely than this is not followed.
const NEGLIGIBLE: f64 = 1e-6;
