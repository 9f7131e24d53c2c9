//! How often a request takes the journal's lock: others wait while it is held, and to take it costs a trip to a database.

mod common;

use common::{Scratch, context, of_yield, options, send};
use icee_protocol::{Ask, Note, Reply, Request};
use icee_study::memory::InMemory;
use icee_study::storage::{News, Position};
use icee_study::{
    Context, Home, KeptSheet, Models, Problem, Repeat, Result, SamplerKind, Source, Storage, Study, StudyOptions,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A home that counts locks. Before the first of a count another one may write.
struct Counting {
    home: InMemory,
    locks: Arc<AtomicUsize>,
    others: Arc<AtomicUsize>,
}

struct Counted {
    inner: Box<dyn Storage>,
    home: InMemory,
    locks: Arc<AtomicUsize>,
    others: Arc<AtomicUsize>,
}

impl Home for Counting {
    fn name(&self) -> String {
        self.home.name()
    }

    fn create(&self, lines: &[String], sheets: &[KeptSheet]) -> Result<()> {
        self.home.create(lines, sheets)
    }

    fn open(&self) -> Result<Box<dyn Storage>> {
        let (home, locks, others) = (self.home.clone(), Arc::clone(&self.locks), Arc::clone(&self.others));
        Ok(Box::new(Counted { inner: self.home.open()?, home, locks, others }))
    }
}

impl Storage for Counted {
    fn position(&self) -> Position {
        self.inner.position()
    }

    fn lock(&mut self, waiting: &dyn Fn()) -> Result<()> {
        self.locks.fetch_add(1, Ordering::Relaxed);
        let row = self.others.swap(0, Ordering::Relaxed);
        if row > 0 {
            let mut other = Study::open_in(&self.home, Models::default())?;
            other.tell(&row.to_string(), 2.0, Repeat::Again)?;
        }
        self.inner.lock(waiting)
    }

    fn unlock(&mut self) -> Result<()> {
        self.inner.unlock()
    }

    fn read(&mut self) -> Result<News> {
        self.inner.read()
    }

    fn accept(&mut self, news: &News) {
        self.inner.accept(news);
    }

    fn rewind(&mut self) {
        self.inner.rewind();
    }

    fn append(&mut self, line: &str) -> Result<()> {
        self.inner.append(line)
    }

    fn keep(&mut self, sheet: &KeptSheet) -> Result<()> {
        self.inner.keep(sheet)
    }

    fn kept(&mut self, hash: &str) -> Result<Option<Vec<u8>>> {
        self.inner.kept(hash)
    }

    fn drop_kept(&mut self, hash: &str) -> Result<()> {
        self.inner.drop_kept(hash)
    }
}

const SHEET: &str = "heat,flour,yield\n180,rye,\n200,rye,4\n220,oat,\n240,oat,5\n200,oat,\n180,oat,\n";

/// A study whose locks are counted, and of which another one tells a row before the next lock where that is not zero.
struct Watched {
    study: Study,
    locks: Arc<AtomicUsize>,
    others: Arc<AtomicUsize>,
}

impl Watched {
    fn new(pool: Source) -> Watched {
        let home = Counting { home: InMemory::new("s"), locks: Arc::default(), others: Arc::default() };
        let options = StudyOptions { sampler: Some(SamplerKind::GpEi), ..of_yield(Path::new("")) };
        let study = Study::create_in(&home, &StudyOptions { pool, ..options }, Models::default()).unwrap();
        let Counting { locks, others, .. } = home;
        Watched { study, locks, others }
    }

    /// Asks, and counts the locks of it.
    fn ask(&mut self, ask: Ask, now: u64) -> (usize, Result<(usize, Vec<Note>)>) {
        self.locks.store(0, Ordering::Relaxed);
        let answer = send(&mut self.study, Request::Ask(ask), &Context { now, ..context() });
        let rows = answer.map(|(reply, notes)| match reply {
            Reply::Ask(answer) => (answer.suggestions.len(), notes),
            other => panic!("{other:?}"),
        });
        (self.locks.load(Ordering::Relaxed), rows)
    }
}

fn reserved() -> Ask {
    Ask { within: Some("1h".into()), by: Some("ann".into()), ..Ask::default() }
}

fn codes(notes: &[Note]) -> Vec<String> {
    notes.iter().map(|note| serde_json::to_value(note).unwrap()["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_ask_takes_the_lock_once() {
    let mut watched = Watched::new(Source::Bytes(SHEET.into()));
    let (locks, answer) = watched.ask(reserved(), 0);
    assert_eq!((locks, answer.unwrap().0), (1, 1));
    // Rows that are repeated as they are change nothing.
    let (locks, answer) = watched.ask(Ask { within: None, ..reserved() }, 10);
    assert_eq!((locks, answer.unwrap().0), (0, 1));
    // Reservations that have expired are part of the same line.
    let (locks, answer) = watched.ask(Ask::default(), 9999);
    assert_eq!((locks, codes(&answer.unwrap().1)), (1, vec!["expired".to_owned()]));
    // What is refused takes none.
    let (locks, answer) = watched.ask(Ask { condition: Some("heat >>> 3".into()), ..Ask::default() }, 9999);
    assert!(locks == 0 && matches!(answer, Err(Problem::Condition { .. })));
}

#[test]
fn an_ask_beside_others_takes_the_lock_once() {
    let mut watched = Watched::new(Source::Bytes(SHEET.into()));
    watched.ask(reserved(), 0).1.unwrap();
    let lines = watched.study.lines();
    // What was chosen without the lock does not count any more; what was said of it is not said twice.
    watched.others.store(2, Ordering::Relaxed);
    let (locks, answer) = watched.ask(Ask { count: 2, more: true, ..Ask::default() }, 9999);
    let (rows, notes) = answer.unwrap();
    assert_eq!((locks, rows, codes(&notes)), (1, 2, vec!["expired".to_owned()]));
    let summary = watched.study.summary(None);
    assert_eq!((summary.lines, summary.told[0].values.len(), summary.running.len()), (lines + 2, 2, 2));
}

#[test]
fn an_ask_after_the_sheet_has_changed_takes_the_lock_twice() {
    let scratch = Scratch::new("locks");
    let file = scratch.write("sheet.csv", SHEET);
    let mut watched = Watched::new(file.into());
    let changed = |rows: &str| scratch.write("sheet.csv", &format!("{SHEET}{rows}"));
    changed("260,oat,\n");
    let (locks, answer) = watched.ask(reserved(), 0);
    assert_eq!((locks, codes(&answer.unwrap().1)), (2, vec!["sheet-updated".to_owned()]));
    // Also where reservations have expired, and another one follows the sheet before the first lock.
    changed("260,oat,\n280,oat,\n");
    watched.others.store(2, Ordering::Relaxed);
    let (locks, answer) = watched.ask(Ask::default(), 9999);
    assert_eq!((locks, codes(&answer.unwrap().1)), (2, vec!["expired".to_owned()]));
    // The same rows in a file that was written anew are looked at, and then known.
    std::fs::write(scratch.0.join("sheet.csv"), format!("{SHEET}260,oat,\r\n280,oat,\r\n")).unwrap();
    let (first, second) = (watched.ask(Ask::default(), 9999).0, watched.ask(Ask::default(), 9999).0);
    assert!(first <= 2 && second == 0, "{first} {second}");
}

#[test]
fn a_new_study_reads_its_sheet_once() {
    // Bytes that this process has read from files, where the system counts them. All tests of this file but this one read little.
    let read = || -> Option<u64> {
        let counts = std::fs::read_to_string("/proc/self/io").ok()?;
        counts.lines().find_map(|line| line.strip_prefix("rchar:"))?.trim().parse().ok()
    };
    let scratch = Scratch::new("once");
    let cell = "x".repeat(1 << 20);
    let file = scratch.write("sheet.csv", &format!("heat,note\n180,{cell}\n200,{cell}y\n220,{cell}z\n"));
    let size = std::fs::metadata(&file).unwrap().len();
    let Some(before) = read() else { return };
    let options = StudyOptions { ignore: vec!["note".into()], ..options(&file) };
    Study::create_in(&InMemory::new("s"), &options, Models::default()).unwrap();
    let bytes = read().unwrap() - before;
    assert!((size..size + size / 2).contains(&bytes), "{bytes} bytes of a sheet of {size}");
}
