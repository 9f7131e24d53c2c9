//! One sheet for everything: candidates and results in one file that grows while the study goes on.

mod common;

use common::{ROWS, Scratch, sheet, with_value};
use icee_protocol::{CellChange, Conflict, Counts, Deed, Emptied, FewerMeasured, Note, Problem, RowProblem, Status};
use icee_study::{AskOptions, Corrected, Further, Outcome, Repeat, Study, StudyOptions, Wanted};

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
    assert!(faults[0].starts_with("line 2: column 3 (yield): \"4 or 5\" is not a number. Enter"), "{faults:?}");
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
    assert_eq!(faults[..], ["line 5: column \"heat\" has numbers, but \"hot\" is not a number. Correct the cell."]);
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
    assert_eq!(conflicts_of(study.update(Repeat::Refuse, Corrected::Refuse, None)), std::slice::from_ref(&edited));
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
    let now = (7 - asked).to_string();
    assert!(matches!(study.withdraw(&[&now], None).unwrap_err(), Problem::NumbersMoved { .. }));
    assert_eq!(study.summary(None).running, std::slice::from_ref(&now));
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
    assert_eq!(running, std::slice::from_ref(&again.id));
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
