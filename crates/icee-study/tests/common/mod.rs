//! What the tests of studies share.
#![allow(dead_code, reason = "each test file is a program of its own and uses a part")]

use icee_protocol::{Export, Note, Reply, Request, StudyName, Summary};
use icee_study::{Context, Direction, Models, Pages, Result, Source, Study, StudyOptions, handle};
use std::fmt::Write;
use std::path::{Path, PathBuf};

pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("icee-studies-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn create(&self, name: &str, options: &StudyOptions) -> Study {
        Study::create(&self.0.join(name), options, Models::default()).unwrap()
    }

    pub fn open(&self, name: &str) -> Study {
        Study::open(&self.0.join(name), Models::default()).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Points of the unit square that leave no large gap, and a category.
pub fn points(rows: usize) -> Vec<(f64, f64, &'static str)> {
    let part = |row: usize, step: f64| (row as f64 * step).fract();
    (0..rows).map(|row| (part(row + 1, 0.754_877_666), part(row + 1, 0.569_840_290), ["rye", "oat"][row % 2])).collect()
}

pub fn pool(rows: usize) -> String {
    let mut text = String::from("a,b,kind\n");
    points(rows).iter().for_each(|(a, b, kind)| writeln!(text, "{a},{b},{kind}").unwrap());
    text
}

/// A bowl.
pub fn value(row: usize) -> f64 {
    let (a, b, kind) = points(row)[row - 1];
    (a - 0.3).powi(2) + 2.0 * (b - 0.6).powi(2) + if kind == "oat" { 0.1 } else { 0.0 }
}

pub fn options(pool: &Path) -> StudyOptions {
    StudyOptions { pool: pool.into(), seed: 3, ..StudyOptions::default() }
}

/// A study whose results are in the sheet, wherever that is.
pub fn of_yield(pool: impl Into<Source>) -> StudyOptions {
    let (pool, value) = (pool.into(), Some("yield".into()));
    StudyOptions { pool, value, direction: Direction::Maximize, ..options(Path::new("")) }
}

/// The same in a file.
pub fn with_value(pool: &Path) -> StudyOptions {
    of_yield(pool)
}

/// Rows of a sheet, some of them with results.
pub const ROWS: [&str; 6] =
    ["180,rye,", "200,rye,41.5", "220,wheat,", "240,wheat,failed", "200,spelt,", "180,wheat,impossible"];

/// Writes a sheet of rows.
pub fn sheet(scratch: &Scratch, rows: &[&str]) -> PathBuf {
    scratch.write("sheet.csv", &format!("heat,flour,yield\n{}\n", rows.join("\n")))
}

/// Draws no pages.
pub struct NoPages;

impl Pages for NoPages {
    fn report(&self, _: &mut Study, name: &str, ahead: usize) -> Result<(String, Vec<Note>)> {
        Ok((format!("{name} {ahead}"), vec![]))
    }

    fn glance(&self, _: &Summary, name: &str) -> String {
        name.to_owned()
    }
}

/// What is known of a request of nobody in particular at noon.
pub fn context() -> Context<'static> {
    Context { now: 43_200, who: None, key: None, pages: &NoPages, reads_files: true, unpacked: 1 << 20 }
}

/// Does a request.
pub fn send(study: &mut Study, request: Request, context: &Context<'_>) -> Result<(Reply, Vec<Note>)> {
    let name: StudyName = "s".parse().unwrap();
    handle(study, &name, request, context)
}

/// The results as CSV.
pub fn exported(study: &mut Study) -> String {
    match send(study, Request::Export(Export {}), &context()).unwrap().0 {
        Reply::Export(exported) => exported.csv,
        other => panic!("{other:?}"),
    }
}
