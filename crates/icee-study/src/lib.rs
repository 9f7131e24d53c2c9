//! Which row next? Studies over a pool of candidates in a CSV file.
//!
//! A [`Study`] asks for rows of the pool to be tried ([`Study::ask`]), is told their values ([`Study::tell`]) and says
//! what it believes of all others ([`Study::predict`]). It is one journal file; whoever opens it again goes on exactly
//! where it was left. Other [`Storage`]s than files can be handed in ([`Study::create_in`]).
//!
//! ```text
//! pool.csv ─► table ─► encode ─► rows (points) ─────┐
//!                                                   ├─► choose ─► answer
//! NAME.jsonl ─► journal ─► record ─► trials ─► aims ┘
//! ```
//!
//! Random numbers depend on the study's seed and the length of its journal alone.
//!
//! ```
//! use icee_study::{Direction, Models, Repeat, Study, StudyOptions};
//!
//! let folder = std::env::temp_dir().join(format!("icee-study-example-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! std::fs::write(folder.join("bread.csv"), "heat,minutes\n180,20\n200,30\n220,40\n240,50\n")?;
//!
//! let options = StudyOptions { pool: folder.join("bread.csv"), direction: Direction::Maximize, ..Default::default() };
//! // Learned models are handed in; without any, a Gaussian process picks the rows.
//! let mut study = Study::create(&folder.join("bread.jsonl"), &options, Models::default())?;
//! for score in [6.0, 7.5, 4.0] {
//!     let row = study.ask(1, None)?.suggestions[0].id.clone();
//!     study.tell(&row, score, Repeat::Refuse)?;
//! }
//! assert_eq!(study.best().and_then(|best| best.row.value), Some(7.5));
//! assert_eq!(study.predict(None)?.len(), 4);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod aim;
mod aims;
mod answer;
mod ask;
mod cells;
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
mod journal;
mod leases;
mod lines;
mod look;
pub mod memory;
mod models;
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
mod values;
mod words;
mod workbook;

pub use answer::{Answer, BestRow, Forecast, FurtherForecast, RowForecast, Status, Suggestion, Summary, ToldRow};
pub use ask::{AskOptions, MOST_SUGGESTIONS};
pub use cells::Cells;
pub use create::StudyOptions;
pub use encode::Scale;
pub use error::{Error, Result};
pub use explain::{Effect, Level, Neighbour, Why};
pub use formats::{check_unpacked, is_archive};
pub use goals::{Bounds, Direction, Further, Wanted};
pub use icee_bo::remaining::Remaining;
pub use journal::JournalFile;
pub use models::{LearnedModel, Loader, Models, Reads};
pub use record::{ModelPin, Outcome, SamplerKind};
pub use review::{LEVELS, Review, Step};
pub use sheet::{Corrected, SheetChange};
pub use storage::{Home, SHEETS, Storage};
pub use study::Study;
pub use suspects::{Suspect, suspects};
pub use tell::{Repeat, TellSummary};
pub use transfer::StudyFiles;
pub use words::duration;
