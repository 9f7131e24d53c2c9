//! Goals that change during a campaign: through a sheet with results, undone, and read from the journal again.

mod common;

use common::{Scratch, context, send};
use icee_protocol::{Deed, Goals, Note, Problem, Range, Reply, Request, Summary};
use icee_study::memory::InMemory;
use icee_study::{
    AskOptions, Corrected, Direction, Further, Models, Package, Repeat, Source, Study, StudyOptions, Wanted,
};

const ROWS: [&str; 6] =
    ["180,rye,5,2,0.9", "200,rye,7,4,0.4", "220,wheat,failed,,", "240,wheat,,,", "200,spelt,3,1,", "180,wheat,,,"];

fn sheet(rows: &[&str]) -> String {
    format!("heat,flour,yield,price,purity\n{}\n", rows.join("\n"))
}

/// A study of the yield alone, though price and purity are measured, too.
fn of_yield(pool: impl Into<Source>) -> StudyOptions {
    StudyOptions { ignore: ["price", "purity"].map(String::from).to_vec(), ..common::of_yield(pool) }
}

fn set(study: &mut Study, bounds: Option<&str>, also: &[&str]) -> Result<Vec<Note>, Problem> {
    study.take_notes();
    let also = also.iter().map(|goal| (*goal).to_owned()).collect();
    let request = Request::Goals(Goals { bounds: bounds.map(str::to_owned), also });
    send(study, request, &context()).map(|(_, notes)| notes)
}

fn in_memory(text: &str) -> Study {
    let options = of_yield(Source::Bytes(text.into()));
    Study::create_in(&InMemory::new("s"), &options, Models::default()).unwrap()
}

fn further(summary: &Summary) -> Vec<Vec<Option<f64>>> {
    summary.told.iter().map(|told| told.further.iter().map(|(_, value)| *value).collect()).collect()
}

/// The rows of the front.
fn front(study: &mut Study) -> Vec<usize> {
    study.front().iter().map(|row| row.row).collect()
}

/// The same study read from its journal alone.
fn read_again(study: &mut Study) -> Study {
    let home = InMemory::new("again");
    Package::of(&study.bundle().unwrap()).unwrap().create(&home).unwrap();
    Study::open_in(&home, Models::default()).unwrap()
}

/// What a summary says beside where the sheet lies.
fn placeless(study: &mut Study) -> Summary {
    Summary { pool: None, ..study.summary(None) }
}

#[test]
fn a_new_goal_takes_the_results_that_the_sheet_has() {
    let scratch = Scratch::new("set-goals-sheet");
    let pool = scratch.write("sheet.csv", &sheet(&ROWS));
    let mut study = scratch.create("s.jsonl", &of_yield(&*pool));
    assert_eq!(study.best().unwrap().row.id, "2");
    let notes = set(&mut study, None, &["price min", "purity >= 0.5"]).unwrap();
    // Row 5 was not tested for purity, so nobody knows whether it counts.
    assert_eq!(notes, [Note::GoalUnmeasured { name: "purity".into(), rows: 1 }]);
    assert_eq!(study.lines(), 2, "goals and results are one line");
    let known = [[Some(2.0), Some(0.9)], [Some(4.0), Some(0.4)], [None, None], [Some(1.0), None]];
    assert_eq!(further(&study.summary(None)), known);
    assert_eq!((study.best().unwrap().row.id.as_str(), front(&mut study)), ("1", vec![1]));
    assert_eq!(study.summary(None).last.unwrap().deeds[0], Deed::GoalsChanged);
    // Nothing is new in the sheet, and what is filled in later completes the row.
    assert!(!study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap().changed);
    scratch.write("sheet.csv", &sheet(&ROWS).replace("3,1,", "3,1,0.8"));
    let told = study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap().told;
    assert_eq!((told.new, told.replaced), (0, 1));
    assert_eq!(front(&mut study), [1, 5]);
    // As a study is that had these goals from the beginning.
    let all = [("price", Wanted::Best(Direction::Minimize)), ("purity", Wanted::AtLeast(0.5))];
    let wanted = all.map(|(name, wanted)| Further { name: name.into(), wanted }).to_vec();
    let begun = StudyOptions { further: wanted, ignore: vec![], ..of_yield(&*pool) };
    let mut begun = scratch.create("begun.jsonl", &begun);
    let [now, then] = [study.summary(None), begun.summary(None)];
    assert_eq!((now.told, now.goals, now.front, now.best), (then.told, then.goals, then.front, then.best));
    assert_eq!(study.predict(None, None).unwrap(), begun.predict(None, None).unwrap());
}

#[test]
fn what_the_study_knows_otherwise_is_not_taken_from_the_sheet() {
    let mut study = in_memory(&sheet(&ROWS));
    study.tell("1", 6.0, Repeat::Replace).unwrap();
    study.forget(&["2"]).unwrap();
    let notes = set(&mut study, None, &["price min"]).unwrap();
    // Row 1 was corrected here, and row 2 is not to be there: their cells say nothing.
    assert_eq!(notes, [Note::GoalUnmeasured { name: "price".into(), rows: 1 }]);
    let summary = study.summary(None);
    let told: Vec<(&str, Option<f64>)> = summary.told.iter().map(|told| (&told.id[..], told.value)).collect();
    assert_eq!(told, [("1", Some(6.0)), ("3", None), ("5", Some(3.0))]);
    assert_eq!(further(&summary), [[None], [None], [Some(1.0)]]);
}

#[test]
fn rows_in_progress_stay_so_when_a_goal_completes_a_row() {
    let mut study = in_memory(&sheet(&ROWS));
    let until = Some(9000);
    study.suggest(&AskOptions { count: 2, until, by: Some("ann".into()), ..AskOptions::default() }).unwrap();
    let before = study.running(None).unwrap();
    set(&mut study, Some("0..10"), &["price min"]).unwrap();
    let after = study.running(None).unwrap();
    let kept = |rows: &[icee_protocol::Suggestion]| {
        rows.iter().map(|row| (row.id.clone(), row.until, row.by.clone())).collect::<Vec<_>>()
    };
    assert_eq!(kept(&after), kept(&before));
    assert!(after[0].forecast.as_ref().is_some_and(|forecast| forecast.further.len() == 1));
}

#[test]
fn goals_are_undone_with_what_they_brought() {
    let mut study = in_memory(&sheet(&ROWS));
    let mut states = vec![study.summary(None)];
    let steps: [(Option<&str>, &[&str]); 4] =
        [(Some("0..100"), &[]), (None, &["price min"]), (Some("none"), &["purity >= 0.5"]), (None, &["price <= 3"])];
    for (bounds, also) in steps {
        set(&mut study, bounds, also).unwrap();
        states.push(study.summary(None));
        // Whoever reads the journal from its beginning finds the same.
        let mut again = read_again(&mut study);
        assert_eq!(placeless(&mut again), placeless(&mut study));
        assert_eq!(again.predict(None, None), study.predict(None, None));
    }
    assert_eq!(study.summary(None).bounds, None);
    assert_eq!(states[1].bounds, Some(Range { low: Some(0.0), high: Some(100.0) }));
    let words: Vec<String> = study.summary(None).goals.into_iter().map(|goal| goal.words).collect();
    assert_eq!(words, ["higher is better", "at most 3", "at least 0.5"]);
    let lines = study.lines();
    for (count, mut then) in (1..).zip(states.into_iter().rev().skip(1)) {
        assert_eq!(study.undo(None).unwrap().deeds[0], Deed::GoalsChanged);
        then.lines = lines + count;
        assert_eq!(study.summary(None), then);
        assert_eq!(placeless(&mut read_again(&mut study)), placeless(&mut study));
    }
    assert_eq!(study.undo(None).unwrap_err(), Problem::NothingToUndo);
}

#[test]
fn results_after_a_change_have_all_goals_and_go_with_it() {
    let options = StudyOptions { value: None, ..of_yield(Source::Bytes(b"heat\n1\n2\n3\n4\n".to_vec())) };
    let options = StudyOptions { ignore: vec![], ..options };
    let mut study = Study::create_in(&InMemory::new("s"), &options, Models::default()).unwrap();
    study.tell("1", 5.0, Repeat::Refuse).unwrap();
    set(&mut study, None, &["price min"]).unwrap();
    study.tell_measured("2", 4.0, &[("price", 1.0)], Repeat::Refuse).unwrap();
    assert_eq!(further(&study.summary(None)), [[None], [Some(1.0)]]);
    set(&mut study, None, &["purity >= 0.5"]).unwrap();
    study.tell_measured("1", 5.0, &[("purity", 0.9), ("price", 3.0)], Repeat::Refuse).unwrap();
    assert_eq!(further(&study.summary(None)), [[Some(3.0), Some(0.9)], [Some(1.0), None]]);
    let mut again = read_again(&mut study);
    assert_eq!(placeless(&mut again), placeless(&mut study));
    for _ in 0..2 {
        study.undo(None).unwrap();
    }
    // What was measured for one goal is kept by that goal.
    assert_eq!(further(&study.summary(None)), [[None], [Some(1.0)]]);
    study.tell_measured("3", 6.0, &[("price", 2.0)], Repeat::Refuse).unwrap();
    let refused = study.tell_measured("4", 6.0, &[("purity", 2.0)], Repeat::Refuse).unwrap_err();
    assert!(matches!(&refused, Problem::Unknown { name, .. } if name == "purity"), "{refused:?}");
    assert_eq!(front(&mut study), front(&mut read_again(&mut study)));
}

#[test]
fn another_process_knows_the_goals_at_once() {
    let scratch = Scratch::new("set-goals-others");
    let pool = scratch.write("sheet.csv", &sheet(&ROWS));
    let mut study = scratch.create("s.jsonl", &of_yield(&*pool));
    let mut other = scratch.open("s.jsonl");
    other.summary(None);
    set(&mut study, Some("0..10"), &["price min"]).unwrap();
    other.refresh().unwrap();
    assert_eq!(other.summary(None), study.summary(None));
    let refused = other.tell("4", 11.0, Repeat::Refuse).unwrap_err();
    assert_eq!(refused.code(), "out-of-range");
    study.undo(None).unwrap();
    other.tell("4", 11.0, Repeat::Refuse).unwrap();
    assert_eq!(scratch.open("s.jsonl").summary(None), other.summary(None));
    // A range that excludes it is refused then.
    let range = Range { low: Some(0.0), high: Some(10.0) };
    let outside = Problem::ResultsOutside { row: "4".into(), value: 11.0, range };
    assert_eq!(set(&mut study, Some("0..10"), &["price min"]).unwrap_err(), outside);
    assert_eq!(study.summary(None).goals.len(), 1, "then nothing changes");
}

#[test]
fn what_cannot_be_a_goal_is_refused() {
    let mut study = in_memory(&sheet(&ROWS));
    let wrong: [(Option<&str>, &[&str], &str); 10] = [
        (None, &[], "nothing-to-change"),
        (None, &["yield min"], "direction-fixed"),
        (None, &["heat min"], "results-are-inputs"),
        (None, &["colour min"], "table"),
        (None, &["price"], "not-a-goal"),
        (None, &["price > 3"], "limit-sign"),
        (None, &["price min", "price max"], "goal-twice"),
        (Some("10..0"), &[], "range-reversed"),
        (Some("much"), &[], "not-a-range"),
        (Some("4..10"), &["price min"], "results-outside"),
    ];
    let summary = study.summary(None);
    for (bounds, also, code) in wrong {
        assert_eq!(set(&mut study, bounds, also).unwrap_err().code(), code, "{bounds:?} {also:?}");
        assert_eq!(study.summary(None), summary);
    }
    // A column whose cells make no sense is named with its lines.
    let text = sheet(&ROWS).replace("5,2,0.9", "5,two,0.9");
    let mut study = in_memory(&text);
    let refused = set(&mut study, None, &["price min"]).unwrap_err();
    assert!(matches!(&refused, Problem::Table { faults, .. } if faults[0].starts_with("line 2:")), "{refused:?}");
    assert_eq!((study.lines(), study.summary(None).goals.len()), (1, 1));
}

#[test]
fn the_reply_has_the_goals_as_they_are_now() {
    let mut study = in_memory(&sheet(&ROWS));
    let request = Goals { bounds: Some("..100".into()), also: vec!["purity >= 0.5".into()] };
    let Reply::Goals(set) = send(&mut study, Request::Goals(request), &context()).unwrap().0 else { panic!() };
    let summary = study.summary(None);
    assert_eq!((set.goals, set.bounds), (summary.goals, summary.bounds));
    assert_eq!(set.bounds, Some(Range { low: None, high: Some(100.0) }));
}
