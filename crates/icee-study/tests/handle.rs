//! Requests with keys are done once: sent again they change nothing, and are answered as the first time.

mod common;

use common::{Scratch, context, of_yield, send};
use icee_protocol::{
    Ask, Content, Forget, Goals, Note, Problem, Renew, Reply, Request, RowId, Sheet, Tell, Undo, Update, Withdraw,
};
use icee_study::memory::InMemory;
use icee_study::{Context, Models, Source, Study, StudyOptions};
use serde_json::{Value, to_value};

const ROWS: &str = "180,rye,\n200,rye,5\n220,wheat,\n240,wheat,4\n200,spelt,\n180,wheat,\n210,oat,\n190,oat,\n";

fn table(more: &str) -> String {
    format!("heat,flour,yield\n{ROWS}{more}")
}

fn in_memory() -> Study {
    let options = of_yield(Source::Bytes(table("").into_bytes()));
    Study::create_in(&InMemory::new("s"), &options, Models::default()).unwrap()
}

/// With a key, at some time.
fn keyed(key: &str, now: u64) -> Context<'_> {
    Context { now, key: Some(key), ..context() }
}

fn json(reply: &Reply) -> Value {
    to_value(reply).unwrap()
}

fn rows(names: &[&str]) -> Vec<RowId> {
    names.iter().map(|name| RowId::from(*name)).collect()
}

fn ask(count: usize) -> Request {
    Request::Ask(Ask { count, within: Some("8h".into()), by: Some("ann".into()), ..Ask::default() })
}

fn tell(row: &str, value: f64) -> Request {
    Request::Tell(Tell { row: Some(row.into()), value: Some(value.into()), ..Tell::default() })
}

fn goals(also: &str) -> Request {
    Request::Goals(Goals { bounds: Some("0..100".into()), also: vec![also.into()] })
}

fn asked(reply: &Reply) -> Vec<String> {
    let Reply::Ask(answer) = reply else { panic!("{reply:?}") };
    answer.suggestions.iter().map(|row| row.id.clone()).collect()
}

/// Does requests one after the other, each with a key of its own and each twice; then sends all of them once more.
fn each_once(study: &mut Study, requests: Vec<Request>) {
    let keys: Vec<String> = (0..requests.len()).map(|number| format!("key-{number}")).collect();
    let mut replies = Vec::new();
    for (at, (key, request)) in keys.iter().zip(&requests).enumerate() {
        let (lines, now) = (study.lines(), 1000 + 60 * at as u64);
        let (reply, _) = send(study, request.clone(), &keyed(key, now)).unwrap();
        assert_eq!(study.lines(), lines + 1, "{request:?} is one line");
        let (again, _) = send(study, request.clone(), &keyed(key, now + 7200)).unwrap();
        assert_eq!((json(&again), study.lines()), (json(&reply), lines + 1), "{request:?}");
        replies.push(reply);
    }
    let (lines, summary) = (study.lines(), study.summary(None));
    for ((key, request), reply) in keys.iter().zip(&requests).zip(&replies) {
        let (again, _) = send(study, request.clone(), &keyed(key, 90_000)).unwrap();
        assert_eq!((json(&again), study.lines()), (json(reply), lines), "{request:?} after all others");
    }
    assert_eq!(study.summary(None), summary);
}

#[test]
fn every_request_is_done_once_with_its_key() {
    let mut study = in_memory();
    let [first, second, third] = &asked(&send(&mut study, ask(3), &context()).unwrap().0)[..] else { panic!() };
    let csv = content("heat,flour,yield\n210,oat,6\n190,oat,failed\n".to_owned());
    let renew = Renew { rows: rows(&[second]), within: "2d".into(), by: None };
    let sheet = content(table("230,rye,9\n"));
    let lines = study.lines();
    let requests = vec![
        Request::Ask(Ask { count: 2, more: true, ..Ask::default() }),
        tell(first, 7.5),
        Request::Renew(renew),
        Request::Withdraw(Withdraw { rows: rows(&[third]), by: None }),
        Request::Undo(Undo { lines: Some(lines + 4) }),
        Request::Forget(Forget { rows: rows(&["2", first]) }),
        Request::Goals(Goals { bounds: Some("0..100".into()), also: vec![] }),
        Request::Tell(Tell { csv, ..Tell::default() }),
        Request::Update(Update { sheet, ..Update::default() }),
        Request::Undo(Undo::default()),
    ];
    each_once(&mut study, requests);
}

fn content(text: String) -> Option<Sheet> {
    Some(Sheet::Content(Content(text.into_bytes())))
}

#[test]
fn further_results_and_goals_are_recorded_once() {
    let options = StudyOptions { value: None, ..of_yield(Source::Bytes(table("").into_bytes())) };
    let mut study = Study::create_in(&InMemory::new("s"), &options, Models::default()).unwrap();
    let further = [("price".to_owned(), 2.0.into())].into();
    let priced = Tell { row: Some("3".into()), value: Some(7.0.into()), further, ..Tell::default() };
    let requests = vec![
        tell("1", 3.0),
        goals("price min"),
        Request::Tell(priced),
        goals("price <= 8"),
        Request::Tell(Tell { row: Some("4".into()), failed: true, ..Tell::default() }),
        ask(2),
        Request::Undo(Undo::default()),
        Request::Undo(Undo::default()),
    ];
    each_once(&mut study, requests);
}

#[test]
fn an_update_from_a_file_is_answered_from_the_version_that_is_kept() {
    let scratch = Scratch::new("handle-update");
    let pool = scratch.write("sheet.csv", &table(""));
    let mut study = scratch.create("s.jsonl", &of_yield(&*pool));
    scratch.write("sheet.csv", &table("230,rye,9\n"));
    let (first, _) = send(&mut study, Request::Update(Update::default()), &keyed("one", 10)).unwrap();
    let Reply::Update(updated) = &first else { panic!() };
    assert_eq!((updated.changed, updated.rows_before, updated.rows, updated.told.new), (true, 8, 9, 1));
    // The same text in another file is followed from then on.
    let moved = scratch.write("moved.csv", &table("230,rye,9\n"));
    let to_moved = Request::Update(Update { sheet: Some(Sheet::Path { path: moved.clone() }), ..Update::default() });
    let (second, _) = send(&mut study, to_moved.clone(), &keyed("two", 20)).unwrap();
    assert!(matches!(&second, Reply::Update(updated) if updated.changed && updated.rows_before == 9));
    let lines = study.lines();
    for rest in ["", "gone"] {
        for (key, request, reply) in
            [("one", Request::Update(Update::default()), &first), ("two", to_moved.clone(), &second)]
        {
            let (again, _) = send(&mut study, request, &keyed(key, 30)).unwrap();
            assert_eq!((json(&again), study.lines()), (json(reply), lines), "{key} {rest}");
        }
        // Whatever becomes of the files.
        scratch.write("sheet.csv", "nothing\n");
        let _ = std::fs::remove_file(&moved);
    }
}

#[test]
fn a_request_that_was_undone_is_not_done_again() {
    let mut study = in_memory();
    let before = study.summary(None).told;
    let (asked, _) = send(&mut study, ask(2), &keyed("ask", 10)).unwrap();
    let (told, _) = send(&mut study, tell("3", 8.0), &keyed("tell", 20)).unwrap();
    for _ in 0..2 {
        send(&mut study, Request::Undo(Undo::default()), &context()).unwrap();
    }
    let lines = study.lines();
    let (again, _) = send(&mut study, tell("3", 8.0), &keyed("tell", 30)).unwrap();
    assert_eq!(json(&again), json(&told));
    let (again, _) = send(&mut study, ask(2), &keyed("ask", 30)).unwrap();
    assert_eq!(json(&again), json(&asked));
    let summary = study.summary(None);
    assert_eq!((study.lines(), summary.told, summary.running.len()), (lines, before, 0));
    // Opened anew, a study knows the same keys.
    let bundle = study.bundle().unwrap();
    let home = InMemory::new("t");
    icee_study::Package::of(&bundle).unwrap().create(&home).unwrap();
    let mut study = Study::open_in(&home, Models::default()).unwrap();
    let (again, _) = send(&mut study, ask(2), &keyed("ask", 40)).unwrap();
    assert_eq!((json(&again), study.lines()), (json(&asked), lines));
}

#[test]
fn a_key_belongs_to_one_request_of_one_token() {
    let mut study = in_memory();
    send(&mut study, tell("3", 8.0), &keyed("k", 10)).unwrap();
    let reused = Problem::KeyReused { key: "k".into() };
    let others = [
        tell("3", 9.0),
        tell("5", 8.0),
        Request::Forget(Forget { rows: rows(&["3"]) }),
        Request::Undo(Undo::default()),
        ask(1),
    ];
    for other in others {
        assert_eq!(send(&mut study, other, &keyed("k", 20)).unwrap_err(), reused);
    }
    assert_eq!(study.lines(), 2);
    // Undone, it is still that request's.
    send(&mut study, Request::Undo(Undo::default()), &context()).unwrap();
    assert_eq!(send(&mut study, tell("3", 9.0), &keyed("k", 20)).unwrap_err(), reused);
    // Other tokens have keys of their own: also where token and key read the same one after the other.
    for (who, key) in [("ann", "k"), ("an", "nk"), ("bob", "k")] {
        let lines = study.lines();
        let context = Context { who: Some(who), ..keyed(key, 30) };
        send(&mut study, Request::Ask(Ask::default()), &context).unwrap();
        assert_eq!(study.lines(), lines + 1, "{who} {key}");
        send(&mut study, Request::Ask(Ask::default()), &context).unwrap();
        assert_eq!(study.lines(), lines + 1, "{who} {key}");
    }
    for key in ["", "a b", "ä", &"x".repeat(129)] {
        assert_eq!(send(&mut study, ask(1), &keyed(key, 40)).unwrap_err().code(), "key-unusable", "{key}");
    }
    // A look needs none, and takes none.
    let show = Request::Show(Default::default());
    send(&mut study, show.clone(), &keyed("k", 50)).unwrap();
    send(&mut study, show, &keyed("a b", 50)).unwrap();
}

#[test]
fn what_was_refused_or_changed_nothing_is_done_anew() {
    let mut study = in_memory();
    // Refused, because nothing is known of the row yet; later it makes sense.
    let forget = Request::Forget(Forget { rows: rows(&["3"]) });
    assert_eq!(send(&mut study, forget.clone(), &keyed("f", 10)).unwrap_err().code(), "nothing-to-forget");
    send(&mut study, tell("3", 1.0), &keyed("t", 20)).unwrap();
    send(&mut study, forget, &keyed("f", 30)).unwrap();
    assert_eq!(study.summary(None).told.len(), 2);
    // The key does not stand in the journal, nor does the request.
    let journal = study.bundle().unwrap().journal;
    assert!(journal.contains("\"key\":") && !journal.contains("\"key\":\"t\""), "{journal}");
}

#[test]
fn a_request_that_two_send_at_once_is_done_once() {
    let scratch = Scratch::new("handle-race");
    let pool = scratch.write("sheet.csv", &table(""));
    for round in 0..6 {
        let name = format!("{round}.jsonl");
        scratch.create(&name, &of_yield(&*pool));
        let request = || match round % 3 {
            0 => Request::Ask(Ask { more: true, ..Ask::default() }),
            1 => tell("3", 8.0),
            _ => Request::Tell(Tell { again: true, row: Some("2".into()), value: Some(8.0.into()), ..Tell::default() }),
        };
        let send_one = || {
            let mut study = scratch.open(&name);
            let mut replied = |turn: usize| match send(&mut study, request(), &keyed(&format!("k{turn}"), 10)) {
                Ok((reply, _)) => json(&reply),
                Err(problem) => to_value(problem).unwrap(),
            };
            [0, 1, 2].map(&mut replied)
        };
        let all: Vec<[Value; 3]> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(send_one)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        // A second result of a row is refused, whoever has sent the first.
        let lines = if round % 3 == 1 { 2 } else { 4 };
        assert_eq!(scratch.open(&name).lines(), lines, "round {round}");
        assert!(all.iter().all(|replies| *replies == all[0]), "round {round}: {all:?}");
        let refused = all[0].iter().filter(|reply| reply["code"] == "already-measured").count();
        assert_eq!(refused, if round % 3 == 1 { 2 } else { 0 }, "round {round}: {all:?}");
    }
}

#[test]
fn the_sheet_that_changed_before_a_request_is_a_line_without_its_key() {
    let scratch = Scratch::new("handle-sheet");
    let pool = scratch.write("sheet.csv", &table(""));
    let mut study = scratch.create("s.jsonl", &of_yield(&*pool));
    scratch.write("sheet.csv", &table("230,rye,9\n"));
    let (first, notes) = send(&mut study, ask(1), &keyed("k", 10)).unwrap();
    assert!(matches!(&notes[0], Note::SheetUpdated { rows_before: 8, rows: 9, .. }), "{notes:?}");
    assert_eq!(study.lines(), 3);
    let last = study.summary(None).last.unwrap();
    assert_eq!((last.at, last.by.as_deref()), (Some(10), Some("ann")));
    let (again, _) = send(&mut study, ask(1), &keyed("k", 20)).unwrap();
    assert_eq!((json(&again), study.lines()), (json(&first), 3));
}
