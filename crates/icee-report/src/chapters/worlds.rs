//! A chapter per world: learning curves of all methods, and the paper's table beside ours. Also the action entropies.

use super::{ceiling, curve, mean_cell, nothing, played, said};
use crate::figure::{Axis, Figure, Mark, Panel, Point, Series};
use crate::ink;
use crate::page::{Block, Cell, Table, Tone};
use crate::paper::{self, Verdict, verdict};
use crate::work::{Played, Results};
use icee_models::catalogue::{self, BIASED, CatalogueWorld, ENTRIES, Entry, ICEE};
use icee_models::results::milestones;
use icee_worlds::Reference;
use serde::Serialize;

/// A cell of the paper's tables with ours beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PaperComparison {
    /// The world.
    pub world: &'static str,
    /// Our method.
    pub method: &'static str,
    /// The row of the paper's table that it stands beside.
    pub papers_method: &'static str,
    /// The episode.
    pub episode: usize,
    /// The paper's mean and half width.
    pub paper: (f64, f64),
    /// Ours; none where the model is missing.
    pub ours: Option<(f64, f64)>,
    /// How ours stands to the paper's.
    pub verdict: Option<Verdict>,
}

/// What stands beside a row of the paper's tables, in the catalogue's order.
pub(super) fn compared() -> impl Iterator<Item = (&'static Entry, catalogue::PaperRow)> {
    ENTRIES.iter().filter_map(|entry| entry.paper().map(|row| (entry, row)))
}

/// Every cell of the paper's table of a world, with ours and the verdict; empty where the paper has no table.
#[must_use]
pub fn compare(world: &'static CatalogueWorld, results: &Results) -> Vec<PaperComparison> {
    let mut cells = Vec::new();
    for (entry, row) in compared() {
        let ours = played(results, &world.model(entry.key));
        for cell in paper::row(world.id, row.method) {
            let ours = ours.and_then(|ours| at(ours, entry, cell.episode));
            let paper = (cell.mean, cell.half_width_95);
            let verdict = ours.map(|ours| verdict(ours, paper));
            let (method, papers_method, episode) = (entry.key, row.method, cell.episode);
            cells.push(PaperComparison { world: world.id, method, papers_method, episode, paper, ours, verdict });
        }
    }
    cells
}

/// The mean and half width at an episode, or over all of them for methods that do not learn.
fn at(played: &Played, entry: &Entry, episode: usize) -> Option<(f64, f64)> {
    if entry.paper().is_some_and(|row| row.one_number) {
        return Some(played.overall);
    }
    played.episodes.get(episode - 1).map(|row| (row.mean, row.half_width_95.unwrap_or(0.0)))
}

/// The chapter of a world.
#[must_use]
pub fn world(world: &'static CatalogueWorld, results: &Results) -> Vec<Block> {
    let CatalogueWorld { key, id, name, .. } = world;
    let mut series = Vec::new();
    for entry in world.methods() {
        if let Some(played) = played(results, &world.model(entry.key)) {
            series.push(curve(&played.episodes, entry.into(), Mark::Line).highlighted_if(entry.key == ICEE));
        }
    }
    for (entry, _) in world.references() {
        if let Some(played) = played(results, &world.model(entry.key)) {
            series.push(ceiling(&played.episodes, entry.into()));
        }
    }
    for method in [ICEE, "ad", "ad-sorted"] {
        let points = paper::points(id, method);
        if !points.is_empty() {
            let label = format!("paper: {}", ink::of(method).label);
            series.push(Series::new(ink::of(method), Mark::Points, points).called(&label));
        }
    }
    let games = results_games(world, results);
    let sweeps = world.references().any(|(_, agent)| agent == Reference::Sweep);
    let caption = format!(
        "Mean return over {games} unseen tasks at each episode. The band is ICEE's 95 % interval; those of \
         the others are in the table. Dashed: reference agents. The oracle knows what is hidden;{} posterior sampling acts \
         optimally for a draw from the exact posterior; Source is the policy that made the training data.{}",
        if sweeps { " the sweep goes to the nearest cell not yet visited;" } else { "" },
        if paper::row(id, ICEE).is_empty() { "" } else { " Diamonds: the paper's numbers with their intervals." }
    );
    let figure = Figure::single(
        &format!("returns-{key}"),
        &format!("{name}: mean return by episode"),
        &caption,
        Axis::count("episode"),
        Axis::linear("mean return"),
        series,
    );
    let mut blocks = vec![Block::Figure(figure), Block::Table(table(world, results))];
    if *key == BIASED {
        blocks.push(Block::Text(
            "Here the data walks left two times in three, and the goals are on the right: a method that imitates the data \
             cannot find them. ICEE-biased is the weighted head without its weights: the paper's test of its unbiased \
             objective."
                .into(),
        ));
    }
    blocks
}

fn results_games(world: &'static CatalogueWorld, results: &Results) -> usize {
    everybody(world).find_map(|entry| played(results, &world.model(entry.key))).map_or(0, |played| played.games)
}

/// The learned methods of a world's chapter, then the agents of plain code.
fn everybody(world: &'static CatalogueWorld) -> impl Iterator<Item = &'static Entry> {
    world.methods().chain(world.references().map(|(entry, _)| entry))
}

fn table(world: &'static CatalogueWorld, results: &Results) -> Table {
    let comparisons = compare(world, results);
    if comparisons.is_empty() {
        return plain_table(world, results);
    }
    let episodes: Vec<usize> = comparisons.iter().take(3).map(|cell| cell.episode).collect();
    let mut head = vec![String::new()];
    head.extend(episodes.iter().flat_map(|_| ["paper".into(), "ours".into()]));
    let groups = episodes.iter().map(|episode| (format!("episode {episode}"), 2)).collect();
    let mut rows = Vec::new();
    for (entry, _) in compared() {
        let mut row = vec![named(entry)];
        for cell in comparisons.iter().filter(|cell| cell.method == entry.key) {
            row.push(mean_cell(cell.paper.0, Some(cell.paper.1)));
            let ours = cell.ours.map_or_else(nothing, |(mean, half)| mean_cell(mean, Some(half)));
            row.push(match cell.verdict.map(said) {
                Some((sign, word, tone)) => ours.noted(format!("{sign} {word}"), tone),
                None => ours,
            });
        }
        rows.push(row);
    }
    for entry in everybody(world).filter(|entry| entry.paper().is_none()) {
        if let Some(played) = played(results, &world.model(entry.key)) {
            let mut row = vec![named(entry)];
            for &episode in &episodes {
                let ours = at(played, entry, episode);
                row.extend([nothing(), ours.map_or_else(nothing, |(mean, half)| mean_cell(mean, Some(half)))]);
            }
            rows.push(row);
        }
    }
    let caption =
        "The paper's table and ours. Mean return with 95 % intervals. Below each method: its training data. Below \
                   our numbers: whether the difference is significant."
            .into();
    Table { caption, groups, head, rows }
}

/// A method's name with its training data.
#[must_use]
pub fn named(entry: &Entry) -> Cell {
    let from = match (entry.agent(), entry.key) {
        (Some(recipe), _) => recipe.data,
        (None, "source") => "the behaviour policy itself, which knows the goal",
        (None, _) => "plain code",
    };
    Cell::from(entry.label).noted(from, Tone::Plain)
}

fn plain_table(world: &'static CatalogueWorld, results: &Results) -> Table {
    let all: Vec<(&Entry, &Played)> = everybody(world)
        .filter_map(|entry| played(results, &world.model(entry.key)).map(|played| (entry, played)))
        .collect();
    let episodes = milestones(all.first().map_or(50, |(_, played)| played.episodes.len()));
    let mut head = vec![String::new()];
    head.extend(episodes.map(|episode| format!("episode {episode}")));
    let row = |(entry, played): (&Entry, &Played)| {
        let mut row = vec![named(entry)];
        for episode in episodes {
            let cell = played.episodes.get(episode - 1).map(|row| mean_cell(row.mean, row.half_width_95));
            row.push(cell.unwrap_or_else(nothing));
        }
        row
    };
    Table {
        caption:
            "Mean return. With 95 % intervals, below each method what it learned from; the paper has no table for this \
                  world."
                .into(),
        groups: Vec::new(),
        head,
        rows: all.into_iter().map(row).collect(),
    }
}

/// Action entropy by episode, one panel a world; none where no model has played.
#[must_use]
pub fn entropy(worlds: &[&'static CatalogueWorld], results: &Results) -> Option<Block> {
    let mut panels = Vec::new();
    for &world in worlds {
        let mut series = Vec::new();
        // MGDT begins every episode anew.
        for entry in world.methods().filter(|entry| !entry.paper().is_some_and(|row| row.one_number)) {
            let Some(played) = played(results, &world.model(entry.key)) else { continue };
            let points: Vec<Point> = played
                .episodes
                .iter()
                .filter_map(|row| row.entropy.map(|y| Point { x: row.episode as f64, y, half_width: None }))
                .collect();
            series.push(Series::new(entry.into(), Mark::Line, points).highlighted_if(entry.key == ICEE));
        }
        if !series.is_empty() {
            let (x, y) = (Axis::count("episode"), Axis::linear("entropy, nats").between(0.0, 1.7));
            panels.push(Panel { title: world.name.into(), x, y, series });
        }
    }
    (!panels.is_empty()).then(|| {
        Block::Figure(Figure {
            id: "entropy".into(),
            title: "Action entropy by episode".into(),
            caption:
                "How undecided the agent is, averaged over games and steps; five actions allow at most ln 5 = 1.61. \
                      It falls as the agent finds out what is hidden."
                    .into(),
            columns: 2,
            panels,
        })
    })
}
