//! The paper's whole evaluation: all work of the plan, then one page, its figures, their numbers, and the commands.

use crate::chapters::{self, PaperComparison};
use crate::page::{Block, Page, Section};
use crate::plan::{self, Options, Part};
use crate::work::{self, Lost, Machine, Results, Unit, UnitResult, Watcher};
use crate::{Error, Result, output};
use icee_base::files::write_atomically;
use icee_models::catalogue::{CatalogueWorld, WORLDS};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What was made.
#[derive(Debug)]
pub struct Report {
    /// The page.
    pub page: PathBuf,
    /// Every cell of the paper's tables with ours.
    pub comparisons: Vec<PaperComparison>,
    /// What came of the work.
    pub results: Results,
    /// The parts that are not on the page, because they have not been computed with these settings.
    pub absent: Vec<Part>,
}

/// `results.json`.
#[derive(Serialize)]
struct ResultsFile<'a> {
    icee: &'static str,
    games: usize,
    trials: usize,
    seed: u64,
    parts: Vec<&'static str>,
    tables: &'a [PaperComparison],
    missing: &'a [Lost],
    outcomes: &'a BTreeMap<String, UnitResult>,
}

/// Runs everything that is asked for and not there yet, and writes the report into `folder`. Parts that were computed before
/// with the same settings stay on the page.
///
/// # Errors
/// Whatever fails but a missing model, which is named in the report.
pub fn reproduce(options: &Options, machine: &Machine<'_>, folder: &Path, watcher: &mut dyn Watcher) -> Result<Report> {
    let mut results = work::run(&plan::units(options), machine, watcher)?;
    // Each once and in the paper's order, however they were asked for.
    let (mut parts, mut absent) = (Vec::new(), Vec::new());
    for part in Part::all() {
        let units = plan::units(&Options { parts: vec![part], ..options.clone() });
        let there = options.parts.contains(&part) || work::recall(&units, machine, &mut results)?;
        if there { parts.push(part) } else { absent.push(part) }
    }
    let shown = Options { parts, ..options.clone() };
    let units = plan::units(&shown);
    let wanted = |world: &&'static CatalogueWorld| shown.parts.contains(&Part::World(world));
    let worlds: Vec<&'static CatalogueWorld> = WORLDS.iter().filter(wanted).collect();
    let comparisons: Vec<PaperComparison> =
        worlds.iter().flat_map(|world| chapters::compare(world, &results)).collect();
    let summary = chapters::summary(&shown, &absent, &comparisons, &results)?;
    let page = page(&shown, summary, &units, &worlds, &results)?;
    let path = output::write(&page, folder)?;
    let file = ResultsFile {
        icee: env!("CARGO_PKG_VERSION"),
        games: shown.games,
        trials: shown.trials,
        seed: shown.seed,
        parts: shown.parts.iter().map(|part| part.name()).collect(),
        tables: &comparisons,
        missing: &results.lost,
        outcomes: &results.outcomes,
    };
    let json = serde_json::to_string(&file).map_err(|e| Error::output("results.json", e))?;
    write_atomically(&folder.join("results.json"), json.as_bytes())?;
    write_atomically(&folder.join("commands.txt"), commands(&shown, &units).as_bytes())?;
    Ok(Report { page: path, comparisons, results, absent })
}

fn page(
    options: &Options,
    summary: Vec<Block>,
    units: &[Unit],
    worlds: &[&'static CatalogueWorld],
    results: &Results,
) -> Result<Page> {
    let mut sections = Vec::new();
    let mut section = |heading: &str, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            sections.push(Section { heading: heading.into(), blocks });
        }
    };
    section("Summary", summary);
    for &world in worlds {
        section(world.name, chapters::world(world, results));
    }
    section("Exploration and certainty", chapters::entropy(worlds, results).into_iter().collect());
    if options.parts.contains(&Part::Beyond) {
        section(Part::Beyond.title(), chapters::beyond(results));
    }
    if options.parts.contains(&Part::Bo) {
        section(Part::Bo.title(), chapters::optimisation(results));
    }
    if options.parts.contains(&Part::Tables) {
        section(Part::Tables.title(), chapters::tables(results)?);
    }
    if options.parts.contains(&Part::Ablations) {
        section(Part::Ablations.title(), chapters::ablations(results));
    }
    if options.parts.contains(&Part::Cost) {
        section(Part::Cost.title(), chapters::cost()?);
    }
    if !results.lost.is_empty() {
        let mut models: Vec<&str> = results.lost.iter().map(|lost| lost.model.as_str()).collect();
        models.sort_unstable();
        models.dedup();
        let named = models.iter().map(|model| {
            let command = icee_models::recipes::find(model).map_or(String::new(), |recipe| recipe.command());
            format!("{model}: {command}")
        });
        let text = "These models were not found, so what needs them is left out. Each is trained by:";
        section("Missing models", vec![Block::Text(text.into()), Block::List(named.collect())]);
    }
    section("Commands", vec![Block::Code(commands(options, units))]);
    let (games, seed) = (options.games, options.seed);
    Ok(Page {
        title: "In-context exploration and exploitation".into(),
        lead: format!(
            "The experiments of the paper (Dai, Tomasi, Ghiassian, ICLR 2024) run anew from trained models: {games} games a \
             world, {} trials a function, seed {seed}. Everything below was computed by the commands at the end, but the cost of \
             learning, which was measured before.",
            options.trials
        ),
        sections,
        footer: format!("Made by icee {}. Figures as files and their numbers: figures/.", env!("CARGO_PKG_VERSION")),
    })
}

/// The command that made the report, and those that make its parts by hand.
fn commands(options: &Options, units: &[Unit]) -> String {
    let mut only = String::new();
    if options.parts != Part::all() {
        for part in &options.parts {
            only += &format!(" --only {}", part.name());
        }
    }
    let Options { games, trials, seed, .. } = options;
    let mut text = format!("icee reproduce{only} --games {games} --trials {trials} --seed {seed}\n\n");
    let mut lines: Vec<String> = Vec::new();
    for line in units.iter().map(Unit::command) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    text += &lines.join("\n");
    text
}
