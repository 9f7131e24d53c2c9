//! From models' predictions to what a study answers, in the user's unit.

use crate::aim::Aim;
use crate::aims::{Aims, Front};
use crate::goals::Goals;
use crate::trials::{Known, Trials};
use icee_base::numbers::percent;
use icee_base::stats::NORMAL_95;
use icee_bo::acquisition::Rule;
use icee_bo::belief::Belief;
use icee_bo::normal::Prediction;
use icee_bo::remaining;
use icee_protocol::{Forecast, FurtherForecast, Remaining, RowForecast, Status, Suggestion};

/// How many times as probable another row's improvement must be for it to be named beside a suggestion.
const FAR_LIKELIER: f64 = 3.0;

/// Predictions of all results in the user's unit.
pub(crate) fn forecast(beliefs: &[&Belief], aims: &Aims, front: &Front, goals: &Goals) -> Forecast {
    let [mean, low, high] = interval(beliefs[0], aims.main());
    let further = goals.further.iter().zip(&aims.each[1..]).zip(&beliefs[1..]).map(|((further, aim), belief)| {
        let [mean, low, high] = interval(belief, aim);
        FurtherForecast { name: further.name.clone(), mean, low, high, holds: aim.holds(belief) }
    });
    Forecast { mean, low, high, beats_best: aims.chance(beliefs, front), further: further.collect() }
}

/// Mean and 95 % interval in the user's unit.
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

/// The probability that a better row is left, as replies have it.
pub(crate) fn remaining_of(found: remaining::Remaining) -> Remaining {
    Remaining { any: found.any, single: found.single, independent: found.independent }
}

/// Says why this row was picked, if another one is far more likely to beat the best. `is_first`: the first row of an
/// answer while no other is in progress.
pub(crate) fn explain_beside(suggestion: &mut Suggestion, other: &str, chance: f64, is_first: bool, rule: Rule) {
    let mine = suggestion.forecast.as_ref().map_or(f64::INFINITY, |forecast| forecast.beats_best);
    if suggestion.repeat || chance <= FAR_LIKELIER * mine {
        return;
    }
    let why = match rule {
        _ if !is_first => "Rows tried at the same time are to differ",
        Rule::Sampled(_) => "Chosen at random, weighted by expected improvement",
        Rule::Greatest | Rule::Random => "Less certain, larger possible gain",
    };
    suggestion.reasons.push(format!("{why}. Safer: row {other} ({})", percent(chance)));
}

/// So many of the rows that are left, the most promising first.
pub(crate) fn most_promising(mut forecasts: Vec<RowForecast>, count: usize) -> Vec<RowForecast> {
    forecasts.retain(|row| row.status == Status::Left);
    forecasts.sort_by(|a, b| b.forecast.beats_best.total_cmp(&a.forecast.beats_best));
    forecasts.truncate(count);
    forecasts
}

/// Where a row with a result stands.
pub(crate) fn status_of(known: &Known) -> Status {
    match known {
        Known::Values(_) => Status::Told,
        Known::Failed => Status::Failed,
        Known::Impossible => Status::Impossible,
    }
}

/// Where any row stands.
pub(crate) fn status_at(row: usize, trials: &Trials, taken: &[bool]) -> Status {
    match trials.outcome(row) {
        Some(trial) => status_of(&trial.known),
        None if taken[row] => Status::Running,
        None => Status::Left,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_protocol::Cells;

    #[test]
    fn a_row_that_is_not_the_likeliest_says_why_it_is_picked() {
        let reasons = |mine: f64, is_first: bool, rule: Rule, repeat: bool| {
            let forecast = Forecast { mean: 1.0, low: 0.0, high: 2.0, beats_best: mine, further: vec![] };
            let (id, cells, forecast) = ("7".to_owned(), Cells::default(), Some(forecast));
            let (until, by, reasons) = (None, None, vec![]);
            let mut suggestion = Suggestion { id, row: 7, cells, repeat, running: false, until, by, forecast, reasons };
            explain_beside(&mut suggestion, "B72", 0.019, is_first, rule);
            suggestion.reasons.concat()
        };
        let drawn = reasons(0.001, true, Rule::Sampled(1.0), false);
        assert!(drawn.starts_with("Chosen at random") && drawn.ends_with("Safer: row B72 (1.9 %)"), "{drawn}");
        assert!(reasons(0.001, true, Rule::Greatest, false).contains("Less certain"));
        assert!(reasons(0.001, false, Rule::Greatest, false).contains("are to differ"));
        assert_eq!(reasons(0.01, true, Rule::Greatest, false) + &reasons(0.001, true, Rule::Greatest, true), "");
    }
}
