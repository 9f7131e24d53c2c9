//! One chapter a world: the learning curves of all methods, and the paper's table with ours beside it. And the action
//! entropies of all worlds.

use super::{WORLD_NAMES, ceiling, curve, mean_cell, nothing, played, verdict_cell};
use crate::figure::{Axis, Figure, Mark, Panel, Point, Series};
use crate::ink;
use crate::page::{Block, Cell, Table};
use crate::paper::{self, Verdict, verdict};
use crate::plan::{BIASED, methods, play_id};
use crate::work::{Played, Results};
use icee_models::recipes::WORLDS;
use icee_models::results::milestones;
use serde::Serialize;

/// A cell of the paper's tables with ours beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
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

/// Our methods and the paper's rows that they stand beside.
const ROWS: [(&str, &str); 6] = [
    ("icee", "icee"),
    ("icee-paper", "icee"),
    ("ad", "ad"),
    ("ad-sorted", "ad-sorted"),
    ("mgdt", "mgdt"),
    ("source", "source"),
];

/// Whether the paper gives one number for all episodes: these do not learn from one to the next.
fn one_number(method: &str) -> bool {
    ["mgdt", "source"].contains(&method)
}

/// Every cell of the paper's table of a world, with ours and the verdict; empty where the paper has no table.
#[must_use]
pub fn compare(world: usize, results: &Results) -> Vec<Comparison> {
    let mut cells = Vec::new();
    for (method, papers_method) in ROWS {
        let ours = played(results, &play_id(world, method));
        for cell in paper::row(WORLDS[world].1, papers_method) {
            let ours = ours.and_then(|ours| at(ours, method, cell.episode));
            let paper = (cell.mean, cell.half_width_95);
            let verdict = ours.map(|ours| verdict(ours, paper));
            let (world, episode) = (WORLDS[world].1, cell.episode);
            cells.push(Comparison { world, method, papers_method, episode, paper, ours, verdict });
        }
    }
    cells
}

/// The mean and half width at an episode, or over all of them for methods that do not learn.
fn at(played: &Played, method: &str, episode: usize) -> Option<(f64, f64)> {
    if one_number(method) {
        return Some(played.overall);
    }
    played.episodes.get(episode - 1).map(|row| (row.mean, row.half_width_95.unwrap_or(0.0)))
}

/// The chapter of a world.
#[must_use]
pub fn world(world: usize, results: &Results) -> Vec<Block> {
    let (preset, id) = WORLDS[world];
    let mut series = Vec::new();
    for method in methods(world) {
        if let Some(played) = played(results, &play_id(world, method)) {
            series.push(curve(&played.episodes, ink::of(method), Mark::Line));
        }
    }
    for agent in ["source", "posterior", "oracle"] {
        if let Some(played) = played(results, &play_id(world, agent)) {
            series.push(ceiling(played, agent));
        }
    }
    for method in ["icee", "ad", "ad-sorted"] {
        let points = paper::points(id, method);
        if !points.is_empty() {
            let label = format!("paper: {}", ink::of(method).label);
            series.push(Series::new(ink::of(method), Mark::Points, points).called(&label));
        }
    }
    let games = results_games(world, results);
    let name = WORLD_NAMES[world];
    let caption = format!(
        "Mean return over {games} unseen games at each episode; bands are 95 % intervals. Dashed: agents that bound what \
         can be had (the oracle knows the goal, posterior sampling searches optimally) and the policy that made the \
         training data (Source).{}",
        if paper::row(id, "icee").is_empty() { "" } else { " Diamonds: the paper's numbers with their intervals." }
    );
    let figure = Figure::single(
        &format!("returns-{preset}"),
        &format!("{name}: mean return by episode"),
        &caption,
        Axis::linear("episode"),
        Axis::linear("mean return"),
        series,
    );
    let mut blocks = vec![Block::Figure(figure), Block::Table(table(world, results))];
    if world == BIASED {
        blocks.push(Block::Text(
            "Here the data walks left two times in three, and the goals are on the right: a method that imitates the data \
             cannot find them. ICEE-biased is the weighted head without its weights: the paper's test of its unbiased \
             objective."
                .into(),
        ));
    }
    blocks
}

fn results_games(world: usize, results: &Results) -> usize {
    let ids = methods(world).into_iter().chain(["source", "posterior", "oracle"]).map(|who| play_id(world, who));
    ids.into_iter().find_map(|id| played(results, &id)).map_or(0, |played| played.games)
}

fn table(world: usize, results: &Results) -> Table {
    let comparisons = compare(world, results);
    if comparisons.is_empty() {
        return plain_table(world, results);
    }
    let episodes: Vec<usize> = comparisons.iter().take(3).map(|cell| cell.episode).collect();
    let mut head = vec![String::new()];
    for episode in &episodes {
        head.extend([format!("episode {episode}: paper"), "ours".into(), "verdict".into()]);
    }
    let mut rows = Vec::new();
    for (method, papers) in ROWS {
        let mut row = vec![Cell::from(ink::of(method).label)];
        for cell in comparisons.iter().filter(|cell| cell.method == method && cell.papers_method == papers) {
            row.push(mean_cell(cell.paper.0, Some(cell.paper.1)));
            row.push(cell.ours.map_or_else(nothing, |(mean, half)| mean_cell(mean, Some(half))));
            row.push(cell.verdict.map_or_else(nothing, verdict_cell));
        }
        rows.push(row);
    }
    for agent in ["icee-biased", "posterior", "oracle"] {
        if let Some(played) = played(results, &play_id(world, agent)) {
            let mut row = vec![Cell::from(ink::of(agent).label)];
            for &episode in &episodes {
                let ours = at(played, agent, episode);
                row.extend([
                    nothing(),
                    ours.map_or_else(nothing, |(mean, half)| mean_cell(mean, Some(half))),
                    nothing(),
                ]);
            }
            rows.push(row);
        }
    }
    let caption =
        "The paper's table and ours: mean return with 95 % intervals. The verdict asks whether the difference \
                   exceeds what both intervals leave to chance."
            .into();
    Table { caption, head, rows }
}

fn plain_table(world: usize, results: &Results) -> Table {
    let agents = methods(world).into_iter().chain(["source", "posterior", "oracle"]);
    let all: Vec<(&str, &Played)> =
        agents.filter_map(|who| played(results, &play_id(world, who)).map(|played| (who, played))).collect();
    let episodes = milestones(all.first().map_or(50, |(_, played)| played.episodes.len()));
    let mut head = vec![String::new()];
    head.extend(episodes.map(|episode| format!("episode {episode}")));
    let row = |(who, played): (&str, &Played)| {
        let mut row = vec![Cell::from(ink::of(who).label)];
        for episode in episodes {
            let cell = played.episodes.get(episode - 1).map(|row| mean_cell(row.mean, row.half_width_95));
            row.push(cell.unwrap_or_else(nothing));
        }
        row
    };
    Table {
        caption: "Mean return with 95 % intervals; the paper has no table for this world.".into(),
        head,
        rows: all.into_iter().map(row).collect(),
    }
}

/// Action entropy by episode, one panel a world; none where no model has played.
#[must_use]
pub fn entropy(worlds: &[usize], results: &Results) -> Option<Block> {
    let mut panels = Vec::new();
    for &world in worlds {
        let mut series = Vec::new();
        for method in ["icee", "icee-paper", "icee-biased", "ad", "ad-sorted"] {
            let Some(played) = played(results, &play_id(world, method)) else { continue };
            let points: Vec<Point> = played
                .episodes
                .iter()
                .filter_map(|row| row.entropy.map(|y| Point { x: row.episode as f64, y, half_width: None }))
                .collect();
            series.push(Series::new(ink::of(method), Mark::Line, points));
        }
        if !series.is_empty() {
            let (x, y) = (Axis::linear("episode"), Axis::linear("entropy, nats").between(0.0, 1.7));
            panels.push(Panel { title: WORLD_NAMES[world].into(), x, y, series });
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
