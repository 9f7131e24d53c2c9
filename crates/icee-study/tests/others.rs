//! Studies beside others: processes that write at the same time, files that are not what they should be, batches without end.

mod common;

use common::{Scratch, options, pool, value};
use icee_bo::BoResult;
use icee_bo::acquisition::Rule;
use icee_bo::belief::Belief;
use icee_bo::gp_surrogate::GpSurrogate;
use icee_bo::pool::{Pool, Told};
use icee_bo::surrogate::Surrogate;
use icee_protocol::{Note, Problem};
use icee_study::{
    Corrected, Direction, LearnedModel, Loader, Models, NewSheet, Reads, Repeat, SamplerKind, Study, StudyOptions,
};
use rand::Rng;
use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A Gaussian process that does something each time it is asked.
struct Meddler<F>(GpSurrogate, F);

impl<F: FnMut() + Send> Surrogate for Meddler<F> {
    fn name(&self) -> &'static str {
        "meddler"
    }

    fn least_history(&self) -> usize {
        self.0.least_history()
    }

    fn predict(&mut self, pool: &Pool, told: &[Told], candidates: &[usize]) -> BoResult<Vec<Belief>> {
        (self.1)();
        self.0.predict(pool, told, candidates)
    }
}

/// A learned model of this name.
fn learned(name: &str, load: Loader) -> LearnedModel {
    let (reads, rule) = (Reads::Coordinates(1..=9), Rule::Sampled(2.0));
    LearnedModel { name: name.into(), hash: 1, reads, history: 64, rule, load }
}

#[test]
fn others_may_write_while_a_row_is_chosen() {
    let scratch = Scratch::new("meddler");
    let pool = scratch.write("pool.csv", &pool(12));
    let path = scratch.0.join("s.jsonl");
    let mut study = scratch.create("s.jsonl", &StudyOptions { sampler: Some(SamplerKind::GpEi), ..options(&pool) });
    for row in [1, 2, 3] {
        study.tell(&row.to_string(), Some(value(row)), Repeat::Refuse).unwrap();
    }
    // For each of the first answers somebody tells a row before it can be written down.
    let told = Arc::new(AtomicUsize::new(3));
    let counter = told.clone();
    let load: Loader = Box::new(move || {
        let (path, told) = (path.clone(), counter.clone());
        Ok(Box::new(Meddler(GpSurrogate::default(), move || {
            let file = std::fs::File::open(&path).unwrap();
            if file.try_lock().is_err() {
                return;
            }
            file.unlock().unwrap();
            let row = told.fetch_add(1, Ordering::SeqCst) + 1;
            if row <= 8 {
                let mut other = Study::open(&path, Models::default()).unwrap();
                other.tell(&row.to_string(), Some(value(row)), Repeat::Refuse).unwrap();
            }
        })))
    });
    let model = learned("meddler", load);
    let mut asking = Study::open(&scratch.0.join("s.jsonl"), Models::default().with(model)).unwrap();
    let answer = asking.ask(12, Some(SamplerKind::Learned)).unwrap();
    // What was to be said of answers that were not written down is not said.
    let notes = asking.take_notes();
    assert_eq!(notes.iter().filter(|note| matches!(note, Note::FewerLeft { .. })).count(), 1, "{notes:?}");
    assert!(notes.contains(&Note::FewerLeft { asked: 12, left: 4 }), "{notes:?}");
    assert!(told.load(Ordering::SeqCst) > 3, "the lock is held while a row is chosen");
    assert!(answer.suggestions.iter().all(|suggestion| suggestion.row > 8), "{answer:?}");
    // All of it is sound, and what was told is there.
    let summary = scratch.open("s.jsonl").summary(None);
    assert_eq!((summary.told.len(), summary.running.len()), (8, 4));
}

#[cfg(unix)]
#[test]
fn a_copy_that_was_put_back_is_followed_and_another_study_is_not() {
    let scratch = Scratch::new("put-back");
    let pool = scratch.write("pool.csv", &pool(12));
    let mut study = scratch.create("s.jsonl", &options(&pool));
    let copy = scratch.0.join("copy.jsonl");
    std::fs::copy(scratch.0.join("s.jsonl"), &copy).unwrap();
    study.tell("1", Some(1.0), Repeat::Refuse).unwrap();
    // The copy knows nothing of row 1; what is told now is told to it.
    std::fs::rename(&copy, scratch.0.join("s.jsonl")).unwrap();
    study.tell("2", Some(2.0), Repeat::Refuse).unwrap();
    let told = |study: &mut Study| study.summary(None).told.iter().map(|told| told.row).collect::<Vec<_>>();
    assert_eq!((told(&mut study), told(&mut scratch.open("s.jsonl"))), (vec![2], vec![2]));
    scratch.create("other.jsonl", &StudyOptions { direction: Direction::Maximize, ..options(&pool) });
    std::fs::rename(scratch.0.join("other.jsonl"), scratch.0.join("s.jsonl")).unwrap();
    let refused = study.tell("3", Some(3.0), Repeat::Refuse).unwrap_err();
    assert!(
        matches!(&refused, Problem::Stored { fault, .. } if fault.starts_with("it is another study now")),
        "{refused}"
    );
    assert_eq!(told(&mut scratch.open("s.jsonl")), Vec::<usize>::new());
}

/// Counts the predictions for which a model would have to be fitted.
struct Fits(GpSurrogate, Arc<AtomicUsize>, bool);

impl Surrogate for Fits {
    fn name(&self) -> &'static str {
        "fits"
    }

    fn least_history(&self) -> usize {
        self.0.least_history()
    }

    fn hold(&mut self, pool: &Pool, told: Option<&[Told]>) -> BoResult<()> {
        self.2 = told.is_some();
        self.0.hold(pool, told)
    }

    fn predict(&mut self, pool: &Pool, told: &[Told], candidates: &[usize]) -> BoResult<Vec<Belief>> {
        self.1.fetch_add(usize::from(!self.2), Ordering::SeqCst);
        self.0.predict(pool, told, candidates)
    }

    fn any_below(&mut self, _: &Pool, _: &[Told], _: &[usize], _: f64, _: &mut dyn Rng) -> BoResult<f64> {
        Ok(0.5)
    }
}

#[test]
fn a_large_batch_takes_no_more_fits_than_a_small_one() {
    let scratch = Scratch::new("fits");
    let pool = scratch.write("pool.csv", &pool(200));
    let fits_of = |count: usize| {
        let name = format!("s{count}.jsonl");
        let mut study = scratch.create(&name, &StudyOptions { sampler: Some(SamplerKind::GpEi), ..options(&pool) });
        for row in [1, 2, 3] {
            study.tell(&row.to_string(), Some(value(row)), Repeat::Refuse).unwrap();
        }
        let fits = Arc::new(AtomicUsize::new(0));
        let counter = fits.clone();
        let load: Loader = Box::new(move || Ok(Box::new(Fits(GpSurrogate::default(), counter.clone(), false))));
        let model = learned("fits", load);
        let mut study = Study::open(&scratch.0.join(&name), Models::default().with(model)).unwrap();
        let answer = study.ask(count, Some(SamplerKind::Learned)).unwrap();
        let rows: Vec<usize> = answer.suggestions.iter().map(|suggestion| suggestion.row).collect();
        assert_eq!(rows.iter().collect::<HashSet<_>>().len(), count);
        (fits.load(Ordering::SeqCst), rows)
    };
    let ((few, first), (many, all)) = (fits_of(16), fits_of(80));
    assert_eq!(few, many);
    assert_eq!(first, all[..16], "a batch begins with what a smaller one is");
}

#[cfg(unix)]
#[test]
fn a_pool_that_never_ends_or_begins_is_refused() {
    let scratch = Scratch::new("endless");
    let pool = scratch.write("pool.csv", &pool(12));
    scratch.create("s.jsonl", &options(&pool));
    let pipe = scratch.0.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let irregular = "it is not a regular file";
    let is_irregular = |problem: &Problem| matches!(problem, Problem::File { fault, .. } if fault.contains(irregular));
    for elsewhere in [Path::new("/dev/zero"), &pipe] {
        let mut study = scratch.open("s.jsonl");
        let new = Some(NewSheet::File(elsewhere.to_owned()));
        let refused = study.update(Repeat::Refuse, Corrected::Refuse, new).unwrap_err();
        assert!(is_irregular(&refused), "{refused:?}");
        let options = options(elsewhere);
        let refused = Study::create(&scratch.0.join("t.jsonl"), &options, Models::default()).err().unwrap();
        assert!(is_irregular(&refused), "{refused:?}");
        // Nor can a journal be such a thing.
        let link = scratch.0.join("u.jsonl");
        std::os::unix::fs::symlink(elsewhere, &link).unwrap();
        let refused = Study::open(&link, Models::default()).err().unwrap();
        assert!(is_irregular(&refused), "{refused:?}");
        std::fs::remove_file(link).unwrap();
        // One that takes the place of the file that is followed is not waited for, and the sheet that is kept is used.
        std::fs::remove_file(&pool).unwrap();
        std::os::unix::fs::symlink(elsewhere, &pool).unwrap();
        study.ask(1, None).unwrap();
        let notes = study.take_notes();
        assert!(matches!(&notes[..], [Note::Unread { problem }] if is_irregular(problem)), "{notes:?}");
        assert!(is_irregular(&study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap_err()));
    }
    std::fs::remove_file(&pool).unwrap();
    // What has taken the pool's place and is none is named, not shown at length; a look does not read it.
    std::fs::write(&pool, vec![b'x'; 1 << 20]).unwrap();
    let refused = scratch.open("s.jsonl").ask(1, None).unwrap_err();
    assert!(matches!(&refused, Problem::ColumnGone { fault } if fault.contains("no column \"a\"")), "{refused:?}");
    assert!(refused.to_string().len() < 400, "{}", refused.to_string().len());
    assert_eq!(scratch.open("s.jsonl").all_cells().unwrap().columns[0].cells.len(), 12);
    assert_eq!(scratch.open("s.jsonl").predict(None, None).unwrap_err().code(), "too-few-results");
}

#[test]
fn no_more_hints_are_made_than_are_shown() {
    let scratch = Scratch::new("hints");
    let mut text = String::from("name,a\n");
    (0..50).for_each(|row| writeln!(text, "row-{row},{row}").unwrap());
    text.push_str(&format!("{},50\n", "x".repeat(100_000)));
    let pool = scratch.write("pool.csv", &text);
    let mut study = scratch.create("s.jsonl", &StudyOptions { id: Some("name".into()), ..options(&pool) });
    let mut results = format!("name,value\n{},1\n", "y".repeat(100_000));
    (0..2000).for_each(|row| writeln!(results, "raw-{row},{row}").unwrap());
    let refused = study.tell_csv(&scratch.write("results.csv", &results), None, Repeat::Refuse).unwrap_err();
    let words = refused.to_string();
    let Problem::Lines { problems, more, .. } = refused else { panic!("{}", words.len()) };
    let hints = problems.iter().filter(|line| matches!(line.problem, Problem::RowUnknown { nearest: Some(_), .. }));
    assert_eq!((hints.count(), problems.len(), more), (19, 20, 1981));
    assert_eq!(words.matches("Did you mean").count(), 19);
    assert!(words.ends_with("and 1981 more"), "{}", &words[words.len() - 100..]);
}
