//! The whole page from made-up outcomes: what is there is drawn, what is not is left out, and nothing is fetched.

use icee_bo::functions;
use icee_models::catalogue::WORLDS;
use icee_models::results::EpisodeRow;
use icee_report::chapters::{self, PaperComparison};
use icee_report::check::self_contained;
use icee_report::figure::Figure;
use icee_report::page::{Block, Page, Section};
use icee_report::paper::Verdict;
use icee_report::plan::{self, Options, Part};
use icee_report::work::{Played, Results, SearchCurve, Searched, UnitResult, Work};
use icee_report::{draw, output};

/// Returns that rise to `last`, with an entropy.
fn played(world: &str, last: f64) -> UnitResult {
    let episodes = if world == "DarkKeyToDoor-v0" { 20 } else { 50 };
    let row = |episode: usize| EpisodeRow {
        episode,
        mean: last * (1.0 - 0.9 / episode as f64),
        half_width_95: Some(0.05 * last),
        entropy: Some(1.6 / episode as f64),
    };
    let episodes = (1..=episodes).map(row).collect();
    UnitResult::Played(Played { world: world.into(), games: 10, episodes, overall: (0.8 * last, 0.1), seconds: 1.0 })
}

fn searched(function: &str, rate: f64) -> UnitResult {
    let trial = |trial: usize| {
        let regret = |step: usize| (2.0 - rate * (step + trial) as f64).max(0.0);
        let seconds = |step: usize| step.saturating_sub(4) as f64 * 0.01;
        SearchCurve { regret: (0..55).map(regret).collect(), seconds: (0..55).map(seconds).collect() }
    };
    UnitResult::Searched(Searched { function: function.into(), initial: 5, trials: (0..3).map(trial).collect() })
}

/// Outcomes of everything in the plan but what `missing` says.
fn results(missing: &[&str]) -> Results {
    let options = Options { games: 10, trials: 3, seed: 0, parts: Part::all() };
    let mut results = Results::default();
    for (index, unit) in plan::units(&options).into_iter().enumerate() {
        if missing.iter().any(|part| unit.id.contains(part)) {
            continue;
        }
        let outcome = match &unit.work {
            Work::Play { world, .. } | Work::Reference { world, .. } => played(world, 1.0 + (index % 7) as f64),
            Work::Search { function, sampler, .. } => searched(function, 0.01 * sampler.len() as f64),
        };
        results.outcomes.insert(unit.id, outcome);
    }
    results
}

fn page(results: &Results) -> Page {
    let mut blocks: Vec<Block> = WORLDS.iter().flat_map(|world| chapters::world(world, results)).collect();
    blocks.extend(chapters::entropy(&WORLDS.each_ref(), results));
    blocks.extend(chapters::optimisation(results));
    blocks.extend(chapters::ablations(results));
    Page { title: "T".into(), sections: vec![Section { heading: "S".into(), blocks }], ..Page::default() }
}

#[test]
fn everything_is_drawn_and_nothing_fetched() {
    let page = page(&results(&[]));
    let figures: Vec<&Figure> = page.figures().collect();
    let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "returns-dark-room",
            "returns-dark-room-hard",
            "returns-key-to-door",
            "returns-dark-room-biased",
            "entropy",
            "bo-regret",
            "bo-time",
            "bo-solved",
            "bo-functions",
            "ablation-networks",
            "ablation-joint",
            "ablation-histories",
            "ablation-kappa",
            "ablation-guard",
            "ablation-bo"
        ]
    );
    assert_eq!(figures[8].panels.len(), functions::all().len());
    for figure in figures {
        let points: usize =
            figure.panels.iter().flat_map(|panel| &panel.series).map(|series| series.points.len()).sum();
        assert!(points > 0 && figure.to_csv().unwrap().lines().count() == points + 1, "{}", figure.id);
        let svg = draw::svg_file(figure);
        for series in figure.legend() {
            assert!(svg.contains(&format!("var(--ink-{})", series.ink.key)), "{}: {}", figure.id, series.label);
            assert_ne!(series.ink.key, "other", "{}", series.label);
        }
        assert!(svg.starts_with("<svg ") && svg.contains(" viewBox=\"0 0 "), "{}", figure.id);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", figure.id);
    }
    self_contained(&page.to_html().unwrap()).unwrap();
}

#[test]
fn what_is_missing_is_left_out() {
    let results = results(&["__ad", "icee-weighted", "icee-paper", "icee-no-", "always-one", "bo__value", "kappa"]);
    let page = page(&results);
    let ids: Vec<&str> = page.figures().map(|figure| figure.id.as_str()).collect();
    assert!(!ids.contains(&"ablation-networks") && !ids.contains(&"ablation-kappa"), "{ids:?}");
    let labels: Vec<&str> = page.figures().flat_map(Figure::legend).map(|series| series.label.as_str()).collect();
    assert!(!labels.contains(&"AD") && labels.contains(&"paper: AD") && !labels.contains(&"ICEE, value"), "{labels:?}");
    let cells = chapters::compare(&WORLDS[0], &results);
    let ad: Vec<&PaperComparison> = cells.iter().filter(|cell| cell.method == "ad").collect();
    assert!(ad.len() == 3 && ad.iter().all(|cell| cell.ours.is_none() && cell.verdict.is_none()));
    self_contained(&page.to_html().unwrap()).unwrap();
}

#[test]
fn verdicts_take_the_number_that_the_paper_takes() {
    let mut results = Results::default();
    results.outcomes.insert("dark-room__icee".into(), played("DarkRoom-v0", 20.0));
    results.outcomes.insert("dark-room__source".into(), played("DarkRoom-v0", 6.4));
    let cells = chapters::compare(&WORLDS[0], &results);
    let of = |method: &str| cells.iter().find(|cell| cell.method == method).unwrap();
    assert_eq!((of("icee").episode, of("icee").verdict), (10, Some(Verdict::Higher)));
    // 0.8 x 6.4 over all episodes, not the return at the tenth.
    let source = of("source").ours.unwrap();
    assert!((source.0 - 5.12).abs() < 1e-9 && of("source").verdict == Some(Verdict::Agrees), "{source:?}");
}

#[test]
fn every_figure_has_its_files() {
    let folder = std::env::temp_dir().join(format!("icee-report-{}", std::process::id()));
    let mut results = Results::default();
    results.outcomes.insert("dark-room__icee".into(), played("DarkRoom-v0", 16.0));
    let blocks = chapters::world(&WORLDS[0], &results);
    let page = Page { sections: vec![Section { heading: "S".into(), blocks }], ..Page::default() };
    let path = output::write(&page, &folder).unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), page.to_html().unwrap(), "the same page is the same text");
    for end in [".svg", ".csv", ".png", "-dark.png"] {
        let file = folder.join(format!("figures/returns-dark-room{end}"));
        let bytes = std::fs::read(&file).unwrap();
        assert!(if end.contains("png") { bytes.starts_with(b"\x89PNG") } else { bytes.len() > 500 }, "{end}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
