//! What a journal says so far: which rows have a value, which failed, which are still running.

use crate::record::{Direction, Entry, ModelPin, RowName};
use icee_bo::history::rounded;
use icee_bo::pool::Told;
use icee_bo::standard::{Standard, Variance};
use std::collections::{BTreeMap, HashMap, HashSet};

/// One row with an outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Its position in the pool, from zero.
    pub row: usize,
    /// What the user calls it.
    pub name: RowName,
    /// Its value; `None` where the experiment failed.
    pub value: Option<f64>,
}

/// The outcomes in the order told, and the rows that were suggested and not told yet, in the order suggested.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trials {
    /// Rows with an outcome.
    pub told: Vec<Trial>,
    /// The learned model that has been used.
    pub model: Option<ModelPin>,
    /// Where a row stands in `told`.
    places: HashMap<usize, usize>,
    running: Running,
}

/// Rows that are being tried: kept so that a row is found, and goes, without a look at all others.
#[derive(Clone, Debug, Default, PartialEq)]
struct Running {
    /// In the order suggested.
    rows: BTreeMap<u64, (usize, RowName)>,
    /// When each was suggested.
    turns: HashMap<usize, u64>,
    suggested: u64,
}

impl Running {
    fn push(&mut self, row: usize, name: RowName) {
        self.turns.insert(row, self.suggested);
        self.rows.insert(self.suggested, (row, name));
        self.suggested += 1;
    }

    fn remove(&mut self, row: usize) {
        if let Some(turn) = self.turns.remove(&row) {
            self.rows.remove(&turn);
        }
    }
}

impl Trials {
    /// Nothing so far, but for the learned model that a study begins with.
    pub fn of(model: Option<ModelPin>) -> Trials {
        Trials { model, ..Trials::default() }
    }

    /// The outcome of a row.
    pub fn outcome(&self, row: usize) -> Option<&Trial> {
        self.places.get(&row).map(|&place| &self.told[place])
    }

    /// The rows that are being tried, in the order suggested.
    pub fn running(&self) -> impl Iterator<Item = &(usize, RowName)> {
        self.running.rows.values()
    }

    /// How many they are.
    pub fn count_running(&self) -> usize {
        self.running.rows.len()
    }

    /// Takes in a line of the journal, or says why it makes no sense after those before it.
    pub fn apply(&mut self, entry: Entry, rows: usize) -> Result<(), String> {
        self.check(&entry, rows)?;
        self.take_in(entry);
        Ok(())
    }

    /// Why a line makes no sense after those before it, if so.
    pub fn check(&self, entry: &Entry, rows: usize) -> Result<(), String> {
        let position = |name: &RowName| {
            let known = (1..=rows).contains(&name.row);
            if known { Ok(name.row - 1) } else { Err(format!("the pool has no row {}", name.row)) }
        };
        let mut new = HashSet::new();
        match entry {
            Entry::Model(_) => {}
            Entry::Ask { rows: names, .. } => {
                for name in names {
                    let row = position(name)?;
                    let known = self.places.contains_key(&row) || self.running.turns.contains_key(&row);
                    if known || !new.insert(row) {
                        return Err(format!("row {} is suggested a second time", name.row));
                    }
                }
            }
            Entry::Tell { outcomes } => {
                for told in outcomes {
                    let row = position(&told.row)?;
                    if told.value.is_some_and(|value| !value.is_finite()) {
                        return Err(format!("the value of row {} is not a finite number", told.row.row));
                    }
                    let known = self.places.contains_key(&row) || !new.insert(row);
                    match (known, told.replaces) {
                        (true, false) => return Err(format!("row {} is told a second time", told.row.row)),
                        (false, true) => return Err(format!("row {} has nothing to replace", told.row.row)),
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes in a line that has been [checked](Trials::check).
    pub fn take_in(&mut self, entry: Entry) {
        match entry {
            Entry::Model(pin) => self.model = Some(pin),
            Entry::Ask { rows, .. } => rows.into_iter().for_each(|name| self.running.push(name.row - 1, name)),
            Entry::Tell { outcomes } => {
                for told in outcomes {
                    let row = told.row.row - 1;
                    match self.places.get(&row) {
                        Some(&place) => self.told[place].value = told.value,
                        None => {
                            self.running.remove(row);
                            self.places.insert(row, self.told.len());
                            self.told.push(Trial { row, name: told.row, value: told.value });
                        }
                    }
                }
            }
        }
    }

    /// The best value told, the earliest of several.
    pub fn best(&self, direction: Direction) -> Option<&Trial> {
        let key = |trial: &Trial| trial.value.map(|value| value * direction.sign());
        let with_value = self.told.iter().filter(|trial| trial.value.is_some());
        with_value.reduce(|best, trial| if key(trial) < key(best) { trial } else { best })
    }

    /// How many rows have a value.
    pub fn values(&self) -> usize {
        self.told.iter().filter(|trial| trial.value.is_some()).count()
    }

    /// For every row of the pool, whether it has been suggested or told.
    pub fn taken(&self, rows: usize) -> Vec<bool> {
        let mut taken = vec![false; rows];
        let told = self.told.iter().map(|trial| trial.row);
        told.chain(self.running().map(|(row, _)| *row)).for_each(|row| taken[row] = true);
        taken
    }
}

/// The unit in which models see values: lower is better, mean 0, standard deviation 1.
///
/// Rounded, so that another scale or offset of the user's values, which changes their last bits, changes nothing at all.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    sign: f64,
    scale: Standard,
}

impl Units {
    /// The unit for what has been told.
    pub fn of(trials: &Trials, direction: Direction) -> Units {
        let sign = direction.sign();
        let values = trials.told.iter().filter_map(|trial| trial.value).map(|value| sign * value);
        Units { sign, scale: Standard::of(values, Variance::Sample) }
    }

    /// The history as models see it. A failed row counts as no better than the worst value told.
    pub fn history(&self, trials: &Trials) -> Vec<Told> {
        let standard = |value: f64| rounded(&self.scale, self.sign * value);
        let values = trials.told.iter().filter_map(|trial| trial.value).map(standard);
        let worst = values.fold(f64::NEG_INFINITY, f64::max);
        let told =
            trials.told.iter().map(|trial| Told { candidate: trial.row, value: trial.value.map_or(worst, standard) });
        told.filter(|told| told.value.is_finite()).collect()
    }

    /// A model's number as the user would say it; the greatest there is, where it would be beyond.
    pub fn shown(&self, standard: f64) -> f64 {
        self.sign * self.scale.undo(standard).clamp(f64::MIN, f64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SamplerKind;
    use crate::record::ToldValue;

    fn name(row: usize) -> RowName {
        RowName { row, id: None }
    }

    fn tell(row: usize, value: Option<f64>, replaces: bool) -> Entry {
        Entry::Tell { outcomes: vec![ToldValue { row: name(row), value, replaces }] }
    }

    fn ask(row: usize) -> Entry {
        Entry::Ask { rows: vec![name(row)], sampler: SamplerKind::Random }
    }

    #[test]
    fn entries_are_followed_and_nonsense_is_refused() {
        let mut trials = Trials::default();
        for entry in [ask(3), ask(1), tell(3, Some(2.0), false), tell(2, None, false), tell(2, Some(-1.0), true)] {
            trials.apply(entry, 5).unwrap();
        }
        assert_eq!(trials.running().collect::<Vec<_>>(), [&(0, name(1))]);
        assert_eq!(trials.best(Direction::Minimize).unwrap().row, 1);
        assert_eq!(trials.best(Direction::Maximize).unwrap().row, 2);
        assert_eq!(trials.taken(5), [true, true, true, false, false]);
        for nonsense in
            [ask(3), ask(1), ask(6), ask(0), tell(3, None, false), tell(4, None, true), tell(5, Some(f64::NAN), false)]
        {
            assert!(trials.clone().apply(nonsense.clone(), 5).is_err(), "{nonsense:?}");
        }
    }

    /// With a look at all running rows for each that is told, this would take minutes.
    #[test]
    fn a_long_journal_is_followed_row_by_row() {
        let rows = 200_000;
        let mut trials = Trials::default();
        for row in 1..=rows {
            trials.apply(ask(row), rows).unwrap();
        }
        assert_eq!(trials.count_running(), rows);
        for row in (2..=rows).rev() {
            trials.apply(tell(row, Some(row as f64), false), rows).unwrap();
        }
        assert_eq!(trials.running().collect::<Vec<_>>(), [&(0, name(1))]);
        assert_eq!(trials.values(), rows - 1);
    }

    #[test]
    fn models_see_the_same_whatever_the_unit() {
        let values = [0.3, -1.7, 12.25, 0.1, 4.4];
        let history = |scale: f64, offset: f64, direction| {
            let mut trials = Trials::default();
            for (row, value) in values.into_iter().enumerate() {
                trials.apply(tell(row + 1, Some(offset + scale * value), false), 9).unwrap();
            }
            trials.apply(tell(7, None, false), 9).unwrap();
            let units = Units::of(&trials, direction);
            assert!(
                (units.shown(units.history(&trials)[2].value) - (offset + scale * 12.25)).abs() < 1e-6 * scale.abs()
            );
            units.history(&trials)
        };
        let plain = history(1.0, 0.0, Direction::Minimize);
        assert_eq!(plain, history(1e-4, 17.3, Direction::Minimize));
        assert_eq!(plain, history(987.6, -3e4, Direction::Minimize));
        assert_eq!(plain, history(-3.3, 5.0, Direction::Maximize));
        // The failed row is as bad as the worst.
        assert_eq!(plain[5].value, plain[2].value);
    }

    #[test]
    fn what_is_beyond_all_numbers_is_the_greatest_one() {
        let mut trials = Trials::default();
        trials.apply(tell(1, Some(1.7e308), false), 2).unwrap();
        trials.apply(tell(2, Some(-1.7e308), false), 2).unwrap();
        let units = Units::of(&trials, Direction::Maximize);
        assert_eq!([-3.0, 3.0].map(|standard| units.shown(standard)), [f64::MAX, f64::MIN]);
    }
}
