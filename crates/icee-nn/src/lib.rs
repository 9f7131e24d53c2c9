//! A small transformer engine for in-context decision making: a model is data, batches are ragged, backward passes are
//! written by hand, histories are cached, and the same numbers come out on any number of threads and any CPU.
//!
//! A network that learns to say what it saw one step earlier, and is then asked token by token:
//!
//! ```
//! use icee_nn::batch::{Batch, ClassTargets, FieldValues, Tokens};
//! use icee_nn::cpu::{Cpu, Gradients, Learner, Network};
//! use icee_nn::optim::{AdamConfig, AdamW, clip_scale};
//! use icee_nn::{FieldKind, FieldSpec, HeadSpec, History, Model, ModelSpec, Precision};
//!
//! let spec = ModelSpec {
//!     layers: 1,
//!     width: 32,
//!     attention_heads: 2,
//!     mlp_width: 64,
//!     context: 8,
//!     history: History::Causal,
//!     row_attention: false,
//!     fields: vec![
//!         FieldSpec::history("seen", FieldKind::categorical(3)),
//!         FieldSpec::history("place", FieldKind::categorical(8)),
//!     ],
//!     heads: vec![HeadSpec { name: "before".into(), conditions: vec![], hidden: vec![], classes: 3 }],
//!     pool_heads: vec![],
//! };
//! let cpu = Cpu::new(1)?;
//! let mut model = Model::new(spec, 1)?;
//! let (mut learner, mut gradients) = (Learner::new(&cpu), Gradients::default());
//! let mut adam = AdamW::new(model.layout(), AdamConfig::default());
//! let places = || FieldValues::Categorical((0..8).collect());
//! for step in 0..300u32 {
//!     let seen: Vec<u32> = (0..8).map(|k| (step * 5 + k * (step % 7 + 1)) % 3).collect();
//!     let batch = Batch {
//!         history: Tokens::new(vec![0, 8], vec![FieldValues::Categorical(seen.clone()), places()]),
//!         queries: None,
//!         class_targets: vec![ClassTargets {
//!             head: 0,
//!             rows: (1..8).collect(),
//!             conditions: vec![],
//!             classes: seen[..7].to_vec(),
//!             weights: vec![1.0; 7],
//!             scale: 1.0 / 7.0,
//!         }],
//!         pool_targets: vec![],
//!     };
//!     gradients.clear();
//!     learner.accumulate(&model, &batch, &mut gradients)?;
//!     let scale = clip_scale(gradients.square_sum(&cpu).sqrt(), 1.0);
//!     adam.step(&cpu, &mut model, &gradients, 1e-2, scale)?;
//! }
//! let mut network = Network::new(&cpu, &model, Precision::Single);
//! let mut cache = network.cache(Precision::Single);
//! let mut said = Vec::new();
//! for (place, seen) in [2, 0, 1, 1].into_iter().enumerate() {
//!     let fields = vec![FieldValues::Categorical(vec![seen]), FieldValues::Categorical(vec![place as u32])];
//!     let trunk = network.append(&mut [&mut cache], &Tokens::new(vec![0, 1], fields))?.to_vec();
//!     let logits = network.logits(0, &trunk, &[])?;
//!     said.push((0..3).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap());
//! }
//! assert_eq!(said[1..], [2, 0, 1]);
//! # Ok::<(), icee_nn::Error>(())
//! ```

pub mod batch;
pub mod checkpoint;
pub mod cpu;
pub mod cuda;
mod error;
mod layout;
mod model;
pub mod optim;
mod spec;

pub use error::{Error, Result};
pub use layout::{Attention, Block, Embedding, HeadLayout, Layout, Linear, LinearId, Norm, PoolHeadLayout, TensorInfo};
pub use model::{Model, Precision};
pub use spec::{ConditionSpec, FieldKind, FieldSpec, HeadSpec, History, ModelSpec, PoolHeadSpec, TokenRole};
