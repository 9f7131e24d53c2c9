//! What is asked is what is answered: rows in progress are repeated to the request that they answer, and to no other.

mod common;

use common::{context, options, send};
use icee_protocol::{Answer, Ask, Note, Problem, Renew, Reply, Request, RowId, Suggestion};
use icee_study::memory::InMemory;
use icee_study::{AskOptions, Context, Models, Repeat, SamplerKind, Source, Study, StudyOptions};
use std::path::Path;

const HOUR: u64 = 3600;

/// Three temperatures, four rows of each.
fn study() -> Study {
    let mut text = String::from("temp,x\n");
    (0..12).for_each(|row| text += &format!("{},{}\n", 60 + 20 * (row % 3), row / 3));
    let options = StudyOptions { pool: Source::Bytes(text.into_bytes()), ..options(Path::new("")) };
    let mut study = Study::create_in(&InMemory::new("s"), &options, Models::default()).unwrap();
    study.take_notes();
    study
}

fn temp(row: &Suggestion) -> &str {
    &row.cells.0[0].1
}

fn at(now: u64) -> Context<'static> {
    Context { now, ..context() }
}

fn try_to_ask(study: &mut Study, request: Ask, now: u64) -> Result<(Answer, Vec<Note>), Problem> {
    let (reply, notes) = send(study, Request::Ask(request), &at(now))?;
    let Reply::Ask(answer) = reply else { panic!("{reply:?}") };
    Ok((answer, notes))
}

fn ask(study: &mut Study, request: Ask, now: u64) -> Answer {
    try_to_ask(study, request, now).unwrap().0
}

fn by(name: &str) -> Ask {
    Ask { by: Some(name.into()), ..Ask::default() }
}

fn ids(answer: &Answer) -> Vec<&str> {
    answer.suggestions.iter().map(|row| row.id.as_str()).collect()
}

#[test]
fn the_same_request_is_answered_by_the_same_rows() {
    let mut study = study();
    let request = || Ask { count: 2, condition: Some("temp < 100".into()), ..by("ann") };
    let first = ask(&mut study, request(), 0);
    assert!(!first.still_running && first.suggestions.iter().all(|row| !row.running), "{first:?}");
    let lines = study.lines();
    let (again, notes) = try_to_ask(&mut study, request(), 10).unwrap();
    assert_eq!((ids(&again), study.lines(), &notes[..]), (ids(&first), lines, &[][..]));
    assert!(again.still_running && again.suggestions.iter().all(|row| row.running && row.by.as_deref() == Some("ann")));
    // The blanks around a condition do not matter.
    let blanks = Ask { condition: Some("  temp < 100 ".into()), ..request() };
    assert_eq!(ids(&ask(&mut study, blanks, 20)), ids(&first));
    // Fewer are the first of them, and the others are mentioned.
    let (one, notes) = try_to_ask(&mut study, Ask { count: 1, ..request() }, 30).unwrap();
    assert_eq!((ids(&one), notes), (vec![ids(&first)[0]], vec![Note::OthersRunning { rows: 1 }]));
    assert_eq!(study.lines(), lines);
    // A row that is measured is not repeated: a new one takes its place.
    study.tell(ids(&first)[0], 1.0, Repeat::Refuse).unwrap();
    let topped = ask(&mut study, request(), 40);
    assert_eq!(ids(&topped)[0], ids(&first)[1]);
    assert!(topped.suggestions[0].running && !topped.suggestions[1].running && !topped.still_running);
}

#[test]
fn another_request_is_answered_by_other_rows() {
    let request = || Ask { count: 2, condition: Some("temp < 100".into()), ..by("ann") };
    let others = [
        Ask { by: Some("bob".into()), ..request() },
        Ask { by: None, ..request() },
        Ask { condition: None, ..request() },
        Ask { condition: Some("temp <= 80".into()), ..request() },
        Ask { same: vec!["temp".into()], ..request() },
        Ask { sampler: Some("random".into()), ..request() },
        Ask { more: true, ..request() },
    ];
    for other in others {
        let mut study = study();
        let first = ask(&mut study, request(), 0);
        let (answer, notes) = try_to_ask(&mut study, other.clone(), 10).unwrap();
        assert_eq!((answer.suggestions.len(), answer.still_running), (2, false), "{other:?}");
        assert!(ids(&answer).iter().all(|id| !ids(&first).contains(id)), "{other:?}: {answer:?}");
        assert!(answer.suggestions.iter().all(|row| !row.running && row.by == other.by), "{answer:?}");
        if other.condition.is_some() {
            assert!(answer.suggestions.iter().all(|row| temp(row) != "100"), "{answer:?}");
        }
        // One who has other rows is told so, unless more are wanted anyway.
        let is_said = notes.contains(&Note::OthersRunning { rows: 2 });
        assert_eq!(is_said, other.by.as_deref() == Some("ann") && !other.more, "{other:?}: {notes:?}");
        // Each has its own rows from then on.
        assert_eq!(ids(&ask(&mut study, request(), 20)), ids(&first));
        if !other.more {
            assert_eq!(ids(&ask(&mut study, other, 20)), ids(&answer));
        }
    }
}

#[test]
fn rows_answer_the_sampler_that_picked_them() {
    let mut study = study();
    let random = || Ask { sampler: Some("random".into()), ..Ask::default() };
    let first = ask(&mut study, random(), 0);
    assert_eq!(ids(&ask(&mut study, random(), 1)), ids(&first));
    // A request without a sampler is one for the study's own.
    let own = ask(&mut study, Ask::default(), 2);
    assert_ne!(ids(&own), ids(&first));
    let named = Ask { sampler: Some("gp-ei".into()), ..Ask::default() };
    assert_eq!(ids(&ask(&mut study, named, 3)), ids(&own));
    assert_eq!(ids(&ask(&mut study, random(), 4)), ids(&first));
}

#[test]
fn the_name_of_a_token_is_that_of_the_person() {
    let mut study = study();
    let context = |who| Context { who, ..at(0) };
    let mut rows = |who, request: Ask| {
        let Reply::Ask(answer) = send(&mut study, Request::Ask(request), &context(who)).unwrap().0 else { panic!() };
        (answer.suggestions[0].id.clone(), answer.suggestions[0].by.clone())
    };
    let (first, name) = rows(Some("ann"), Ask::default());
    assert_eq!(name.as_deref(), Some("ann"));
    assert_eq!(rows(None, by("ann")).0, first);
    assert_eq!(rows(Some("bob"), by(" ann ")).0, first, "who asks for another asks in that name");
    assert_ne!(rows(Some("bob"), Ask::default()).0, first);
}

#[test]
fn what_makes_no_sense_is_refused_while_rows_are_in_progress() {
    let mut study = study();
    let wrong = [
        (Ask { condition: Some("nonsense >>> 3".into()), ..by("ann") }, "condition"),
        (Ask { condition: Some("heat < 3".into()), ..by("ann") }, "condition"),
        (Ask { condition: Some(String::new()), ..by("ann") }, "condition"),
        (Ask { condition: Some("temp > 100".into()), ..by("ann") }, "none-satisfies"),
        (Ask { same: vec!["heat".into()], ..by("ann") }, "table"),
        (Ask { same: vec!["temp".into(), "temp".into()], ..by("ann") }, "same-twice"),
        (Ask { within: Some("soon".into()), ..by("ann") }, "not-a-time"),
        (Ask { count: 0, ..by("ann") }, "count"),
        (Ask { count: 1001, ..by("ann") }, "count"),
        (Ask { sampler: Some("best".into()), ..by("ann") }, "unknown"),
        (by(" "), "person-name"),
        (by(&"x".repeat(65)), "person-name"),
    ];
    let refused = |study: &mut Study| {
        for (request, code) in &wrong {
            let lines = study.lines();
            let problem = try_to_ask(study, request.clone(), 10).unwrap_err();
            assert_eq!((problem.code(), study.lines()), ((*code).to_owned(), lines), "{request:?}");
        }
    };
    refused(&mut study);
    ask(&mut study, by("ann"), 0);
    refused(&mut study);
    // Also by one who would be given enough rows that are in progress.
    study.suggest(&AskOptions { count: 3, by: Some("ann".into()), more: true, ..AskOptions::default() }).unwrap();
    refused(&mut study);
    assert_eq!(study.summary(None).running.len(), 4);
}

#[test]
fn rows_that_are_added_share_the_setting_of_those_in_progress() {
    let mut study = study();
    let request = |count| Ask { count, same: vec!["temp".into()], ..by("ann") };
    let first = ask(&mut study, request(2), 0);
    let setting = temp(&first.suggestions[0]).to_owned();
    let topped = ask(&mut study, request(4), 10);
    assert_eq!(ids(&topped)[..2], ids(&first)[..]);
    assert!(topped.suggestions.len() == 4 && topped.suggestions.iter().all(|row| temp(row) == setting), "{topped:?}");
    // There are four rows of each setting: no other is mixed in.
    let (all, notes) = try_to_ask(&mut study, request(6), 20).unwrap();
    assert_eq!((ids(&all), all.still_running), (ids(&topped), true));
    assert_eq!(notes, [Note::FewerAlike { asked: 6, rows: 4 }]);
    // The next batch has another one.
    let next = ask(&mut study, Ask { by: Some("bob".into()), ..request(3) }, 30);
    assert!(next.suggestions.len() == 3 && next.suggestions.iter().all(|row| temp(row) == temp(&next.suggestions[0])));
    assert_ne!(temp(&next.suggestions[0]), setting);
}

#[test]
fn a_reservation_is_extended_and_never_shortened() {
    let mut study = study();
    let request = |within: Option<&str>| Ask { count: 2, within: within.map(String::from), ..by("ann") };
    let untils = |answer: &Answer| answer.suggestions.iter().map(|row| row.until).collect::<Vec<_>>();
    let ask = |study: &mut Study, within, now| {
        let answer = ask(study, request(within), now);
        let kept: Vec<Option<u64>> = study.running(None).unwrap().iter().map(|row| row.until).collect();
        assert_eq!(untils(&answer), kept, "what is answered is what is kept");
        (answer.suggestions.iter().map(|row| row.id.clone()).collect::<Vec<_>>(), untils(&answer))
    };
    let (rows, until) = ask(&mut study, None, 0);
    assert_eq!(until, [None, None]);
    // A worker never goes without the reservation that it asked for.
    assert_eq!(ask(&mut study, Some("2h"), HOUR), (rows.clone(), vec![Some(3 * HOUR); 2]));
    let lines = study.lines();
    assert_eq!(ask(&mut study, Some("30m"), HOUR), (rows.clone(), vec![Some(3 * HOUR); 2]));
    assert_eq!(ask(&mut study, None, HOUR), (rows.clone(), vec![Some(3 * HOUR); 2]));
    assert_eq!(study.lines(), lines, "nothing was extended");
    assert_eq!(ask(&mut study, Some("2h"), 2 * HOUR), (rows.clone(), vec![Some(4 * HOUR); 2]));
    assert_eq!(study.lines(), lines + 1);
    // Of two rows one may have more time already.
    let renew = Renew { rows: vec![RowId::from(&rows[0][..])], within: "6h".into(), by: Some("ann".into()) };
    send(&mut study, Request::Renew(renew), &at(2 * HOUR)).unwrap();
    assert_eq!(ask(&mut study, Some("3h"), 2 * HOUR).1, [Some(8 * HOUR), Some(5 * HOUR)]);
    // Nor does another's request touch it.
    let bob = Ask { within: Some("9d".into()), ..by("bob") };
    send(&mut study, Request::Ask(bob), &at(2 * HOUR)).unwrap();
    let of_ann = study.running(None).unwrap().into_iter().filter(|row| row.by.as_deref() == Some("ann"));
    assert_eq!(of_ann.map(|row| row.until).collect::<Vec<_>>(), [Some(8 * HOUR), Some(5 * HOUR)]);
}

#[test]
fn what_has_expired_is_not_repeated() {
    let mut study = study();
    let request = || Ask { count: 2, within: Some("1h".into()), ..by("ann") };
    let first = ask(&mut study, request(), 0);
    assert!(ask(&mut study, request(), HOUR - 1).still_running);
    let (again, notes) = try_to_ask(&mut study, request(), 3 * HOUR).unwrap();
    let expired = Note::Expired { rows: ids(&first).into_iter().map(String::from).collect() };
    assert_eq!((again.still_running, notes), (false, vec![expired]));
    assert!(again.suggestions.iter().all(|row| !row.running && row.until == Some(4 * HOUR)), "{again:?}");
    // It is one step, and so it is undone.
    let summary = study.summary(None);
    assert_eq!((study.lines(), summary.running.len(), summary.last.unwrap().deeds.len()), (4, 2, 2));
}

#[test]
fn new_rows_are_what_a_program_asks_for() {
    let mut study = study();
    let rows = [(); 4].map(|()| study.ask(3, Some(SamplerKind::Random)).unwrap());
    let mut all: Vec<usize> = rows.iter().flat_map(|answer| answer.suggestions.iter().map(|row| row.row)).collect();
    all.sort_unstable();
    assert_eq!(all, (1..=12).collect::<Vec<_>>());
    assert_eq!(study.ask(1, None).unwrap_err(), Problem::NoneLeft { rows: 12, running: 12 });
    // The same rows are still answered to one who asks for no new ones.
    let repeated = Ask { count: 20, sampler: Some("random".into()), ..Ask::default() };
    let (answer, notes) = try_to_ask(&mut study, repeated, 0).unwrap();
    assert_eq!((answer.suggestions.len(), answer.left), (12, 0));
    assert_eq!(notes, [Note::FewerLeft { asked: 20, left: 12 }]);
}

#[test]
fn random_choice_depends_on_the_seed_and_the_answers_so_far() {
    let row = |between: &dyn Fn(&mut Study)| {
        let mut study = study();
        study.ask(1, Some(SamplerKind::Random)).unwrap();
        between(&mut study);
        study.ask(1, Some(SamplerKind::Random)).unwrap().suggestions[0].row
    };
    let plain = row(&|_| ());
    // Lines that are no answers change nothing.
    assert_eq!(row(&|study| drop(study.set_goals(Some("0..9"), &[]).unwrap())), plain);
    assert_eq!(
        row(&|study| {
            study.set_goals(Some("0..9"), &[]).unwrap();
            study.undo(None).unwrap();
        }),
        plain
    );
    // An answer that was undone is one all the same: who undoes a choice wants another.
    let undone: Vec<usize> = (0..8)
        .map(|times| {
            let mut study = study();
            for _ in 0..times {
                study.ask(1, Some(SamplerKind::Random)).unwrap();
                study.undo(None).unwrap();
            }
            study.ask(1, Some(SamplerKind::Random)).unwrap().suggestions[0].row
        })
        .collect();
    assert!(undone.iter().any(|row| *row != undone[0]), "{undone:?}");
}
