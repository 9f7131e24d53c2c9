//! A study on one page: how it went, what comes next and why, how far its forecasts could be trusted.

use crate::check;
use crate::draw::svg_file;
use crate::figure::{Axis, Figure, Mark, Point, Series};
use crate::ink;
use crate::page::{Block, Cell, Page, Section, Table, Tone, escape};
use icee_base::numbers::{percent, short};
use icee_protocol::{
    Answer, Cells, Effect, Forecast, Goal, LEVELS, MeasuredRow, Note, Problem, Reviewed, Status, Suggestion, Summary,
};
use icee_study::{AskOptions, Pages, Study};

/// Rows that a table shows; the journal has all of them.
const ROWS: usize = 200;
/// Points of a line, at most.
const POINTS: usize = 1000;
/// Levels of a column that a table shows.
const LEVELS_SHOWN: usize = 12;
/// Characters of a cell.
const CELL: usize = 60;
/// Results that are shown at a glance.
const LAST: usize = 8;

/// The page of a study as it stands, looking this many rows ahead, and what else is to be said. Nothing is written down in the
/// study.
///
/// # Errors
/// Where the study cannot be read, or its model is another one.
pub fn page_of(study: &mut Study, name: &str, ahead: usize) -> icee_study::Result<(Page, Vec<Note>)> {
    let mut review = study.review(None)?;
    if study.objectives() > 1 {
        // There is a front; no row is the best.
        review.steps.iter_mut().for_each(|step| step.best = None);
    }
    let effects = study.effects(None)?.effects;
    let running = study.running(None)?;
    let mut notes = Vec::new();
    // Where nothing is left, there is nothing to look ahead to.
    let next = match study.preview(&AskOptions { count: ahead, more: true, ..AskOptions::default() }) {
        Ok(next) => Some(next),
        Err(problem) => {
            notes.push(Note::Unread { problem: Box::new(problem) });
            None
        }
    };
    let summary = study.summary(None);
    notes.extend(study.take_notes());
    let page = StudyPage {
        name,
        summary: &summary,
        review: &review,
        next: next.as_ref(),
        running: &running,
        effects: &effects,
    };
    Ok((page.page(), notes))
}

/// Pages of studies, for whatever does requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct StudyPages;

impl Pages for StudyPages {
    fn report(&self, study: &mut Study, name: &str, ahead: usize) -> icee_study::Result<(String, Vec<Note>)> {
        let (page, notes) = page_of(study, name, ahead)?;
        let html = page.to_html().map_err(|error| Problem::Bug { fault: error.to_string() })?;
        check::self_contained(&html).map_err(|fault| Problem::Bug { fault })?;
        Ok((html, notes))
    }

    fn glance(&self, summary: &Summary, name: &str) -> String {
        glance(summary, name)
    }
}

/// A study at a glance, as a piece of HTML for other pages: where it stands, a picture of how it came there, and the latest
/// results.
#[must_use]
pub fn glance(summary: &Summary, name: &str) -> String {
    let Summary { rows, told, .. } = summary;
    let loss = |value: f64| summary.goals.first().map_or(0.0, |goal| goal.wanted.loss(value));
    let mut best: Option<f64> = None;
    let mut steps = Vec::new();
    for value in told.iter().map(|row| row.value) {
        let beats = |value: &f64| best.is_none_or(|best| loss(*value) < loss(best));
        best = value.filter(beats).or(best);
        // With further results the highest value need not be the best.
        steps.push((value, best.filter(|_| summary.goals.len() == 1)));
    }
    let items: String = standing(summary).iter().map(|item| format!("<li>{}</li>", escape(item))).collect();
    let picture = progress(&steps, &value_name(summary)).map_or_else(String::new, |figure| svg_file(&figure));
    let last: Vec<MeasuredRow> = told.iter().rev().take(LAST).cloned().collect();
    let caption = if told.len() > LAST { "Latest results." } else { "Results, the latest first." };
    let table = if last.is_empty() { String::new() } else { outcomes(summary, caption, &last).to_html() };
    let (title, wishes) = (escape(&cut(name)), escape(&wishes(summary)));
    format!("<div><p><b>Study {title}</b>: {rows} rows; {wishes}.</p><ul>{items}</ul>{picture}{table}</div>")
}

/// What is wanted, in words.
fn wishes(summary: &Summary) -> String {
    let wish = |Goal { name, words, .. }: &Goal| match name {
        Some(name) => format!("{}: {words}", cut(name)),
        None => words.clone(),
    };
    summary.goals.iter().map(wish).collect::<Vec<_>>().join("; ")
}

/// Where a study stands, item by item.
fn standing(summary: &Summary) -> Vec<String> {
    let Summary { told, running, left, best, noise, front, .. } = summary;
    let mut items = vec![format!("{} measured, {} in progress, {left} left", told.len(), running.len())];
    if let Some(best) = best.as_ref().filter(|_| front.is_empty()) {
        let value = best.row.value.map_or_else(String::new, short);
        items.push(format!("best so far {value}, row {}: {}", cut(&best.row.id), line(&best.row.cells)));
        if let Some(sure) = best.sure {
            items.push(format!("probability that it is the best of the measured rows: {}", percent(sure)));
        }
    }
    if !front.is_empty() {
        items.push(match front.len() {
            1 => "1 Pareto-optimal row".to_owned(),
            count => format!("{count} Pareto-optimal rows"),
        });
    }
    if let Some(noise) = noise {
        items.push(format!("standard deviation of replicates: {}", short(*noise)));
    }
    items
}

/// What the value is called.
fn value_name(summary: &Summary) -> String {
    summary.value_column.as_deref().map_or_else(|| "value".into(), cut)
}

/// The value of an experiment, and the best up to there.
type Stepped = (Option<f64>, Option<f64>);

/// Values one after another, and the best so far.
fn progress(steps: &[Stepped], value_name: &str) -> Option<Figure> {
    let of = |value: fn(&Stepped) -> Option<f64>| -> Vec<Point> {
        let every = steps.len().div_ceil(POINTS).max(1);
        let points = steps.iter().enumerate().step_by(every).filter_map(|(at, step)| Some((at, value(step)?)));
        points.map(|(at, y)| Point { x: at as f64 + 1.0, y, half_width: None }).collect()
    };
    let (values, bests) = (of(|step| step.0), of(|step| step.1));
    if values.len() < 2 {
        return None;
    }
    let each = Series::new(ink::of("random"), Mark::Points, values).called("each experiment");
    let axes = (Axis::count("experiment"), Axis::linear(value_name));
    if bests.is_empty() {
        let caption = "Every experiment, in the order recorded.";
        return Some(Figure::single("progress", "What came out", caption, axes.0, axes.1, vec![each]));
    }
    let best = Series::new(ink::of("icee"), Mark::Line, bests).called("best so far");
    let caption = "Every experiment, in the order recorded, and the best so far.";
    Some(Figure::single("progress", "Best so far", caption, axes.0, axes.1, vec![best, each]))
}

/// All that a page tells.
#[derive(Clone, Debug)]
pub struct StudyPage<'a> {
    /// The study's name.
    pub name: &'a str,
    /// The study at a glance.
    pub summary: &'a Summary,
    /// How it went.
    pub review: &'a Reviewed,
    /// What would be suggested now, where something is left.
    pub next: Option<&'a Answer>,
    /// Rows in progress.
    pub running: &'a [Suggestion],
    /// What each column does; empty where there are too few results.
    pub effects: &'a [Effect],
}

impl StudyPage<'_> {
    /// The page.
    #[must_use]
    pub fn page(&self) -> Page {
        let mut sections = vec![self.glance()];
        sections.extend(self.coming());
        sections.extend(self.trust());
        sections.extend(self.columns());
        sections.extend(self.results());
        Page {
            title: format!("Study {}", self.name),
            lead: format!("{} rows; {}.", self.summary.rows, wishes(self.summary)),
            sections,
            footer: format!("Written by: icee study report {}. The study itself is its journal.", self.name),
        }
    }

    /// Where it stands, and how it came there.
    fn glance(&self) -> Section {
        let mut items = standing(self.summary);
        if let Some(remaining) = self.next.and_then(|next| next.remaining.as_ref()) {
            items.push(format!("probability that a better row is left: {}", percent(remaining.any)));
        }
        let mut blocks = vec![Block::List(items)];
        blocks.extend(self.progress().map(Block::Figure));
        if !self.summary.front.is_empty() {
            blocks.push(Block::Table(outcomes(
                self.summary,
                "Pareto-optimal rows: none is better than another in every objective.",
                &self.summary.front,
            )));
        }
        Section { heading: "At a glance".into(), blocks }
    }

    /// Values one after another, and the best so far.
    fn progress(&self) -> Option<Figure> {
        let steps = self.review.steps.iter().map(|step| (step.value, step.best));
        progress(&steps.collect::<Vec<_>>(), &self.value_name())
    }

    /// What the value is called.
    fn value_name(&self) -> String {
        value_name(self.summary)
    }

    /// Rows in progress, and what would be suggested next.
    fn coming(&self) -> Vec<Section> {
        let mut sections = Vec::new();
        if !self.running.is_empty() {
            let table = self.suggestions("Suggested, and not measured yet.", self.running);
            sections.push(Section { heading: "In progress".into(), blocks: vec![Block::Table(table)] });
        }
        if let Some(next) = self.next.filter(|next| !next.suggestions.is_empty()) {
            let table = self.suggestions("What would be suggested now.", &next.suggestions);
            let reasons = next.suggestions.iter().filter(|row| !row.reasons.is_empty());
            let reasons = reasons.map(|row| format!("row {}: {}", cut(&row.id), plain(&row.reasons.join("; "))));
            let blocks = vec![Block::Table(table), Block::List(reasons.collect())];
            sections.push(Section { heading: "Next, and why".into(), blocks });
        }
        sections
    }

    fn suggestions(&self, caption: &str, rows: &[Suggestion]) -> Table {
        // What is predicted stands beside the row: there may be many columns.
        let mut head = vec!["row".to_owned(), format!("{}, predicted", self.value_name())];
        let further = rows.iter().find_map(|row| row.forecast.as_ref()).map_or(&[][..], |forecast| &forecast.further);
        head.extend(further.iter().map(|further| format!("{}, predicted", cut(&further.name))));
        let limited = further.iter().any(|further| further.holds.is_some());
        head.push(match further.iter().any(|further| further.holds.is_none()) {
            true => "probability of joining the Pareto front".into(),
            false if limited => "probability of a new best within the constraints".into(),
            false => "probability of a new best".into(),
        });
        let shown = Shown::of(rows.iter().map(|row| &row.cells));
        head.extend(shown.names());
        let row = |row: &Suggestion| {
            let mut cells = vec![Cell::from(cut(&row.id))];
            match &row.forecast {
                Some(Forecast { mean, low, high, beats_best, further }) => {
                    let predicted = |mean: f64, low: f64, high: f64| {
                        let ends = format!("{} to {}", short(low), short(high));
                        Cell::from(short(mean)).noted(ends, Tone::Plain)
                    };
                    cells.push(predicted(*mean, *low, *high));
                    cells.extend(further.iter().map(|other| predicted(other.mean, other.low, other.high)));
                    cells.push(Cell::from(percent(*beats_best)));
                }
                None => {
                    let is_random = self.summary.sampler == "random";
                    cells.push(Cell::from(if is_random { "random choice" } else { "initial design" }));
                    cells.extend(std::iter::repeat_n(Cell::default(), further.len() + 1));
                }
            }
            cells.extend(shown.cells(&row.cells));
            cells
        };
        Table { caption: caption.into(), groups: vec![], head, rows: rows.iter().take(ROWS).map(row).collect() }
    }

    /// Forecasts beside what came out.
    fn trust(&self) -> Option<Section> {
        let Reviewed { steps, checked, held } = self.review;
        let points: Vec<Point> = steps
            .iter()
            .filter_map(|step| {
                let forecast = step.forecast.as_ref()?;
                let half = 0.5 * (forecast.high - forecast.low);
                // The interval need not lie evenly around the mean; its middle is drawn.
                Some(Point { x: step.value?, y: 0.5 * (forecast.low + forecast.high), half_width: Some(half) })
            })
            .collect();
        if points.len() < 2 {
            return None;
        }
        let ends = points
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| (low.min(point.x), high.max(point.x)));
        let ideal = [ends.0, ends.1].map(|x| Point { x, y: x, half_width: None }).to_vec();
        let series = vec![
            Series::new(ink::of("icee"), Mark::Points, points).called("95 % interval"),
            Series::new(ink::of("random"), Mark::Dashed, ideal).called("predicted = measured"),
        ];
        let caption = "What earlier results predicted of each row, and what was measured.";
        let axes = (Axis::linear("measured"), Axis::linear("predicted"));
        let figure = Figure::single("forecasts", "Predicted against measured", caption, axes.0, axes.1, series);
        let shares = LEVELS
            .iter()
            .zip(held)
            .map(|(level, held)| format!("{held} of {checked} results lay in their {:.0} % intervals", 100.0 * level));
        let blocks = vec![Block::Figure(figure), Block::List(shares.collect())];
        Some(Section { heading: "How good the predictions were".into(), blocks })
    }

    /// What each column does.
    fn columns(&self) -> Option<Section> {
        if self.effects.is_empty() {
            return None;
        }
        let row = |effect: &Effect| {
            let levels = effect.levels.iter().take(LEVELS_SHOWN);
            let mut levels: Vec<String> =
                levels.map(|level| format!("{}: {}", cut(&level.label), short(level.mean))).collect();
            if effect.levels.len() > LEVELS_SHOWN {
                levels.push("…".into());
            }
            vec![Cell::from(cut(&effect.column)), Cell::from(short(effect.spread)), Cell::from(levels.join(", "))]
        };
        let table = Table {
            caption: "The mean prediction for each word or group of numbers of a column. Where columns are correlated in the \
                      sheet, so are their effects."
                .into(),
            groups: vec![],
            head: ["column", "difference", "mean prediction"].map(String::from).to_vec(),
            rows: self.effects.iter().map(row).collect(),
        };
        Some(Section { heading: "What the columns do".into(), blocks: vec![Block::Table(table)] })
    }

    /// All results, the latest first.
    fn results(&self) -> Option<Section> {
        let told = &self.summary.told;
        if told.is_empty() {
            return None;
        }
        let latest: Vec<MeasuredRow> = told.iter().rev().take(ROWS).cloned().collect();
        let caption = match told.len() > ROWS {
            true => format!("The latest {ROWS} of {} results.", told.len()),
            false => "Results, the latest first.".into(),
        };
        let blocks = vec![Block::Table(outcomes(self.summary, &caption, &latest))];
        Some(Section { heading: "Results".into(), blocks })
    }
}

/// Rows with what came out of them.
fn outcomes(summary: &Summary, caption: &str, rows: &[MeasuredRow]) -> Table {
    let rows = &rows[..rows.len().min(ROWS)];
    let shown = Shown::of(rows.iter().map(|row| &row.cells));
    let further = rows.first().map(|row| row.further.iter().map(|(name, _)| cut(name)).collect::<Vec<_>>());
    let mut head = vec!["row".to_owned(), value_name(summary)];
    head.extend(further.into_iter().flatten().chain(shown.names()));
    let row = |row: &MeasuredRow| {
        let value = match (row.value, row.status) {
            (Some(value), _) if row.values.len() > 1 => {
                Cell::from(short(value)).noted(format!("mean of {}", row.values.len()), Tone::Plain)
            }
            (Some(value), _) => Cell::from(short(value)),
            (None, Status::Impossible) => Cell { text: "impossible".into(), tone: Tone::None, ..Cell::default() },
            (None, _) => Cell { text: "failed".into(), tone: Tone::Bad, ..Cell::default() },
        };
        let mut cells = vec![Cell::from(cut(&row.id)), value];
        let missing = || Cell { text: "–".into(), tone: Tone::None, ..Cell::default() };
        cells.extend(row.further.iter().map(|(_, value)| value.map_or_else(missing, |value| short(value).into())));
        cells.extend(shown.cells(&row.cells));
        cells
    };
    Table { caption: caption.into(), groups: vec![], head, rows: rows.iter().map(row).collect() }
}

/// The columns of some rows in which anything stands.
struct Shown(Vec<(usize, String)>);

impl Shown {
    fn of<'a>(rows: impl Iterator<Item = &'a Cells> + Clone) -> Shown {
        let names = rows.clone().next().map_or(&[][..], |row| &row.0);
        let filled = |at: usize| rows.clone().any(|row| row.0.get(at).is_some_and(|(_, cell)| !cell.trim().is_empty()));
        Shown(names.iter().enumerate().filter(|(at, _)| filled(*at)).map(|(at, (name, _))| (at, cut(name))).collect())
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(_, name)| name.clone())
    }

    fn cells(&self, row: &Cells) -> impl Iterator<Item = Cell> {
        self.0.iter().map(|(at, _)| Cell::from(row.0.get(*at).map_or_else(String::new, |(_, cell)| cut(cell))))
    }
}

/// A row's cells in one line.
fn line(cells: &Cells) -> String {
    let cells: Vec<String> = cells.0.iter().map(|(name, cell)| format!("{} = {}", cut(name), cut(cell))).collect();
    cells.join(", ")
}

/// A text from a file without line breaks and the like.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The same, and not too long.
fn cut(text: &str) -> String {
    let plain: String = plain(text).chars().take(CELL + 1).collect();
    match plain.char_indices().nth(CELL) {
        Some((end, _)) => format!("{}…", &plain[..end]),
        None => plain,
    }
}
