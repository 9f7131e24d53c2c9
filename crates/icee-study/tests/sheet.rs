//! One sheet for everything: candidates and results in one file that grows while the study goes on.

mod common;

use common::{Scratch, context, exported, options};
use icee_protocol::{
    CellChange, Conflict, Counts, Create, Deed, Emptied, FewerMeasured, Note, Problem, RowProblem, Sheet, Status,
};
use icee_study::place::{self, Folder};
use icee_study::{
    AskOptions, Bounds, Corrected, Direction, Further, Outcome, Repeat, Scale, Study, StudyOptions, Wanted,
};
use std::path::{Path, PathBuf};

const HEADER: &str = "heat,flour,yield\n";
const ROWS: [&str; 6] =
    ["180,rye,", "200,rye,41.5", "220,wheat,", "240,wheat,failed", "200,spelt,", "180,wheat,impossible"];

fn sheet(scratch: &Scratch, rows: &[&str]) -> PathBuf {
    scratch.write("sheet.csv", &format!("{HEADER}{}\n", rows.join("\n")))
}

fn with_value(pool: &Path) -> StudyOptions {
    StudyOptions { value: Some("yield".into()), direction: Direction::Maximize, ..options(pool) }
}

#[test]
fn what_is_filled_in_is_told_and_the_column_is_not_learned_from() {
    let scratch = Scratch::new("sheet-value");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let summary = study.summary(None);
    assert_eq!(summary.columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["heat", "flour"]);
    assert_eq!((summary.told.len(), summary.left), (3, 3));
    assert_eq!(summary.best.unwrap().row.value, Some(41.5));
    let asked: Vec<usize> = study.ask(6, None).unwrap().suggestions.iter().map(|s| s.row).collect();
    assert_eq!(
        {
            let mut rows = asked;
            rows.sort();
            rows
        },
        [1, 3, 5]
    );
    // A value that makes no sense is refused with its line, and no study is left behind.
    let broken = sheet(&scratch, &["180,rye,4 or 5", "200,rye,3"]);
    let refused = Study::create(&scratch.0.join("t.jsonl"), &with_value(&broken), Default::default()).err().unwrap();
    let Problem::Table { faults, .. } = &refused else { panic!("{refused}") };
    assert!(faults[0].starts_with("line 2: column 3 (yield): \"4 or 5\" is not a finite number"), "{faults:?}");
    assert!(!scratch.0.join("t.jsonl").exists());
}

#[test]
fn rows_may_be_added_sorted_and_filled_in() {
    let scratch = Scratch::new("sheet-grows");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let asked = study.ask(1, None).unwrap().suggestions[0].cells.clone();
    // Sorted the other way round, one row more, one more value, and numbers written otherwise.
    let mut rows: Vec<String> = ROWS.iter().rev().map(|row| row.replace("220,wheat,", "220.0,wheat,50")).collect();
    rows.insert(0, "260,oat,".into());
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    sheet(&scratch, &rows);
    let mut study = scratch.open("s.jsonl");
    let change = study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap();
    assert!(change.changed && change.told.new == 1 && change.rows == 7, "{change:?}");
    assert_eq!((change.rows_before, change.told), (6, Counts { new: 1, unchanged: 3, ..Counts::default() }));
    let best = study.best().unwrap().row;
    assert_eq!((best.value, best.id.as_str()), (Some(50.0), "5"));
    let summary = study.summary(None);
    if asked.0[0].1 != "220" {
        // What was asked for is found again at its new place.
        let running: usize = summary.running[0].parse().unwrap();
        let cells = rows[running - 1].split(',').next().unwrap();
        assert_eq!(cells, asked.0[0].1);
    }
    // Nothing has changed since, and opened again it is the same.
    assert!(!study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap().changed);
    assert_eq!(scratch.open("s.jsonl").summary(None), study.summary(None));
    let mut again = scratch.open("s.jsonl");
    again.ask(1, None).unwrap();
    assert_eq!(again.take_notes(), []);
}

#[test]
fn the_next_ask_takes_the_sheet_in_and_says_so() {
    let scratch = Scratch::new("sheet-ask");
    scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let rows = [&ROWS[..], &["260,oat,61"]].concat();
    sheet(&scratch, &rows);
    let mut study = scratch.open("s.jsonl");
    let answer = study.ask(1, None).unwrap();
    let told = Counts { new: 1, unchanged: 3, ..Counts::default() };
    assert_eq!(study.take_notes(), [Note::SheetUpdated { rows_before: 6, rows: 7, told }]);
    assert_eq!(answer.best, Some(61.0));
    // It is a step of its own: undone, the answer is gone and the sheet stays.
    assert_eq!(study.lines(), 3);
    study.undo(None).unwrap();
    let summary = study.summary(None);
    assert_eq!((summary.rows, summary.told.len(), summary.running.len()), (7, 4, 0));
}

#[test]
fn told_rows_that_vanish_or_change_are_named() {
    let scratch = Scratch::new("sheet-vanish");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let journal = std::fs::read(scratch.0.join("s.jsonl")).unwrap();
    sheet(&scratch, &ROWS[2..]);
    // Without ids nothing says which row it has become, whether its cells were corrected or not.
    for corrected in [Corrected::Refuse, Corrected::Keep] {
        let conflicts = conflicts_of(study.update(Repeat::Refuse, corrected, None));
        assert_eq!(conflicts, [gone("2", Some("41.5"))]);
    }
    // A value that was told otherwise is no news but a correction.
    let corrected: Vec<String> = ROWS.iter().map(|row| row.replace("41.5", "42.5")).collect();
    let corrected: Vec<&str> = corrected.iter().map(String::as_str).collect();
    sheet(&scratch, &corrected);
    let refused = study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap_err();
    let Problem::Lines { problems, .. } = &refused else { panic!("{refused}") };
    let problem = Problem::SheetDiffers { row: "2".into(), here: "42.5".into(), known: "41.5".into() };
    assert_eq!(problems[..], [RowProblem { line: Some(3), problem }]);
    assert_eq!(std::fs::read(scratch.0.join("s.jsonl")).unwrap(), journal);
    assert_eq!(study.update(Repeat::Replace, Corrected::Refuse, None).unwrap().told.replaced, 1);
    assert_eq!(study.best().unwrap().row.value, Some(42.5));
    // Numbers that have become words are not taken for other rows.
    let worded: Vec<String> = corrected.iter().map(|row| row.replace("240", "hot")).collect();
    sheet(&scratch, &worded.iter().map(String::as_str).collect::<Vec<_>>());
    let refused = study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap_err();
    let Problem::Table { faults, .. } = &refused else { panic!("{refused}") };
    assert_eq!(faults[..], ["line 5: column \"heat\" has numbers, and \"hot\" is none. Correct the cell."]);
}

/// Why a sheet was refused.
fn conflicts_of<T: std::fmt::Debug>(refused: icee_study::Result<T>) -> Vec<Conflict> {
    match refused.unwrap_err() {
        Problem::SheetConflicts { conflicts, more: 0, .. } => conflicts,
        other => panic!("{other:?}"),
    }
}

/// A row of a sheet without ids that is gone.
fn gone(row: &str, known: Option<&str>) -> Conflict {
    let (row, known, changes) = (row.to_owned(), known.map(str::to_owned), vec![]);
    Conflict { row, known, gone: true, changes, now: None, has_id: false, has_results: true }
}

#[test]
fn rows_with_ids_are_found_by_them() {
    let scratch = Scratch::new("sheet-ids");
    let write = |rows: &str| scratch.write("ids.csv", &format!("name,heat,yield\n{rows}"));
    let pool = write("a,1,5\nb,2,\nc,3,\n");
    let options = StudyOptions { id: Some("name".into()), ..with_value(&pool) };
    let mut study = scratch.create("s.jsonl", &options);
    write("c,3,\nd,4,7\na,1,5\nb,2,\n");
    study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap();
    let told: Vec<(String, Option<f64>)> =
        study.summary(None).told.into_iter().map(|row| (row.id, row.value)).collect();
    assert_eq!(told, [("a".into(), Some(5.0)), ("d".into(), Some(7.0))]);
    write("c,3,\nd,4,7\na,1.5,5\nb,2,\n");
    let changes = vec![CellChange { column: "heat".into(), was: "1".into(), is: "1.5".into() }];
    let edited = Conflict { changes: changes.clone(), gone: false, has_id: true, ..gone("a", Some("5")) };
    assert_eq!(conflicts_of(study.update(Repeat::Refuse, Corrected::Refuse, None)), [edited.clone()]);
    // One who has not read the sheet before knows what stood there, because it is kept.
    assert_eq!(conflicts_of(scratch.open("s.jsonl").update(Repeat::Refuse, Corrected::Refuse, None)), [edited]);
    study.take_notes();
    // The row was corrected: it keeps its value, and from now on it is known as it is.
    let change = study.update(Repeat::Refuse, Corrected::Keep, None).unwrap();
    assert!(change.changed && change.told.replaced == 0, "{change:?}");
    let notes = study.take_notes();
    assert_eq!(notes, [Note::RowKept { row: "a".into(), known: "5".into(), changes, now: None }]);
    assert_eq!(study.summary(None).told.len(), 2);
    write("c,3,\nd,4,7\nb,2,\na,1.5,5\n");
    study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap();
    drop(study);
    assert_eq!(scratch.open("s.jsonl").summary(None).told.len(), 2);
}

/// Whoever has to drop a row because of what happened to the sheet can do so.
#[test]
fn a_row_in_the_way_of_a_sheet_can_be_dropped() {
    let scratch = Scratch::new("sheet-drop");
    let write = |rows: &str| scratch.write("ids.csv", &format!("name,heat,yield\n{rows}"));
    let pool = write("a,1,5\nb,2,6\nc,3,\nd,4,\n");
    let options = StudyOptions { id: Some("name".into()), ..with_value(&pool) };
    let mut study = scratch.create("s.jsonl", &options);
    let asked = study.ask(1, None).unwrap().suggestions[0].id.clone();
    drop(study);
    write("a,1,5\nx,2,\n");
    let mut study = scratch.open("s.jsonl");
    assert_eq!(study.ask(1, None).unwrap_err().code(), "sheet-conflicts");
    let other = if asked == "c" { "d" } else { "c" };
    assert_eq!(study.forget(&[other]).unwrap_err().code(), "sheet-conflicts", "nothing is known of it");
    study.forget(&["b"]).unwrap();
    study.withdraw(&[&asked], None).unwrap();
    assert_eq!(study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap().rows, 2);
    assert_eq!(study.summary(None).told.len(), 1);
    // Without a sheet, too.
    std::fs::remove_file(scratch.0.join("ids.csv")).unwrap();
    study.forget(&["a"]).unwrap();
    assert!(study.summary(None).told.is_empty());
}

/// A number may be meant as it was before the rows moved.
#[test]
fn nothing_is_told_by_numbers_that_have_just_changed() {
    let scratch = Scratch::new("sheet-numbers");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let rows: Vec<&str> = ROWS.iter().rev().copied().collect();
    sheet(&scratch, &rows);
    let refused = study.tell("2", 9.0, Repeat::Refuse).unwrap_err();
    assert!(matches!(refused, Problem::NumbersMoved { was: 2, is: 5, .. }), "{refused:?}");
    assert_eq!(study.summary(None).told.len(), 3);
    study.tell("2", 9.0, Repeat::Refuse).unwrap();
    // Nor is anything deleted or released by them.
    sheet(&scratch, &ROWS);
    let refused = study.forget(&["2"]).unwrap_err();
    assert!(matches!(refused, Problem::NumbersMoved { .. }), "{refused:?}");
    assert_eq!(study.summary(None).told.len(), 4);
    study.forget(&["2"]).unwrap();
    let asked = study.ask(1, None).unwrap().suggestions[0].row;
    sheet(&scratch, &rows);
    let [now] = [(7 - asked).to_string()];
    assert!(matches!(study.withdraw(&[&now], None).unwrap_err(), Problem::NumbersMoved { .. }));
    assert_eq!(study.summary(None).running, [now.clone()]);
    study.withdraw(&[&now], None).unwrap();
}

#[test]
fn results_that_left_the_sheet_are_named() {
    let scratch = Scratch::new("sheet-emptied");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    study.take_notes();
    let emptied: Vec<String> = ROWS.iter().map(|row| row.replace("41.5", "")).collect();
    sheet(&scratch, &emptied.iter().map(String::as_str).collect::<Vec<_>>());
    study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap();
    let notes = study.take_notes();
    assert_eq!(notes, [Note::Emptied(emptied_of("2", "41.5", "yield"))]);
}

/// A row whose cell is empty now.
fn emptied_of(row: &str, known: &str, column: &str) -> Emptied {
    Emptied { rows: vec![(row.into(), known.into())], more: 0, column: column.into() }
}

#[test]
fn identical_rows_are_one_experiment_measured_several_times() {
    let scratch = Scratch::new("sheet-replicates");
    let rows = ["180,rye,10", "180,rye,14", "200,rye,", "200,rye,", "220,wheat,11"];
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &rows)));
    let best = study.best().unwrap().row;
    assert_eq!((best.id.as_str(), best.value, best.values.clone()), ("1", Some(12.0), vec![10.0, 14.0]));
    // Of the rows that are left, two are the same.
    assert_eq!(study.ask(9, None).unwrap().suggestions.len(), 1);
    // Filled in again as it is, nothing is told twice; a third value is one more.
    let rows = ["180,rye,10", "180,rye,14", "200,rye,9", "200,rye,", "220,wheat,11", "180,rye,12.5"];
    sheet(&scratch, &rows);
    let told = study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap().told;
    assert_eq!((told.new, told.again, told.replaced), (1, 1, 0));
}

#[test]
fn a_file_of_results_names_rows_by_their_cells() {
    let scratch = Scratch::new("sheet-results");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let results = scratch.write("results.csv", "flour,operator,heat,amount\nrye,ann,180.0,7\nspelt,bob,200,\n");
    assert_eq!(study.tell_csv(&results, Some("amount"), Repeat::Refuse).unwrap().new, 1);
    assert_eq!(study.summary(None).told.last().unwrap().id, "1");
    let unknown = scratch.write("results.csv", "flour,heat,yield\noat,180,7\n");
    let refused = study.tell_csv(&unknown, None, Repeat::Refuse).unwrap_err();
    assert_eq!(of_line(&refused), (2, &Problem::NoRowWithCells));
    let nameless = scratch.write("results.csv", "flour,yield\noat,7\n");
    let refused = study.tell_csv(&nameless, None, Repeat::Refuse).unwrap_err();
    let Problem::Table { faults, .. } = &refused else { panic!("{refused}") };
    assert!(faults[0].starts_with("line 1: nothing says which row a line is about"), "{faults:?}");
}

/// What is wrong with the only line that something is wrong with.
fn of_line(problem: &Problem) -> (usize, &Problem) {
    match problem {
        Problem::Lines { problems, more: 0, .. } if problems.len() == 1 => {
            (problems[0].line.unwrap(), &problems[0].problem)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_asked_and_told_can_be_taken_back() {
    let scratch = Scratch::new("sheet-back");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let row = study.ask(1, None).unwrap().suggestions[0].id.clone();
    assert_eq!(study.forget(&[&row]).unwrap_err(), Problem::NothingToForget { row: row.clone() });
    study.withdraw(&[&row, &row], None).unwrap();
    assert_eq!(study.withdraw(&[&row], None).unwrap_err(), Problem::NotRunning { row: row.clone() });
    assert_eq!(study.summary(None).left, 3);
    let rows = vec![row.clone()];
    assert_eq!(study.undo(None).unwrap().deeds, [Deed::Released { rows: rows.clone() }]);
    assert_eq!(study.summary(None).running, std::slice::from_ref(&row));
    study.tell(&row, 60.0, Repeat::Refuse).unwrap();
    let refused = study.tell(&row, 60.0, Repeat::Refuse).unwrap_err();
    assert_eq!(refused, Problem::AlreadyMeasured { row: row.clone(), known: "60".into() });
    study.tell(&row, 62.0, Repeat::Again).unwrap();
    assert_eq!(study.best().unwrap().row.value, Some(61.0));
    assert_eq!(study.undo(None).unwrap().deeds, [Deed::Recorded { rows }]);
    assert_eq!(study.best().unwrap().row.value, Some(60.0));
    study.forget(&[&row]).unwrap();
    assert_eq!(study.best().unwrap().row.value, Some(41.5));
    study.tell(&row, Outcome::Impossible, Repeat::Refuse).unwrap();
    // Another process sees the same, also one that had read more than counts now.
    let mut other = scratch.open("s.jsonl");
    assert_eq!(other.summary(None), study.summary(None));
    for _ in 0..4 {
        study.undo(None).unwrap();
    }
    // What the sheet had when the study was created stands in the first line, which stays.
    assert_eq!(study.undo(None).unwrap_err(), Problem::NothingToUndo);
    assert_eq!(other.ask(6, None).unwrap().suggestions.len(), 3);
    assert_eq!(other.summary(None).told.len(), 3);
}

#[test]
fn what_cannot_be_had_is_not_learned_as_bad() {
    let scratch = Scratch::new("sheet-impossible");
    let rows = ["180,rye,10", "200,rye,20", "220,rye,30", "240,rye,", "260,rye,"];
    let pool = sheet(&scratch, &rows);
    let mean = |outcome: Outcome| {
        let name = format!("{outcome:?}.jsonl");
        let mut study = scratch.create(&name, &with_value(&pool));
        study.tell("4", outcome, Repeat::Refuse).unwrap();
        let forecasts = study.predict(None, None).unwrap().rows;
        assert_eq!(forecasts[3].status, if outcome == Outcome::Failed { Status::Failed } else { Status::Impossible });
        forecasts[4].forecast.mean
    };
    assert!(mean(Outcome::Impossible) > 5.0 + mean(Outcome::Failed));
}

#[test]
fn a_lucky_measurement_is_worth_another_one() {
    let scratch = Scratch::new("sheet-again");
    // Two rows that were measured three times, far apart, and one that was lucky once; nothing new is promising.
    let rows = [
        "180,rye,30",
        "180,rye,36",
        "180,rye,24",
        "240,rye,8",
        "240,rye,14",
        "240,rye,2",
        "190,rye,37",
        "250,rye,3",
        "260,rye,5",
        "270,rye,4",
        "265,rye,",
    ];
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &rows)));
    let best = study.best().unwrap();
    assert!(best.believed.unwrap() < best.row.value.unwrap() && best.sure.unwrap() < 0.9, "{best:?}");
    assert!((study.summary(None).noise.unwrap() - 6.0).abs() < 0.01);
    let answer = study.ask(1, None).unwrap();
    let again = &answer.suggestions[0];
    assert!(again.repeat && ["1", "7"].contains(&again.id.as_str()), "{answer:?}");
    // It is running like any other, and what is told of it is one more value.
    let running: Vec<String> = study.running(None).unwrap().into_iter().map(|row| row.id).collect();
    assert_eq!(running, [again.id.clone()]);
    let (row, count) =
        (again.id.clone(), study.summary(None).told.iter().find(|told| told.id == again.id).unwrap().values.len());
    assert_eq!(study.tell(&row, 31.0, Repeat::Refuse).unwrap().again, 1);
    assert_eq!(study.summary(None).told.iter().find(|told| told.id == row).unwrap().values.len(), count + 1);
    assert!(study.running(None).unwrap().is_empty());
}

#[test]
fn only_what_may_be_asked_is_asked() {
    let scratch = Scratch::new("sheet-where");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let row = |study: &mut Study, condition: &str| {
        let condition = Some(condition.to_owned());
        let options = AskOptions { count: 1, condition, more: true, ..AskOptions::default() };
        study.suggest(&options).map(|answer| answer.suggestions[0].row)
    };
    assert_eq!(row(&mut study, "heat > 200 and flour = wheat").unwrap(), 3);
    let condition = "heat > 200 and flour = wheat".to_owned();
    assert_eq!(row(&mut study, &condition).unwrap_err(), Problem::NoneSatisfies { condition, unknown: None });
    let nowhere = row(&mut study, "flour in (wheat, Rie)").unwrap_err();
    let Problem::NoneSatisfies { unknown: Some((word, column, there)), .. } = nowhere else { panic!("{nowhere}") };
    assert_eq!((&word[..], &column[..], &there[0][..]), ("Rie", "flour", "rye"));
    assert_eq!(row(&mut study, "not flour in (rye, wheat)").unwrap(), 5);
}

#[test]
fn columns_are_taken_as_a_user_says() {
    let scratch = Scratch::new("sheet-scales");
    let pool = scratch.write("years.csv", "year,rate,dose\n2020,1,0\n2021,10,2\n2022,1000,3\n2020,3,5\n");
    let with = |name: &str, scale| StudyOptions { scales: vec![(name.into(), scale)], ..options(&pool) };
    let described = |options: &StudyOptions, file: &str, column: usize| {
        scratch.create(file, options).summary(None).columns[column].1.clone()
    };
    assert_eq!(described(&with("year", Scale::Categories), "a.jsonl", 0), "3 categories");
    assert_eq!(described(&with("rate", Scale::Linear), "b.jsonl", 1), "number, 1 to 1000");
    assert_eq!(described(&with("rate", Scale::Log), "c.jsonl", 1), "number, 1 to 1000, logarithmic");
    let refused = |name: &str, scale| {
        let path = scratch.0.join("d.jsonl");
        Study::create(&path, &with(name, scale), Default::default()).err().unwrap()
    };
    let Problem::Table { faults, .. } = refused("dose", Scale::Log) else { panic!() };
    assert!(faults[0].contains("only numbers above 0 have a logarithm"), "{faults:?}");
    let Problem::Table { faults, .. } = refused("yaer", Scale::Log) else { panic!() };
    assert!(faults[0].contains("no column \"yaer\""), "{faults:?}");
    // Categories stay categories when the sheet grows.
    scratch.write("years.csv", "year,rate,dose\n2020,1,0\n2021,10,2\n2022,1000,3\n2020,3,5\n2023,4,4\n");
    let mut study = scratch.open("a.jsonl");
    study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap();
    assert_eq!(study.summary(None).columns[0].1, "4 categories");
}

#[test]
fn what_was_measured_once_more_outlives_the_sheet() {
    let scratch = Scratch::new("sheet-typed");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    study.tell("2", 40.0, Repeat::Again).unwrap();
    let values = |study: &mut Study| study.summary(None).told[0].values.clone();
    let more: Vec<&str> = ROWS.iter().copied().chain(["260,rye,"]).collect();
    sheet(&scratch, &more);
    // The second value was typed, and never stood in the sheet.
    assert_eq!(study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap().told.unchanged, 3);
    assert_eq!(values(&mut study), [41.5, 40.0]);
    let file = scratch.write("results.csv", "row,yield\n2,40\n");
    assert_eq!(study.tell_csv(&file, None, Repeat::Refuse).unwrap().unchanged, 1);
    let file = scratch.write("results.csv", "row,yield\n2,39\n");
    let refused = study.tell_csv(&file, None, Repeat::Refuse).unwrap_err();
    let known = "41.5, 40".to_owned();
    assert_eq!(of_line(&refused), (2, &Problem::AlreadyMeasured { row: "2".into(), known }));
    assert_eq!(values(&mut study), [41.5, 40.0]);
}

#[test]
fn what_was_exported_is_read_back_whatever_the_columns_are_called() {
    let scratch = Scratch::new("sheet-row-column");
    let pool = scratch.write("field.csv", "row;col;heat\n6;0;1,5\n5;2;2,5\n4;1;3,5\n");
    let mut study = scratch.create("s.jsonl", &options(&pool));
    study.tell("1", 50.0, Repeat::Refuse).unwrap();
    assert_eq!(study.row_column(), "row_number");
    let told = exported(&mut study);
    assert_eq!(told, "row_number,row,col,heat,value\n1,6,0,\"1,5\",50\n");
    let file = scratch.write("told.csv", &told);
    assert_eq!(study.tell_csv(&file, None, Repeat::Refuse).unwrap().unchanged, 1);
    // The sheet's own column is not taken for numbers of rows where it is not learned from, either.
    let ignore = vec!["row".to_owned()];
    let mut study = scratch.create("t.jsonl", &StudyOptions { ignore, ..options(&pool) });
    let file = scratch.write("told.csv", "row;col;heat;value\n6;0;1,5;7\n");
    study.tell_csv(&file, None, Repeat::Refuse).unwrap();
    assert_eq!((study.row_column(), study.summary(None).told[0].row), ("row_number", 1));
    assert_eq!(scratch.open("t.jsonl").row_column(), "row_number", "whether the sheet has been read or not");
    // A name of another case is offered.
    let file = scratch.write("told.csv", "Row_Number,value\n1,7\n");
    let refused = study.tell_csv(&file, None, Repeat::Refuse).unwrap_err();
    let Problem::Table { faults, .. } = &refused else { panic!("{refused}") };
    assert!(faults[0].ends_with("rename \"Row_Number\" to \"row_number\" if you mean it"), "{faults:?}");
}

#[test]
fn a_line_that_contradicts_the_row_it_names_is_refused() {
    let scratch = Scratch::new("sheet-contradiction");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let mut tell = |lines: &str| {
        let file = scratch.write("results.csv", &format!("row,heat,flour,yield\n{lines}\n"));
        study.tell_csv(&file, None, Repeat::Refuse)
    };
    let differ = |row: &str, column: &str, here: &str, there: &str| {
        let [row, column, here, there] = [row, column, here, there].map(str::to_owned);
        Problem::CellsDiffer { row, column, here, there }
    };
    let refused = tell("1,180,rye,7\n3,999,wheat,8").unwrap_err();
    assert_eq!(of_line(&refused), (3, &differ("3", "heat", "220", "999")));
    let refused = tell("1,180,oat,7").unwrap_err();
    assert_eq!(of_line(&refused), (2, &differ("1", "flour", "rye", "oat")));
    // Numbers are numbers, and where nothing stands nothing contradicts.
    assert_eq!(tell("1,180.0,,7\n3,2.2e2,NA,8\n5,,,9").unwrap().new, 3);
}

#[test]
fn what_may_be_two_rows_is_refused() {
    let scratch = Scratch::new("sheet-two-rows");
    let pool = scratch.write("named.csv", "name,heat,by\na,1,Ada\nb,2,Ada\nc,1,Bob\n");
    let (id, ignore) = (Some("name".to_owned()), vec!["by".to_owned()]);
    let mut study = scratch.create("s.jsonl", &StudyOptions { id, ignore, ..options(&pool) });
    let file = scratch.write("results.csv", "heat,by,value\n2,Ada,4\n1,Bob,5\n");
    let refused = study.tell_csv(&file, None, Repeat::Refuse).unwrap_err();
    let alike = Problem::RowsAlike { row: "a".into(), other: "c".into(), column: "name".into() };
    assert_eq!(of_line(&refused), (3, &alike));
    assert!(study.summary(None).told.is_empty());
    let file = scratch.write("results.csv", "name,heat,value\nc,1,5\n");
    study.tell_csv(&file, None, Repeat::Refuse).unwrap();
}

#[test]
fn a_column_that_is_learned_from_is_never_taken_for_results() {
    let scratch = Scratch::new("sheet-value");
    let pool = scratch.write("pool.csv", "heat,value\n1,10\n2,20\n3,30\n");
    let columns = Some(vec!["heat".to_owned(), "value".to_owned()]);
    let mut study = scratch.create("s.jsonl", &StudyOptions { columns, ..options(&pool) });
    let sheet = scratch.write("results.csv", "heat,value\n1,10\n");
    for (value, code) in [(None, "table"), (Some("value"), "results-are-inputs")] {
        assert_eq!(study.tell_csv(&sheet, value, Repeat::Refuse).unwrap_err().code(), code, "{value:?}");
    }
    study.tell("2", 5.0, Repeat::Refuse).unwrap();
    let told = exported(&mut study);
    assert_eq!(told, "row,heat,value,result\n2,2,20,5\n");
    assert_eq!(study.tell_csv(&scratch.write("told.csv", &told), None, Repeat::Refuse).unwrap().unchanged, 1);
}

#[test]
fn values_that_may_mean_another_number_are_refused_in_the_sheet_too() {
    let scratch = Scratch::new("sheet-notations");
    let create = |text: &str| {
        let options = with_value(&scratch.write("sheet.csv", text));
        let refused = Study::create(&scratch.0.join("s.jsonl"), &options, Default::default()).err().unwrap();
        let Problem::Table { faults, .. } = refused else { panic!("{refused:?}") };
        faults.join("; ")
    };
    let mixed = create("heat,yield\n180,50 %\n190,\n200,0.6\n");
    assert!(mixed.contains("line 4: column 2 (yield): \"50 %\" in line 2 is in %, and \"0.6\" may be"), "{mixed}");
    let thousands = create("heat;yield\n1,5;\n2;1.234\n");
    assert!(thousands.contains("line 3: column 2 (yield): \"1.234\" may be 1234 or 1,234"), "{thousands}");
    let pool = scratch.write("sheet.csv", "heat,yield\n180,5 g\n190,\n200,6\n");
    let notes = scratch.create("s.jsonl", &with_value(&pool)).take_notes();
    let (column, unit, cell) = ("yield".to_owned(), "g".to_owned(), "6".to_owned());
    assert!(notes.contains(&Note::UnitAssumed { column, unit, cell, line: 4 }), "{notes:?}");
}

#[test]
fn what_the_sheet_does_not_say_any_more_is_pointed_out() {
    let scratch = Scratch::new("sheet-drift");
    let write = |header: &str, rows: &str| scratch.write("sheet.csv", &format!("{header}\n{rows}"));
    let pool = write("heat,note,yield,pH", "1,a,5,7.1\n1,a,6,7.2\n2,b,7,6.5\n3,a,,\n");
    let acidity = Further { name: "pH".into(), wanted: Wanted::AtLeast(6.0) };
    let ignore = vec!["note".to_owned()];
    let options = StudyOptions { further: vec![acidity], ignore, ..with_value(&pool) };
    let mut study = scratch.create("s.jsonl", &options);
    study.take_notes();
    let mut notes = |header: &str, rows: &str| {
        write(header, rows);
        study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap();
        study.take_notes()
    };
    let cleared = notes("heat,note,yield,pH", "1,a,5,7.1\n1,a,6,7.2\n2,b,7,\n3,a,,\n");
    assert_eq!(cleared, [Note::Cleared(emptied_of("3", "6.5", "pH"))]);
    let fewer = notes("heat,note,yield,pH", "1,a,5,7.1\n2,b,7,6.5\n3,a,,\n");
    let rows = vec![FewerMeasured { row: "1".into(), known: 2, here: 1 }];
    assert_eq!(fewer, [Note::Fewer { rows, more: 0 }]);
    let new = notes("heat,note,yield,pH,damp", "1,a,5,7.1,2\n2,b,7,6.5,3\n3,a,,,5\n");
    assert_eq!(new, [Note::NewColumns { columns: vec!["damp".into()], more: 0 }]);
    assert!(notes("heat,note,yield,pH,damp", "1,a,5,7.1,2\n2,b,7,6.5,3\n3,a,8,6.2,5\n").is_empty());
    // Lines below the rows, when they come.
    let rows = "1,a,5,7.1,2\n2,b,7,6.5,3\n3,a,8,6.2,5\n4,,,,\n5,,,,\n6,,,,\n,Mean,,,4\n";
    let sum = notes("heat,note,yield,pH,damp", rows);
    assert_eq!(sum, [Note::Footer { line: 8, text: "Mean".into() }]);
}

#[test]
fn values_of_decades_are_pointed_out_once() {
    let scratch = Scratch::new("sheet-decades");
    let create = |name: &str, values: [f64; 9], bounds: Option<Bounds>| {
        let rows: String = values.iter().enumerate().map(|(row, value)| format!("{row},{value}\n")).collect();
        let pool = scratch.write(&format!("{name}.csv"), &format!("heat,yield\n{rows}30,\n40,\n"));
        scratch.create(&format!("{name}.jsonl"), &StudyOptions { bounds, ..with_value(&pool) })
    };
    let decades = [7.0, 12.0, 40.0, 90.0, 150.0, 1200.0, 5000.0, 31_000.0, 244_000.0];
    let is_said = |notes: &[Note]| notes.iter().filter(|note| matches!(note, Note::Decades { .. })).count();
    let asked = |study: &mut Study| {
        study.take_notes();
        study.ask(1, None).unwrap();
        study.take_notes()
    };
    let mut study = create("decades", decades, None);
    study.summary(None);
    assert_eq!(is_said(&study.take_notes()), 1);
    let notes = asked(&mut study);
    assert!(is_said(&notes) == 1 && notes.contains(&Note::Decades { low: 7.0, high: 244_000.0 }), "{notes:?}");
    let mut bounded = create("bounded", decades, Some(Bounds { low: Some(0.0), high: None }));
    assert_eq!(is_said(&asked(&mut bounded)), 0);
    // Yields may be low, too.
    let yields = [0.05, 20.0, 30.0, 40.0, 55.0, 60.0, 75.0, 90.0, 98.0];
    assert_eq!(is_said(&asked(&mut create("yields", yields, None))), 0);
}

#[test]
fn whoever_calls_rows_or_columns_otherwise_is_told_how() {
    let scratch = Scratch::new("sheet-called");
    let pool = scratch.write("ids.csv", "name,heat,yield\nV-1,1,5\nV-2,2,\nV-3,3,\n");
    let options = StudyOptions { id: Some("name".into()), ..with_value(&pool) };
    let mut study = scratch.create("s.jsonl", &options);
    let refused = study.tell("10", 3.0, Repeat::Refuse).unwrap_err();
    let (row, column, example) = ("10".to_owned(), Some("name".to_owned()), Some("V-1".to_owned()));
    assert_eq!(refused, Problem::RowUnknown { row, rows: 3, column, nearest: None, example });
    for renamed in ["name,heat,score", "who,heat,yield"] {
        scratch.write("ids.csv", &format!("{renamed}\nV-1,1,5\nV-2,2,\nV-3,3,\n"));
        assert_eq!(study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap_err().code(), "column-gone");
    }
    // That there is a study of that name is said whatever its sheet has become.
    let sheet = Some(Sheet::Path { path: pool });
    let again = Create { name: Some("s".parse().unwrap()), sheet, id: Some("name".into()), ..Create::default() };
    let again = place::create(&Folder(scratch.0.clone()), again, Default::default(), &context()).unwrap_err();
    assert_eq!(again, Problem::StudyExists { name: "s".into() });
}
