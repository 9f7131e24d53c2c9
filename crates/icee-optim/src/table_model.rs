//! Predictions of a trained `table` model for the rows of a table, in the units of the results.

use crate::cells::{Cells, TableTokens};
use crate::methods::Objective;
use crate::model::OptimiserModel;
use crate::table::TablePlan;
use crate::value::VALUE_HEAD;
use crate::value_model::{LEAST_HISTORY, belief, kept};
use crate::{Error, Result};
use icee_bo::BoResult;
use icee_bo::belief::Belief;
use icee_bo::columns::Column;
use icee_bo::pool::{Pool, Told};
use icee_bo::surrogate::{Joint, Surrogate};
use icee_nn::batch::{MAX_COLUMNS, Tokens};
use icee_nn::cpu::Cache;
use icee_train::{Device, Inference};

/// Rows that go through the network at once; the answers do not depend on it.
const CHUNK: usize = 512;

/// p(y | row, H) for any table of up to [`TableModel::most_columns`] columns.
pub struct TableModel {
    plan: TablePlan,
    network: Inference,
    /// One a column, and the value's.
    caches: Vec<Cache>,
    /// The tokens in the caches: an unchanged history is not encoded again.
    encoded: Option<Tokens>,
}

impl TableModel {
    /// A trained model made ready.
    ///
    /// # Errors
    /// Where it is not a `table` model.
    pub fn new(device: &Device, model: &OptimiserModel) -> Result<TableModel> {
        let method = model.config.method()?;
        if method.objective != Objective::Table {
            return Err(Error::Config(format!("a model of `{}` reads no tables; train one of `table`", method.name)));
        }
        let plan = TablePlan::new(&model.config)?;
        Ok(TableModel { plan, network: device.inference(&model.network), caches: vec![], encoded: None })
    }

    /// The most columns of a table.
    #[must_use]
    pub fn most_columns() -> usize {
        MAX_COLUMNS - 1
    }

    /// The most results that it sees; of more it sees those that [`thinned`](icee_bo::history::thinned) keeps.
    #[must_use]
    pub fn longest_history(&self) -> usize {
        self.plan.spec.context
    }

    /// One prediction a row, in the units of the results, of which there are at least two.
    ///
    /// # Errors
    /// Where the table has too many columns, or too little was told.
    pub fn beliefs(&mut self, pool: &Pool, told: &[Told], candidates: &[usize]) -> Result<Vec<Belief>> {
        let cells = cells_of(pool.columns())?;
        let (told, scale) = kept(told, self.longest_history())?;
        let mut history = TableTokens::default();
        cells.write_told(&told, &scale, &mut history);
        let history = history.finish();
        if self.encoded.as_ref() != Some(&history) {
            // Forgotten first: should appending fail, nothing stale is left.
            self.encoded = None;
            self.encode(&history)?;
            self.encoded = Some(history);
        }
        let caches: Vec<&Cache> = self.caches[..cells.sequences()].iter().collect();
        let mut beliefs = Vec::with_capacity(candidates.len());
        for rows in candidates.chunks(CHUNK) {
            let mut asked = TableTokens::default();
            cells.write_asked(rows, told.len(), &mut asked);
            let values = self.network.query_last_columns(&caches, &asked.finish())?;
            let logits = self.network.logits(VALUE_HEAD, &values, &[])?;
            beliefs.extend(logits.chunks_exact(self.plan.bins.count).map(|l| belief(self.plan.bins, &scale, l)));
        }
        Ok(beliefs)
    }

    /// One prediction a history, all about one row: the same as [`TableModel::beliefs`] for each, in one go.
    ///
    /// # Errors
    /// As [`TableModel::beliefs`].
    pub fn beliefs_after(&mut self, pool: &Pool, histories: &[&[Told]], candidate: usize) -> Result<Vec<Belief>> {
        let cells = cells_of(pool.columns())?;
        let (mut told, mut asked, mut scales) = (TableTokens::default(), TableTokens::default(), Vec::new());
        for history in histories {
            let (kept, scale) = kept(history, self.longest_history())?;
            cells.write_told(&kept, &scale, &mut told);
            cells.write_asked(&[candidate], kept.len(), &mut asked);
            scales.push(scale);
        }
        self.encoded = None;
        self.encode(&told.finish())?;
        let caches: Vec<&Cache> = self.caches[..cells.sequences() * histories.len()].iter().collect();
        let values = self.network.query_last_columns(&caches, &asked.finish())?;
        let logits = self.network.logits(VALUE_HEAD, &values, &[])?;
        let logits = logits.chunks_exact(self.plan.bins.count);
        Ok(scales.iter().zip(logits).map(|(scale, logits)| belief(self.plan.bins, scale, logits)).collect())
    }

    fn encode(&mut self, told: &Tokens) -> Result<()> {
        while self.caches.len() < told.sequences() {
            self.caches.push(self.network.cache());
        }
        let caches = &mut self.caches[..told.sequences()];
        caches.iter_mut().for_each(|cache| cache.truncate(0));
        self.network.append(&mut caches.iter_mut().collect::<Vec<_>>(), told)?;
        Ok(())
    }
}

fn cells_of(columns: &[Column]) -> Result<Cells<'_>> {
    let (has, most) = (columns.len(), TableModel::most_columns());
    if has > most {
        return Err(Error::Config(format!("the table has {has} columns, and this model reads up to {most}")));
    }
    Ok(Cells::new(columns))
}

impl Surrogate for TableModel {
    fn name(&self) -> &'static str {
        "icee"
    }

    fn least_history(&self) -> usize {
        LEAST_HISTORY
    }

    fn predict(&mut self, pool: &Pool, told: &[Told], candidates: &[usize]) -> BoResult<Vec<Belief>> {
        Ok(self.beliefs(pool, told, candidates)?)
    }

    /// Every step encodes a history for each path, so there is less of all than usual.
    fn joint(&self) -> Joint {
        Joint { candidates: 8, paths: 4, history: 48 }
    }

    fn predict_after(&mut self, pool: &Pool, histories: &[&[Told]], candidate: usize) -> BoResult<Vec<Belief>> {
        Ok(self.beliefs_after(pool, histories, candidate)?)
    }
}
