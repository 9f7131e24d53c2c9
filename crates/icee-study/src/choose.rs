//! Which rows to try next.
//!
//! Everything here is in the models' unit (see [`Units`](crate::aim::Units)) and depends on the pool, the trials and
//! one stream of random numbers. Rows in progress, and those picked so far, count as known with an outcome
//! drawn from the model's prediction: that keeps a batch from crowding into one place.

use crate::aims::Aims;
use crate::error::Result;
use crate::predictor::Predictor;
use crate::replicates::Replicates;
use crate::trials::Trials;
use icee_base::math::{exp, ln};
use icee_base::random::StreamRng;
use icee_bo::acquisition::{Rule, pick};
use icee_bo::belief::Belief;
use icee_bo::pool::{Pool, Told};
use icee_bo::remaining::Remaining;
use rand::seq::index::sample;
use rand::{Rng, RngExt};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Measured rows whose neighbourhoods a preselection looks at.
const CENTRES: usize = 4;
/// Rows from which all but the first of a batch are picked.
const SHORT_LIST: usize = 1 << 11;
/// Rows of a batch for each of which a model is fitted anew. All results beyond the measured ones are imagined, and the
/// more there are of them, the less another one can teach.
const FITTED_PICKS: usize = 16;
/// Steps in which rows in progress get their sampled outcomes; within a step, each independently.
const RUNNING_STEPS: usize = 8;
/// Random rows of which the farthest from all others is a good start.
const START_DRAWS: usize = 32;

/// The rows picked, with their predictions from the results alone.
#[derive(Debug, Default)]
pub struct Choice {
    /// The rows, with a prediction of each outcome; none if there are too few results for one.
    pub rows: Vec<(usize, Vec<Belief>)>,
    /// The row with the highest probability of beating all earlier ones, and that probability, if it was not picked.
    pub likeliest: Option<(usize, f64)>,
    /// About all rows that are left.
    pub remaining: Option<Remaining>,
    /// How many rows were left, and how many of them were looked at.
    pub left: usize,
    /// See `left`.
    pub scored: usize,
}

/// Where a choice is made.
pub struct Scene<'a> {
    /// The rows of the sheet.
    pub pool: &'a Pool,
    /// Results and rows in progress.
    pub trials: &'a Trials,
    /// The same as models see it, with the goals.
    pub aims: &'a Aims,
    /// For every row, whether it is out of the question.
    pub taken: &'a [bool],
    /// For every row, whether it must not be suggested, not even as a replicate.
    pub excluded: &'a [bool],
    /// The cost of each row, if costs count.
    pub costs: Option<&'a [f64]>,
    /// A key of each row's cells in the columns that all rows of a batch are to share, if there are any.
    pub settings: Option<&'a [u64]>,
}

impl Scene<'_> {
    /// Picks up to `count` of the rows that are left, all different.
    pub fn choose(&self, predictor: &mut Predictor, count: usize, rng: &mut StreamRng) -> Result<Choice> {
        let left: Vec<usize> = (0..self.taken.len()).filter(|&row| !self.taken[row]).collect();
        // A random choice asks no model; for a large pool that saves nearly all the time of an answer.
        let asks_nobody = predictor.rule == Rule::Random || !self.aims.suffice(predictor.surrogate.least_history());
        if left.is_empty() || asks_nobody {
            let rows = self.start(predictor.rule, &left, count, rng).into_iter().map(|row| (row, vec![])).collect();
            return Ok(Choice { rows, likeliest: None, remaining: None, left: left.len(), scored: left.len() });
        }
        let histories = self.aims.histories(predictor.history);
        let mut candidates = self.preselected(&left, predictor.scored, rng);
        let scored = candidates.len();
        let mut told_alone = predictor.predict_all(self.pool, &histories, &candidates)?;
        let remaining = self.remaining(predictor, &candidates, &told_alone, rng)?;
        let likeliest = self.likeliest(&candidates, &told_alone);
        let mut known = histories.clone();
        self.imagine_running(predictor, &mut known, rng)?;
        let again = self.repeated(&candidates, &told_alone[0]).filter(|_| self.settings.is_none());
        let mut picked = Vec::from_iter(again);
        let repeats = !picked.is_empty();
        if self.settings.is_some() {
            let gains = self.gains(&candidates, &told_alone, &histories, rng);
            // All rows of that setting, also those that were not scored.
            candidates = self.best_setting(&candidates, &gains, count, &left);
            candidates.truncate(predictor.scored);
            told_alone = predictor.predict_all(self.pool, &histories, &candidates)?;
        }
        while picked.len() < count && !candidates.is_empty() {
            if picked.len() == FITTED_PICKS + usize::from(repeats) && self.aims.is_single() {
                predictor.hold(self.pool, Some(&known[0]))?;
            }
            let as_told = known[0].len() == histories[0].len();
            let beliefs =
                if as_told { told_alone.clone() } else { predictor.predict_all(self.pool, &known, &candidates)? };
            let gains = self.gains(&candidates, &beliefs, &known, rng);
            let place = pick(predictor.rule, &gains, |place| self.aims.loss(&beliefs, place), rng);
            let candidate = candidates[place];
            for ((aim, beliefs), known) in self.aims.each.iter().zip(&beliefs).zip(&mut known) {
                known.push(Told { candidate, value: aim.draw(&beliefs[place], rng) });
            }
            picked.push(candidate);
            candidates = shortened(&candidates, &gains, place);
        }
        predictor.hold(self.pool, None)?;
        let likeliest = likeliest.filter(|(row, _)| !picked.contains(row));
        let rows = self.believed(predictor, picked)?;
        Ok(Choice { rows, likeliest, remaining, left: left.len(), scored })
    }

    /// ln of each candidate's expected gain, relative to its cost.
    fn gains(
        &self,
        candidates: &[usize],
        beliefs: &[Vec<Belief>],
        known: &[Vec<Told>],
        rng: &mut StreamRng,
    ) -> Vec<f64> {
        let mut gains = self.aims.log_gains(beliefs, known, rng);
        if let Some(costs) = self.costs {
            gains.iter_mut().zip(candidates).for_each(|(gain, &row)| *gain -= ln(costs[row]));
        }
        gains
    }

    /// The rows that are left and share the setting whose best candidates have the highest total gain.
    fn best_setting(&self, candidates: &[usize], gains: &[f64], count: usize, left: &[usize]) -> Vec<usize> {
        let Some(settings) = self.settings else { return left.to_vec() };
        let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (place, &row) in candidates.iter().enumerate() {
            groups.entry(settings[row]).or_default().push(place);
        }
        let greatest = gains.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let promise = |places: &Vec<usize>| {
            let mut gains: Vec<f64> = places.iter().map(|&place| exp(gains[place] - greatest.max(f64::MIN))).collect();
            gains.sort_by(|a, b| b.total_cmp(a));
            gains.iter().take(count).sum::<f64>()
        };
        let better = |best: (f64, Vec<usize>), places: Vec<usize>| match promise(&places) {
            // Of equal settings the one with more rows, then the first in the sheet.
            more if more > best.0 || (more == best.0 && places.len() > best.1.len()) => (more, places),
            _ => best,
        };
        // A plate that can be filled comes first.
        let full = self.full_settings(left, count);
        let any_full = groups.keys().any(|setting| full.contains(setting));
        let groups = groups.into_iter().filter(|(setting, _)| !any_full || full.contains(setting));
        let mut groups: Vec<Vec<usize>> = groups.map(|(_, places)| places).collect();
        groups.sort_by_key(|places| places[0]);
        let best = groups.into_iter().fold((f64::NEG_INFINITY, vec![]), better).1;
        let setting = best.first().map(|&place| settings[candidates[place]]);
        left.iter().copied().filter(|&row| Some(settings[row]) == setting).collect()
    }

    /// The settings with as many rows left as are asked for or, if there is none, as many as any has.
    fn full_settings(&self, left: &[usize], count: usize) -> HashSet<u64> {
        let mut counts: HashMap<u64, usize> = HashMap::new();
        for &row in left {
            *counts.entry(self.settings.map_or(0, |settings| settings[row])).or_default() += 1;
        }
        let most = counts.values().copied().max().unwrap_or_default();
        counts.into_iter().filter(|(_, rows)| *rows >= count.min(most)).map(|(setting, _)| setting).collect()
    }

    /// The rows of settings that are full enough; all if no columns are to be shared.
    fn of_full_settings<'r>(&self, left: &'r [usize], count: usize) -> Cow<'r, [usize]> {
        let Some(settings) = self.settings else { return Cow::Borrowed(left) };
        let full = self.full_settings(left, count);
        Cow::Owned(left.iter().copied().filter(|&row| full.contains(&settings[row])).collect())
    }

    /// Rows with their predictions from the results alone.
    fn believed(&self, predictor: &mut Predictor, rows: Vec<usize>) -> Result<Vec<(usize, Vec<Belief>)>> {
        let beliefs = predictor.predict_all(self.pool, &self.aims.histories(predictor.history), &rows)?;
        let of_row = |(place, row): (usize, usize)| {
            (row, beliefs.iter().map(|beliefs: &Vec<Belief>| beliefs[place].clone()).collect())
        };
        Ok(rows.into_iter().enumerate().map(of_row).collect())
    }

    /// "Am I done?", estimated for a single outcome only.
    fn remaining(
        &self,
        predictor: &mut Predictor,
        candidates: &[usize],
        beliefs: &[Vec<Belief>],
        rng: &mut StreamRng,
    ) -> Result<Option<Remaining>> {
        let Some(best) = self.aims.front().best().filter(|_| self.aims.is_single()) else { return Ok(None) };
        let aim = self.aims.main();
        let better = aim.better(best);
        let known = self.aims.histories(predictor.history).swap_remove(0);
        predictor.remaining(self.pool, &known, candidates, &beliefs[0], better, rng).map(Some)
    }

    /// The candidate that is most likely to beat all earlier ones; none if it is picked for its cost or its setting, or
    /// if there are several outcomes.
    fn likeliest(&self, candidates: &[usize], beliefs: &[Vec<Belief>]) -> Option<(usize, f64)> {
        if !self.aims.is_single() || self.costs.is_some() || self.settings.is_some() {
            return None;
        }
        let front = self.aims.front();
        let chances =
            candidates.iter().zip(&beliefs[0]).map(|(&row, belief)| (row, self.aims.chance(&[belief], &front)));
        chances.reduce(|best, other| if other.1 > best.1 { other } else { best })
    }

    /// A measured row that is worth a replicate more, for its cost, than any row with these predictions.
    fn repeated(&self, candidates: &[usize], beliefs: &[Belief]) -> Option<usize> {
        let replicates = Replicates::of(&self.aims.main().history).filter(|_| self.aims.is_plain())?;
        let (row, worth) = replicates.worth_repeating();
        let can_be = !self.trials.is_running(row) && self.trials.outcome(row)?.value().is_some() && !self.excluded[row];
        let price = |row: usize| self.costs.map_or(1.0, |costs| costs[row]);
        let worth = worth / price(row);
        let mut others = candidates.iter().zip(beliefs);
        let is_most = others.all(|(&other, belief)| replicates.worth_of(belief) / price(other) < worth);
        (can_be && is_most).then_some(row)
    }

    /// Without a model: random rows or, before there is anything to learn from, each the farthest of a few random ones
    /// from all rows that are taken.
    fn start(&self, rule: Rule, left: &[usize], count: usize, rng: &mut dyn Rng) -> Vec<usize> {
        let taken =
            self.trials.told.iter().map(|trial| trial.row).chain(self.trials.running().map(|running| running.row));
        let mut centres: Vec<usize> = taken.collect();
        let mut open: BTreeSet<usize> = BTreeSet::new();
        let mut left = self.of_full_settings(left, count).into_owned();
        let mut picked = Vec::new();
        while picked.len() < count && !left.is_empty() {
            open.clear();
            let draws = if rule == Rule::Random || centres.is_empty() { 1 } else { START_DRAWS };
            open.extend((0..draws).map(|_| rng.random_range(0..left.len())));
            let Some(place) = self.farthest(&open, &left, &centres) else { break };
            let row = left.swap_remove(place);
            if let Some(settings) = self.settings.filter(|_| picked.is_empty()) {
                left.retain(|&other| settings[other] == settings[row]);
            }
            centres.push(row);
            picked.push(row);
        }
        picked
    }

    /// Of some places in `left`, the one whose row is farthest from all centres; the first of equals.
    fn farthest(&self, places: &BTreeSet<usize>, left: &[usize], centres: &[usize]) -> Option<usize> {
        let mut found = places.first().copied();
        if places.len() < 2 {
            return found;
        }
        let mut farthest = f64::NEG_INFINITY;
        for &place in places {
            let point = self.pool.point(left[place]);
            let mut nearest = f64::INFINITY;
            for &centre in centres {
                nearest = nearest.min(square_distance(point, self.pool.point(centre)));
                // Ruled out, whatever the other centres are.
                if nearest <= farthest {
                    break;
                }
            }
            if nearest > farthest {
                (farthest, found) = (nearest, Some(place));
            }
        }
        found
    }

    /// The rows that are scored, ascending: all, or of a very large pool half at random and half the nearest
    /// neighbours of the best measured rows.
    fn preselected(&self, left: &[usize], limit: usize, rng: &mut StreamRng) -> Vec<usize> {
        if left.len() <= limit {
            return left.to_vec();
        }
        let mut chosen: BTreeSet<usize> = BTreeSet::new();
        let main = self.aims.main();
        let known = self.aims.histories(usize::MAX).swap_remove(0);
        let mut best: Vec<(f64, usize)> = known.iter().map(|told| main.badness(told.value)).zip(0..).collect();
        // The earlier of equals.
        let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if best.len() > CENTRES {
            best.select_nth_unstable_by(CENTRES - 1, order);
            best.truncate(CENTRES);
        }
        best.sort_by(order);
        for centre in best.into_iter().map(|(_, place)| known[place]) {
            let centre = self.pool.point(centre.candidate);
            let mut near: Vec<(f32, usize)> =
                left.iter().map(|&row| (square_distance(self.pool.point(row), centre) as f32, row)).collect();
            let (before, _, _) =
                near.select_nth_unstable_by(limit / 2 / CENTRES, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            chosen.extend(before.iter().map(|(_, row)| *row));
        }
        // As many as are needed in all: some of them are neighbours already.
        for place in sample(rng, left.len(), limit) {
            if chosen.len() == limit {
                break;
            }
            chosen.insert(left[place]);
        }
        chosen.into_iter().collect()
    }

    /// Adds sampled outcomes for every row in progress.
    fn imagine_running(&self, predictor: &mut Predictor, known: &mut [Vec<Told>], rng: &mut dyn Rng) -> Result<()> {
        let running: Vec<usize> = self.trials.running().map(|running| running.row).collect();
        for step in 0..RUNNING_STEPS.min(running.len()) {
            let rows: Vec<usize> = running.iter().copied().skip(step).step_by(RUNNING_STEPS).collect();
            for (aim, known) in self.aims.each.iter().zip(&mut *known) {
                let beliefs = predictor.predict(self.pool, known, &rows)?;
                let imagined = rows.iter().zip(&beliefs);
                known.extend(imagined.map(|(&candidate, belief)| Told { candidate, value: aim.draw(belief, rng) }));
            }
        }
        Ok(())
    }
}

/// The candidates without the one at `place`, and no more than the most promising ones, in their order.
fn shortened(candidates: &[usize], gains: &[f64], place: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..candidates.len()).filter(|&other| other != place).collect();
    if places.len() > SHORT_LIST {
        places.select_nth_unstable_by(SHORT_LIST, |&a, &b| gains[b].total_cmp(&gains[a]).then(a.cmp(&b)));
        places.truncate(SHORT_LIST);
        places.sort_unstable();
    }
    places.into_iter().map(|place| candidates[place]).collect()
}

fn square_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
