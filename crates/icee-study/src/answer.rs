//! What a study answers, in the user's unit and ready for JSON.

use crate::aim::Aim;
use crate::aims::{Aims, Front};
use crate::cells::Cells;
use crate::goals::{Direction, Goals};
use crate::record::{ModelPin, SamplerKind};
use crate::trials::{Known, Trials};
use icee_base::numbers::percent;
use icee_base::stats::NORMAL_95;
use icee_bo::acquisition::Rule;
use icee_bo::belief::Belief;
use icee_bo::normal::Prediction;
use icee_bo::remaining::Remaining;
use serde::{Deserialize, Serialize};

/// What is believed of a row's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// The expected value.
    pub mean: f64,
    /// The lower end of the interval that holds the value with probability 95 %.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The probability of beating the best value told so far; where there are limits, of doing so within them; with several
    /// objectives, of being beaten by no row told.
    pub beats_best: f64,
    /// The same of the further outcomes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<FurtherForecast>,
}

/// What is believed of a further outcome of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FurtherForecast {
    /// Its name.
    pub name: String,
    /// The expected value.
    pub mean: f64,
    /// The ends of the interval that holds it with probability 95 %.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// The probability that its limit holds, if it has one.
    pub holds: Option<f64>,
}

impl Forecast {
    /// Beliefs of all outcomes in the user's unit.
    pub(crate) fn new(beliefs: &[&Belief], aims: &Aims, front: &Front, goals: &Goals) -> Forecast {
        let [mean, low, high] = interval(beliefs[0], aims.main());
        let further = goals.further.iter().zip(&aims.each[1..]).zip(&beliefs[1..]).map(|((further, aim), belief)| {
            let [mean, low, high] = interval(belief, aim);
            FurtherForecast { name: further.name.clone(), mean, low, high, holds: aim.holds(belief) }
        });
        Forecast { mean, low, high, beats_best: aims.chance(beliefs, front), further: further.collect() }
    }
}

/// Mean and ends of the 95 % interval in the user's unit.
fn interval(belief: &Belief, aim: &Aim) -> [f64; 3] {
    let ends = match belief {
        Belief::Normal(Prediction { mean, variance }) => {
            let half = NORMAL_95 * variance.sqrt();
            [mean - half, mean + half]
        }
        Belief::Histogram { .. } => [belief.quantile(0.025), belief.quantile(0.975)],
    };
    let [mean, one, other] = [belief.mean(), ends[0], ends[1]].map(|value| aim.shown(value));
    [mean, one.min(other), one.max(other)]
}

/// A row to try next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suggestion {
    /// What the user calls it.
    pub id: String,
    /// Its number, from one.
    pub row: usize,
    /// What stands in it.
    pub cells: Cells,
    /// Whether it has a value already and is worth another measurement.
    pub repeat: bool,
    /// When it is to be given back, in seconds since 1970, if ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Who tries it, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why it: `None` where too little is known for a forecast, and the row helps to cover the pool, or where chance has picked it.
    pub forecast: Option<Forecast>,
    /// What speaks for it, in words.
    pub reasons: Vec<String>,
}

/// From how many times as great a chance on another row is named beside a suggestion.
const FAR_LIKELIER: f64 = 3.0;

impl Suggestion {
    /// Says why it is this row, where another one is far likelier to beat the best. `is_first` is the first row of an answer while
    /// no other is being tried.
    pub(crate) fn explain_beside(&mut self, other: &str, chance: f64, is_first: bool, rule: Rule) {
        let mine = self.forecast.as_ref().map_or(f64::INFINITY, |forecast| forecast.beats_best);
        if self.repeat || chance <= FAR_LIKELIER * mine {
            return;
        }
        let why = match rule {
            _ if !is_first => "rows that are tried at the same time are to differ",
            Rule::Sampled(_) => {
                "rows are drawn, promising ones more often, so that a model that is wrong somewhere finds out"
            }
            Rule::Greatest | Rule::Random => "less is known of this one, and it beats it by more if it does",
        };
        self.reasons.push(format!("row {other} is likelier to beat the best ({}): {why}", percent(chance)));
    }
}

/// The answer to an ask.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The rows to try, all different.
    pub suggestions: Vec<Suggestion>,
    /// Whether they were suggested before and are still to be told.
    pub still_running: bool,
    /// What picked them.
    pub sampler: SamplerKind,
    /// The best value told so far of those rows whose limits hold.
    pub best: Option<f64>,
    /// How likely it is that a row that is left beats it.
    pub remaining: Option<Remaining>,
    /// Rows that were neither told nor suggested before.
    pub left: usize,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Where a row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Its value is known.
    Told,
    /// Its experiment failed.
    Failed,
    /// Its experiment cannot be made.
    Impossible,
    /// It was suggested, and nothing has been told of it.
    Running,
    /// Nothing has happened to it.
    Left,
}

/// A row with what is known and believed of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowForecast {
    /// What the user calls it.
    pub id: String,
    /// Its number, from one.
    pub row: usize,
    /// Where it stands.
    pub status: Status,
    /// The value told.
    pub value: Option<f64>,
    /// What the model believes, also of rows that were told.
    #[serde(flatten)]
    pub forecast: Forecast,
}

/// A told row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToldRow {
    /// What the user calls it.
    pub id: String,
    /// Its number, from one.
    pub row: usize,
    /// Its value, the mean of several; `None` where there is none.
    pub value: Option<f64>,
    /// All that was measured.
    pub values: Vec<f64>,
    /// The same with the further outcomes beside each value.
    #[serde(skip)]
    pub measurements: Vec<Vec<Option<f64>>>,
    /// The further outcomes, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<(String, Option<f64>)>,
    /// Where it stands.
    pub status: Status,
    /// What stands in it; nothing where the pool cannot be read.
    pub cells: Cells,
}

/// The best row, and how far that can be trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestRow {
    /// Which.
    #[serde(flatten)]
    pub row: ToldRow,
    /// Where some rows were measured more than once: what is believed of its value, noise taken off.
    pub believed: Option<f64>,
    /// The probability that it is the best of the rows told.
    pub sure: Option<f64>,
}

/// A study at a glance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The pool's file.
    pub pool: String,
    /// Its rows.
    pub rows: usize,
    /// The columns that are learned from: name and what it is.
    pub columns: Vec<(String, String)>,
    /// The column that names the rows.
    pub id_column: Option<String>,
    /// What a column of row numbers is called, see [`Study::row_column`](crate::Study::row_column).
    pub row_column: String,
    /// The column in which values are filled in.
    pub value_column: Option<String>,
    /// Which values are good.
    pub direction: Direction,
    /// What is wanted of each outcome, in words: the name of the column, where there is one, and the wish.
    pub goals: Vec<(Option<String>, String)>,
    /// The column that says what a row costs.
    pub cost_column: Option<String>,
    /// The earlier study that it learns from, and how many rows that has.
    pub earlier: Option<(String, usize)>,
    /// What picks the rows.
    pub sampler: SamplerKind,
    /// The learned model that it has been using.
    pub model: Option<ModelPin>,
    /// Fixes all that is random.
    pub seed: u64,
    /// The best row.
    pub best: Option<BestRow>,
    /// By how much measurements of one row differ (a standard deviation), where some row was measured more than once.
    pub noise: Option<f64>,
    /// Rows with an outcome, in the order told.
    pub told: Vec<ToldRow>,
    /// With several objectives: the rows that are beaten by none.
    pub front: Vec<ToldRow>,
    /// Rows that were suggested and not told yet.
    pub running: Vec<String>,
    /// Rows to which nothing has happened.
    pub left: usize,
    /// Lines of the journal: whoever sees another number sees another study.
    #[serde(default)]
    pub lines: u64,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl RowForecast {
    /// So many of the rows that are left, the most promising first.
    #[must_use]
    pub fn most_promising(mut forecasts: Vec<RowForecast>, count: usize) -> Vec<RowForecast> {
        forecasts.retain(|row| row.status == Status::Left);
        forecasts.sort_by(|a, b| b.forecast.beats_best.total_cmp(&a.forecast.beats_best));
        forecasts.truncate(count);
        forecasts
    }
}

impl Status {
    pub(crate) fn told(known: &Known) -> Status {
        match known {
            Known::Values(_) => Status::Told,
            Known::Failed => Status::Failed,
            Known::Impossible => Status::Impossible,
        }
    }

    pub(crate) fn of(row: usize, trials: &Trials, taken: &[bool]) -> Status {
        match trials.outcome(row) {
            Some(trial) => Status::told(&trial.known),
            None if taken[row] => Status::Running,
            None => Status::Left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_not_the_likeliest_says_why_it_is_picked() {
        let reasons = |mine: f64, is_first: bool, rule: Rule, repeat: bool| {
            let forecast = Forecast { mean: 1.0, low: 0.0, high: 2.0, beats_best: mine, further: vec![] };
            let (id, cells, reasons) = ("7".to_owned(), Cells::default(), vec![]);
            let mut suggestion =
                Suggestion { id, row: 7, cells, repeat, until: None, by: None, forecast: Some(forecast), reasons };
            suggestion.explain_beside("B72", 0.019, is_first, rule);
            suggestion.reasons.concat()
        };
        let drawn = reasons(0.001, true, Rule::Sampled(1.0), false);
        assert!(drawn.starts_with("row B72 is likelier to beat the best (1.9 %): rows are drawn"), "{drawn}");
        assert!(reasons(0.001, true, Rule::Greatest, false).contains(": less is known of this one"));
        assert!(
            reasons(0.001, false, Rule::Greatest, false)
                .ends_with(": rows that are tried at the same time are to differ")
        );
        assert_eq!(reasons(0.01, true, Rule::Greatest, false) + &reasons(0.001, true, Rule::Greatest, true), "");
    }
}
