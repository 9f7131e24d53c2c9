//! Every storage of this crate passes the suite, and storages with one fault each do not.

mod common;

use common::Scratch;
use icee_study::memory::InMemory;
use icee_study::storage::{News, Position};
use icee_study::{Home, JournalFile, KeptSheet, Result, Storage, conformance};
use std::thread::{scope, sleep};
use std::time::Duration;

#[test]
fn a_journal_file_conforms() {
    let scratch = Scratch::new("storage");
    let mut number = 0;
    let fresh = || {
        number += 1;
        // In folders that are still to be made.
        JournalFile(scratch.0.join(format!("{number}/study.jsonl")))
    };
    conformance::check(fresh).unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn memory_conforms() {
    conformance::check(|| InMemory::new("a study")).unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn who_appends_in_memory_holds_the_lock_and_has_read_all() {
    let home = InMemory::new("a study");
    home.create(&["{}".into()], &[]).unwrap();
    let mut storage = home.open().unwrap();
    assert!(storage.append("{}").is_err());
    storage.lock(&|| ()).unwrap();
    assert!(storage.append("{}").is_err());
    let news = storage.read().unwrap();
    storage.accept(&news);
    storage.append("{\"a\":1}").unwrap();
    storage.unlock().unwrap();
    assert!(storage.append("{}").is_err());
    assert_eq!((storage.lines(), home.open().unwrap().look().unwrap().lines.len()), (2, 2));
}

/// What is wrong with a storage.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    CreatesTwice,
    TurnsTheOrder,
    ChangesText,
    LosesLines,
    AcceptsWhatIsRead,
    AcceptsNothing,
    RewindsNowhere,
    WritesWhenLooking,
    ReadersWait,
    HasNoLock,
    WaitsInSilence,
    SaysSoTwice,
    SaysSoAlways,
    IsAlwaysTorn,
    CreatesWithoutSheets,
    KeepsNothing,
    DropsNothing,
    DropsAll,
}

/// A study in memory with one fault.
struct Faulty(InMemory, Fault);

impl Home for Faulty {
    fn name(&self) -> String {
        self.0.name()
    }

    fn create(&self, lines: &[String], sheets: &[KeptSheet]) -> Result<()> {
        let created = self.0.create(lines, if self.1 == Fault::CreatesWithoutSheets { &[] } else { sheets });
        if self.1 == Fault::CreatesTwice { Ok(()) } else { created }
    }

    fn open(&self) -> Result<Box<dyn Storage>> {
        Ok(Box::new(FaultyStorage { sound: self.0.open()?, fault: self.1, kept: vec![] }))
    }
}

struct FaultyStorage {
    sound: Box<dyn Storage>,
    fault: Fault,
    /// The hashes of the sheets that it was given.
    kept: Vec<String>,
}

impl FaultyStorage {
    /// Appends by the rules.
    fn append_alone(&mut self, line: &str) -> Result<()> {
        self.sound.lock(&|| ())?;
        let news = self.sound.read()?;
        self.sound.accept(&news);
        self.sound.append(line)?;
        self.sound.unlock()
    }
}

impl Storage for FaultyStorage {
    fn position(&self) -> Position {
        self.sound.position()
    }

    fn lock(&mut self, waiting: &dyn Fn()) -> Result<()> {
        match self.fault {
            Fault::HasNoLock => return Ok(()),
            Fault::WaitsInSilence => return self.sound.lock(&|| ()),
            Fault::SaysSoTwice => return self.sound.lock(&|| [(); 2].iter().for_each(|()| waiting())),
            Fault::SaysSoAlways => waiting(),
            _ => {}
        }
        self.sound.lock(waiting)
    }

    fn unlock(&mut self) -> Result<()> {
        self.sound.unlock()
    }

    fn read(&mut self) -> Result<News> {
        let mut news = self.sound.read()?;
        match self.fault {
            Fault::TurnsTheOrder => news.lines.reverse(),
            Fault::AcceptsWhatIsRead => self.sound.accept(&news),
            Fault::IsAlwaysTorn => news.torn.push(b'{'),
            _ => {}
        }
        Ok(news)
    }

    fn look(&mut self) -> Result<News> {
        if self.fault == Fault::WritesWhenLooking {
            let news = self.sound.read()?;
            self.append_alone("{\"seen\":1}")?;
            return Ok(news);
        }
        if self.fault == Fault::ReadersWait {
            self.sound.lock(&|| ())?;
            let news = self.read();
            self.sound.unlock()?;
            return news;
        }
        self.read()
    }

    fn accept(&mut self, news: &News) {
        if self.fault != Fault::AcceptsNothing {
            self.sound.accept(news);
        }
    }

    fn rewind(&mut self) {
        if self.fault != Fault::RewindsNowhere {
            self.sound.rewind();
        }
    }

    fn append(&mut self, line: &str) -> Result<()> {
        match self.fault {
            Fault::LosesLines => Ok(()),
            Fault::ChangesText => self.sound.append(&line.replace('ä', "ae")),
            Fault::HasNoLock => {
                sleep(Duration::from_millis(2));
                self.append_alone(line)
            }
            _ => self.sound.append(line),
        }
    }

    fn keep(&mut self, sheet: &KeptSheet) -> Result<()> {
        self.kept.push(sheet.hash.clone());
        if self.fault == Fault::KeepsNothing { Ok(()) } else { self.sound.keep(sheet) }
    }

    fn kept(&mut self, hash: &str) -> Result<Option<Vec<u8>>> {
        self.sound.kept(hash)
    }

    fn drop_kept(&mut self, hash: &str) -> Result<()> {
        match self.fault {
            Fault::DropsNothing => return Ok(()),
            Fault::DropsAll => self.kept.iter().try_for_each(|hash| self.sound.drop_kept(hash))?,
            _ => {}
        }
        self.sound.drop_kept(hash)
    }
}

#[test]
fn a_storage_with_a_fault_does_not_conform_and_is_told_which() {
    let check = |fault| conformance::check(|| Faulty(InMemory::new("a study"), fault));
    let faults = [
        (Fault::CreatesTwice, "creating twice"),
        (Fault::TurnsTheOrder, "begins with the lines"),
        (Fault::ChangesText, "as they were given"),
        (Fault::LosesLines, "what is appended"),
        (Fault::AcceptsWhatIsRead, "stays new"),
        (Fault::AcceptsNothing, "counted"),
        (Fault::RewindsNowhere, "goes back"),
        (Fault::WritesWhenLooking, "changes nothing"),
        (Fault::ReadersWait, "does not wait"),
        (Fault::HasNoLock, "hold the lock at once"),
        (Fault::WaitsInSilence, "told so once"),
        (Fault::SaysSoTwice, "told so once"),
        (Fault::SaysSoAlways, "not told so"),
        (Fault::IsAlwaysTorn, "same answers"),
        (Fault::CreatesWithoutSheets, "kept with a new study"),
        (Fault::KeepsNothing, "kept as it is"),
        (Fault::DropsNothing, "dropped is gone"),
        (Fault::DropsAll, "the others stay"),
    ];
    // At once, because some of them are found by waiting.
    scope(|scope| {
        scope.spawn(|| check(Fault::None).unwrap_or_else(|violation| panic!("{violation}")));
        for (fault, rule) in faults {
            scope.spawn(move || {
                let violation = check(fault).err().unwrap_or_else(|| panic!("{fault:?} conforms"));
                assert!(violation.rule.contains(rule), "{fault:?}: {violation}");
            });
        }
    });
}
