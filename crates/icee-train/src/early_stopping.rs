//! Early stopping on limited data: which networks to keep, and when to stop.

use crate::Result;
use crate::history::History;
use std::path::Path;

/// Evaluations in a row that must be worse than the best before training ends. A loss that stands still is none of them:
/// learning in context begins with a long plateau.
const RISING: usize = 5;
/// By which share of the best they are worse.
const WORSE: f64 = 0.01;

/// How a held-out metric has gone so far; lower is better.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EarlyStopping {
    seen: Vec<(u64, f64)>,
}

impl EarlyStopping {
    /// What a run's metrics say of the column `name`.
    pub fn read(metrics: &Path, name: &str) -> Result<EarlyStopping> {
        Ok(EarlyStopping { seen: History::read(metrics)?.values(name).unwrap_or_default() })
    }

    /// Takes an evaluation down, and says whether it is the best so far.
    pub fn note(&mut self, step: u64, value: f64) -> bool {
        // As it is written down, so that a run that goes on compares the same numbers.
        let value = format!("{value:.6e}").parse().unwrap_or(value);
        self.seen.push((step, value));
        self.best() == Some((step, value))
    }

    /// The first of the best.
    pub fn best(&self) -> Option<(u64, f64)> {
        self.seen.iter().copied().reduce(|best, other| if other.1 < best.1 { other } else { best })
    }

    /// Whether it has only been getting worse.
    pub fn is_rising(&self) -> bool {
        let Some((_, best)) = self.best() else { return false };
        let worse = |&(_, value): &(u64, f64)| value > best + WORSE * best.abs();
        self.seen.len() > RISING && self.seen.iter().rev().take(RISING).all(worse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_kept_and_a_plateau_is_no_reason_to_stop() {
        let mut loss = EarlyStopping::default();
        assert!(loss.note(100, 2.0) && !loss.note(200, 2.0) && loss.note(300, 1.5));
        (4..=20).for_each(|at| assert!(!loss.note(at * 100, 1.51)));
        assert!(!loss.is_rising());
        (21..=24).for_each(|at| assert!(!loss.note(at * 100, 1.7)));
        assert!(!loss.is_rising());
        loss.note(2500, 1.7);
        assert!(loss.is_rising());
        assert_eq!(loss.best(), Some((300, 1.5)));
        assert!(loss.note(2600, 1.4) && !loss.is_rising());
    }

    #[test]
    fn it_goes_on_from_the_metrics() {
        let path = std::env::temp_dir().join(format!("icee-early-stopping-{}.csv", std::process::id()));
        std::fs::write(&path, "step,loss,held_out/loss,speed\n1,3,,5\n2,3,1.5e0,5\n3,3,,\n4,3,1.25e0,5\n").unwrap();
        let read = EarlyStopping::read(&path, "held_out/loss").unwrap();
        assert_eq!(read.seen, [(2, 1.5), (4, 1.25)]);
        assert_eq!(EarlyStopping::read(&path, "race").unwrap(), EarlyStopping::default());
        std::fs::remove_file(path).unwrap();
    }
}
