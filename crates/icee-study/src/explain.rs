//! Why this row: reasons in words, the measured rows most like it, and what each column does.

use crate::answer::status_at;
use crate::error::Result;
use crate::record::SamplerKind;
use crate::rows::Rows;
use crate::study::Study;
use crate::trials::{Known, Trial};
use icee_bo::columns::ColumnKind;
use icee_protocol::{Cells, ColumnEffects, Effect, Explained, Level, Neighbour, Note};
use std::collections::BTreeMap;

/// Neighbours that are shown.
const NEIGHBOURS: usize = 3;
/// Columns that a sentence names; more are counted.
const LISTED: usize = 3;
/// Numbers that differ by no more than this share of their column's range are near each other.
const NEAR: f64 = 0.1;
/// Rows whose predictions show the effect of a column.
const LOOKED_AT: usize = 1024;
/// Groups into which the numbers of a column are put if there are more of them than [`FEW`].
const GROUPS: usize = 5;
const FEW: usize = 8;

impl Study {
    /// Explains a row: reasons for it and against it.
    ///
    /// # Errors
    /// Where the row is not known, or the pool cannot be used.
    pub fn why(&mut self, id: &str, sampler: Option<SamplerKind>) -> Result<Explained> {
        self.load()?;
        let name = self.find(&[id])?.swap_remove(0)?;
        let forecast = self.forecasts(&[name.row - 1], sampler)?.map(|mut forecasts| forecasts.swap_remove(0));
        let rows = self.loaded()?;
        let row = name.row - 1;
        let (reasons, nearest) = (self.reasons(rows, row), self.nearest(rows, row));
        let status = status_at(row, &self.trials, &self.trials.taken(self.header.pool.rows));
        let value = self.trials.outcome(row).and_then(Trial::value);
        let (id, row, cells) = (name.shown(), name.row, rows.cells(row));
        Ok(Explained { id, row, cells, status, value, forecast, reasons, nearest })
    }

    /// The reasons for a row, in words.
    pub(crate) fn reasons(&self, rows: &Rows, row: usize) -> Vec<String> {
        let names: Vec<&str> = self.header.columns.iter().map(|column| column.name.as_str()).collect();
        let like = Likeness { rows, names: &names };
        let mut reasons = Vec::new();
        if let Some(best) = self.trials.best(&self.header.goals()).filter(|best| best.row != row) {
            reasons.push(like.compared(row, best.row, &format!("the best row {}", best.name.shown())));
        }
        // Failed rows count as tried.
        let tried: Vec<usize> =
            self.trials.told.iter().filter(|trial| trial.known != Known::Impossible).map(|trial| trial.row).collect();
        if !tried.contains(&row) {
            reasons.extend(like.news(row, &tried));
        }
        reasons
    }

    /// The measured rows most like a row.
    fn nearest(&self, rows: &Rows, row: usize) -> Vec<Neighbour> {
        let names: Vec<&str> = self.header.columns.iter().map(|column| column.name.as_str()).collect();
        let like = Likeness { rows, names: &names };
        let others = self.trials.told.iter().filter(|trial| trial.row != row);
        let mut by_distance: Vec<(f64, usize, f64)> =
            others.filter_map(|trial| Some((like.distance(row, trial.row), trial.row, trial.value()?))).collect();
        by_distance.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let neighbour = |&(_, other, value): &(f64, usize, f64)| {
            let differs = (0..names.len()).filter(|&column| like.gap(column, row, other) > 0.0);
            let cells = differs.map(|column| (names[column].to_owned(), like.cell(column, other)));
            Neighbour { id: rows.name(other).shown(), value, differs: Cells(cells.collect()) }
        };
        by_distance.iter().take(NEIGHBOURS).map(neighbour).collect()
    }

    /// The effect of each column, the greatest first. Of a large pool, some rows stand for all.
    ///
    /// # Errors
    /// If there are too few results, or the pool cannot be used.
    pub fn effects(&mut self, sampler: Option<SamplerKind>) -> Result<ColumnEffects> {
        self.load()?;
        let size = self.header.pool.rows;
        let looked_at: Vec<usize> = match size {
            ..=LOOKED_AT => (0..size).collect(),
            _ => (0..LOOKED_AT).map(|at| at * size / LOOKED_AT).collect(),
        };
        let Some(forecasts) = self.forecasts(&looked_at, sampler)? else {
            return Ok(ColumnEffects { effects: vec![] });
        };
        if looked_at.len() < size {
            self.notes.push(Note::PartPredicted { rows: looked_at.len(), of: size });
        }
        let rows = self.loaded()?;
        let names: Vec<&str> = self.header.columns.iter().map(|column| column.name.as_str()).collect();
        let like = Likeness { rows, names: &names };
        let mut effects = Vec::with_capacity(names.len());
        for (column, name) in names.iter().enumerate() {
            let mut groups: BTreeMap<(usize, String), Vec<f64>> = BTreeMap::new();
            for (group, forecast) in like.groups(column, &looked_at).into_iter().zip(&forecasts) {
                groups.entry(group).or_default().push(forecast.mean);
            }
            let level = |((_, label), means): ((usize, String), Vec<f64>)| {
                let rows = means.len();
                Level { label, mean: means.iter().map(|mean| mean / rows as f64).sum(), rows }
            };
            let levels: Vec<Level> = groups.into_iter().map(level).collect();
            let ends = levels.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), level| {
                (low.min(level.mean), high.max(level.mean))
            });
            effects.push(Effect { column: (*name).to_owned(), spread: ends.1 - ends.0, levels });
        }
        effects.sort_by(|a, b| b.spread.total_cmp(&a.spread));
        Ok(ColumnEffects { effects })
    }
}

/// The similarity of rows, by the input columns.
struct Likeness<'a> {
    rows: &'a Rows,
    names: &'a [&'a str],
}

impl Likeness<'_> {
    /// The cell of a row in a column.
    fn cell(&self, column: usize, row: usize) -> String {
        let cells = self.rows.cells(row).0.into_iter();
        cells.into_iter().find(|(name, _)| name == self.names[column]).map(|(_, cell)| cell).unwrap_or_default()
    }

    /// How far two rows differ in a column, from 0 to 1.
    fn gap(&self, column: usize, one: usize, other: usize) -> f64 {
        let column = &self.rows.points.columns()[column];
        let [one, other] = [one, other].map(|row| f64::from(column.cells()[row]));
        match (one.is_nan(), other.is_nan()) {
            (true, true) => 0.0,
            (false, false) if column.kind() == ColumnKind::Category => f64::from(u8::from(one != other)),
            (false, false) => (one - other).abs(),
            _ => 1.0,
        }
    }

    fn distance(&self, one: usize, other: usize) -> f64 {
        (0..self.names.len()).map(|column| self.gap(column, one, other)).sum()
    }

    /// A row beside another one, in words.
    fn compared(&self, row: usize, other: usize, called: &str) -> String {
        let gaps: Vec<f64> = (0..self.names.len()).map(|column| self.gap(column, row, other)).collect();
        let number = |column: &usize| self.rows.points.columns()[*column].kind() != ColumnKind::Category;
        let of = |wanted: &dyn Fn(usize) -> bool| {
            (0..gaps.len()).filter(|&column| wanted(column)).map(|column| self.names[column]).collect::<Vec<_>>()
        };
        let same = of(&|column| gaps[column] == 0.0);
        let near = of(&|column| gaps[column] > 0.0 && gaps[column] <= NEAR && number(&column));
        let away = |column: &usize| gaps[*column] > 0.0 && !(gaps[*column] <= NEAR && number(column));
        let differs: Vec<String> = (0..gaps.len())
            .filter(away)
            .map(|column| {
                let [here, there] = [row, other].map(|row| shown(&self.cell(column, row)));
                format!("{} is {here} instead of {there}", self.names[column])
            })
            .collect();
        if let ([_], [differs]) = (self.names, &differs[..]) {
            return format!("unlike {called}: {differs}");
        }
        let mut parts = Vec::new();
        if !same.is_empty() {
            parts.push(format!("like {called} in {}", listed(&same)));
        }
        if !near.is_empty() {
            let to = if same.is_empty() { format!("near {called}") } else { "near it".into() };
            parts.push(format!("{to} in {}", listed(&near)));
        }
        match (parts.is_empty(), differs.is_empty()) {
            (true, _) => format!("unlike {called} in every column"),
            (false, true) => parts.join(", "),
            (false, false) => format!("{}; {}", parts.join(", "), first_few(&differs, " differ")),
        }
    }

    /// The cells of a row that no measured row has.
    fn news(&self, row: usize, tried: &[usize]) -> Vec<String> {
        let mut news = Vec::new();
        for (at, name) in self.names.iter().enumerate() {
            let column = &self.rows.points.columns()[at];
            let here = column.cells()[row];
            let known: Vec<f32> =
                tried.iter().map(|&other| column.cells()[other]).filter(|cell| !cell.is_nan()).collect();
            if here.is_nan() || known.is_empty() {
                continue;
            }
            let cell = shown(&self.cell(at, row));
            if column.kind() == ColumnKind::Category {
                if !known.contains(&here) {
                    news.push(format!("{name} = {cell} has not been tried"));
                }
            } else if known.iter().all(|&other| f64::from(here - other) > NEAR) {
                news.push(format!("{name} = {cell} is higher than all that was tried"));
            } else if known.iter().all(|&other| f64::from(other - here) > NEAR) {
                news.push(format!("{name} = {cell} is lower than all that was tried"));
            }
        }
        let more = news.len().saturating_sub(LISTED);
        news.truncate(LISTED);
        news.extend((more > 0).then(|| format!("{more} more columns have something new")));
        news
    }

    /// The group that each row belongs to in a column: its place in the order, and what it is called.
    fn groups(&self, column: usize, rows: &[usize]) -> Vec<(usize, String)> {
        let cells: Vec<String> = rows.iter().map(|&row| self.cell(column, row)).collect();
        let table = &self.rows.points.columns()[column];
        let scaled: Vec<f32> = rows.iter().map(|&row| table.cells()[row]).collect();
        let missing = || (usize::MAX, "missing".to_owned());
        if table.kind() == ColumnKind::Category {
            let group = |(cell, scaled): (&String, &f32)| if scaled.is_nan() { missing() } else { (0, cell.clone()) };
            return cells.iter().zip(&scaled).map(group).collect();
        }
        let mut order: Vec<usize> = (0..rows.len()).filter(|&at| !scaled[at].is_nan()).collect();
        order.sort_by(|&a, &b| scaled[a].total_cmp(&scaled[b]));
        let mut different: Vec<f32> = order.iter().map(|&at| scaled[at]).collect();
        different.dedup();
        let groups = if different.len() <= FEW { different.len() } else { GROUPS };
        // Equal numbers stay together.
        let group_of = |number: f32| match different.len() <= FEW {
            true => different.partition_point(|&other| other < number),
            false => order.partition_point(|&at| scaled[at] < number) * groups / order.len(),
        };
        let mut ends: Vec<Option<[&str; 2]>> = vec![None; groups];
        for &at in &order {
            let end = &mut ends[group_of(scaled[at])];
            *end = Some([end.map_or(cells[at].as_str(), |[first, _]| first), cells[at].as_str()]);
        }
        let label = |group: usize| match ends[group] {
            Some([first, last]) if first != last => format!("{first} to {last}"),
            Some([first, _]) => first.to_owned(),
            None => String::new(),
        };
        let group = |&number: &f32| {
            if number.is_nan() { missing() } else { (group_of(number), label(group_of(number))) }
        };
        scaled.iter().map(group).collect()
    }
}

/// A cell in a sentence.
fn shown(cell: &str) -> String {
    if cell.is_empty() { "missing".into() } else { cell.replace('\n', " ") }
}

/// Names in a sentence.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [all @ .., last] if names.len() <= LISTED => format!("{} and {last}", all.join(", ")),
        _ => format!("{} and {} more", names[..LISTED].join(", "), names.len() - LISTED),
    }
}

/// Joins parts of a sentence, and counts the rest.
fn first_few(parts: &[String], others: &str) -> String {
    match parts.len().saturating_sub(LISTED) {
        0 => parts.join(", "),
        more => format!("{} and {more} more{others}", parts[..LISTED].join(", ")),
    }
}
