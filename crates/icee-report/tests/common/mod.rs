//! Made-up outcomes and the page of all of them.
#![allow(dead_code, reason = "each test file is a program of its own and uses a part")]

use icee_models::catalogue::WORLDS;
use icee_models::results::EpisodeRow;
use icee_report::chapters::{self, PaperComparison};
use icee_report::page::{Page, Section};
use icee_report::plan::{self, Options, Part};
use icee_report::work::{Played, Raced, RacedRun, Results, SearchCurve, Searched, UnitResult, Work};

/// Returns that rise to `last`, with an entropy.
pub fn played(world: &str, last: f64) -> UnitResult {
    let episodes = if world == "DarkKeyToDoor-v0" { 20 } else { 50 };
    let row = |episode: usize| EpisodeRow {
        episode,
        mean: last * (1.0 - 0.9 / episode as f64),
        half_width_95: Some(0.05 * last),
        entropy: Some(1.6 / episode as f64),
    };
    let episodes = (1..=episodes).map(row).collect();
    UnitResult::Played(Played {
        world: world.into(),
        games: 10,
        episodes,
        overall: (0.8 * last, 0.1),
        regret: Vec::new(),
        seconds: 1.0,
    })
}

pub fn searched(function: &str, rate: f64) -> UnitResult {
    let trial = |trial: usize| {
        let regret = |step: usize| (2.0 - rate * (step + trial) as f64).max(0.0);
        let seconds = |step: usize| step.saturating_sub(4) as f64 * 0.01;
        SearchCurve { regret: (0..55).map(regret).collect(), seconds: (0..55).map(seconds).collect() }
    };
    UnitResult::Searched(Searched { function: function.into(), initial: 5, trials: (0..3).map(trial).collect() })
}

pub fn raced(table: &str, trials: usize, shift: usize) -> UnitResult {
    let pools = icee_bo::race::builtin::pools().unwrap();
    let pool = pools.iter().find(|pool| pool.name == table).unwrap();
    let run = |run: usize| {
        let rest = (0..50).map(|step| (step * shift + run) % pool.values.len());
        RacedRun { milliseconds: 5.0, rows: pool.first[run].iter().copied().chain(rest).collect() }
    };
    UnitResult::Raced(Raced { table: table.into(), runs: (0..trials).map(run).collect() })
}

/// Outcomes of everything in the plan but what `missing` says.
pub fn results(missing: &[&str]) -> Results {
    let options = Options { games: 10, trials: 3, seed: 0, parts: Part::all() };
    let mut results = Results::default();
    for (index, unit) in plan::units(&options).into_iter().enumerate() {
        if missing.iter().any(|part| unit.id.contains(part)) {
            continue;
        }
        let outcome = match &unit.work {
            Work::Play { world, regret, .. } | Work::Reference { world, regret, .. } => {
                let last = 1.0 + (index % 7) as f64;
                let mut outcome = played(world, last);
                if let (true, UnitResult::Played(played)) = (*regret, &mut outcome) {
                    played.regret = (1..=500).map(|pull| (last * f64::from(pull).ln(), 0.1)).collect();
                }
                outcome
            }
            Work::Search { function, sampler, .. } => searched(function, 0.01 * sampler.len() as f64),
            Work::Race { table, sampler, trials } => raced(table, *trials, sampler.len()),
        };
        results.outcomes.insert(unit.id, outcome);
    }
    results
}

pub fn page(results: &Results) -> Page {
    let options = Options { games: 10, trials: 3, seed: 0, parts: Part::all() };
    let comparisons: Vec<PaperComparison> = WORLDS.iter().flat_map(|world| chapters::compare(world, results)).collect();
    let mut blocks = chapters::summary(&options, &[], &comparisons, results).unwrap();
    blocks.extend(WORLDS.iter().flat_map(|world| chapters::world(world, results)));
    blocks.extend(chapters::entropy(&WORLDS.each_ref(), results));
    blocks.extend(chapters::beyond(results));
    blocks.extend(chapters::optimisation(results));
    blocks.extend(chapters::tables(results).unwrap());
    blocks.extend(chapters::ablations(results));
    blocks.extend(chapters::cost().unwrap());
    Page { title: "T".into(), sections: vec![Section { heading: "S".into(), blocks }], ..Page::default() }
}
