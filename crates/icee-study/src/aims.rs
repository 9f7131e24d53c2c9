//! The goals for all outcomes, as models see them: by how much a row may beat all earlier results.
//!
//! Every outcome has a unit, a history and a goal of its own. With one objective, a row's gain is its expected
//! improvement on the best; with several, a weighting of them is drawn for every row that is picked, and the gain is
//! that of the largest of the weighted losses (Knowles' ParEGO), whose distribution is the product of those of the
//! outcomes. With constraints, the gain is multiplied by the probability that they hold.

use crate::aim::{Aim, Want};
use crate::goals::{Bounds, Goals, dominates, undominated};
use crate::trials::Trials;
use icee_base::math::ln;
use icee_bo::belief::Belief;
use icee_bo::history::thinned;
use icee_bo::normal::open_unit;
use icee_bo::pool::Told;
use rand::Rng;
use std::collections::BTreeMap;

/// Points at which the integral of a weighted gain is evaluated, and how many units it reaches below the best.
const POINTS: usize = 32;
const REACH: f64 = 4.0;
/// Sampled outcomes of a row, for the probability that no other row dominates it.
const DRAWS: usize = 64;

/// All outcomes of a study.
#[derive(Clone, Debug)]
pub struct Aims {
    /// One by one; the first is the main one.
    pub each: Vec<Aim>,
    /// The rows of the pool; those of an earlier study follow them.
    rows: usize,
}

/// The losses of the measured rows, and what follows from them.
struct Standing {
    /// The losses of rows that keep all constraints, objective by objective; with a single outcome, the best alone.
    losses: Vec<Vec<f64>>,
}

impl Standing {
    /// The least loss of each objective; none if no row has any.
    fn ideal(&self) -> Option<Vec<f64>> {
        let least = |one: Vec<f64>, other: &Vec<f64>| one.iter().zip(other).map(|(a, b)| a.min(*b)).collect();
        self.losses.split_first().map(|(first, rest)| rest.iter().fold(first.clone(), least))
    }
}

impl Aims {
    /// The goals for all outcomes, given the results.
    ///
    /// `earlier` are results of the first outcome in an earlier study, whose rows follow those of the pool.
    pub fn of(trials: &Trials, goals: &Goals, earlier: &[f64]) -> Aims {
        let of = |(number, wanted)| match number {
            0 => Aim::of(trials, number, wanted, goals.bounds, earlier),
            _ => Aim::of(trials, number, wanted, Bounds::default(), &[]),
        };
        Aims { each: goals.wanted().enumerate().map(of).collect(), rows: trials.rows() }
    }

    /// The main outcome.
    pub fn main(&self) -> &Aim {
        &self.each[0]
    }

    /// Whether there is one outcome, and it is minimized.
    pub fn is_plain(&self) -> bool {
        self.each.len() == 1 && self.main().want == Want::Low
    }

    /// Whether there is one outcome.
    pub fn is_single(&self) -> bool {
        self.each.len() == 1
    }

    /// The known results of all outcomes: those of an earlier study, then this study's. With a target, no more than
    /// `most`: models take the lowest for the best.
    pub fn histories(&self, most: usize) -> Vec<Vec<Told>> {
        let known = |aim: &Aim| {
            let all = [&aim.earlier[..], &aim.history].concat();
            if !matches!(aim.want, Want::Near(_)) || all.len() <= most {
                return all;
            }
            let losses: Vec<Told> = all.iter().map(|told| Told { value: aim.badness(told.value), ..*told }).collect();
            thinned(&losses, most).into_iter().map(|place| all[place]).collect()
        };
        self.each.iter().map(known).collect()
    }

    /// Known results of the first outcome.
    pub fn known(&self) -> usize {
        self.main().earlier.len() + self.main().history.len()
    }

    /// Whether every outcome has enough results.
    pub fn suffice(&self, least: usize) -> bool {
        self.each.iter().all(|aim| aim.values >= least)
    }

    fn objectives(&self) -> impl Iterator<Item = (usize, &Aim)> {
        self.each.iter().enumerate().filter(|(_, aim)| !matches!(aim.want, Want::Limit(_)))
    }

    /// The losses of the rows in these histories; of replicates, the mean.
    fn standing(&self, histories: &[Vec<Told>]) -> Standing {
        let mut rows: BTreeMap<usize, Vec<(f64, usize)>> = BTreeMap::new();
        // The earlier study's rows are not available here; as long as there are no others, they are what is to be
        // beaten.
        let any = histories[0].iter().any(|told| told.candidate < self.rows);
        if self.is_single() {
            // With one outcome only the best counts, and it is needed again and again while a batch is picked.
            let counted = || histories[0].iter().filter(|told| !any || told.candidate < self.rows);
            let mut rows = vec![(0.0, 0usize); counted().map(|told| told.candidate + 1).max().unwrap_or_default()];
            for told in counted() {
                let (sum, count) = &mut rows[told.candidate];
                *sum += told.value;
                *count += 1;
            }
            let told = rows.iter().filter(|(_, count)| *count > 0);
            let losses = told.map(|(sum, count)| self.main().badness(sum / *count as f64));
            return Standing { losses: losses.reduce(f64::min).map(|best| vec![best]).into_iter().collect() };
        }
        for (number, told) in
            histories.iter().enumerate().flat_map(|(number, all)| all.iter().map(move |told| (number, told)))
        {
            if any && told.candidate >= self.rows {
                continue;
            }
            let (sum, count) =
                &mut rows.entry(told.candidate).or_insert_with(|| vec![(0.0, 0); self.each.len()])[number];
            *sum += told.value;
            *count += 1;
        }
        let mut losses = Vec::with_capacity(rows.len());
        'rows: for outcomes in rows.values() {
            let mut row = Vec::with_capacity(outcomes.len());
            for (aim, (sum, count)) in self.each.iter().zip(outcomes) {
                let value = sum / *count as f64;
                match aim.want {
                    // Not measured, or a constraint does not hold.
                    _ if *count == 0 => continue 'rows,
                    Want::Limit(limit) if value > limit => continue 'rows,
                    Want::Limit(_) => {}
                    Want::Low | Want::Near(_) => row.push(aim.badness(value)),
                }
            }
            losses.push(row);
        }
        Standing { losses }
    }

    /// ln of each candidate's expected gain on all known results. `beliefs` are the predictions of all outcomes.
    pub fn log_gains(&self, beliefs: &[Vec<Belief>], histories: &[Vec<Told>], rng: &mut dyn Rng) -> Vec<f64> {
        let standing = self.standing(histories);
        let mut gains: Vec<f64> = match standing.ideal() {
            // As long as no row keeps the constraints, only the probability that they hold counts.
            None => vec![0.0; beliefs[0].len()],
            Some(ideal) if ideal.len() == 1 => {
                // With one objective the ideal is the best.
                let objectives = self.objectives().next();
                let of = |(number, aim): (usize, &Aim)| {
                    beliefs[number].iter().map(|belief| aim.log_gain(belief, ideal[0])).collect()
                };
                objectives.map(of).unwrap_or_default()
            }
            Some(ideal) => self.weighted_log_gains(beliefs, &standing, &ideal, rng),
        };
        for (aim, beliefs) in self.each.iter().zip(beliefs) {
            if matches!(aim.want, Want::Limit(_)) {
                let holds = |(gain, belief): (&mut f64, &Belief)| *gain += ln(aim.holds(belief).unwrap_or(1.0));
                gains.iter_mut().zip(beliefs).for_each(holds);
            }
        }
        gains
    }

    /// The gain on the best row by the largest of the weighted losses, for drawn weights: an integral of
    /// P(all losses are low enough) over the values of the largest.
    fn weighted_log_gains(
        &self,
        beliefs: &[Vec<Belief>],
        standing: &Standing,
        ideal: &[f64],
        rng: &mut dyn Rng,
    ) -> Vec<f64> {
        let draws: Vec<f64> = ideal.iter().map(|_| -ln(open_unit(rng))).collect();
        let greatest = draws.iter().fold(0.0, |a: f64, b| a.max(*b));
        let weights: Vec<f64> = draws.iter().map(|draw| draw / greatest).collect();
        let largest = |losses: &Vec<f64>| {
            let weighted =
                losses.iter().zip(ideal).zip(&weights).map(|((loss, ideal), weight)| weight * (loss - ideal));
            weighted.fold(f64::NEG_INFINITY, f64::max)
        };
        let best = standing.losses.iter().map(largest).fold(f64::INFINITY, f64::min);
        let step = REACH / POINTS as f64;
        let gain = |place: usize| {
            let below = |point: usize| {
                let loss = best - step * (point as f64 + 0.5);
                let objectives = self.objectives().zip(ideal).zip(&weights);
                let chances = objectives.map(|(((number, aim), ideal), weight)| {
                    beliefs[number][place].within(aim.better(ideal + loss / weight))
                });
                chances.product::<f64>()
            };
            ln(step * (0..POINTS).map(below).sum::<f64>())
        };
        (0..beliefs[0].len()).map(gain).collect()
    }

    /// The expected loss of a candidate, summed over the objectives.
    pub fn loss(&self, beliefs: &[Vec<Belief>], place: usize) -> f64 {
        self.objectives().map(|(number, aim)| aim.loss(&beliefs[number][place])).sum()
    }

    /// The probability that a row beats all known rows (with several objectives: that it joins the Pareto front) and
    /// keeps all constraints.
    pub fn chance(&self, beliefs: &[&Belief], front: &Front) -> f64 {
        let holds: f64 = self.each.iter().zip(beliefs).filter_map(|(aim, belief)| aim.holds(belief)).product();
        let objectives: Vec<(usize, &Aim)> = self.objectives().collect();
        if let [(number, aim)] = objectives[..] {
            return holds * front.best().map_or(1.0, |best| beliefs[number].within(aim.better(best)));
        }
        let free = |draw: &usize| {
            let losses: Vec<f64> = objectives
                .iter()
                .enumerate()
                .map(|(dimension, (number, aim))| {
                    aim.badness(aim.possible(beliefs[*number].quantile(spread(*draw, dimension))))
                })
                .collect();
            !front.0.iter().any(|other| dominates(other, &losses))
        };
        holds * (0..DRAWS).filter(free).count() as f64 / DRAWS as f64
    }

    /// The losses that a new row is compared with.
    pub fn front(&self) -> Front {
        let Standing { losses } = self.standing(&self.histories(usize::MAX));
        Front(undominated(losses.into_iter().map(|row| (row, ()))).into_iter().map(|(row, ())| row).collect())
    }
}

/// The losses of the Pareto-optimal rows; with one objective, that of the best. None if no row keeps the constraints.
#[derive(Clone, Debug)]
pub struct Front(Vec<Vec<f64>>);

impl Front {
    /// The best row's loss, if there is one objective.
    pub fn best(&self) -> Option<f64> {
        self.0.first().map(|losses| losses[0])
    }
}

/// Evenly spread numbers in (0, 1), always the same: multiples of powers of an irrational number (Roberts).
fn spread(draw: usize, dimension: usize) -> f64 {
    const STEP: f64 = 0.754_877_666_246_693;
    let step = (0..=dimension).fold(1.0, |power, _| power * STEP);
    (0.5 + step * (draw as f64 + 1.0)).fract().clamp(1e-6, 1.0 - 1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aim::tests::{aim, normal};
    use icee_base::random;

    fn two(limit: Option<f64>) -> Aims {
        let low = || aim(Want::Low, f64::NEG_INFINITY, f64::INFINITY);
        let mut each = vec![low(), low()];
        each.extend(limit.map(|limit| aim(Want::Limit(limit), f64::NEG_INFINITY, f64::INFINITY)));
        Aims { each, rows: 10 }
    }

    fn told(values: &[f64]) -> Vec<Told> {
        values.iter().enumerate().map(|(candidate, &value)| Told { candidate, value }).collect()
    }

    #[test]
    fn a_row_that_beats_all_others_gains_most() {
        let aims = two(None);
        let known = [told(&[0.0, 1.0]), told(&[1.0, 0.0])];
        let beliefs = |a: f64, b: f64| (normal(a, 0.3), normal(b, 0.3));
        // Better in both, between the two, worse in both.
        let rows = [beliefs(-0.5, -0.5), beliefs(0.4, 0.4), beliefs(2.0, 2.0)];
        let beliefs = [rows.iter().map(|row| row.0.clone()).collect(), rows.iter().map(|row| row.1.clone()).collect()];
        let mut sums = [0.0; 3];
        for seed in 0..50 {
            let gains = aims.log_gains(&beliefs, &known, &mut random::path(seed, &[]));
            sums.iter_mut().zip(gains).for_each(|(sum, gain)| *sum += gain.exp());
        }
        assert!(sums[0] > 2.0 * sums[1] && sums[1] > 20.0 * sums[2], "{sums:?}");
    }

    #[test]
    fn a_limit_multiplies_and_comes_first() {
        let aims = two(Some(0.0));
        let rows = |limit: f64| [vec![normal(0.0, 1.0)], vec![normal(0.0, 1.0)], vec![normal(limit, 1.0)]];
        let gain = |limit: f64, known: &[Vec<Told>]| aims.log_gains(&rows(limit), known, &mut random::path(1, &[]))[0];
        let kept = [told(&[0.0]), told(&[0.0]), told(&[-1.0])];
        // P(z < 0) for means 0 and −1: 0.5 and 0.8413.
        assert!((gain(-1.0, &kept) - gain(0.0, &kept) - (0.841_344_7f64 / 0.5).ln()).abs() < 1e-6);
        // If no row keeps it, only the probability that one does counts.
        let broken = [told(&[0.0]), told(&[0.0]), told(&[1.0])];
        assert!((gain(-1.0, &broken) - 0.841_344_7f64.ln()).abs() < 1e-6);
    }

    #[test]
    fn the_chance_of_a_row_among_several_objectives() {
        let mut aims = two(None);
        (aims.each[0].history, aims.each[1].history) = (told(&[0.0, 1.0, 2.0]), told(&[1.0, 0.0, 2.0]));
        let front = aims.front();
        assert_eq!(front.0.len(), 2);
        let chance = |a: f64, b: f64| aims.chance(&[&normal(a, 0.01), &normal(b, 0.01)], &front);
        assert_eq!([chance(-1.0, 3.0), chance(0.5, 0.5), chance(1.5, 1.5)], [1.0, 1.0, 0.0]);
        assert!((0.2..0.8).contains(&aims.chance(&[&normal(1.0, 1.0), &normal(1.0, 1.0)], &front)));
        assert!((0..DRAWS).flat_map(|draw| (0..9).map(move |k| spread(draw, k))).all(|u| u > 0.0 && u < 1.0));
    }
}
