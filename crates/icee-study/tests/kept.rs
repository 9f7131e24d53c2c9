//! Versions of a sheet are kept: looks never depend on what became of the file, and requests say when it is gone.

mod common;

use common::{Scratch, context, of_yield, send};
use icee_protocol::{Ask, Bundle, Content, Forget, Note, Problem, Reply, Request, Sheet, Tell, Update, Why};
use icee_study::memory::InMemory;
use icee_study::{Corrected, Models, NewSheet, Package, Repeat, Source, Study};
use serde_json::{Value, to_value};
use std::path::{Path, PathBuf};

const ROWS: &str = "180,rye,3\n200,rye,5\n220,wheat,\n240,wheat,4\n200,spelt,\n180,wheat,2\n210,oat,\n";

fn table(more: &str) -> String {
    format!("heat,flour,yield\n{ROWS}{more}")
}

/// A study that follows `sheet.csv`, with a row in progress.
fn following(scratch: &Scratch) -> Study {
    let pool = scratch.write("sheet.csv", &table(""));
    let mut study = scratch.create("s.jsonl", &of_yield(&*pool));
    study.ask(1, None).unwrap();
    study.take_notes();
    study
}

/// All that can be looked at.
fn looks(study: &mut Study) -> Vec<Value> {
    let requests = [
        Request::Show(Default::default()),
        Request::Best(Default::default()),
        Request::Predict(Default::default()),
        Request::Why(Why { row: "5".into() }),
        Request::Effects(Default::default()),
        Request::Running(Default::default()),
        Request::Review(Default::default()),
        Request::Export(Default::default()),
        Request::ReadCells(Default::default()),
        Request::Journal(Default::default()),
        Request::Glance(Default::default()),
        Request::Report(Default::default()),
    ];
    let look = |request: Request| match send(study, request.clone(), &context()) {
        Ok((reply, notes)) => to_value((reply, notes)).unwrap(),
        Err(problem) => panic!("{request:?}: {problem}"),
    };
    requests.into_iter().map(look).collect()
}

/// The files of the sheets, in no order.
fn kept_files(scratch: &Scratch) -> Vec<PathBuf> {
    let files = std::fs::read_dir(scratch.0.join("s.sheets")).unwrap();
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn looks_are_the_same_whatever_becomes_of_the_file() {
    let scratch = Scratch::new("kept-looks");
    let mut study = following(&scratch);
    let expected = looks(&mut study);
    let journal = std::fs::read(scratch.0.join("s.jsonl")).unwrap();
    let file = scratch.0.join("sheet.csv");
    for now in [Some("heat,flour,yield\n1,x,9\n"), Some("nothing"), Some("heat,flour\n180,rye\n"), None] {
        match now {
            Some(text) => drop(scratch.write("sheet.csv", text)),
            None => std::fs::remove_file(&file).unwrap(),
        }
        assert_eq!(looks(&mut study), expected, "{now:?}");
        assert_eq!(looks(&mut scratch.open("s.jsonl")), expected, "{now:?}");
    }
    assert_eq!(std::fs::read(scratch.0.join("s.jsonl")).unwrap(), journal);
    assert_eq!(kept_files(&scratch).len(), 1);
}

#[test]
fn a_sheet_that_is_gone_is_mentioned_and_the_study_goes_on() {
    let scratch = Scratch::new("kept-gone");
    let mut study = following(&scratch);
    std::fs::remove_file(scratch.0.join("sheet.csv")).unwrap();
    let is_said = |notes: &[Note]| {
        let gone = |note: &&Note| {
            let Note::Unread { problem } = note else { return false };
            matches!(&**problem, Problem::SheetGone { path } if path.ends_with("sheet.csv"))
        };
        notes.iter().filter(gone).count()
    };
    let tell = |row: &str| Request::Tell(Tell { row: Some(row.into()), value: Some(1.0.into()), ..Tell::default() });
    let csv = Some(Sheet::Content(Content(b"heat,flour,yield\n210,oat,6\n".to_vec())));
    let requests =
        [Request::Ask(Ask { more: true, ..Ask::default() }), Request::Tell(Tell { csv, ..Tell::default() }), tell("5")];
    for request in requests {
        let lines = study.lines();
        let (_, notes) = send(&mut study, request.clone(), &context()).unwrap();
        assert_eq!((is_said(&notes), study.lines()), (1, lines + 1), "{request:?}: {notes:?}");
    }
    let (lines, refused) = (study.lines(), send(&mut study, Request::Update(Update::default()), &context()));
    assert_eq!((refused.unwrap_err().code(), study.lines()), ("sheet-gone".into(), lines));
    // Put back as it was, it is followed as before.
    scratch.write("sheet.csv", &table(""));
    let forget = Request::Forget(Forget { rows: vec!["5".into()] });
    let (_, notes) = send(&mut study, forget, &context()).unwrap();
    assert_eq!(notes, [Note::StillInSheet { column: "yield".into() }]);
}

#[test]
fn a_study_follows_another_file_from_an_update_on() {
    let scratch = Scratch::new("kept-moved");
    let mut study = following(&scratch);
    std::fs::remove_file(scratch.0.join("sheet.csv")).unwrap();
    let update = |study: &mut Study, path: &Path| {
        let sheet = Some(Sheet::Path { path: path.to_owned() });
        let Reply::Update(updated) =
            send(study, Request::Update(Update { sheet, ..Update::default() }), &context()).unwrap().0
        else {
            panic!()
        };
        updated
    };
    // The same text elsewhere is a change, because another file is followed.
    std::fs::create_dir(scratch.0.join("data")).unwrap();
    let moved = scratch.write("data/moved.csv", &table(""));
    let updated = update(&mut study, &moved);
    assert_eq!((updated.changed, updated.rows_before, updated.rows, updated.told.new), (true, 7, 7, 0));
    assert!(study.summary(None).pool.unwrap().ends_with("data/moved.csv"));
    assert!(!update(&mut study, &moved).changed, "it is followed already");
    // The old one does not matter any more.
    scratch.write("sheet.csv", "nothing");
    scratch.write("data/moved.csv", &table("190,oat,6\n"));
    study.take_notes();
    study.ask(1, None).unwrap();
    let notes = study.take_notes();
    let is_said = |note: &Note| matches!(note, Note::SheetUpdated { rows_before: 7, rows: 8, .. });
    assert!(notes.iter().any(is_said), "{notes:?}");
    // It is found from the folder of the journal, also by others, and where both are moved together.
    assert_eq!(scratch.open("s.jsonl").sheet_path().unwrap().canonicalize().unwrap(), moved.canonicalize().unwrap());
    // Undone, the first file is followed once more, and what was known of it is kept.
    for _ in 0..3 {
        study.undo(None).unwrap();
    }
    let summary = study.summary(None);
    assert!(summary.pool.unwrap().ends_with("sheet.csv") && summary.rows == 7);
    assert_eq!(study.all_cells().unwrap().columns[0].cells.len(), 7);
    let refused = study.update(Repeat::Refuse, Corrected::Refuse, Some(NewSheet::File("no.csv".into())));
    assert_eq!(refused.unwrap_err().code(), "file-missing");
}

#[test]
fn a_sheet_in_no_file_is_updated_by_its_content() {
    let home = InMemory::new("s");
    let mut study = Study::create_in(&home, &of_yield(Source::Bytes(table("").into())), Models::default()).unwrap();
    assert_eq!((study.sheet_path(), study.summary(None).pool), (None, None));
    // There is no file that might have changed.
    assert!(!study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap().changed);
    let new = Some(NewSheet::Bytes(table("190,oat,6\n").into()));
    let updated = study.update(Repeat::Refuse, Corrected::Refuse, new.clone()).unwrap();
    assert_eq!((updated.changed, updated.rows, updated.told.new), (true, 8, 1));
    assert!(!study.update(Repeat::Refuse, Corrected::Refuse, new.clone()).unwrap().changed);
    assert_eq!(Study::open_in(&home, Models::default()).unwrap().summary(None), study.summary(None));
    // A study that follows a file takes no content, and a server no path.
    let scratch = Scratch::new("kept-content");
    let mut followed = following(&scratch);
    let refused = followed.update(Repeat::Refuse, Corrected::Refuse, new).unwrap_err();
    assert_eq!(refused.code(), "sheet-is-file");
    let sheet = Some(Sheet::Path { path: scratch.0.join("sheet.csv") });
    let server = icee_study::Context { reads_files: false, ..context() };
    let refused = send(&mut study, Request::Update(Update { sheet, ..Update::default() }), &server).unwrap_err();
    assert_eq!(refused, Problem::PathRefused);
}

#[test]
fn every_version_is_kept_and_undo_goes_back_to_it() {
    let scratch = Scratch::new("kept-versions");
    let mut study = following(&scratch);
    let mut cells = vec![study.all_cells().unwrap()];
    for (version, more) in ["190,oat,\n", "190,oat,\n195,oat,\n", "190,oat,\n195,oat,\n199,rye,1\n"].iter().enumerate()
    {
        scratch.write("sheet.csv", &table(more));
        study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap();
        cells.push(study.all_cells().unwrap());
        assert_eq!(kept_files(&scratch).len(), version + 2);
    }
    // A bundle has them all, the latest last.
    let bundle = study.bundle().unwrap();
    assert_eq!(
        (bundle.sheets.len(), bundle.sheets[3].0.len()),
        (4, std::fs::read(scratch.0.join("sheet.csv")).unwrap().len())
    );
    std::fs::remove_file(scratch.0.join("sheet.csv")).unwrap();
    while let Some(latest) = cells.pop() {
        assert_eq!(study.all_cells().unwrap(), latest);
        assert_eq!(scratch.open("s.jsonl").all_cells().unwrap(), latest);
        if !cells.is_empty() {
            study.undo(None).unwrap();
        }
    }
    assert_eq!(kept_files(&scratch).len(), 4, "what was undone is kept");
}

#[test]
fn a_version_that_was_removed_or_tampered_with_is_not_trusted() {
    let scratch = Scratch::new("kept-tampered");
    drop(following(&scratch));
    let [kept] = &kept_files(&scratch)[..] else { panic!() };
    let sound = std::fs::read(kept).unwrap();
    std::fs::write(kept, table("190,oat,\n")).unwrap();
    // The file itself says the same, but a copy that was changed is somebody's mistake, and is said.
    let problem = scratch.open("s.jsonl").all_cells().unwrap_err();
    assert!(matches!(&problem, Problem::Stored { name, .. } if name.contains("s.sheets")), "{problem:?}");
    // Where it is gone, the file will do, as long as it is the same.
    std::fs::remove_file(kept).unwrap();
    assert_eq!(scratch.open("s.jsonl").all_cells().unwrap().columns[0].cells.len(), 7);
    scratch.write("sheet.csv", &table("190,oat,\n"));
    assert_eq!(scratch.open("s.jsonl").all_cells().unwrap_err().code(), "sheet-not-kept");
    // Results can be read all the same, and the best is known.
    let mut study = scratch.open("s.jsonl");
    assert_eq!(study.best().unwrap().row.value, Some(5.0));
    assert_eq!(study.take_notes().len(), 1);
    std::fs::write(kept, sound).unwrap();
    assert_eq!(scratch.open("s.jsonl").all_cells().unwrap().columns[0].cells.len(), 7);
}

#[test]
fn a_bundle_without_older_versions_is_a_study_and_without_the_latest_is_none() {
    let scratch = Scratch::new("kept-bundle");
    let mut study = following(&scratch);
    scratch.write("sheet.csv", &table("190,oat,6\n"));
    study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap();
    let Bundle { journal, sheets } = study.bundle().unwrap();
    let home = InMemory::new("t");
    let latest = Bundle { journal: journal.clone(), sheets: vec![sheets[1].clone()] };
    Package::of(&latest).unwrap().create(&home).unwrap();
    let mut moved = Study::open_in(&home, Models::default()).unwrap();
    assert_eq!(moved.all_cells().unwrap(), study.all_cells().unwrap());
    // Undone, its sheet is not there.
    moved.undo(None).unwrap();
    assert_eq!(moved.all_cells().unwrap_err().code(), "sheet-not-kept");
    assert_eq!(moved.summary(None).rows, 7);
    let oldest = Bundle { journal, sheets: vec![sheets[0].clone()] };
    assert_eq!(Package::of(&oldest).map(|_| ()).unwrap_err(), Problem::OtherSheet);
}
