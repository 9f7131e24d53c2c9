//! One suite that every storage must pass, this crate's and yours: a test of your own storage is one line.
//!
//! ```
//! use icee_study::{conformance, memory::InMemory};
//!
//! conformance::check(|| InMemory::new("a study"))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod driven;

use crate::error::{Result, bug};
use crate::storage::KeptSheet;
use crate::storage::{Home, PATIENCE, Position, Storage};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::{ScopedJoinHandle, scope, sleep};
use std::time::{Duration, Instant};
use thiserror::Error;

/// A rule that a storage breaks.
#[derive(Debug, Error)]
#[error("\"{storage}\" breaks the rule \"{rule}\"{}{detail}", if detail.is_empty() { "" } else { ": " })]
#[non_exhaustive]
pub struct Violation {
    /// What the storage is called.
    pub storage: String,
    /// The rule, in words.
    pub rule: &'static str,
    /// What was seen; empty where the rule says it all.
    pub detail: String,
}

type Checked<T = ()> = std::result::Result<T, Violation>;

/// Lines of every kind that a storage may be given; it need not understand them.
const LINES: [&str; 5] =
    ["{\"header\":1}", "{}", "{\"text\":\"ä \\\"q\\\" \\n ' ; -- \u{2028} 😀\"}", "{\"value\":\"0.5\"}", "{}"];
/// Lines that each of two writers appends while the other does.
const TURNS: usize = 40;
/// After how long without progress a call counts as waiting.
const LONG: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(1);

/// Checks the contracts of [`Home`] and [`Storage`], except for crashes. `fresh` gives a home
/// without a study, another one each time. A temporary folder for files is made, and deleted in the end.
///
/// # Errors
/// The first [`Violation`]. (A storage that never unlocks keeps this waiting.)
pub fn check<H: Home>(mut fresh: impl FnMut() -> H) -> Checked {
    check_creation(&fresh())?;
    check_creation_at_once(&fresh())?;
    check_reading(&fresh())?;
    check_looking(&fresh())?;
    check_turns(&fresh())?;
    check_waiting(&fresh())?;
    check_sheets(&fresh())?;
    driven::check_answers(&fresh())?;
    driven::check_asked_at_once(&fresh())
}

fn require(holds: bool, home: &dyn Home, rule: &'static str, detail: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Violation { storage: home.name(), rule, detail: detail() }) }
}

/// A call that must succeed.
fn done<T>(home: &dyn Home, result: Result<T>) -> Checked<T> {
    let rule = "valid calls succeed";
    result.map_err(|error| Violation { storage: home.name(), rule, detail: error.to_string() })
}

fn same<T: PartialEq + std::fmt::Debug>(home: &dyn Home, rule: &'static str, found: &T, expected: &T) -> Checked {
    require(found == expected, home, rule, || format!("{found:?} instead of {expected:?}"))
}

fn joined<T>(home: &dyn Home, thread: ScopedJoinHandle<'_, Checked<T>>) -> Checked<T> {
    thread.join().unwrap_or_else(|_| done(home, Err(bug("it panicked"))))
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// All that a new reader finds.
fn stored(home: &dyn Home) -> Checked<Vec<String>> {
    let mut reader = done(home, home.open())?;
    same(home, "opening accepts nothing", &reader.position(), &Position::default())?;
    Ok(done(home, reader.look())?.lines)
}

fn lock(home: &dyn Home, storage: &mut dyn Storage) -> Checked {
    let said = AtomicUsize::new(0);
    let locked = storage.lock(&|| {
        said.fetch_add(1, Ordering::SeqCst);
    });
    done(home, locked)?;
    require(said.into_inner() == 0, home, "a short wait is not told so", String::new)
}

/// Accepts new lines, as a writer does.
fn catch_up(home: &dyn Home, storage: &mut dyn Storage) -> Checked<Vec<String>> {
    let before = storage.position();
    let news = done(home, storage.read())?;
    done(home, storage.set_aside(&news))?;
    same(home, "what is not accepted stays new", &storage.position(), &before)?;
    storage.accept(&news);
    let counted = before.lines + news.lines.len() as u64;
    same(home, "lines are counted", &storage.lines(), &counted)?;
    Ok(news.lines)
}

/// Appends lines under one lock.
fn write(home: &dyn Home, storage: &mut dyn Storage, lines: &[&str]) -> Checked {
    lock(home, storage)?;
    catch_up(home, storage)?;
    for line in lines {
        let before = storage.lines();
        done(home, storage.append(line))?;
        same(home, "what is appended is accepted", &storage.lines(), &(before + 1))?;
    }
    done(home, storage.unlock())
}

fn check_creation(home: &dyn Home) -> Checked {
    require(home.open().is_err(), home, "what was not created cannot be opened", String::new)?;
    let (first, other) = (owned(&LINES[..2]), owned(&["{\"other\":1}"]));
    done(home, home.create(&first, &[]))?;
    same(home, "a study begins with the lines it was created from", &stored(home)?, &first)?;
    require(home.create(&other, &[]).is_err(), home, "creating twice is refused", String::new)?;
    require(home.create(&first, &[]).is_err(), home, "creating twice is refused", String::new)?;
    same(home, "a refused creation changes nothing", &stored(home)?, &first)
}

/// If two create a study at the same time, one succeeds, and its lines are the ones kept.
fn check_creation_at_once(home: &dyn Home) -> Checked {
    let of = |who: usize| owned(&[if who == 0 { "{\"by\":0}" } else { "{\"by\":1}" }, "{}"]);
    let created = scope(|scope| {
        let creators = [0, 1].map(|who| scope.spawn(move || Ok(home.create(&of(who), &[]).is_ok())));
        creators.map(|creator| joined(home, creator))
    });
    let [zero, one] = created;
    let (zero, one) = (zero?, one?);
    require(zero != one, home, "of two creations at once one succeeds", || format!("{zero} and {one}"))?;
    same(home, "of two creations at once one succeeds", &stored(home)?, &of(usize::from(one)))
}

/// Lines come back to every reader as they were given, in their order, until they are accepted; and from the beginning
/// after a rewind.
fn check_reading(home: &dyn Home) -> Checked {
    done(home, home.create(&owned(&LINES[..1]), &[]))?;
    let (mut one, mut two) = (done(home, home.open())?, done(home, home.open())?);
    let order = "lines come back as they were given, in their order, to every reader";
    write(home, &mut *one, &LINES[1..3])?;
    for rule in [order, "what is not accepted stays new"] {
        same(home, rule, &done(home, two.look())?.lines, &owned(&LINES[..3]))?;
    }
    same(home, "what is not accepted stays new", &two.position(), &Position::default())?;
    write(home, &mut *two, &LINES[3..])?;
    let news = done(home, one.look())?;
    same(home, order, &news.lines, &owned(&LINES[3..]))?;
    let before = one.position();
    one.accept(&news);
    require(one.position() != before, home, "a position changes as lines are accepted", String::new)?;
    same(home, "the same accepted lines are the same position", &one.position(), &two.position())?;
    require(done(home, one.look())?.lines.is_empty(), home, "what is accepted is not new", String::new)?;
    same(home, order, &stored(home)?, &owned(&LINES))?;

    let end = one.position();
    one.rewind();
    let again = "a storage that goes back to the beginning reads all of it again";
    same(home, again, &one.position(), &Position::default())?;
    let news = done(home, one.look())?;
    same(home, again, &news.lines, &owned(&LINES))?;
    one.accept(&news);
    same(home, again, &one.position(), &end)?;
    let long = format!("{{\"long\":\"{}\"}}", "ä".repeat(1 << 19));
    write(home, &mut *one, &[&long])?;
    let found = stored(home)?;
    require(found.last() == Some(&long), home, order, || "a line of a megabyte does not".into())?;
    // The previous handle is gone, and no other remembers its position.
    drop((one, two));
    same(home, order, &stored(home)?, &found)
}

/// A reader changes nothing, and does not wait for a writer that holds the lock.
fn check_looking(home: &dyn Home) -> Checked {
    done(home, home.create(&owned(&LINES[..2]), &[]))?;
    let (mut writer, mut reader) = (done(home, home.open())?, done(home, home.open())?);
    write(home, &mut *writer, &LINES[2..3])?;
    let (at, before) = (writer.position(), stored(home)?);
    let news = done(home, reader.look())?;
    reader.accept(&news);
    done(home, reader.look())?;
    same(home, "a look changes nothing", &stored(home)?, &before)?;
    same(home, "a look changes nothing", &writer.position(), &at)?;

    // Here a reader also does not block a writer, or this waits for ever.
    lock(home, &mut *writer)?;
    let appended = catch_up(home, &mut *writer).and_then(|_| done(home, writer.append(LINES[3])));
    let (tell, told) = channel();
    scope(|scope| {
        let looking = scope.spawn(move || {
            let looked = done(home, reader.look()).and_then(|news| Ok((news.lines, stored(home)?)));
            let _ = tell.send(());
            looked
        });
        // (Windows keeps readers of a locked file out.)
        let at_once = cfg!(windows) || told.recv_timeout(LONG).is_ok();
        done(home, writer.unlock())?;
        let (new, all) = joined(home, looking)?;
        appended?;
        require(at_once, home, "a look does not wait", String::new)?;
        let seen = "readers see appended lines before the lock is released";
        same(home, seen, &new, &owned(&LINES[3..4]))?;
        same(home, seen, &all, &owned(&LINES[..4]))
    })
}

/// Two writers exclude each other: no line is lost or appears twice, and the order is the same for all readers,
/// then and later.
fn check_turns(home: &dyn Home) -> Checked {
    done(home, home.create(&owned(&LINES[..1]), &[]))?;
    let (inside, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let line = |who: usize, turn: usize| format!("{{\"by\":{who},\"turn\":{turn}}}");
    let write = |who: usize| {
        let mut storage = done(home, home.open())?;
        let mut seen = Vec::new();
        for turn in 0..TURNS {
            done(home, storage.lock(&|| ()))?;
            let alone = !inside.swap(true, Ordering::SeqCst);
            let written = catch_up(home, &mut *storage).and_then(|new| {
                seen.extend(new);
                seen.push(line(who, turn));
                done(home, storage.append(&line(who, turn)))
            });
            inside.store(false, Ordering::SeqCst);
            require(alone, home, "two do not hold the lock at once", String::new)?;
            written?;
            done(home, storage.unlock())?;
        }
        Ok(seen)
    };
    let follow = || {
        let mut storage = done(home, home.open())?;
        let mut seen = Vec::new();
        loop {
            let is_last = over.load(Ordering::SeqCst);
            let news = done(home, storage.look())?;
            storage.accept(&news);
            seen.extend(news.lines);
            if is_last {
                return Ok(seen);
            }
            sleep(PAUSE);
        }
    };
    let (writers, reader) = scope(|scope| {
        let reader = scope.spawn(follow);
        let writers = [0, 1].map(|who| scope.spawn(move || write(who)));
        let writers = writers.map(|writer| joined(home, writer));
        over.store(true, Ordering::SeqCst);
        (writers, joined(home, reader))
    });
    let ([zero, one], all) = (writers, stored(home)?);
    for (who, seen) in [zero?, one?].into_iter().enumerate() {
        let own: Vec<&String> = all.iter().filter(|line| line.starts_with(&format!("{{\"by\":{who},"))).collect();
        let expected: Vec<String> = (0..TURNS).map(|turn| line(who, turn)).collect();
        same(home, "no line is lost, there twice, or out of turn", &own, &expected.iter().collect())?;
        let order = "the order is the same for all readers and writers";
        same(home, order, &seen.as_slice(), &&all[..seen.len().min(all.len())])?;
    }
    same(home, "the order is the same for all readers and writers", &reader?, &all)
}

/// Versions of the sheet are kept as they were given, for every reader, until they are dropped.
fn check_sheets(home: &dyn Home) -> Checked {
    let [first, second] = [&b"a\n1\n"[..], b"PK\x03\x04\xff"].map(|bytes| KeptSheet::new(bytes.to_vec()));
    done(home, home.create(&owned(&LINES[..1]), std::slice::from_ref(&first)))?;
    let (mut storage, mut other) = (done(home, home.open())?, done(home, home.open())?);
    same(home, "a sheet is kept with a new study", &done(home, other.kept(&first.hash))?, &Some(first.bytes.clone()))?;
    same(home, "what was not kept is not there", &done(home, other.kept(&second.hash))?, &None)?;
    lock(home, &mut *storage)?;
    catch_up(home, &mut *storage)?;
    for _ in 0..2 {
        done(home, storage.keep(&second))?;
        same(home, "a sheet is kept as it is", &done(home, other.kept(&second.hash))?, &Some(second.bytes.clone()))?;
    }
    done(home, storage.drop_kept(&first.hash))?;
    done(home, storage.drop_kept(&first.hash))?;
    done(home, storage.unlock())?;
    same(home, "a sheet that was dropped is gone", &done(home, other.kept(&first.hash))?, &None)?;
    same(home, "the others stay", &done(home, other.kept(&second.hash))?, &Some(second.bytes))
}

/// A writer that waits long is notified once and gets the lock in the end; one that goes away leaves it to others.
fn check_waiting(home: &dyn Home) -> Checked {
    done(home, home.create(&owned(&LINES[..1]), &[]))?;
    let mut holder = done(home, home.open())?;
    lock(home, &mut *holder)?;
    let (said, has_it) = (AtomicUsize::new(0), AtomicBool::new(false));
    let early = scope(|scope| {
        let waiter = scope.spawn(|| {
            let mut waiter = done(home, home.open())?;
            let locked = waiter.lock(&|| {
                said.fetch_add(1, Ordering::SeqCst);
            });
            has_it.store(true, Ordering::SeqCst);
            // The lock is released with it.
            done(home, locked)
        });
        let start = Instant::now();
        while said.load(Ordering::SeqCst) == 0 && start.elapsed() < PATIENCE + LONG && !has_it.load(Ordering::SeqCst) {
            sleep(PAUSE);
        }
        // Time to be notified again.
        sleep(PATIENCE);
        let early = has_it.load(Ordering::SeqCst);
        done(home, holder.unlock())?;
        joined(home, waiter).map(|()| early)
    })?;
    require(!early, home, "two do not hold the lock at once", String::new)?;
    same(home, "a long wait is told so once", &said.into_inner(), &1)?;
    lock(home, &mut *holder)
}
