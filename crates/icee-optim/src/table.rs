//! The `table` model: p(y | row, H) for the rows of real tables, cell by cell. In every block the cells of a row attend to each
//! other, then each cell to the measured rows' cells of its column; what is asked sits in the value's cell.
//!
//! In training as in use, y is centred and scaled by the history alone: the whole table's values are unknown.

use crate::Result;
use crate::cells::{Cells, SIZE, TableTokens};
use crate::config::{Config, DataConfig};
use crate::scale::{Scale, ValueBins};
use icee_base::random::{self, StreamRng};
use icee_bo::pool::Told;
use icee_bo::tables::{TableTask, draw_columns};
use icee_nn::batch::{Batch, ClassTargets};
use icee_nn::{FieldKind, FieldSpec, HeadSpec, History, ModelSpec, TokenRole};
use rand::seq::index;
use rand::{Rng, RngExt};
use rayon::prelude::*;

/// Tables with more columns than this have shorter histories and fewer questions, so that a batch stays about as large.
const MANY_COLUMNS: usize = 14;
const MANY_LONGEST: usize = 64;
/// Rows of the smallest table.
const LEAST_ROWS: usize = 80;
/// Histories of up to this length are most of all: that is how far people go.
const USUAL_LENGTH: usize = 60;
const USUAL: f64 = 0.75;
/// Share of tables of which half of the rows asked for lie around the best measured one.
const NEAR: f64 = 0.5;

/// The network of `table`, and what it learns from.
#[derive(Clone, Debug)]
pub struct TablePlan {
    /// The bins of y.
    pub(crate) bins: ValueBins,
    /// The network.
    pub spec: ModelSpec,
    data: DataConfig,
}

/// What one table gives a batch.
struct Piece {
    told: TableTokens,
    asked: TableTokens,
    /// The value's cells among the asked tokens begin here.
    first: usize,
    classes: Vec<u32>,
}

impl TablePlan {
    /// The network that a config describes.
    ///
    /// # Errors
    /// The engine's, where a size cannot be.
    pub fn new(config: &Config) -> Result<TablePlan> {
        let model = &config.model;
        let spec = ModelSpec {
            row_attention: true,
            fields: vec![FieldSpec { name: "cell".into(), kind: FieldKind::vector(SIZE), on: TokenRole::Both }],
            heads: vec![HeadSpec {
                name: crate::value::VALUE.into(),
                conditions: vec![],
                hidden: vec![model.width],
                classes: model.bins,
            }],
            ..model.trunk(History::Set, config.data.longest)
        };
        spec.check()?;
        Ok(TablePlan { bins: ValueBins { count: model.bins }, spec, data: config.data.clone() })
    }

    /// Batch number `index` under a seed, of so many tables; each has random numbers of its own.
    pub fn batch(&self, seed: u64, index: u64, tables: usize) -> Batch {
        let one = |table: usize| self.piece(&mut random::path(seed, &[index, table as u64]));
        let pieces: Vec<Piece> = (0..tables).into_par_iter().map(one).collect();
        let (mut told, mut asked) = (TableTokens::default(), TableTokens::default());
        pieces.iter().for_each(|piece| told.extend(&piece.told));
        let base = told.len();
        let (mut rows, mut classes) = (Vec::new(), Vec::new());
        for piece in &pieces {
            let first = (base + asked.len() + piece.first) as u32;
            rows.extend(first..first + piece.classes.len() as u32);
            classes.extend_from_slice(&piece.classes);
            asked.extend(&piece.asked);
        }
        let count = classes.len();
        let targets = ClassTargets {
            head: crate::value::VALUE_HEAD,
            rows,
            conditions: vec![],
            classes,
            weights: vec![1.0; count],
            scale: 1.0 / count.max(1) as f32,
        };
        Batch {
            history: told.finish(),
            queries: Some(asked.finish()),
            class_targets: vec![targets],
            pool_targets: vec![],
        }
    }

    fn piece(&self, rng: &mut StreamRng) -> Piece {
        let columns = draw_columns(rng);
        let many = columns > MANY_COLUMNS;
        let rows = rng.random_range(LEAST_ROWS.min(self.data.pool)..=self.data.pool);
        let task = TableTask::draw(columns, rows, rng);
        let most = if many { MANY_LONGEST.min(self.data.longest) } else { self.data.longest };
        let longest = most.min(task.rows() * 2 / 3);
        let told = task.history(draw_length(self.data.shortest, longest, rng), self.data.searched, rng);
        let scale = Scale::of(told.iter().map(|told| told.value));
        let queries = if many { self.data.queries.div_ceil(2) } else { self.data.queries };
        let asked = draw_asked(&task, &told, queries, rng);
        let cells = Cells::new(&task.columns);
        let (mut told_tokens, mut asked_tokens) = (TableTokens::default(), TableTokens::default());
        cells.write_told(&told, &scale, &mut told_tokens);
        cells.write_asked(&asked, told.len(), &mut asked_tokens);
        Piece {
            told: told_tokens,
            asked: asked_tokens,
            first: (cells.sequences() - 1) * asked.len(),
            classes: asked.iter().map(|&row| self.bins.class(scale.standard(task.values[row]))).collect(),
        }
    }
}

/// How many values are told: up to [`USUAL_LENGTH`] mostly, and up to `longest` with each doubling as likely as any other.
fn draw_length<R: Rng>(shortest: usize, longest: usize, rng: &mut R) -> usize {
    let longest = longest.max(shortest);
    if rng.random_bool(USUAL) {
        return rng.random_range(shortest..=USUAL_LENGTH.clamp(shortest, longest));
    }
    let ratio = longest as f64 / shortest as f64;
    ((shortest as f64 * icee_base::math::power(ratio, rng.random())) as usize).clamp(shortest, longest)
}

/// Rows whose value is asked for, of those that were not told: at random, and in half of the tables half of them around the best
/// told one. What is not known of a row has no say in whether it is asked for.
fn draw_asked<R: Rng>(task: &TableTask, told: &[Told], count: usize, rng: &mut R) -> Vec<usize> {
    let mut taken = vec![false; task.rows()];
    told.iter().for_each(|told| taken[told.candidate] = true);
    let mut left: Vec<usize> = (0..task.rows()).filter(|&row| !taken[row]).collect();
    let mut asked = Vec::with_capacity(count);
    let best = told.iter().min_by(|a, b| a.value.total_cmp(&b.value));
    if let Some(best) = best.filter(|_| rng.random_bool(NEAR)) {
        let (points, width) = task.locations(rng);
        let at = |row: usize| &points[row * width..(row + 1) * width];
        let distance = |row: usize| at(row).iter().zip(at(best.candidate)).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
        left.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        asked.extend(left.drain(..(count / 2).min(left.len() / 2)));
    }
    let rest = index::sample(rng, left.len(), (count - asked.len()).min(left.len()));
    asked.extend(rest.into_iter().map(|at| left[at]));
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> TablePlan {
        let text = "world = \"Tables-v0\"\nmethod = \"table\"\n[model]\nlayers = 1\nwidth = 32\nattention_heads = 2";
        TablePlan::new(&Config::layered(&[text], &[]).unwrap()).unwrap()
    }

    #[test]
    fn batches_fit_the_network_and_depend_on_seed_and_number_alone() {
        let plan = plan();
        let batch = plan.batch(3, 5, 24);
        batch.check(&plan.spec).unwrap();
        assert_eq!(batch, plan.batch(3, 5, 24));
        assert_ne!(batch, plan.batch(3, 6, 24));
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(batch, one.install(|| plan.batch(3, 5, 24)));
        assert!(batch.class_targets[0].classes.iter().any(|&class| class != batch.class_targets[0].classes[0]));
    }

    #[test]
    fn lengths_are_short_mostly_and_within_bounds() {
        let mut rng = random::path(1, &[]);
        let lengths: Vec<usize> = (0..4000).map(|_| draw_length(2, 200, &mut rng)).collect();
        assert!(lengths.iter().all(|length| (2..=200).contains(length)));
        let long = lengths.iter().filter(|&&length| length > USUAL_LENGTH).count();
        assert!((160..=360).contains(&long), "{long}");
        assert!((0..50).all(|_| draw_length(2, 1, &mut rng) == 2));
    }
}
