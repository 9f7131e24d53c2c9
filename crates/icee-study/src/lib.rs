//! Which row next? Studies of a table of candidates, in one file that survives crashes.
//!
//! A [`Study`] suggests rows ([`Study::ask`]), records results ([`Study::tell`]) and predicts all others
//! ([`Study::predict`]). It is a journal, in a file or in any [`Storage`], and the versions of the sheet that it was
//! read from; opened again it goes on where it was. [`handle`] serves all faces: a request of `icee-protocol` becomes
//! one line of the journal and a reply.
//!
//! ```text
//! sheet ─► table ─► encode ─► rows (points) ────────┐
//!                                                   ├─► choose ─► answer
//! NAME.jsonl ─► journal ─► record ─► trials ─► aims ┘
//! ```
//!
//! Random numbers depend on the study's seed and the number of its answers alone.
//!
//! ```
//! use icee_study::{Direction, Models, Repeat, Study, StudyOptions};
//!
//! let folder = std::env::temp_dir().join(format!("icee-study-example-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! std::fs::write(folder.join("bread.csv"), "heat,minutes\n180,20\n200,30\n220,40\n240,50\n")?;
//!
//! let pool = folder.join("bread.csv").into();
//! let options = StudyOptions { pool, direction: Direction::Maximize, ..Default::default() };
//! // Learned models are handed in; without any, a Gaussian process picks the rows.
//! let mut study = Study::create(&folder.join("bread.jsonl"), &options, Models::default())?;
//! for score in [6.0, 7.5, 4.0] {
//!     let row = study.ask(1, None)?.suggestions[0].id.clone();
//!     study.tell(&row, score, Repeat::Refuse)?;
//! }
//! assert_eq!(study.best().and_then(|best| best.row.value), Some(7.5));
//! assert_eq!(study.predict(None, None)?.rows.len(), 4);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod aim;
mod aims;
mod answer;
mod ask;
mod choose;
mod condition;
pub mod conformance;
mod create;
mod doubts;
mod drift;
mod earlier;
mod encode;
mod error;
mod explain;
mod export;
mod footer;
mod formats;
mod goals;
mod grid;
mod handle;
mod journal;
mod lines;
mod look;
pub mod memory;
mod models;
pub mod place;
mod predictor;
mod record;
mod replay;
mod replicates;
mod results;
mod review;
mod rows;
mod running;
#[cfg(test)]
mod scratch;
mod set_goals;
mod sheet;
pub mod storage;
mod study;
mod survey;
mod suspects;
mod take_back;
mod tell;
mod transfer;
mod trials;
mod units;
mod unpack;
mod upgrade;
mod values;
mod words;
mod workbook;

pub use ask::{AskOptions, MOST_SUGGESTIONS};
pub use create::{Like, Source, StudyOptions};
pub use encode::Scale;
pub use error::{IntoProblem, OrProblem, Result, shown};
pub use formats::is_archive;
pub use goals::{Bounds, Direction, Further, Wanted};
pub use handle::{Context, Pages, handle};
pub use icee_protocol::Problem;
pub use journal::JournalFile;
pub use models::{LearnedModel, Loader, Models, Reads};
pub use place::Place;
pub use record::{ModelPin, Outcome, SamplerKind};
pub use sheet::{Corrected, NewSheet};
pub use storage::{Home, KeptSheet, Storage};
pub use study::Study;
pub use tell::Repeat;
pub use transfer::{Package, write_files};
pub use upgrade::{Upgraded, upgrade};
pub use words::duration;
