//! Goals that change during a campaign: the range of results, constraints, additional objectives. The direction never does.

use crate::StudyOptions;
use crate::error::{Result, bug};
use crate::goals::{Bounds, Further};
use crate::record::Entry;
use crate::study::Study;
use crate::tell::{Repeat, Report, Source};
use crate::trials::{Trial, Trials};
use icee_protocol::{GoalsSet, Note, Problem};

/// The word that removes the range.
const NONE: &str = "none";

impl Study {
    /// Changes the goals: another range of results ("none" for none), and goals that are added or replace those of the
    /// same name.
    ///
    /// # Errors
    /// If a goal makes no sense, results are outside of the range, or nothing is to be changed; then nothing changes.
    pub fn set_goals(&mut self, bounds: Option<&str>, also: &[String]) -> Result<GoalsSet> {
        let new: Vec<Further> = also.iter().map(|goal| goal.parse()).collect::<Result<_>>()?;
        if bounds.is_none() && new.is_empty() {
            return Err(Problem::NothingToChange);
        }
        if let Some((_, twice)) =
            new.iter().enumerate().find(|(at, goal)| new[..*at].iter().any(|other| other.name == goal.name))
        {
            return Err(Problem::GoalTwice { name: twice.name.clone() });
        }
        let range: Option<Option<Bounds>> = match bounds {
            Some(word) if word.trim().eq_ignore_ascii_case(NONE) => Some(None),
            Some(text) => Some(Some(text.parse()?)),
            None => None,
        };
        self.follow_sheet()?;
        self.alone(|study| {
            let bounds = range.unwrap_or(study.header.bounds);
            let further = study.changed_goals(new)?;
            study.check_goals(bounds, &further)?;
            study.trials.outside(bounds.unwrap_or_default())?;
            let known = study.header.further.len();
            if bounds == study.header.bounds && further == study.header.further {
                return Ok(());
            }
            study.change(Entry::Goals { bounds, further })?;
            if study.header.further.len() > known {
                study.complete_from_sheet()?;
            }
            study.note_unmeasured(known);
            Ok(())
        })?;
        let goals = self.goals().named(self.header.value.as_deref());
        Ok(GoalsSet { goals, bounds: self.header.bounds.map(Into::into) })
    }

    /// The goals with the new ones: results keep their order in the journal.
    fn changed_goals(&mut self, new: Vec<Further>) -> Result<Vec<Further>> {
        let mut further = self.header.further.clone();
        for goal in new {
            if self.header.value.as_ref() == Some(&goal.name) {
                return Err(Problem::DirectionFixed);
            }
            if self.header.columns.iter().any(|column| column.name == goal.name) {
                return Err(Problem::ResultsAreInputs { column: goal.name });
            }
            match further.iter_mut().find(|known| known.name == goal.name) {
                Some(known) => known.wanted = goal.wanted,
                None => further.push(goal),
            }
        }
        // If results are filled in here, a new one needs a column.
        self.load()?;
        if self.header.value.is_some() {
            let sheet = self.loaded()?.header();
            if let Some(goal) = further.iter().find(|goal| !sheet.contains(&goal.name)) {
                let fault = format!("the sheet has no column \"{}\". Add one.", goal.name);
                return Err(Problem::Table { file: self.sheet_name().display().to_string(), faults: vec![fault] });
            }
        }
        Ok(further)
    }

    /// As a new study is checked.
    fn check_goals(&self, bounds: Option<Bounds>, further: &[Further]) -> Result<()> {
        let (direction, value) = (self.header.direction, self.header.value.clone());
        StudyOptions { direction, bounds, further: further.to_vec(), value, ..StudyOptions::default() }.check()
    }

    /// Adds the results of new goals that the sheet has already: it is not read again before it changes. If a cell
    /// contradicts a recorded result, the row is left alone.
    fn complete_from_sheet(&mut self) -> Result<()> {
        if self.header.value.is_none() {
            return Ok(());
        }
        self.load()?;
        let Some(rows) = &mut self.rows else { return Err(bug("the sheet is not loaded")) };
        let (lines, said) = rows.outcomes()?;
        let goals = self.goals();
        let mut outcomes = Vec::new();
        for report in Report::of_lines(lines.into_iter(), Source::Sheet) {
            if let Ok((news, _)) = self.trials.checked(&[report], Repeat::Refuse, &goals)
                && news.first().is_some_and(|first| first.replaces)
            {
                outcomes.extend(news);
            }
        }
        self.notes.extend(said);
        if outcomes.is_empty() { Ok(()) } else { self.change(Entry::Tell { outcomes, late: None }) }
    }

    /// Notes which new goals have missing results; so many goals were there before.
    fn note_unmeasured(&mut self, known: usize) {
        let goals = self.header.further.iter().zip(1..).skip(known);
        let lacking = |number| self.trials.told.iter().filter(move |trial| lacks(trial, number)).count();
        let notes = goals.map(|(goal, number)| Note::GoalUnmeasured { name: goal.name.clone(), rows: lacking(number) });
        let notes: Vec<Note> = notes.filter(|note| !matches!(note, Note::GoalUnmeasured { rows: 0, .. })).collect();
        self.notes.extend(notes);
    }
}

/// Whether a row has a result, and none of this number.
fn lacks(trial: &Trial, number: usize) -> bool {
    trial.value().is_some() && trial.outcome(number).is_none()
}

impl Trials {
    /// Refuses a range that excludes a result.
    fn outside(&self, bounds: Bounds) -> Result<()> {
        let mut all = self.told.iter().flat_map(|trial| trial.outcomes(0).map(move |value| (trial, value)));
        match all.find(|(_, value)| !bounds.hold(*value)) {
            None => Ok(()),
            Some((trial, value)) => {
                Err(Problem::ResultsOutside { row: trial.name.shown(), value, range: bounds.into() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::InMemory;
    use crate::{Direction, Models, Repeat, Source};

    fn study() -> Study {
        let pool = Source::Bytes(b"a,kind\n1,x\n2,y\n3,x\n4,y\n5,x\n".to_vec());
        let options = StudyOptions { pool, direction: Direction::Maximize, ..StudyOptions::default() };
        Study::create_in(&InMemory::new("goals"), &options, Models::default()).unwrap()
    }

    #[test]
    fn goals_are_added_changed_and_undone() {
        let mut study = study();
        study.tell("1", 7.0, Repeat::Refuse).unwrap();
        study.take_notes();
        let goals = |study: &mut Study, also: &[&str]| {
            study.set_goals(None, &also.iter().map(|goal| (*goal).to_owned()).collect::<Vec<_>>())
        };
        let set = goals(&mut study, &["purity >= 95"]).unwrap();
        assert_eq!(
            set.goals.iter().map(|goal| goal.words.as_str()).collect::<Vec<_>>(),
            ["higher is better", "at least 95"]
        );
        assert_eq!(study.take_notes(), [Note::GoalUnmeasured { name: "purity".into(), rows: 1 }]);
        // Earlier rows have no such result, so no row keeps the constraint.
        assert!(study.best().is_none());
        study.tell_measured("1", 7.0, &[("purity", 96.0)], Repeat::Replace).unwrap();
        assert_eq!(study.best().unwrap().row.value, Some(7.0));
        goals(&mut study, &["purity >= 97"]).unwrap();
        assert!(study.best().is_none());
        study.undo(None).unwrap();
        assert!(study.best().is_some());
    }

    #[test]
    fn what_cannot_be_wanted_is_refused() {
        let mut study = study();
        study.tell("1", 7.0, Repeat::Refuse).unwrap();
        let code = |study: &mut Study, bounds: Option<&str>, also: &[&str]| {
            let also: Vec<String> = also.iter().map(|goal| (*goal).to_owned()).collect();
            study.set_goals(bounds, &also).unwrap_err().code()
        };
        assert_eq!(code(&mut study, None, &[]), "nothing-to-change");
        assert_eq!(code(&mut study, Some("8..9"), &[]), "results-outside");
        assert_eq!(code(&mut study, None, &["a min"]), "results-are-inputs");
        assert_eq!(code(&mut study, None, &["value min"]), "goal-name");
        assert_eq!(study.lines(), 2);
        study.set_goals(Some("0..10"), &[]).unwrap();
        assert_eq!(study.tell("2", 11.0, Repeat::Refuse).unwrap_err().code(), "out-of-range");
        study.set_goals(Some("none"), &[]).unwrap();
        study.tell("2", 11.0, Repeat::Refuse).unwrap();
    }
}
