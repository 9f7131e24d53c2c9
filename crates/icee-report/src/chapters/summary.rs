//! The summary: what was reproduced, how it compares with the paper, what is missing.

use super::optimisation::regret_after_evaluations;
use super::worlds::{PaperComparison, compared, named};
use super::{beyond, cost, nothing, said, tables};
use crate::Result;
use crate::ink;
use crate::page::{Block, Cell, Table, Tone};
use crate::paper::Verdict;
use crate::plan::{Options, Part};
use crate::work::Results;
use icee_models::catalogue::{CatalogueWorld, compared_optimisers};

/// The evaluations after which optimisers are compared in one sentence.
const EVALUATIONS: usize = 20;

/// The chapter, of the parts that are on the page and those that are not.
///
/// # Errors
/// None but a damaged program's.
pub fn summary(
    shown: &Options,
    absent: &[Part],
    comparisons: &[PaperComparison],
    results: &Results,
) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let all = |parts: &[Part]| parts.iter().map(|part| part.title()).collect::<Vec<_>>().join(", ");
    let mut lines = vec![format!("On this page: {}.", all(&shown.parts))];
    lines.extend(verdicts(comparisons));
    if shown.parts.contains(&Part::Beyond) {
        lines.extend(beyond::sentence(results));
    }
    if shown.parts.contains(&Part::Bo) {
        lines.extend(optimisers(results));
    }
    if shown.parts.contains(&Part::Tables) {
        lines.extend(tables::sentence(results)?);
    }
    if shown.parts.contains(&Part::Cost) {
        lines.push(cost::sentence()?);
    }
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().map(|part| part.name()).collect();
        let Options { games, trials, seed, .. } = shown;
        lines.push(format!(
            "Not computed yet: {}. `icee reproduce --only {} --games {games} --trials {trials} --seed {seed}` adds them.",
            all(absent),
            names.join(",")
        ));
    }
    blocks.push(Block::List(lines));
    let glance = glance(&shown.parts, comparisons);
    blocks.extend((!glance.rows.is_empty()).then_some(Block::Table(glance)));
    Ok(blocks)
}

/// How many cells of the paper's tables are higher, the same or lower here.
fn verdicts(comparisons: &[PaperComparison]) -> Option<String> {
    let count = |wanted: Verdict| comparisons.iter().filter(|cell| cell.verdict == Some(wanted)).count();
    let (higher, agree, lower) = (count(Verdict::Higher), count(Verdict::Agrees), count(Verdict::Lower));
    let compared = higher + agree + lower;
    (compared > 0).then(|| {
        format!(
            "Compared with {compared} cells of the paper's tables, ours is significantly higher in {higher}, agrees in {agree} and is \
             significantly lower in {lower} (both 95 % intervals)."
        )
    })
}

/// What the optimisers reach in few evaluations.
fn optimisers(results: &Results) -> Option<String> {
    let said: Vec<String> = compared_optimisers()
        .filter_map(|entry| {
            let regret = regret_after_evaluations(entry.key, EVALUATIONS, results)?;
            let half = regret.half_width.map_or(String::new(), |half| format!(" ± {half:.2}"));
            Some(format!("{} {:.2}{half}", ink::of(entry.key).label, regret.y))
        })
        .collect();
    let list = said.join(", ");
    (!said.is_empty()).then(|| {
        format!("Sixteen functions, mean regret after {EVALUATIONS} evaluations in standard deviations (less is better): {list}.")
    })
}

/// A row a method, a column a world: the return at the last episode of the paper's table, and all its verdicts.
fn glance(parts: &[Part], comparisons: &[PaperComparison]) -> Table {
    let worlds: Vec<&CatalogueWorld> = parts
        .iter()
        .filter_map(|part| if let Part::World(world) = part { Some(*world) } else { None })
        .filter(|world| comparisons.iter().any(|cell| cell.world == world.id && cell.ours.is_some()))
        .collect();
    let mut head = vec![String::new()];
    head.extend(worlds.iter().map(|world| world.name.to_owned()));
    let mut rows = Vec::new();
    for (entry, _) in compared() {
        let cells = |world: &&CatalogueWorld| {
            let of = |cell: &&PaperComparison| cell.world == world.id && cell.method == entry.key;
            at_a_glance(&comparisons.iter().filter(of).collect::<Vec<_>>())
        };
        let row: Vec<Cell> = worlds.iter().map(cells).collect();
        if row.iter().any(|cell| cell.tone != Tone::None) {
            rows.push([named(entry)].into_iter().chain(row).collect());
        }
    }
    let caption = "Verdicts at a glance. Mean return at the last episode of the paper's table, ours and in parentheses the paper's; \
                   below it the verdicts of its three episodes (▲ higher, = agrees, ▼ lower). Below each method: what ours \
                   learned from. The paper's agents learned from the behaviour policy's episodes alone."
        .into();
    Table { caption, groups: Vec::new(), head, rows }
}

fn at_a_glance(cells: &[&PaperComparison]) -> Cell {
    let Some((last, ours)) = cells.last().and_then(|last| Some((last, last.ours?))) else { return nothing() };
    let verdicts: Vec<Verdict> = cells.iter().filter_map(|cell| cell.verdict).collect();
    let signs: Vec<&str> = verdicts.iter().map(|verdict| said(*verdict).0).collect();
    let has = |wanted: Verdict| verdicts.contains(&wanted);
    let tone = match (has(Verdict::Higher), has(Verdict::Lower)) {
        (true, false) => Tone::Good,
        (false, true) => Tone::Bad,
        _ => Tone::Plain,
    };
    Cell::from(format!("{:.2} ({:.2})", ours.0, last.paper.0)).noted(signs.join(" "), tone)
}
