//! The `value` model: p(y | x, H). The history H is a set of tokens (x, y); each candidate is a query token (x) that sees
//! the history and nothing else, so any pool of any size can be scored, in any chunks.
//!
//! In training as in use, y is centred and scaled by the history alone: the whole pool's values are unknown.

use crate::config::{Config, DataConfig};
use crate::features::{Features, history_size};
use crate::scale::{Scale, ValueBins};
use crate::{Error, Result};
use icee_bo::behaviour::{RankPolicy, draw_sharpness};
use icee_bo::prior::FunctionGroup;
use icee_bo::searcher::search;
use icee_nn::batch::{Batch, ClassTargets, FieldValues, Tokens};
use icee_nn::{FieldKind, FieldSpec, HeadSpec, History, ModelSpec, TokenRole};
use rand::seq::index;
use rand::{Rng, RngExt};
use std::ops::RangeInclusive;

/// The head p(y | x, H).
pub(crate) const VALUE: &str = "value";
/// Head number of [`VALUE`].
pub(crate) const VALUE_HEAD: usize = 0;

/// The network of `value`, and what it learns from.
#[derive(Clone, Debug)]
pub struct ValuePlan {
    /// How locations are written.
    pub features: Features,
    /// The bins of y.
    pub(crate) bins: ValueBins,
    /// The network.
    pub spec: ModelSpec,
    data: DataConfig,
}

/// One task: which candidates have been evaluated, and of which the value is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    pub history: Vec<usize>,
    pub queries: Vec<usize>,
}

/// What a network is told of one history.
#[derive(Clone, Debug)]
pub(crate) struct Past<'a> {
    /// Locations and values.
    pub evaluated: Vec<(&'a [f64], f64)>,
    /// The scale of those values.
    pub scale: Scale,
}

impl ValuePlan {
    /// The network that a config describes.
    ///
    /// # Errors
    /// The engine's, where a size cannot be.
    pub fn new(config: &Config) -> Result<ValuePlan> {
        let (model, prior) = (&config.model, config.prior()?);
        let features = Features { columns: prior.most_columns, padded: prior.mixed };
        let both =
            |name: &str, size| FieldSpec { name: name.into(), kind: FieldKind::vector(size), on: TokenRole::Both };
        let values = FieldKind::Vector { size: 2, hidden: Some(model.width) };
        let spec = ModelSpec {
            fields: vec![
                both("location", features.size()),
                FieldSpec::history("value", values),
                both("history_size", 1),
            ],
            heads: vec![HeadSpec {
                name: VALUE.into(),
                conditions: vec![],
                hidden: vec![model.width],
                classes: model.bins,
            }],
            ..model.trunk(History::Set, config.data.longest)
        };
        spec.check()?;
        Ok(ValuePlan { features, bins: ValueBins { count: model.bins }, spec, data: config.data.clone() })
    }

    /// The numbers of columns that pools may have.
    #[must_use]
    pub fn columns(&self) -> RangeInclusive<usize> {
        let Features { columns, padded } = self.features;
        (if padded { 1 } else { columns })..=columns
    }

    /// What the network learns from these functions, one task a function.
    ///
    /// # Errors
    /// Where a function's values cannot be ranked.
    pub fn batch<R: Rng>(&self, groups: &[FunctionGroup], rng: &mut R) -> Result<Batch> {
        let mut history = TokenColumns::default();
        let mut queries = TokenColumns::default();
        let mut classes = Vec::new();
        for group in groups {
            let locations = self.locations(group);
            let location = |candidate: usize| &locations[candidate * self.features.size()..][..self.features.size()];
            for values in group.functions() {
                let split = self.split(group, values, rng)?;
                let value = |candidate: usize| f64::from(values[candidate]);
                let scale = Scale::of(split.history.iter().map(|&candidate| value(candidate)));
                let size = history_size(split.history.len());
                for &candidate in &split.history {
                    history.push(location(candidate), size);
                    history.values.extend(scale.inputs(value(candidate)));
                }
                for &candidate in &split.queries {
                    queries.push(location(candidate), size);
                    classes.push(self.bins.class(scale.standard(value(candidate))));
                }
                history.end_sequence();
                queries.end_sequence();
            }
        }
        let (first, count) = (history.count as u32, classes.len());
        let targets = ClassTargets {
            head: VALUE_HEAD,
            rows: (first..first + count as u32).collect(),
            conditions: vec![],
            classes,
            weights: vec![1.0; count],
            scale: 1.0 / count.max(1) as f32,
        };
        Ok(Batch {
            history: history.into_history(),
            queries: Some(queries.into_queries()),
            class_targets: vec![targets],
            pool_targets: vec![],
        })
    }

    /// Draws the evaluated candidates, by a search, by the rank policy or uniformly, and the asked ones from the rest.
    pub(crate) fn split<R: Rng>(&self, group: &FunctionGroup, values: &[f32], rng: &mut R) -> Result<Split> {
        let data = &self.data;
        let pool = values.len();
        let longest = data.longest.min(pool / 2);
        let count = rng.random_range(data.shortest.min(longest)..=longest);
        let kind = rng.random::<f64>();
        let history = if kind < data.searched {
            search(group.locations(), group.dimension(), values, count, rng)
        } else if kind < data.searched + data.ranked {
            draw_by_rank(values, count, rng)?
        } else {
            index::sample(rng, pool, count).into_vec()
        };
        let mut taken = vec![false; pool];
        history.iter().for_each(|&candidate| taken[candidate] = true);
        let left: Vec<usize> = (0..pool).filter(|&candidate| !taken[candidate]).collect();
        let asked = index::sample(rng, left.len(), data.queries.min(left.len()));
        Ok(Split { history, queries: asked.into_iter().map(|at| left[at]).collect() })
    }

    /// The features of all locations of a group, [pool, size].
    fn locations(&self, group: &FunctionGroup) -> Vec<f32> {
        let mut out = Vec::with_capacity(group.pool() * self.features.size());
        for location in group.locations().chunks_exact(group.dimension()) {
            self.features.write(location.iter().map(|&x| f64::from(x)), &mut out);
        }
        out
    }

    /// Tokens of histories, one sequence each.
    ///
    /// # Errors
    /// [`Error::Config`] where a location has more columns than the network.
    pub(crate) fn history_tokens(&self, histories: &[Past<'_>]) -> Result<Tokens> {
        let mut tokens = TokenColumns::default();
        for Past { evaluated, scale } in histories {
            let size = history_size(evaluated.len());
            for (location, value) in evaluated {
                self.write(location, size, &mut tokens)?;
                tokens.values.extend(scale.inputs(*value));
            }
            tokens.end_sequence();
        }
        Ok(tokens.into_history())
    }

    /// Query tokens: for each history the same candidates.
    ///
    /// # Errors
    /// As [`ValuePlan::history_tokens`].
    pub(crate) fn query_tokens(&self, histories: &[Past<'_>], locations: &[&[f64]]) -> Result<Tokens> {
        let mut tokens = TokenColumns::default();
        for past in histories {
            for location in locations {
                self.write(location, history_size(past.evaluated.len()), &mut tokens)?;
            }
            tokens.end_sequence();
        }
        Ok(tokens.into_queries())
    }

    fn write(&self, location: &[f64], size: f32, tokens: &mut TokenColumns) -> Result<()> {
        let (has, columns) = (location.len(), self.features.columns);
        if has > columns || (has < columns && !self.features.padded) {
            let reads = if self.features.padded { format!("1 to {columns}") } else { columns.to_string() };
            return Err(Error::Config(format!("the pool has {has} columns, and this model reads {reads}")));
        }
        self.features.write(location.iter().copied(), &mut tokens.locations);
        tokens.push(&[], size);
        Ok(())
    }
}

/// `count` different candidates by the rank policy.
fn draw_by_rank<R: Rng>(values: &[f32], count: usize, rng: &mut R) -> Result<Vec<usize>> {
    let policy = RankPolicy::new(values, draw_sharpness(rng))?;
    let mut taken = vec![false; values.len()];
    let mut drawn = Vec::with_capacity(count);
    // Half of the ranks at most are wanted, so enough of the mass is always left.
    while drawn.len() < count {
        let candidate = policy.sample(rng);
        if !std::mem::replace(&mut taken[candidate], true) {
            drawn.push(candidate);
        }
    }
    Ok(drawn)
}

/// Tokens being written, field by field.
#[derive(Default)]
struct TokenColumns {
    offsets: Vec<usize>,
    count: usize,
    locations: Vec<f32>,
    values: Vec<f32>,
    sizes: Vec<f32>,
}

impl TokenColumns {
    fn push(&mut self, location: &[f32], size: f32) {
        self.locations.extend_from_slice(location);
        self.sizes.push(size);
        self.count += 1;
    }

    fn end_sequence(&mut self) {
        self.offsets.push(self.count);
    }

    fn into_history(self) -> Tokens {
        let fields = [self.locations, self.values, self.sizes].map(FieldValues::Vector).to_vec();
        Tokens::new(std::iter::once(0).chain(self.offsets).collect(), fields)
    }

    fn into_queries(self) -> Tokens {
        let fields = [self.locations, self.sizes].map(FieldValues::Vector).to_vec();
        Tokens::new(std::iter::once(0).chain(self.offsets).collect(), fields)
    }
}
