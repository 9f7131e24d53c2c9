//! A model is data: this description, and one flat list of numbers ([`crate::Layout`] says which is which).
//!
//! One family covers everything: a pre-LayerNorm transformer trunk over tokens that are sums of *fields*, class
//! *heads* that may be conditioned on further fields, and *pool heads* that score candidates.

use crate::{Error, Layout, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Widths are multiples of this, the number of vector lanes.
const GRAIN: usize = 16;
/// The widest attention head that the kernels take.
pub(crate) const MAX_HEAD_WIDTH: usize = 128;
/// Bounds that keep a damaged description from asking for absurd memory.
const MAX_SIZE: usize = 1 << 20;
const MAX_LAYERS: usize = 1024;
const MAX_PARAMETERS: usize = 1 << 31;

/// The whole description of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// Transformer blocks.
    pub layers: usize,
    /// Width of the residual stream.
    pub width: usize,
    /// Attention heads; each is `width / attention_heads` wide.
    pub attention_heads: usize,
    /// Hidden width of each block's MLP.
    pub mlp_width: usize,
    /// The longest history, in tokens.
    pub context: usize,
    /// How history tokens see each other.
    pub history: History,
    /// Whether tokens are the cells of tables: sequences are columns, and in every block the cells of a row attend to
    /// each other before each attends to its column.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub row_attention: bool,
    /// What tokens are made of.
    pub fields: Vec<FieldSpec>,
    /// Class heads.
    #[serde(default)]
    pub heads: Vec<HeadSpec>,
    /// Heads that score candidates.
    #[serde(default)]
    pub pool_heads: Vec<PoolHeadSpec>,
}

/// How history tokens see each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum History {
    /// Each token sees itself and those before it.
    Causal,
    /// Each token sees all; there is no order.
    Set,
}

/// One field of a token; a token is the sum of its fields' embeddings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldSpec {
    /// Its name, unique in the model.
    pub name: String,
    /// How it is embedded.
    pub kind: FieldKind,
    /// Which tokens carry it.
    #[serde(default)]
    pub on: TokenRole,
}

/// Which tokens carry a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenRole {
    /// Only history tokens.
    #[default]
    History,
    /// Only query tokens.
    Query,
    /// Both, with shared weights.
    Both,
}

/// How a field or condition is embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum FieldKind {
    /// One of `size` values, each with a learned vector.
    Categorical {
        /// Number of values.
        size: usize,
    },
    /// `size` reals, projected linearly, or by an MLP with one hidden layer.
    Vector {
        /// Number of reals.
        size: usize,
        /// Hidden width of the MLP; none for a linear projection.
        #[serde(default)]
        hidden: Option<usize>,
    },
}

/// A class head: an MLP on the trunk's output and on condition fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadSpec {
    /// Its name, unique among the heads.
    pub name: String,
    /// What it is conditioned on besides the trunk's output.
    #[serde(default)]
    pub conditions: Vec<ConditionSpec>,
    /// Widths of the hidden layers; none for a linear head.
    #[serde(default)]
    pub hidden: Vec<usize>,
    /// Number of classes.
    pub classes: usize,
}

/// One condition of a head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConditionSpec {
    /// Its name, unique in the head.
    pub name: String,
    /// How it enters the head's first layer.
    pub kind: FieldKind,
}

/// A pool head: an MLP on (trunk output, candidate embedding) that gives one score a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolHeadSpec {
    /// Its name, unique among the pool heads.
    pub name: String,
    /// The vector field whose embedding candidates share.
    pub candidate: String,
    /// Widths of the hidden layers, at least one.
    pub hidden: Vec<usize>,
}

impl FieldKind {
    /// A categorical kind.
    pub fn categorical(size: usize) -> FieldKind {
        FieldKind::Categorical { size }
    }

    /// A linearly projected vector.
    pub fn vector(size: usize) -> FieldKind {
        FieldKind::Vector { size, hidden: None }
    }
}

impl FieldSpec {
    /// A field of history tokens.
    pub fn history(name: &str, kind: FieldKind) -> FieldSpec {
        FieldSpec { name: name.into(), kind, on: TokenRole::History }
    }

    /// Whether history tokens carry the field.
    pub fn on_history(&self) -> bool {
        self.on != TokenRole::Query
    }

    /// Whether query tokens carry the field.
    pub fn on_query(&self) -> bool {
        self.on != TokenRole::History
    }
}

impl ModelSpec {
    /// Width of one attention head.
    pub fn head_width(&self) -> usize {
        self.width / self.attention_heads
    }

    /// Indices of the fields that history tokens carry, in order.
    pub fn history_fields(&self) -> Vec<usize> {
        (0..self.fields.len()).filter(|&f| self.fields[f].on_history()).collect()
    }

    /// Indices of the fields that query tokens carry, in order.
    pub fn query_fields(&self) -> Vec<usize> {
        (0..self.fields.len()).filter(|&f| self.fields[f].on_query()).collect()
    }

    /// Index of the class head of this name.
    pub fn head(&self, name: &str) -> Option<usize> {
        self.heads.iter().position(|head| head.name == name)
    }

    /// Checks that the description can be built, and says what is wrong with it if not.
    pub fn check(&self) -> Result<()> {
        let fail = |message: String| Err(Error::Spec(message));
        if self.layers > MAX_LAYERS {
            return fail(format!("layers is {}; at most {MAX_LAYERS} are supported", self.layers));
        }
        for (what, size) in [
            ("layers", self.layers),
            ("width", self.width),
            ("attention_heads", self.attention_heads),
            ("mlp_width", self.mlp_width),
            ("context", self.context),
        ] {
            check_size(what, size)?;
        }
        if !self.width.is_multiple_of(self.attention_heads) || !self.head_width().is_multiple_of(GRAIN) {
            return fail(format!(
                "width {} over {} attention heads must give a head width that is a multiple of {GRAIN}",
                self.width, self.attention_heads
            ));
        }
        if self.head_width() > MAX_HEAD_WIDTH {
            return fail(format!(
                "attention heads are {} wide; at most {MAX_HEAD_WIDTH} is supported",
                self.head_width()
            ));
        }
        check_grain("mlp_width", self.mlp_width)?;
        if self.row_attention && self.history != History::Set {
            return fail("row attention needs histories that are sets".into());
        }
        if self.history_fields().is_empty() {
            return fail("history tokens have no field".into());
        }
        check_names("field", self.fields.iter().map(|f| &f.name))?;
        check_names("head", self.heads.iter().map(|h| &h.name))?;
        check_names("pool head", self.pool_heads.iter().map(|h| &h.name))?;
        for field in &self.fields {
            check_kind(&format!("field `{}`", field.name), field.kind)?;
        }
        for head in &self.heads {
            let what = format!("head `{}`", head.name);
            check_size(&format!("{what}: classes"), head.classes)?;
            check_hidden(&what, &head.hidden)?;
            check_names("condition", head.conditions.iter().map(|c| &c.name))?;
            for condition in &head.conditions {
                let what = format!("{what}, condition `{}`", condition.name);
                check_kind(&what, condition.kind)?;
                if let FieldKind::Vector { hidden: Some(_), .. } = condition.kind {
                    return fail(format!("{what}: a condition is projected linearly; leave out `hidden`"));
                }
            }
        }
        for head in &self.pool_heads {
            let what = format!("pool head `{}`", head.name);
            check_hidden(&what, &head.hidden)?;
            if head.hidden.is_empty() {
                return fail(format!("{what}: needs at least one hidden layer"));
            }
            let field = self.fields.iter().find(|f| f.name == head.candidate);
            if !matches!(field, Some(FieldSpec { kind: FieldKind::Vector { .. }, .. })) {
                return fail(format!("{what}: `{}` is not a vector field of the model", head.candidate));
            }
        }
        match Layout::new(self).len() {
            0..=MAX_PARAMETERS => Ok(()),
            count => fail(format!("{count} parameters are more than the supported {MAX_PARAMETERS}")),
        }
    }
}

fn check_size(what: &str, size: usize) -> Result<()> {
    match size {
        1..=MAX_SIZE => Ok(()),
        _ => Err(Error::Spec(format!("{what} is {size}; it must be from 1 to {MAX_SIZE}"))),
    }
}

fn check_grain(what: &str, size: usize) -> Result<()> {
    check_size(what, size)?;
    if size.is_multiple_of(GRAIN) {
        return Ok(());
    }
    Err(Error::Spec(format!("{what} is {size}; it must be a multiple of {GRAIN}")))
}

fn check_hidden(what: &str, hidden: &[usize]) -> Result<()> {
    hidden.iter().try_for_each(|&size| check_grain(&format!("{what}: hidden width"), size))
}

fn check_kind(what: &str, kind: FieldKind) -> Result<()> {
    match kind {
        FieldKind::Categorical { size } => check_size(&format!("{what}: size"), size),
        FieldKind::Vector { size, hidden } => {
            check_size(&format!("{what}: size"), size)?;
            hidden.map_or(Ok(()), |hidden| check_grain(&format!("{what}: hidden"), hidden))
        }
    }
}

fn check_names<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(Error::Spec(format!("{what} name `{name}`: use letters, digits, `_` and `-`")));
        }
        if !seen.insert(name) {
            return Err(Error::Spec(format!("two {what}s are called `{name}`")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> ModelSpec {
        ModelSpec {
            layers: 1,
            width: 32,
            attention_heads: 2,
            mlp_width: 64,
            context: 8,
            history: History::Causal,
            row_attention: false,
            fields: vec![FieldSpec::history("key", FieldKind::categorical(4))],
            heads: vec![HeadSpec { name: "out".into(), conditions: vec![], hidden: vec![], classes: 3 }],
            pool_heads: vec![],
        }
    }

    fn problem(change: impl FnOnce(&mut ModelSpec)) -> String {
        let mut spec = small();
        change(&mut spec);
        spec.check().expect_err("should be refused").to_string()
    }

    #[test]
    fn a_sound_description_passes_and_survives_json() {
        let spec = small();
        spec.check().unwrap();
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<ModelSpec>(&text).unwrap(), spec);
    }

    #[test]
    fn every_unsound_description_is_named() {
        assert!(problem(|s| s.layers = 0).contains("layers is 0"));
        assert!(problem(|s| s.layers = 1 << 19).contains("at most"));
        assert!(problem(|s| (s.width, s.attention_heads) = (1 << 20, 1 << 13)).contains("parameters are more"));
        assert!(problem(|s| (s.width, s.attention_heads) = (160, 1)).contains("160 wide"));
        assert!(problem(|s| s.attention_heads = 4).contains("head width"));
        assert!(problem(|s| s.attention_heads = 3).contains("head width"));
        assert!(problem(|s| s.mlp_width = 65).contains("mlp_width is 65"));
        assert!(problem(|s| s.context = usize::MAX).contains("context"));
        assert!(problem(|s| s.fields.clear()).contains("no field"));
        assert!(problem(|s| s.fields[0].name = "a/b".into()).contains("a/b"));
        assert!(problem(|s| s.fields.push(s.fields[0].clone())).contains("two fields"));
        assert!(problem(|s| s.heads[0].classes = 0).contains("classes"));
        assert!(problem(|s| s.heads[0].hidden = vec![10]).contains("hidden width is 10"));
        let pool = PoolHeadSpec { name: "p".into(), candidate: "key".into(), hidden: vec![16] };
        assert!(problem(|s| s.pool_heads = vec![pool]).contains("not a vector field"));
    }
}
