//! One sheet for everything: candidates and results in one file that grows while the study goes on.

mod common;

use common::{Scratch, options};
use icee_study::{
    AskOptions, Bounds, Corrected, Direction, Further, Outcome, Repeat, Scale, Status, StudyOptions, Wanted,
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
    let summary = study.summary();
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
    let refused =
        icee_study::Study::create(&scratch.0.join("t.jsonl"), &with_value(&broken), Default::default()).err().unwrap();
    assert!(refused.to_string().contains("line 2: column 3 (yield): \"4 or 5\" is not a finite number"), "{refused}");
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
    let change = study.update(Repeat::Refuse, Corrected::Refuse).unwrap();
    assert!(change.changed && change.told.new == 1 && change.rows == 7, "{change:?}");
    assert_eq!(change.to_string(), "7 rows (1 more), 1 told");
    let best = study.best().unwrap().row;
    assert_eq!((best.value, best.id.as_str()), (Some(50.0), "5"));
    let summary = study.summary();
    if asked.0[0].1 != "220" {
        // What was asked for is found again at its new place.
        let running: usize = summary.running[0].parse().unwrap();
        let cells = rows[running - 1].split(',').next().unwrap();
        assert_eq!(cells, asked.0[0].1);
    }
    // Nothing has changed since, and opened again it is the same.
    assert!(!study.update(Repeat::Refuse, Corrected::Refuse).unwrap().changed);
    assert_eq!(scratch.open("s.jsonl").summary(), study.summary());
    let again = scratch.open("s.jsonl").ask(1, None).unwrap();
    assert_eq!(again.notes, Vec::<String>::new());
}

#[test]
fn the_next_ask_takes_the_sheet_in_and_says_so() {
    let scratch = Scratch::new("sheet-ask");
    scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let rows = [&ROWS[..], &["260,oat,61"]].concat();
    sheet(&scratch, &rows);
    let mut study = scratch.open("s.jsonl");
    let answer = study.ask(1, None).unwrap();
    assert!(answer.notes[0].ends_with("sheet.csv has changed: 7 rows (1 more), 1 told"), "{:?}", answer.notes);
    assert_eq!(answer.best, Some(61.0));
}

#[test]
fn told_rows_that_vanish_or_change_are_named() {
    let scratch = Scratch::new("sheet-vanish");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let journal = std::fs::read(scratch.0.join("s.jsonl")).unwrap();
    sheet(&scratch, &ROWS[2..]);
    let refused = study.update(Repeat::Refuse, Corrected::Refuse).unwrap_err().to_string();
    assert!(
        refused.contains("row \"2\" was told (41.5) and no row has its cells any more: without an id column"),
        "{refused}"
    );
    assert!(
        refused
            .contains("Put it back, or drop it with `icee study forget s --row 2`; where it was corrected, its result"),
        "{refused}"
    );
    // Without ids nothing says which row it has become.
    let refused = study.update(Repeat::Refuse, Corrected::Keep).unwrap_err().to_string();
    assert!(refused.contains("that are learned from; --keep needs one. Put it back"), "{refused}");
    // A value that was told otherwise is no news but a correction.
    let corrected: Vec<String> = ROWS.iter().map(|row| row.replace("41.5", "42.5")).collect();
    let corrected: Vec<&str> = corrected.iter().map(String::as_str).collect();
    sheet(&scratch, &corrected);
    let refused = study.update(Repeat::Refuse, Corrected::Refuse).unwrap_err().to_string();
    assert!(refused.contains("line 3: row \"2\" has 42.5 here and 41.5 in the study; `icee study update --replace` takes what stands here"), "{refused}");
    assert_eq!(std::fs::read(scratch.0.join("s.jsonl")).unwrap(), journal);
    assert_eq!(study.update(Repeat::Replace, Corrected::Refuse).unwrap().told.replaced, 1);
    assert_eq!(study.best().unwrap().row.value, Some(42.5));
    // Numbers that have become words are not taken for other rows.
    let worded: Vec<String> = corrected.iter().map(|row| row.replace("240", "hot")).collect();
    sheet(&scratch, &worded.iter().map(String::as_str).collect::<Vec<_>>());
    let refused = study.update(Repeat::Refuse, Corrected::Refuse).unwrap_err().to_string();
    assert!(refused.contains("line 5: column \"heat\" has numbers, and \"hot\" is none; mend the cell"), "{refused}");
}

#[test]
fn rows_with_ids_are_found_by_them() {
    let scratch = Scratch::new("sheet-ids");
    let write = |rows: &str| scratch.write("ids.csv", &format!("name,heat,yield\n{rows}"));
    let pool = write("a,1,5\nb,2,\nc,3,\n");
    let options = StudyOptions { id: Some("name".into()), ..with_value(&pool) };
    let mut study = scratch.create("s.jsonl", &options);
    write("c,3,\nd,4,7\na,1,5\nb,2,\n");
    study.update(Repeat::Refuse, Corrected::Refuse).unwrap();
    let told: Vec<(String, Option<f64>)> = study.summary().told.into_iter().map(|row| (row.id, row.value)).collect();
    assert_eq!(told, [("a".into(), Some(5.0)), ("d".into(), Some(7.0))]);
    write("c,3,\nd,4,7\na,1.5,5\nb,2,\n");
    let refused = study.update(Repeat::Refuse, Corrected::Refuse).unwrap_err().to_string();
    assert!(
        refused.contains("row \"a\" was told (5) and has other cells now (heat was \"1\" and is \"1.5\"); `icee study update s --keep`"),
        "{refused}"
    );
    // Who has not read the sheet before cannot know what stood there.
    let refused = scratch.open("s.jsonl").update(Repeat::Refuse, Corrected::Refuse).unwrap_err().to_string();
    assert!(refused.contains("has other cells now (now heat=1.5); `icee study update s --keep`"), "{refused}");
    // The row was corrected: it keeps its value, and from now on it is known as it is.
    let change = study.update(Repeat::Refuse, Corrected::Keep).unwrap();
    assert!(change.changed && change.told.replaced == 0, "{change:?}");
    let notes = study.take_notes();
    assert_eq!(notes, ["row \"a\" keeps what was told of it (5); heat was \"1\" and is \"1.5\""]);
    assert_eq!(study.summary().told.len(), 2);
    write("c,3,\nd,4,7\nb,2,\na,1.5,5\n");
    study.update(Repeat::Refuse, Corrected::Refuse).unwrap();
    drop(study);
    assert_eq!(scratch.open("s.jsonl").summary().told.len(), 2);
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
    assert!(study.ask(1, None).is_err());
    let other = if asked == "c" { "d" } else { "c" };
    assert!(study.forget(&[other]).unwrap_err().to_string().contains("is gone"), "nothing is known of it");
    study.forget(&["b"]).unwrap();
    study.withdraw(&[&asked], None).unwrap();
    assert_eq!(study.update(Repeat::Refuse, Corrected::Refuse).unwrap().rows, 2);
    assert_eq!(study.summary().told.len(), 1);
    // Without a sheet, too.
    std::fs::remove_file(scratch.0.join("ids.csv")).unwrap();
    study.forget(&["a"]).unwrap();
    assert!(study.summary().told.is_empty());
}

/// A number may be meant as it was before the rows moved.
#[test]
fn nothing_is_told_by_numbers_that_have_just_changed() {
    let scratch = Scratch::new("sheet-numbers");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let rows: Vec<&str> = ROWS.iter().rev().copied().collect();
    sheet(&scratch, &rows);
    let refused = study.tell("2", 9.0, Repeat::Refuse).unwrap_err().to_string();
    assert!(
        refused.contains("have other numbers now: row 2 has become row") && refused.contains("Nothing was done"),
        "{refused}"
    );
    study.tell("2", 9.0, Repeat::Refuse).unwrap();
}

#[test]
fn results_that_left_the_sheet_are_named() {
    let scratch = Scratch::new("sheet-emptied");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let emptied: Vec<String> = ROWS.iter().map(|row| row.replace("41.5", "")).collect();
    sheet(&scratch, &emptied.iter().map(String::as_str).collect::<Vec<_>>());
    study.update(Repeat::Refuse, Corrected::Refuse).unwrap();
    let notes = study.take_notes();
    assert!(
        notes.iter().any(|note| note.starts_with("row \"2\" has 41.5, and nothing in the sheet's column")),
        "{notes:?}"
    );
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
    let told = study.update(Repeat::Refuse, Corrected::Refuse).unwrap().told;
    assert_eq!((told.new, told.again, told.replaced), (1, 1, 0));
}

#[test]
fn a_file_of_results_names_rows_by_their_cells() {
    let scratch = Scratch::new("sheet-results");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let results = scratch.write("results.csv", "flour,operator,heat,amount\nrye,ann,180.0,7\nspelt,bob,200,\n");
    assert_eq!(study.tell_csv(&results, Some("amount"), Repeat::Refuse).unwrap().new, 1);
    assert_eq!(study.summary().told.last().unwrap().id, "1");
    let unknown = scratch.write("results.csv", "flour,heat,yield\noat,180,7\n");
    let refused = study.tell_csv(&unknown, None, Repeat::Refuse).unwrap_err().to_string();
    assert!(refused.contains("line 2: no row of the pool has these cells"), "{refused}");
    let nameless = scratch.write("results.csv", "flour,yield\noat,7\n");
    let refused = study.tell_csv(&nameless, None, Repeat::Refuse).unwrap_err().to_string();
    assert!(refused.contains("nothing says which row a line is about"), "{refused}");
}

#[test]
fn what_was_asked_and_told_can_be_taken_back() {
    let scratch = Scratch::new("sheet-back");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let row = study.ask(1, None).unwrap().suggestions[0].id.clone();
    assert!(study.forget(&[&row]).unwrap_err().to_string().contains("has not been told"));
    study.withdraw(&[&row, &row], None).unwrap();
    assert!(study.withdraw(&[&row], None).unwrap_err().to_string().contains("is not running"));
    assert_eq!(study.summary().left, 3);
    assert_eq!(study.undo().unwrap(), format!("withdrawing row {row}"));
    assert_eq!(study.summary().running, std::slice::from_ref(&row));
    study.tell(&row, 60.0, Repeat::Refuse).unwrap();
    assert!(
        study.tell(&row, 60.0, Repeat::Refuse).unwrap_err().to_string().contains("--again adds another measurement")
    );
    study.tell(&row, 62.0, Repeat::Again).unwrap();
    assert_eq!(study.best().unwrap().row.value, Some(61.0));
    assert_eq!(study.undo().unwrap(), format!("telling row {row}"));
    assert_eq!(study.best().unwrap().row.value, Some(60.0));
    study.forget(&[&row]).unwrap();
    assert_eq!(study.best().unwrap().row.value, Some(41.5));
    study.tell(&row, Outcome::Impossible, Repeat::Refuse).unwrap();
    // Another process sees the same, also one that had read more than counts now.
    let mut other = scratch.open("s.jsonl");
    assert_eq!(other.summary(), study.summary());
    for _ in 0..4 {
        study.undo().unwrap();
    }
    assert_eq!(study.undo().unwrap(), "telling rows 2, 4, 6");
    assert!(study.undo().unwrap_err().to_string().contains("nothing to undo"));
    assert_eq!(other.ask(6, None).unwrap().suggestions.len(), 6);
    assert_eq!(other.summary().told.len(), 0);
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
        let forecasts = study.predict(None).unwrap();
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
    assert!((study.summary().noise.unwrap() - 6.0).abs() < 0.01);
    let answer = study.ask(1, None).unwrap();
    let again = &answer.suggestions[0];
    assert!(again.repeat && ["1", "7"].contains(&again.id.as_str()), "{answer:?}");
    // It is running like any other, and what is told of it is one more value.
    assert_eq!(study.pending(None).unwrap().unwrap().suggestions, answer.suggestions);
    let (row, count) =
        (again.id.clone(), study.summary().told.iter().find(|told| told.id == again.id).unwrap().values.len());
    assert_eq!(study.tell(&row, 31.0, Repeat::Refuse).unwrap().again, 1);
    assert_eq!(study.summary().told.iter().find(|told| told.id == row).unwrap().values.len(), count + 1);
    assert!(study.pending(None).unwrap().is_none());
}

#[test]
fn only_what_may_be_asked_is_asked() {
    let scratch = Scratch::new("sheet-where");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let row = |study: &mut icee_study::Study, condition: &str| {
        let condition = Some(condition.to_owned());
        study.ask_for(&AskOptions { count: 1, condition, ..AskOptions::default() }).map(|a| a.suggestions[0].row)
    };
    assert_eq!(row(&mut study, "heat > 200 and flour = wheat").unwrap(), 3);
    let nothing = row(&mut study, "heat > 200 and flour = wheat").unwrap_err().to_string();
    assert!(nothing.ends_with("no row that is left satisfies --where \"heat > 200 and flour = wheat\""), "{nothing}");
    let nowhere = row(&mut study, "flour in (wheat, Rie)").unwrap_err().to_string();
    assert!(nowhere.ends_with(": \"Rie\" stands nowhere in \"flour\", which has rye"), "{nowhere}");
    assert_eq!(row(&mut study, "not flour in (rye, wheat)").unwrap(), 5);
}

#[test]
fn columns_are_taken_as_a_user_says() {
    let scratch = Scratch::new("sheet-scales");
    let pool = scratch.write("years.csv", "year,rate,dose\n2020,1,0\n2021,10,2\n2022,1000,3\n2020,3,5\n");
    let with = |name: &str, scale| StudyOptions { scales: vec![(name.into(), scale)], ..options(&pool) };
    let described = |options: &StudyOptions, file: &str, column: usize| {
        scratch.create(file, options).summary().columns[column].1.clone()
    };
    assert_eq!(described(&with("year", Scale::Categories), "a.jsonl", 0), "3 categories");
    assert_eq!(described(&with("rate", Scale::Linear), "b.jsonl", 1), "number, 1 to 1000");
    assert_eq!(described(&with("rate", Scale::Log), "c.jsonl", 1), "number, 1 to 1000, logarithmic");
    let refused = |name: &str, scale| {
        let path = scratch.0.join("d.jsonl");
        icee_study::Study::create(&path, &with(name, scale), Default::default()).err().unwrap().to_string()
    };
    assert!(refused("dose", Scale::Log).contains("only numbers above 0 have a logarithm"));
    assert!(refused("yaer", Scale::Log).contains("no column \"yaer\""));
    // Categories stay categories when the sheet grows.
    scratch.write("years.csv", "year,rate,dose\n2020,1,0\n2021,10,2\n2022,1000,3\n2020,3,5\n2023,4,4\n");
    let mut study = scratch.open("a.jsonl");
    study.update(Repeat::Refuse, Corrected::Refuse).unwrap();
    assert_eq!(study.summary().columns[0].1, "4 categories");
}

#[test]
fn what_was_measured_once_more_outlives_the_sheet() {
    let scratch = Scratch::new("sheet-typed");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    study.tell("2", 40.0, Repeat::Again).unwrap();
    let values = |study: &mut icee_study::Study| study.summary().told[0].values.clone();
    let more: Vec<&str> = ROWS.iter().copied().chain(["260,rye,"]).collect();
    sheet(&scratch, &more);
    // The second value was typed, and never stood in the sheet.
    assert_eq!(study.update(Repeat::Refuse, Corrected::Refuse).unwrap().told.unchanged, 3);
    assert_eq!(values(&mut study), [41.5, 40.0]);
    let file = scratch.write("results.csv", "row,yield\n2,40\n");
    assert_eq!(study.tell_csv(&file, None, Repeat::Refuse).unwrap().unchanged, 1);
    let file = scratch.write("results.csv", "row,yield\n2,39\n");
    assert!(study.tell_csv(&file, None, Repeat::Refuse).unwrap_err().to_string().contains("told already"));
    assert_eq!(values(&mut study), [41.5, 40.0]);
}

#[test]
fn what_was_exported_is_read_back_whatever_the_columns_are_called() {
    let scratch = Scratch::new("sheet-row-column");
    let pool = scratch.write("field.csv", "row;col;heat\n6;0;1,5\n5;2;2,5\n4;1;3,5\n");
    let mut study = scratch.create("s.jsonl", &options(&pool));
    study.tell("1", 50.0, Repeat::Refuse).unwrap();
    assert_eq!(study.row_column(), "row_number");
    let mut told = Vec::new();
    study.summary().write_told(&mut told, str::to_owned).unwrap();
    let told = String::from_utf8(told).unwrap();
    assert_eq!(told, "row_number,row,col,heat,value\n1,6,0,\"1,5\",50\n");
    let file = scratch.write("told.csv", &told);
    assert_eq!(study.tell_csv(&file, None, Repeat::Refuse).unwrap().unchanged, 1);
    // The sheet's own column is not taken for numbers of rows where it is not learned from, either.
    let ignore = vec!["row".to_owned()];
    let mut study = scratch.create("t.jsonl", &StudyOptions { ignore, ..options(&pool) });
    let file = scratch.write("told.csv", "row;col;heat;value\n6;0;1,5;7\n");
    study.tell_csv(&file, None, Repeat::Refuse).unwrap();
    assert_eq!((study.row_column(), study.summary().told[0].row), ("row_number", 1));
    assert_eq!(scratch.open("t.jsonl").row_column(), "row_number", "whether the sheet has been read or not");
    // A name of another case is offered.
    let file = scratch.write("told.csv", "Row_Number,value\n1,7\n");
    let refused = study.tell_csv(&file, None, Repeat::Refuse).unwrap_err().to_string();
    assert!(refused.contains("rename \"Row_Number\" to \"row_number\" if it is meant"), "{refused}");
}

#[test]
fn a_line_that_contradicts_the_row_it_names_is_refused() {
    let scratch = Scratch::new("sheet-contradiction");
    let mut study = scratch.create("s.jsonl", &with_value(&sheet(&scratch, &ROWS)));
    let mut tell = |lines: &str| {
        let file = scratch.write("results.csv", &format!("row,heat,flour,yield\n{lines}\n"));
        study.tell_csv(&file, None, Repeat::Refuse).map_err(|error| error.to_string())
    };
    let refused = tell("1,180,rye,7\n3,999,wheat,8").unwrap_err();
    let said = "line 3: row \"3\" has the heat \"220\" in the sheet, and \"999\" here; mend the line, or leave that cell empty";
    assert!(refused.ends_with(said), "{refused}");
    assert!(
        tell("1,180,oat,7").unwrap_err().contains("row \"1\" has the flour \"rye\" in the sheet, and \"oat\" here")
    );
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
    let refused = study.tell_csv(&file, None, Repeat::Refuse).unwrap_err().to_string();
    assert!(
        refused.contains("line 3: rows a and c both have these cells; say which is meant in a column \"name\""),
        "{refused}"
    );
    assert!(study.summary().told.is_empty());
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
    for value in [None, Some("value")] {
        assert!(study.tell_csv(&sheet, value, Repeat::Refuse).is_err(), "{value:?}");
    }
    study.tell("2", 5.0, Repeat::Refuse).unwrap();
    let mut told = Vec::new();
    study.summary().write_told(&mut told, str::to_owned).unwrap();
    let told = String::from_utf8(told).unwrap();
    assert_eq!(told, "row,heat,value,result\n2,2,20,5\n");
    assert_eq!(study.tell_csv(&scratch.write("told.csv", &told), None, Repeat::Refuse).unwrap().unchanged, 1);
}

#[test]
fn values_that_may_mean_another_number_are_refused_in_the_sheet_too() {
    let scratch = Scratch::new("sheet-notations");
    let create = |text: &str| {
        let options = with_value(&scratch.write("sheet.csv", text));
        icee_study::Study::create(&scratch.0.join("s.jsonl"), &options, Default::default()).err().unwrap().to_string()
    };
    let mixed = create("heat,yield\n180,50 %\n190,\n200,0.6\n");
    assert!(mixed.contains("line 4: column 2 (yield): \"50 %\" in line 2 is in %, and \"0.6\" may be"), "{mixed}");
    let thousands = create("heat;yield\n1,5;\n2;1.234\n");
    assert!(thousands.contains("line 3: column 2 (yield): \"1.234\" may be 1234 or 1,234"), "{thousands}");
    let pool = scratch.write("sheet.csv", "heat,yield\n180,5 g\n190,\n200,6\n");
    let notes = scratch.create("s.jsonl", &with_value(&pool)).take_notes();
    assert!(notes.iter().any(|note| note.contains("numbers without a unit are taken to be in g, too")), "{notes:?}");
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
        study.update(Repeat::Refuse, Corrected::Refuse).unwrap();
        study.take_notes()
    };
    let [cleared] = &notes("heat,note,yield,pH", "1,a,5,7.1\n1,a,6,7.2\n2,b,7,\n3,a,,\n")[..] else { panic!() };
    assert!(cleared.starts_with("row \"3\" has the pH 6.5, and nothing in the sheet's column \"pH\""), "{cleared}");
    let [fewer] = &notes("heat,note,yield,pH", "1,a,5,7.1\n2,b,7,6.5\n3,a,,\n")[..] else { panic!() };
    assert!(
        fewer.starts_with("row \"1\" was measured 2 times, of which 1 stand here; the mean of all counts"),
        "{fewer}"
    );
    let [new] = &notes("heat,note,yield,pH,damp", "1,a,5,7.1,2\n2,b,7,6.5,3\n3,a,,,5\n")[..] else { panic!() };
    assert!(new.starts_with("\"damp\" is new in the sheet and not learned from; to learn from it, create"), "{new}");
    assert!(notes("heat,note,yield,pH,damp", "1,a,5,7.1,2\n2,b,7,6.5,3\n3,a,8,6.2,5\n").is_empty());
    // Lines below the rows, when they come.
    let [sum] = &notes(
        "heat,note,yield,pH,damp",
        "1,a,5,7.1,2\n2,b,7,6.5,3\n3,a,8,6.2,5\n4,,,,\n5,,,,\n6,,,,\n,Mean,,,4\n",
    )[..] else {
        panic!()
    };
    assert!(sum.starts_with("line 8 (\"Mean\") looks like a remark or a sum"), "{sum}");
}

#[test]
fn a_journal_that_does_not_know_the_columns_of_its_sheet_goes_on() {
    let scratch = Scratch::new("sheet-others");
    let pool = sheet(&scratch, &ROWS);
    scratch.create("s.jsonl", &with_value(&pool));
    let whole = std::fs::read(scratch.0.join("s.jsonl")).unwrap();
    let lines = icee_study::memory::lines_of(&whole).unwrap();
    let older: Vec<String> = lines.iter().map(|line| line.replace(",\"others\":[]", "")).collect();
    assert_ne!(lines, older);
    std::fs::write(scratch.0.join("s.jsonl"), icee_study::memory::journal_of(&older)).unwrap();
    let more: String = ROWS.iter().map(|row| format!("{row},1\n")).collect();
    scratch.write("sheet.csv", &format!("heat,flour,yield,damp\n{more}"));
    let mut study = scratch.open("s.jsonl");
    study.update(Repeat::Refuse, Corrected::Refuse).unwrap();
    assert_eq!(study.take_notes(), Vec::<String>::new());
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
    let is_said =
        |notes: &[String]| notes.iter().filter(|note| note.starts_with("the values told span 7 to 244000")).count();
    let mut study = create("decades", decades, None);
    assert_eq!(is_said(&study.summary().notes), 1);
    assert_eq!(is_said(&study.ask(1, None).unwrap().notes), 1);
    let mut bounded = create("bounded", decades, Some(Bounds { low: Some(0.0), high: None }));
    assert_eq!(is_said(&bounded.ask(1, None).unwrap().notes), 0);
    // Yields may be low, too.
    let yields = [0.05, 20.0, 30.0, 40.0, 55.0, 60.0, 75.0, 90.0, 98.0];
    assert!(create("yields", yields, None).ask(1, None).unwrap().notes.iter().all(|note| !note.contains("span")));
}

#[test]
fn whoever_calls_rows_or_columns_otherwise_is_told_how() {
    let scratch = Scratch::new("sheet-called");
    let pool = scratch.write("ids.csv", "name,heat,yield\nV-1,1,5\nV-2,2,\nV-3,3,\n");
    let options = StudyOptions { id: Some("name".into()), ..with_value(&pool) };
    let mut study = scratch.create("s.jsonl", &options);
    let refused = study.tell("10", 3.0, Repeat::Refuse).unwrap_err().to_string();
    assert!(refused.contains("no row has the name \"10\"; rows are called by it, such as \"V-1\""), "{refused}");
    for renamed in ["name,heat,score", "who,heat,yield"] {
        scratch.write("ids.csv", &format!("{renamed}\nV-1,1,5\nV-2,2,\nV-3,3,\n"));
        let refused = study.update(Repeat::Refuse, Corrected::Refuse).unwrap_err().to_string();
        assert!(refused.contains("; a study keeps its columns, so rename it back"), "{refused}");
    }
    let again = icee_study::Study::create(&scratch.0.join("s.jsonl"), &options, Default::default()).err().unwrap();
    assert!(again.to_string().ends_with("choose another name, or put it away with `icee study delete s`"), "{again}");
}
