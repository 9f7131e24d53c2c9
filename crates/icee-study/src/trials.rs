//! What a journal says so far: which rows have a value, which failed, which are still running.

use crate::record::{Direction, Entry, ModelPin, RowName};
use icee_bo::history::rounded;
use icee_bo::pool::Told;
use icee_bo::standard::{Standard, Variance};
use std::collections::HashMap;

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
    /// Rows that are being tried.
    pub running: Vec<(usize, RowName)>,
    /// The learned model that has been used.
    pub model: Option<ModelPin>,
    /// Where a row stands in `told`.
    places: HashMap<usize, usize>,
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

    /// Takes in a line of the journal, or says why it makes no sense after those before it.
    pub fn apply(&mut self, entry: Entry, rows: usize) -> Result<(), String> {
        let position = |name: &RowName| {
            let known = (1..=rows).contains(&name.row);
            if known { Ok(name.row - 1) } else { Err(format!("the pool has no row {}", name.row)) }
        };
        match entry {
            Entry::Model(pin) => self.model = Some(pin),
            Entry::Ask { rows: names, .. } => {
                for name in names {
                    let row = position(&name)?;
                    if self.places.contains_key(&row) || self.running.iter().any(|(running, _)| *running == row) {
                        return Err(format!("row {} is suggested a second time", name.row));
                    }
                    self.running.push((row, name));
                }
            }
            Entry::Tell { outcomes } => {
                for told in outcomes {
                    let row = position(&told.row)?;
                    if told.value.is_some_and(|value| !value.is_finite()) {
                        return Err(format!("the value of row {} is not a finite number", told.row.row));
                    }
                    match self.places.get(&row) {
                        Some(&place) if told.replaces => self.told[place].value = told.value,
                        None if !told.replaces => {
                            self.running.retain(|(running, _)| *running != row);
                            self.places.insert(row, self.told.len());
                            self.told.push(Trial { row, name: told.row, value: told.value });
                        }
                        Some(_) => return Err(format!("row {} is told a second time", told.row.row)),
                        None => return Err(format!("row {} has nothing to replace", told.row.row)),
                    }
                }
            }
        }
        Ok(())
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
        told.chain(self.running.iter().map(|(row, _)| *row)).for_each(|row| taken[row] = true);
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

    /// A model's number as the user would say it.
    pub fn shown(&self, standard: f64) -> f64 {
        self.sign * self.scale.undo(standard)
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
        assert_eq!(trials.running, [(0, name(1))]);
        assert_eq!(trials.best(Direction::Minimize).unwrap().row, 1);
        assert_eq!(trials.best(Direction::Maximize).unwrap().row, 2);
        assert_eq!(trials.taken(5), [true, true, true, false, false]);
        for nonsense in
            [ask(3), ask(1), ask(6), ask(0), tell(3, None, false), tell(4, None, true), tell(5, Some(f64::NAN), false)]
        {
            assert!(trials.clone().apply(nonsense.clone(), 5).is_err(), "{nonsense:?}");
        }
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
}
