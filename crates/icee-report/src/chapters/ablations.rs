//! Ablations: one part of the method is changed at a time.

use super::{ceiling, curve, mean_cell, nothing, played};
use crate::chapters::optimisation::regret_figure;
use crate::figure::{Axis, Figure, Mark, Panel};
use crate::ink::{self, Ink, RAMP};
use crate::page::{Block, Cell, Table};
use crate::plan::{GUARDS, KAPPAS, guard_id, kappa_id};
use crate::work::Results;
use icee_models::catalogue::{self, CatalogueWorld, WORLDS};
use icee_models::results::milestones;

/// More bands than these would hide each other.
const MOST_BANDS: usize = 3;

/// A line of an ablation: the work's name, its ink, what it is called.
type Line = (String, Ink, String);

/// The chapter.
#[must_use]
pub fn ablations(results: &Results) -> Vec<Block> {
    let variants = |keys: &[&'static str]| {
        let keys = keys.to_vec();
        move |world: &CatalogueWorld| -> Vec<Line> {
            let line = |key: &&str| (world.model(key), ink::of(key), ink::of(key).label.to_owned());
            keys.iter().map(line).collect()
        }
    };
    let ramp = |values: &'static [f64], symbol: &'static str, id: fn(&CatalogueWorld, f64) -> String| {
        move |world: &CatalogueWorld| -> Vec<Line> {
            let line = |(step, value): (usize, &f64)| (id(world, *value), RAMP[step], format!("{symbol} = {value}"));
            values.iter().enumerate().map(line).collect()
        }
    };
    let all: Vec<&CatalogueWorld> = WORLDS.iter().collect();
    let tuned: Vec<&CatalogueWorld> = WORLDS.iter().filter(|world| world.acting_ablation).collect();
    let figures = [
        figure(
            "ablation-networks",
            "Networks and action rule",
            "Late conditioning with Bayes' rule (ICEE) against a weighted action head on the same trunk, and against the \
             paper's two transformers. Training times differ: see `icee models card NAME`.",
            &all,
            variants(&["icee", "icee-weighted", "icee-paper"]),
            results,
        ),
        figure(
            "ablation-joint",
            "Conditioning on c̃",
            "Always conditioning on an episode better than all before (c̃ = 1, as in the paper) against drawing c̃ from the model's \
             prediction; one model each.",
            &all,
            variants(&["icee", "icee-always-one"]),
            results,
        ),
        figure(
            "ablation-histories",
            "Training histories",
            "Trained without histories of exploring policies, which do not know the goal; and also without those of noisy policies, \
             which have found nothing yet: then all episodes are the behaviour policy's, as in the paper. Training times differ: \
             see `icee models card NAME`.",
            &all[..1],
            variants(&["icee", "icee-no-searchers", "icee-offline"]),
            results,
        ),
        figure(
            "ablation-kappa",
            "Optimism κ",
            "One model with different κ; its other acting rules are unchanged.",
            &tuned,
            ramp(&KAPPAS, "κ", kappa_id),
            results,
        ),
        figure(
            "ablation-guard",
            "Ignored upper tail δ",
            "One model with different guards δ; its other acting rules are unchanged.",
            &tuned,
            ramp(&GUARDS, "δ", guard_id),
            results,
        ),
    ];
    let mut blocks = Vec::new();
    for (figure, table) in figures.into_iter().flatten() {
        blocks.extend([Block::Figure(figure), Block::Table(table)]);
    }
    let optimisers: Vec<&str> = catalogue::ablated_optimisers().map(|entry| entry.key).chain(["random"]).collect();
    let caption = "What is learned (the value of each candidate; the exact objectives; the paper's sampled one), and from \
                   which prior over functions.";
    let figure = regret_figure("ablation-bo", "Objectives and priors", caption, &optimisers, results);
    // Random search alone shows nothing.
    blocks.extend(figure.filter(|figure| figure.panels[0].series.len() > 1).map(Block::Figure));
    blocks
}

/// A panel a world and a table of all its lines; none where there is nothing to compare.
fn figure(
    id: &str,
    title: &str,
    caption: &str,
    worlds: &[&CatalogueWorld],
    lines: impl Fn(&CatalogueWorld) -> Vec<Line>,
    results: &Results,
) -> Option<(Figure, Table)> {
    let mut panels = Vec::new();
    let mut rows = Vec::new();
    for &world in worlds {
        let mut series = Vec::new();
        let lines = lines(world);
        let few = lines.len() <= MOST_BANDS;
        for (id, ink, label) in lines {
            let Some(played) = played(results, &id) else { continue };
            series.push(curve(&played.episodes, ink, Mark::Line).called(&label).highlighted_if(few));
            let mut row = vec![Cell::from(format!("{}: {label}", world.name))];
            row.extend(milestones(played.episodes.len()).map(|episode| {
                let row = played.episodes.get(episode - 1);
                row.map_or_else(nothing, |row| mean_cell(row.mean, row.half_width_95))
            }));
            row.push(mean_cell(played.overall.0, Some(played.overall.1)));
            rows.push(row);
        }
        if series.len() < 2 {
            continue;
        }
        if let Some(oracle) = played(results, &world.model("oracle")) {
            series.push(ceiling(&oracle.episodes, ink::of("oracle")));
        }
        let (x, y) = (Axis::count("episode"), Axis::linear("mean return"));
        panels.push(Panel { title: world.name.into(), x, y, series });
    }
    if panels.is_empty() {
        return None;
    }
    // A single panel needs no title of its own.
    let title = match &mut panels[..] {
        [only] => format!("{title}: {}", std::mem::take(&mut only.title)),
        _ => title.into(),
    };
    let columns = panels.len().min(2);
    let head = ["", "episode 10 (5)", "30 (10)", "50 (20)", "all episodes"].map(String::from).to_vec();
    let caption_of_table = "Mean return. With 95 % intervals; in parentheses the episodes of Key-to-Door.".into();
    let figure = Figure { id: id.into(), title, caption: caption.into(), panels, columns };
    Some((figure, Table { caption: caption_of_table, head, rows, ..Table::default() }))
}
