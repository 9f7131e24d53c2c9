//! The methods, as parallel short files: each says which of the shared parts it switches on. A new method is a new
//! file and a line in [`ALL`].

mod ad;
mod ad_sorted;
mod dpt;
mod icee;
mod icee_biased;
mod mgdt;

use crate::Result;
use icee_base::names::Unknown;
use icee_worlds::ExpertLabels;

/// All methods.
pub const ALL: [&Method; 6] =
    [&icee::METHOD, &icee_biased::METHOD, &ad::METHOD, &ad_sorted::METHOD, &dpt::METHOD, &mgdt::METHOD];

/// Which of the shared parts a method switches on.
#[derive(Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// What one sequence spans.
    pub span: Span,
    /// What the action is conditioned on.
    pub condition: Condition,
    /// Whether actions count by U(a)/π(a|o), where a head predicts them.
    pub importance_weights: bool,
    /// Whether the `bayes` rule can stand for its action head.
    pub bayes: bool,
    /// What an expert tells of exploring policies' steps, where there are some.
    pub expert_labels: ExpertLabels,
}

/// What one sequence spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// All episodes of a game, as played.
    Game,
    /// All episodes of a game, the noisiest first.
    GameSorted,
    /// One episode; the context is cleared at its end.
    Episode,
}

/// What the action is conditioned on, besides what was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    Nothing,
    /// c.
    Step,
    /// c and c̃.
    StepAndEpisode,
}

impl Method {
    /// The method of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`](crate::Error::Unknown) with the nearest name.
    pub fn named(name: &str) -> Result<&'static Method> {
        ALL.into_iter()
            .find(|method| method.name == name)
            .ok_or_else(|| Unknown::new("method", name, &ALL.map(|method| method.name)).into())
    }
}
