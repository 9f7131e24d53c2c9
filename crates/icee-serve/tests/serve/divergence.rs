//! The same requests are answered alike wherever a study is: in a folder, in memory, on a server of files, on a server of a database.
//! Replies, notes and problems are compared byte for byte as JSON, and again when all places are reached anew.

use crate::client::Folder;
use crate::database::Database;
use crate::requests::{any_request, first};
use crate::sites::{Memory, Site, Time};
use icee_protocol::{
    Best, Bundle, Create, Export, Face, Journal, Note, Noted, Predict, Problem, Reader, Reply, Request, Review, Show,
    StudyName, Transport, render,
};
use icee_serve::Place;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngSeed, TestRunner};
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Requests of a sequence.
const REQUESTS: usize = 25;
/// The studies that requests are to, most of them to the first; the last is not there unless a request creates it.
const STUDIES: [&str; 3] = ["bread", "käse.v2", "a-b"];

/// A request, to which study, and how many seconds after the one before.
#[derive(Clone, Debug)]
struct Step {
    study: Option<StudyName>,
    request: Request,
    later: u64,
}

/// A sequence: the studies that it begins with, what follows, and who reads the words.
#[derive(Clone)]
struct Sequence {
    create: [Create; 2],
    steps: Vec<Option<Step>>,
    face: Face,
}

/// A request a line.
impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sequence { create, steps, face } = self;
        let line = |request: &Request| serde_json::to_string(request).unwrap();
        write!(f, "for {face:?}")?;
        create.iter().try_for_each(|create| write!(f, "\n{}", line(&create.clone().into())))?;
        for Step { study, request, later } in steps.iter().flatten() {
            let study = study.as_ref().map_or("nothing", StudyName::as_str);
            write!(f, "\n{later} s later to {study}, {}", line(request))?;
        }
        Ok(())
    }
}

fn step() -> impl Strategy<Value = Step> {
    let name = |at: usize| Some(STUDIES[at].parse().unwrap());
    let study = prop_oneof![
        30 => Just(name(0)),
        10 => Just(name(1)),
        4 => Just(name(2)),
        1 => Just(None),
    ];
    (study, any_request(), 0u64..1200, 0..4).prop_map(move |(named, request, later, at)| {
        // A name that is taken is only now and then of interest.
        let study = if matches!(request, Request::Create(_)) && at > 0 { name(2) } else { named };
        Step { study, request, later }
    })
}

fn sequence() -> impl Strategy<Value = Sequence> {
    let face = select(vec![Face::Plain, Face::Terminal, Face::Python, Face::Http, Face::Page]);
    // What is not there when it fails was not needed to make it fail.
    let steps = prop::collection::vec(prop::option::weighted(0.99, step()), REQUESTS);
    ([first(), first()], steps, face).prop_map(|(create, steps, face)| Sequence { create, steps, face })
}

/// What is answered, as JSON. Where a study lies is its place's own.
fn answer(place: &mut dyn Transport, study: Option<&StudyName>, request: Request, face: Face) -> String {
    let answer = match place.send(study, request) {
        Ok(mut noted) => {
            if let Reply::Delete(gone) = &mut noted.reply {
                gone.place = None;
            }
            match &noted.reply {
                Reply::Journal(bundle) => serde_json::to_string(&(journal(bundle), &bundle.sheets, &noted.notes)),
                _ => serde_json::to_string(&noted),
            }
        }
        Err(mut problem) => {
            if let Problem::NoStudy { place, .. } = &mut problem {
                *place = None;
            }
            let reader = Reader::at(face, study.map(StudyName::as_str));
            serde_json::to_string(&json!({ "problem": &problem, "words": render::problem(&problem, &reader) }))
        }
    };
    answer.unwrap()
}

/// The lines of a journal, but for what is the place's own: who asked with which key, where the sheet lies, and the checksums of it.
fn journal(bundle: &Bundle) -> Vec<Value> {
    let line = |line: &str| -> Value {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let fields = line.as_object_mut().unwrap();
        ["from", "check"].iter().for_each(|field| drop(fields.remove(*field)));
        let pool = fields.get_mut("pool").and_then(Value::as_object_mut);
        pool.map(|pool| pool.remove("path"));
        line
    };
    bundle.journal.lines().map(line).collect()
}

/// Looks that say all that a study is.
fn looks() -> [Request; 6] {
    [
        Show::default().into(),
        Best {}.into(),
        Predict::default().into(),
        Review {}.into(),
        Export {}.into(),
        Journal {}.into(),
    ]
}

/// Sends a sequence to all places, and then reaches them anew and looks.
fn is_answered_alike(
    sequence: &Sequence,
    open: impl Fn(Face, &Time) -> Vec<Box<dyn Transport>>,
) -> Result<(), TestCaseError> {
    let Sequence { create, steps, face } = sequence;
    let time = Time::new(1_000_000_000.into());
    let alike = |places: &mut [Box<dyn Transport>], study: Option<&StudyName>, request: &Request| {
        let answers: Vec<String> =
            places.iter_mut().map(|place| answer(&mut **place, study, request.clone(), *face)).collect();
        for (answer, place) in answers.iter().zip(&*places).skip(1) {
            let place = place.place();
            prop_assert_eq!(answer, &answers[0], "{} and {}: {:?}", place, places[0].place(), request);
        }
        Ok(answers)
    };
    let mut places = open(*face, &time);
    for (study, create) in STUDIES.iter().zip(create) {
        let created = alike(&mut places, Some(&study.parse().unwrap()), &create.clone().into())?;
        prop_assert!(created[0].contains("\"rows\":"), "{}", created[0]);
    }
    for Step { study, request, later } in steps.iter().flatten() {
        time.fetch_add(*later, Ordering::SeqCst);
        alike(&mut places, study.as_ref(), request)?;
    }
    // A folder is one server's.
    drop(places);
    let mut places = open(*face, &time);
    for study in STUDIES.map(|name| name.parse().unwrap()) {
        for look in looks() {
            alike(&mut places, Some(&study), &look)?;
        }
    }
    Ok(())
}

/// Sends so many sequences, always the same ones of a seed, each to new sites.
fn check(seed: u64, cases: u32, sites: impl Fn() -> Vec<Site>) {
    let sent = sent(seed, cases, |sequence| {
        let sites = sites();
        is_answered_alike(sequence, |face, time| sites.iter().map(|site| site.open(face, time)).collect())
    });
    sent.unwrap_or_else(|problem| panic!("{problem}"));
}

/// What comes of sequences; one that fails is made as short as it can be.
fn sent(seed: u64, cases: u32, send: impl Fn(&Sequence) -> Result<(), TestCaseError>) -> Result<(), String> {
    let config = ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_time: 60_000,
        max_shrink_iters: 2000,
        ..ProptestConfig::default()
    };
    TestRunner::new(config).run(&sequence(), |sequence| send(&sequence)).map_err(|problem| problem.to_string())
}

/// How many sequences are sent: another number where one wants to search for longer.
fn cases(usual: u32) -> u32 {
    std::env::var("ICEE_SEQUENCES").map_or(usual, |cases| cases.parse().unwrap())
}

fn check_without_database(seed: u64) {
    let folder = Folder::new();
    let number = AtomicU64::new(0);
    check(seed, cases(15), || {
        let folder = folder.0.join(number.fetch_add(1, Ordering::Relaxed).to_string());
        let memory = Arc::<Memory>::default();
        let [files, served] = ["files", "served"].map(|name| folder.join(name));
        vec![Site::Folder(files), Site::Memory(memory), Site::Server(Place::Folder(served))]
    });
}

#[test]
fn a_folder_memory_and_a_server_answer_alike() {
    check_without_database(34);
}

#[test]
fn a_folder_memory_and_a_server_answer_others_alike() {
    check_without_database(35);
}

#[test]
fn a_server_of_a_database_answers_as_memory_does() {
    let Some(database) = Database::start() else { return };
    check(36, cases(8), || {
        let tables = database.sql("SELECT to_regclass('icee.studies')");
        if !tables.trim().is_empty() {
            database.sql("TRUNCATE icee.studies CASCADE");
        }
        vec![Site::Memory(Arc::default()), Site::Server(database.place())]
    });
}

/// A place that keeps one kind of note to itself.
struct Silent(Box<dyn Transport>);

impl Transport for Silent {
    fn send(&mut self, study: Option<&StudyName>, request: Request) -> icee_protocol::Result<Noted<Reply>> {
        let mut noted = self.0.send(study, request)?;
        noted.notes.retain(|said| !matches!(said.what, Note::Expired { .. }));
        Ok(noted)
    }

    fn place(&self) -> String {
        "the silent one".into()
    }
}

#[test]
fn a_place_that_answers_otherwise_is_found() {
    let found = sent(34, 50, |sequence| {
        let sites = [Site::Memory(Arc::default()), Site::Memory(Arc::default())];
        is_answered_alike(sequence, |face, time| {
            let [honest, silent] = sites.each_ref().map(|site| site.open(face, time));
            vec![honest, Box::new(Silent(silent))]
        })
    });
    let problem = found.unwrap_err();
    assert!(problem.contains("the silent one and memory: Ask"), "{problem}");
}
