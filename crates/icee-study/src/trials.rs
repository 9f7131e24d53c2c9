//! The state of a journal: which rows have results, which failed or are impossible, which are in progress.

use crate::encode::Column;
use crate::goals::{Bounds, Further, Goals};
use crate::record::{Entry, Header, Line, ModelPin, Outcome, RowName, SheetFile, ToldValue};
use crate::running::{Running, RunningRow};
use std::collections::{HashMap, HashSet};

/// One row with an outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Its position in the pool, from zero.
    pub row: usize,
    /// The user's name for it.
    pub name: RowName,
    /// The outcome.
    pub known: Known,
}

/// The outcome of a measured row.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// Measurements, at least one, in the order recorded.
    Values(Vec<Measurement>),
    /// The experiment failed.
    Failed,
    /// It is impossible.
    Impossible,
}

/// One measurement of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The main result.
    pub value: f64,
    /// The further results, in the order of the header.
    pub further: Vec<Option<f64>>,
}

impl Measurement {
    /// An outcome by its number: 0 is the main one.
    pub fn outcome(&self, number: usize) -> Option<f64> {
        if number == 0 { Some(self.value) } else { self.further.get(number - 1).copied().flatten() }
    }
}

impl Trial {
    /// The main result, the mean of its replicates.
    pub fn value(&self) -> Option<f64> {
        self.outcome(0)
    }

    /// An outcome by its number, the mean of its replicates; none if it was not measured.
    pub fn outcome(&self, number: usize) -> Option<f64> {
        let mut values = self.outcomes(number);
        let first = values.next()?;
        match values.count() {
            0 => Some(first),
            // Divided first: sums of large numbers may overflow.
            more => Some(self.outcomes(number).map(|value| value / (more + 1) as f64).sum()),
        }
    }

    /// All measurements of an outcome.
    pub fn outcomes(&self, number: usize) -> impl Iterator<Item = f64> {
        self.measurements().iter().filter_map(move |measurement| measurement.outcome(number))
    }

    /// All measurements.
    pub fn measurements(&self) -> &[Measurement] {
        if let Known::Values(measurements) = &self.known { measurements } else { &[] }
    }
}

/// The outcomes in the order recorded, and the rows in progress in the order suggested.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trials {
    /// Rows with an outcome.
    pub told: Vec<Trial>,
    /// The learned model that has been used.
    pub model: Option<ModelPin>,
    /// The sheet, where it has changed since the study was created.
    pub sheet: Option<(SheetFile, Vec<Column>)>,
    /// The goals, where they have changed since.
    pub goals: Option<(Option<Bounds>, Vec<Further>)>,
    /// The rows of the pool.
    rows: usize,
    /// How many further results there are.
    further: usize,
    /// The place of a row in `told`.
    places: HashMap<usize, usize>,
    running: Running,
}

impl Trials {
    /// Nothing so far, before the results that a header has.
    pub fn new(header: &Header) -> Trials {
        let (rows, further) = (header.pool.rows, header.further.len());
        Trials { model: header.model.clone(), rows, further, ..Trials::default() }
    }

    /// As a study begins.
    ///
    /// # Errors
    /// In words, if the header's results are not valid.
    pub fn beginning(header: &Header) -> Result<Trials, String> {
        let mut trials = Trials::new(header);
        trials.apply(Entry::Tell { outcomes: header.outcomes.clone(), late: None }, None)?;
        Ok(trials)
    }

    /// A study's first line, with the sheet and the goals as they are now.
    pub fn now(&self, first: &Header) -> Header {
        let mut header = Header { outcomes: vec![], ..first.clone() };
        if let Some((pool, columns)) = &self.sheet {
            (header.pool, header.columns) = (pool.clone(), columns.clone());
        }
        if let Some((bounds, further)) = &self.goals {
            (header.bounds, header.further) = (*bounds, further.clone());
        }
        header
    }

    /// The rows of the pool.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The outcome of a row.
    pub fn outcome(&self, row: usize) -> Option<&Trial> {
        self.places.get(&row).map(|&place| &self.told[place])
    }

    /// The rows in progress, in the order suggested.
    pub fn running(&self) -> impl Iterator<Item = &RunningRow> {
        self.running.iter()
    }

    /// A row, if it is among them.
    pub fn running_row(&self, row: usize) -> Option<&RunningRow> {
        self.running.get(row)
    }

    /// Whether a row is among them.
    pub fn is_running(&self, row: usize) -> bool {
        self.running.get(row).is_some()
    }

    /// The name of the person whose reservation of a row has expired, and who may still record a result.
    pub fn late(&self, row: usize, by: Option<&str>) -> Option<&str> {
        self.running.late(row, by)
    }

    /// The rows with an expired reservation.
    pub fn late_rows(&self) -> impl Iterator<Item = &RowName> {
        self.running.late_rows()
    }

    /// Whether a person records a row that another has reserved: that one may still be working on it, and a later
    /// result counts as well.
    fn is_taken_from_another(&self, told: &ToldValue, by: Option<&str>) -> bool {
        let Some(running) = self.running_row(told.row.row - 1) else { return false };
        let another = matches!((running.by.as_deref(), by), (Some(holder), Some(by)) if holder != by);
        another && running.until.is_some() && !self.is_completed_by(told)
    }

    /// Whether it completes the result of an earlier experiment: that says nothing about the one in progress.
    fn is_completed_by(&self, told: &ToldValue) -> bool {
        told.replaces && self.outcome(told.row.row - 1).is_some_and(|trial| trial.value() == told.value)
    }

    /// How many there are.
    pub fn count_running(&self) -> usize {
        self.running.len()
    }

    /// Follows a line of the journal, or says why it is not valid after those before it.
    ///
    /// # Errors
    /// In words; then some of its changes may have been made.
    pub fn follow(&mut self, line: Line) -> Result<(), String> {
        let by = line.from.by.as_deref();
        line.changes.into_iter().try_for_each(|entry| self.apply(entry, by))
    }

    /// The same of one change, by a person.
    ///
    /// # Errors
    /// In words; then nothing has changed.
    pub fn apply(&mut self, entry: Entry, by: Option<&str>) -> Result<(), String> {
        self.check(&entry)?;
        self.take_in(entry, by);
        Ok(())
    }

    /// Why a line is not valid after those before it, if so.
    pub fn check(&self, entry: &Entry) -> Result<(), String> {
        let position = |name: &RowName| {
            let known = (1..=self.rows).contains(&name.row);
            if known { Ok(name.row - 1) } else { Err(format!("the pool has no row {}", name.row)) }
        };
        let mut new = HashSet::new();
        match entry {
            Entry::Model(_) => {}
            Entry::Undo {} => return Err("there is nothing to undo".into()),
            Entry::Goals { further, .. } => {
                let known = self.further.min(further.len());
                if known < self.further {
                    return Err("a goal is gone".into());
                }
            }
            Entry::Withdraw { rows: names } | Entry::Expire { rows: names } | Entry::Renew { rows: names, .. } => {
                for name in names {
                    if !self.is_running(position(name)?) || !new.insert(name.row) {
                        return Err(format!("row {} is not in progress", name.row));
                    }
                }
            }
            Entry::Forget { rows: names } => {
                for name in names {
                    if !self.places.contains_key(&position(name)?) || !new.insert(name.row) {
                        return Err(format!("row {} has no outcome", name.row));
                    }
                }
            }
            Entry::Ask { rows: names, .. } => {
                for name in names {
                    let row = position(name)?;
                    // A row with a result may be measured again.
                    let over = self.outcome(row).is_some_and(|trial| trial.value().is_none());
                    if over || self.is_running(row) || !new.insert(row) {
                        return Err(format!("row {} is suggested a second time", name.row));
                    }
                }
            }
            Entry::Sheet { pool, moved, outcomes, .. } => {
                let after = self.moved(pool.rows, moved)?;
                return after.check(&Entry::Tell { outcomes: outcomes.clone(), late: None });
            }
            Entry::Tell { outcomes, .. } => {
                for told in outcomes {
                    let row = position(&told.row)?;
                    if told.value.iter().chain(told.further.iter().flatten()).any(|value| !value.is_finite()) {
                        return Err(format!("the value of row {} is not a finite number", told.row.row));
                    }
                    if told.value.is_some() && told.further.len() != self.further {
                        let (found, wanted) = (1 + told.further.len(), 1 + self.further);
                        return Err(format!("row {} has {found} outcomes, not {wanted}", told.row.row));
                    }
                    let known = self.places.contains_key(&row) || !new.insert(row);
                    match (known, told.replaces, told.again) {
                        (true, false, false) => return Err(format!("row {} has a second result", told.row.row)),
                        (false, true, _) => return Err(format!("row {} has nothing to replace", told.row.row)),
                        (false, _, true) => return Err(format!("row {} has no earlier result", told.row.row)),
                        (_, true, true) => {
                            return Err(format!("row {} is both a replicate and a correction", told.row.row));
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes a change that has been [checked](Trials::check).
    pub fn take_in(&mut self, entry: Entry, by: Option<&str>) {
        match entry {
            Entry::Model(pin) => self.model = Some(pin),
            Entry::Ask { rows, until, asked, sampler } => {
                let by = by.map(str::to_owned);
                for name in rows {
                    let asked = asked.clone();
                    self.running.push(RunningRow { row: name.row - 1, name, until, by: by.clone(), asked, sampler });
                }
            }
            Entry::Tell { outcomes, late } => {
                for told in outcomes {
                    if late.is_none() && self.is_taken_from_another(&told, by) {
                        // After its release, its former holder is known.
                        self.running.give_back(told.row.row - 1);
                    }
                    self.learn(told, late.as_deref());
                }
            }
            Entry::Renew { rows, until } => rows.iter().for_each(|name| self.running.extend(name.row - 1, until)),
            Entry::Withdraw { rows } | Entry::Expire { rows } => {
                rows.iter().for_each(|name| self.running.give_back(name.row - 1));
            }
            Entry::Goals { bounds, further } => self.aim_at(bounds, further),
            Entry::Forget { rows } => {
                let gone: HashSet<usize> = rows.iter().map(|name| name.row - 1).collect();
                let told = std::mem::take(&mut self.told).into_iter().filter(|trial| !gone.contains(&trial.row));
                let running = std::mem::take(&mut self.running);
                *self = Trials { running, ..self.with_told(told.collect()) };
            }
            Entry::Sheet { pool, columns, moved, outcomes } => {
                if let Ok(after) = self.moved(pool.rows, &moved) {
                    *self = Trials { sheet: Some((pool, columns)), goals: self.goals.take(), ..after };
                }
                outcomes.into_iter().for_each(|told| self.learn(told, None));
            }
            // Readers of a journal leave out lines that were undone.
            Entry::Undo {} => {}
        }
    }

    /// A study of the same rows with these results, and nothing in progress.
    pub fn with_told(&self, told: Vec<Trial>) -> Trials {
        let places = told.iter().enumerate().map(|(place, trial)| (trial.row, place)).collect();
        let (model, sheet, goals) = (self.model.clone(), self.sheet.clone(), self.goals.clone());
        Trials {
            told,
            model,
            sheet,
            goals,
            rows: self.rows,
            further: self.further,
            places,
            running: Running::default(),
        }
    }

    /// The same trials with other row numbers.
    fn moved(&self, rows: usize, moved: &[[usize; 2]]) -> Result<Trials, String> {
        let places: HashMap<usize, usize> = moved.iter().map(|&[was, is]| (was, is)).collect();
        let moved_to: HashSet<usize> = places.values().copied().collect();
        if moved_to.len() < moved.len() || places.len() < moved.len() {
            return Err("two rows of the sheet have become one".into());
        }
        let renamed = |name: &RowName| match places.get(&name.row) {
            Some(&row) if (1..=rows).contains(&row) => Ok(RowName { row, ..name.clone() }),
            _ => Err(format!("row {} is not in the sheet any more", name.row)),
        };
        let mut after = Trials { model: self.model.clone(), rows, further: self.further, ..Trials::default() };
        for trial in &self.told {
            let name = renamed(&trial.name)?;
            after.places.insert(name.row - 1, after.told.len());
            after.told.push(Trial { row: name.row - 1, name, known: trial.known.clone() });
        }
        let at = |row: usize| places.get(&(row + 1)).map(|row| row - 1);
        after.running = self.running.moved(renamed, at)?;
        Ok(after)
    }

    /// Other goals: results that were not measured so far are missing.
    fn aim_at(&mut self, bounds: Option<Bounds>, further: Vec<Further>) {
        self.further = further.len();
        for trial in &mut self.told {
            if let Known::Values(measurements) = &mut trial.known {
                measurements.iter_mut().for_each(|measurement| measurement.further.resize(further.len(), None));
            }
        }
        self.goals = Some((bounds, further));
    }

    fn learn(&mut self, told: ToldValue, late: Option<&str>) {
        let (row, completes) = (told.row.row - 1, self.is_completed_by(&told));
        let new = match told.outcome() {
            Outcome::Value(value) => Known::Values(vec![Measurement { value, further: told.further }]),
            Outcome::Failed => Known::Failed,
            Outcome::Impossible => Known::Impossible,
        };
        match late {
            Some(name) => self.running.told_late(row, name),
            None if completes => {}
            None => drop(self.running.remove(row)),
        }
        match self.places.get(&row).map(|&place| &mut self.told[place]) {
            Some(trial) => match (&mut trial.known, new) {
                (Known::Values(values), Known::Values(new)) if told.again => values.extend(new),
                // A result replaces a failure; another attempt without one changes nothing.
                (Known::Values(_), _) if told.again => {}
                // The earlier cells of the row go with it; they may have been corrected.
                (known, new) => (*known, trial.name) = (new, told.row),
            },
            None => {
                self.places.insert(row, self.told.len());
                self.told.push(Trial { row, name: told.row, known: new });
            }
        }
    }

    /// The best row among those that keep all constraints, the earliest of several.
    pub fn best(&self, goals: &Goals) -> Option<&Trial> {
        let loss = |trial: &Trial| {
            let holds = |(further, number): (&Further, usize)| {
                trial.outcome(number).is_some_and(|value| further.wanted.holds(value))
            };
            let value = trial.value()?;
            goals.further.iter().zip(1..).all(holds).then(|| goals.direction.loss(value))
        };
        let good = self.told.iter().filter_map(|trial| Some((trial, loss(trial)?)));
        good.reduce(|best, next| if next.1 < best.1 { next } else { best }).map(|(trial, _)| trial)
    }

    /// All outcomes of a row.
    pub fn outcomes_of(&self, trial: &Trial) -> Vec<Option<f64>> {
        (0..=self.further).map(|number| trial.outcome(number)).collect()
    }

    /// How many rows have an outcome of that number.
    pub fn values(&self, number: usize) -> usize {
        self.told.iter().filter(|trial| trial.outcomes(number).next().is_some()).count()
    }

    /// For every row of the pool, whether it has a result or is in progress.
    pub fn taken(&self, rows: usize) -> Vec<bool> {
        let mut taken = vec![false; rows];
        let told = self.told.iter().map(|trial| trial.row);
        told.chain(self.running().map(|running| running.row)).for_each(|row| taken[row] = true);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SamplerKind;
    use crate::aim::Aim;
    use crate::aims::Aims;
    use crate::goals::{Bounds, Direction};
    use crate::record::{Asked, ToldValue};

    fn empty(rows: usize) -> Trials {
        Trials { rows, ..Trials::default() }
    }

    fn goals(direction: Direction) -> Goals {
        Goals { direction, bounds: Bounds::default(), further: vec![] }
    }

    fn aim(trials: &Trials, direction: Direction) -> Aim {
        Aims::of(trials, &goals(direction), &[]).each.remove(0)
    }

    fn running(trials: &Trials) -> Vec<usize> {
        trials.running().map(|running| running.name.row).collect()
    }

    fn name(row: usize) -> RowName {
        RowName { row, id: None, key: None }
    }

    fn tell(row: usize, value: Option<f64>, replaces: bool) -> Entry {
        let told = ToldValue { replaces, ..ToldValue::new(name(row), Outcome::from(value).into()) };
        Entry::Tell { outcomes: vec![told], late: None }
    }

    fn again(row: usize, value: f64) -> Entry {
        let told = ToldValue { again: true, ..ToldValue::new(name(row), Outcome::from(value).into()) };
        Entry::Tell { outcomes: vec![told], late: None }
    }

    fn ask(row: usize) -> Entry {
        Entry::Ask { rows: vec![name(row)], sampler: SamplerKind::Random, until: None, asked: Asked::default() }
    }

    #[test]
    fn entries_are_followed_and_nonsense_is_refused() {
        let mut trials = empty(5);
        for entry in [ask(3), ask(1), tell(3, Some(2.0), false), tell(2, None, false), tell(2, Some(-1.0), true)] {
            trials.apply(entry, None).unwrap();
        }
        assert_eq!(running(&trials), [1]);
        // It was suggested again; with this result, it is no longer in progress.
        trials.apply(ask(3), None).unwrap();
        trials.apply(again(3, 2.0), None).unwrap();
        assert!(!trials.is_running(2));
        assert_eq!(trials.best(&goals(Direction::Minimize)).unwrap().row, 1);
        assert_eq!(trials.best(&goals(Direction::Maximize)).unwrap().row, 2);
        assert_eq!(trials.taken(5), [true, true, true, false, false]);
        for nonsense in
            [ask(1), ask(6), ask(0), tell(3, None, false), tell(4, None, true), tell(5, Some(f64::NAN), false)]
        {
            assert!(trials.clone().apply(nonsense.clone(), None).is_err(), "{nonsense:?}");
        }
    }

    #[test]
    fn outcomes_and_suggestions_can_be_taken_back() {
        let mut trials = empty(5);
        let rows = |row| vec![name(row)];
        for entry in [ask(1), ask(2), tell(3, Some(1.0), false), tell(4, Some(2.0), false), again(4, 4.0)] {
            trials.apply(entry, None).unwrap();
        }
        assert_eq!(trials.outcome(3).unwrap().outcomes(0).collect::<Vec<_>>(), [2.0, 4.0]);
        assert_eq!(trials.best(&goals(Direction::Maximize)).unwrap().value(), Some(3.0));
        trials.apply(Entry::Withdraw { rows: rows(2) }, None).unwrap();
        trials.apply(Entry::Forget { rows: rows(3) }, None).unwrap();
        assert_eq!(trials.taken(5), [true, false, false, true, false]);
        assert_eq!(trials.outcome(3).unwrap().row, 3);
        let impossible = ToldValue::new(name(5), Outcome::Impossible.into());
        trials.apply(Entry::Tell { outcomes: vec![impossible], late: None }, None).unwrap();
        // It must not be suggested, and models do not see it.
        assert!(trials.taken(5)[4]);
        let history = aim(&trials, Direction::Maximize).history;
        assert_eq!(history.iter().map(|told| told.candidate).collect::<Vec<_>>(), [3, 3]);
        for nonsense in [
            Entry::Withdraw { rows: rows(2) },
            Entry::Withdraw { rows: vec![name(1), name(1)] },
            Entry::Forget { rows: rows(3) },
            Entry::Undo {},
            again(3, 1.0),
        ] {
            assert!(trials.clone().apply(nonsense.clone(), None).is_err(), "{nonsense:?}");
        }
    }

    /// If every record searched all rows in progress, this would take minutes.
    #[test]
    fn a_long_journal_is_followed_row_by_row() {
        let rows = 200_000;
        let mut trials = empty(rows);
        for row in 1..=rows {
            trials.apply(ask(row), None).unwrap();
        }
        assert_eq!(trials.count_running(), rows);
        for row in (2..=rows).rev() {
            trials.apply(tell(row, Some(row as f64), false), None).unwrap();
        }
        assert_eq!(running(&trials), [1]);
        assert_eq!(trials.values(0), rows - 1);
    }

    #[test]
    fn models_see_the_same_whatever_the_unit() {
        let values = [0.3, -1.7, 12.25, 0.1, 4.4];
        let history = |scale: f64, offset: f64, direction| {
            let mut trials = empty(9);
            for (row, value) in values.into_iter().enumerate() {
                trials.apply(tell(row + 1, Some(offset + scale * value), false), None).unwrap();
            }
            trials.apply(tell(7, None, false), None).unwrap();
            let Aim { units, history, .. } = aim(&trials, direction);
            assert!((units.shown(history[2].value) - (offset + scale * 12.25)).abs() < 1e-6 * scale.abs());
            history
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
        let mut trials = empty(2);
        trials.apply(tell(1, Some(1.7e308), false), None).unwrap();
        trials.apply(tell(2, Some(-1.7e308), false), None).unwrap();
        let units = aim(&trials, Direction::Maximize).units;
        assert_eq!([-3.0, 3.0].map(|standard| units.shown(standard)), [f64::MAX, f64::MIN]);
    }
}
