//! Training of in-context models, whatever it is that they learn.
//!
//! What is learned is a [`Problem`]: networks, batches without end, a measure of progress on held-out data. A [`Trainer`]
//! holds the networks and their optimisers on a [`Device`], and [`train`] runs it into a [`RunFolder`] that can be stopped at
//! any step and resumed bit for bit. This crate knows no problem; games and functions are crates of their own.
//!
//! What trains is anything that says what its networks are and makes batch number i; here, to say which of four things was
//! seen last:
//!
//! ```
//! use icee_nn::batch::{Batch, ClassTargets, FieldValues, Tokens};
//! use icee_nn::{FieldKind, FieldSpec, HeadSpec, History, ModelSpec};
//! use icee_train::{Device, Initialisation, Limits, NetworkSpec, Prepared, Problem, Result, RunFolder, RunInfo, Silent};
//! use icee_train::{TrainConfig, Trainer, train};
//!
//! struct Echo(TrainConfig);
//!
//! impl Problem for Echo {
//!     # fn kind(&self) -> &'static str { "echo" }
//!     fn name(&self) -> &str { "echo" }
//!     fn method(&self) -> &str { "plain" }
//!     fn seed(&self) -> u64 { 1 }
//!     fn settings(&self) -> &TrainConfig { &self.0 }
//!     fn initialisation(&self) -> Initialisation { Initialisation { std: 0.1, tied_keys: false, condition_std: None } }
//!     fn networks(&self) -> Vec<NetworkSpec> {
//!         let fields = vec![FieldSpec::history("seen", FieldKind::categorical(4))];
//!         let heads = vec![HeadSpec { name: "last".into(), conditions: vec![], hidden: vec![], classes: 4 }];
//!         let spec = ModelSpec {
//!             layers: 1, width: 16, attention_heads: 1, mlp_width: 16, context: 8, history: History::Causal,
//!             row_attention: false, fields, heads, pool_heads: vec![],
//!         };
//!         vec![NetworkSpec { name: "trunk", spec }]
//!     }
//!     fn batch(&self, index: u64) -> Result<Prepared> {
//!         let seen: Vec<u32> = (0..8).map(|k| ((index * 7 + k * k) % 4) as u32).collect();
//!         let targets = ClassTargets {
//!             head: 0, rows: (0..8).collect(), conditions: vec![], classes: seen.clone(), weights: vec![1.0; 8], scale: 0.125,
//!         };
//!         let history = Tokens::new(vec![0, 8], vec![FieldValues::Categorical(seen)]);
//!         let batch = Batch { history, queries: None, class_targets: vec![targets], pool_targets: vec![] };
//!         Ok(Prepared { batches: vec![batch], tokens: 8, metrics: vec![] })
//!     }
//!     # fn to_toml(&self) -> Result<String> { Ok(String::new()) }
//!     # fn meta(&self, step: u64) -> Result<serde_json::Value> { Ok(serde_json::json!({ "step": step })) }
//! }
//!
//! let echo = Echo(TrainConfig { steps: 60, lr: 1e-2, warmup: 5, ..TrainConfig::default() });
//! let device = Device::cpu(1)?;
//! let root = std::env::temp_dir().join(format!("icee-train-example-{}", std::process::id()));
//! let folder = RunFolder::create(&root, &echo, &RunInfo::new(&device, None))?;
//! train(&mut Trainer::fresh(&echo, &device)?, &folder, Limits::default(), &mut Silent)?;
//! let metrics = std::fs::read_to_string(folder.metrics()).unwrap();
//! let loss = |line: &str| line.split(',').nth(2).unwrap().parse::<f64>().unwrap();
//! assert!(loss(metrics.lines().last().unwrap()) < 0.5 * loss(metrics.lines().nth(1).unwrap()));
//! # std::fs::remove_dir_all(root).unwrap();
//! # Ok::<(), icee_train::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod config;
mod device;
mod early_stopping;
mod error;
mod events;
mod feed;
mod folder;
mod history;
pub mod look;
mod metrics;
pub mod networks;
mod problem;
mod run;
mod saved;
mod trainer;

pub use config::{Schema, TrainConfig};
pub use device::{Device, DeviceChoice, GpuInference, Inference, Learner, Load, Loader, Update};
pub use error::{Error, Result};
pub use folder::{RunFolder, RunInfo};
pub use history::History;
pub use networks::{Initialisation, NetworkSpec};
pub use problem::{DataFile, HeldOutMetrics, Judgement, Prepared, Problem};
pub use run::{Limits, Observer, Silent, StepReport, Stopped, Summary, train};
pub use saved::{checkpoint_in, write_acting};
pub use trainer::Trainer;
