//! Worlds that the paper does not have: bandits by their regret, and the room whose actions are permuted.

use super::{mean_cell, named, nothing, played, world};
use crate::figure::{Axis, Figure, Mark, Panel, Point, Series};
use crate::ink::Ink;
use crate::page::{Block, Table};
use crate::work::Results;
use icee_models::catalogue::{BANDITS, CatalogueWorld, Entry, ICEE, PERMUTED};
use icee_worlds::Reference;

/// The pulls after which regrets are told; the last is the end of a game.
const PULLS: [usize; 3] = [20, 100, 500];

/// The chapter.
#[must_use]
pub fn beyond(results: &Results) -> Vec<Block> {
    let mut blocks = Vec::new();
    let panels: Vec<Panel> = BANDITS.iter().filter_map(|bandit| panel(bandit, results)).collect();
    if !panels.is_empty() {
        blocks.push(Block::Figure(Figure {
            id: "regret-bandits".into(),
            title: "Bandits: regret by pull".into(),
            caption: "Cumulative return of an oracle that knows the best arm, minus the agent's, on the same tasks: the mean over \
                      tasks. The band is ICEE's 95 % interval. ICEE was trained offline and learns in its context; Thompson \
                      sampling draws from the exact posterior and knows the prior; UCB1 knows neither."
                .into(),
            columns: 2,
            panels,
        }));
        blocks.push(Block::Table(table(results)));
    }
    if PERMUTED.methods().any(|entry| played(results, &PERMUTED.model(entry.key)).is_some()) {
        blocks.push(Block::Text(format!(
            "{}: the effect of the five actions is hidden as well, one of 120 permutations.",
            PERMUTED.name
        )));
        blocks.extend(world(&PERMUTED, results));
    }
    blocks
}

/// The regret of ICEE and Thompson sampling in a whole task, in one line; none without results.
#[must_use]
pub(super) fn sentence(results: &Results) -> Option<String> {
    let last = |bandit: &CatalogueWorld, key: &str| Some(regret(bandit, key, results)?.last()?.0);
    let of = |bandit: &CatalogueWorld| {
        let (ours, thompson) = (last(bandit, ICEE)?, last(bandit, Reference::Posterior.name())?);
        Some(format!("{} {ours:.1} beside Thompson sampling's {thompson:.1}", bandit.name))
    };
    let said: Vec<String> = BANDITS.iter().filter_map(of).collect();
    (!said.is_empty()).then(|| format!("Bandits, regret of ICEE in 500 pulls (less is better): {}.", said.join(", ")))
}

/// Who plays the bandits: ICEE, then plain code.
fn players(bandit: &'static CatalogueWorld) -> impl Iterator<Item = &'static Entry> {
    bandit.methods().chain(bandit.references().map(|(entry, _)| entry))
}

fn regret<'a>(bandit: &CatalogueWorld, key: &str, results: &'a Results) -> Option<&'a [(f64, f64)]> {
    played(results, &bandit.model(key)).map(|played| played.regret.as_slice()).filter(|regret| !regret.is_empty())
}

/// In bandits, posterior sampling has a name of its own.
fn label(entry: &Entry) -> &'static str {
    if entry.key == Reference::Posterior.name() { "Thompson sampling" } else { entry.label }
}

fn panel(bandit: &'static CatalogueWorld, results: &Results) -> Option<Panel> {
    let mut series = Vec::new();
    for entry in players(bandit) {
        let Some(regret) = regret(bandit, entry.key, results) else { continue };
        let point =
            |(step, &(y, half)): (usize, &(f64, f64))| Point { x: (step + 1) as f64, y, half_width: Some(half) };
        let mark = if entry.key == ICEE { Mark::Line } else { Mark::Dashed };
        let points = regret.iter().enumerate().map(point).collect();
        series.push(Series::new(Ink::from(entry), mark, points).called(label(entry)).highlighted_if(entry.key == ICEE));
    }
    let (x, y) = (Axis::count("pull"), Axis::linear("regret"));
    (!series.is_empty()).then(|| Panel { title: bandit.name.into(), x, y, series })
}

fn table(results: &Results) -> Table {
    let mut head = vec![String::new()];
    let mut groups = Vec::new();
    for bandit in &BANDITS {
        head.extend(PULLS.map(|pulls| format!("{pulls} pulls")));
        groups.push((bandit.name.to_owned(), PULLS.len()));
    }
    let row = |entry: &'static Entry| {
        let mut name = named(entry);
        name.text = label(entry).into();
        let mut row = vec![name];
        for bandit in &BANDITS {
            let regret = regret(bandit, entry.key, results).unwrap_or_default();
            let cell =
                |pulls: usize| regret.get(pulls - 1).map_or_else(nothing, |&(mean, half)| mean_cell(mean, Some(half)));
            row.extend(PULLS.map(cell));
        }
        row
    };
    let rows = players(&BANDITS[0]).map(row).collect();
    let games = BANDITS.iter().find_map(|bandit| played(results, &bandit.model(ICEE))).map_or(0, |played| played.games);
    let caption = format!(
        "Regret with 95 % intervals over {games} unseen games; less is better. Below each agent: what it learned from."
    );
    Table { caption, groups, head, rows }
}
