//! How cells and files of results are read, and whose row a line is about.

mod common;

use common::{ROWS, Scratch, context, exported, options, sheet, with_value};
use icee_protocol::{Create, Note, Problem, Sheet};
use icee_study::place::{self, Folder};
use icee_study::{Bounds, Corrected, Repeat, Scale, Study, StudyOptions};

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
    assert!(faults[0].starts_with("line 1: no column says which row each line is about."), "{faults:?}");
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
    assert!(faults[0].ends_with("Or rename \"Row_Number\" to \"row_number\"."), "{faults:?}");
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
    assert!(mixed.contains("line 4: column 2 (yield): \"50 %\" in line 2 is in %, so \"0.6\" may be"), "{mixed}");
    let thousands = create("heat;yield\n1,5;\n2;1.234\n");
    assert!(thousands.contains("line 3: column 2 (yield): \"1.234\" may mean 1234 or 1,234"), "{thousands}");
    let pool = scratch.write("sheet.csv", "heat,yield\n180,5 g\n190,\n200,6\n");
    let notes = scratch.create("s.jsonl", &with_value(&pool)).take_notes();
    let (column, unit, cell) = ("yield".to_owned(), "g".to_owned(), "6".to_owned());
    assert!(notes.contains(&Note::UnitAssumed { column, unit, cell, line: 4 }), "{notes:?}");
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
