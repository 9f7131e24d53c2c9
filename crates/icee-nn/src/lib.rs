//! A small transformer engine for in-context decision making.

pub mod batch;
pub mod checkpoint;
pub mod cpu;
mod error;
mod layout;
mod model;
pub mod optim;
mod spec;

pub use error::{Error, Result};
pub use layout::{Block, Embedding, HeadLayout, Layout, Linear, LinearId, Norm, PoolHeadLayout, TensorInfo};
pub use model::{Model, Precision};
pub use spec::{ConditionSpec, FieldKind, FieldSpec, HeadSpec, History, ModelSpec, PoolHeadSpec, TokenRole};
