//! The whole page from made-up outcomes: what is there is drawn, what is not is left out, and nothing is fetched.

mod common;

use common::{page, played, results};
use icee_bo::functions;
use icee_models::catalogue::WORLDS;
use icee_report::chapters::{self, PaperComparison};
use icee_report::check::self_contained;
use icee_report::figure::Figure;
use icee_report::page::{Block, Page, Section, Tone};
use icee_report::paper::Verdict;
use icee_report::plan::{Options, Part};
use icee_report::work::Results;
use icee_report::{draw, output};

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
            "regret-bandits",
            "returns-dark-room-permuted",
            "bo-regret",
            "bo-time",
            "bo-solved",
            "bo-functions",
            "tables-regret",
            "ablation-networks",
            "ablation-joint",
            "ablation-histories",
            "ablation-kappa",
            "ablation-guard",
            "ablation-bo",
            "learning-cost"
        ]
    );
    assert_eq!(figures[10].panels.len(), functions::all().len());
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
    // What was measured before needs no model.
    let computed = page.figures().filter(|figure| figure.id != "learning-cost");
    let labels: Vec<&str> = computed.flat_map(Figure::legend).map(|series| series.label.as_str()).collect();
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

#[test]
fn the_summary_says_what_is_there_what_is_not_and_how_it_stands() {
    let results = results(&[]);
    let comparisons: Vec<PaperComparison> =
        WORLDS.iter().flat_map(|world| chapters::compare(world, &results)).collect();
    let all = Part::all();
    let shown = Options { games: 10, trials: 3, seed: 4, parts: all[..4].to_vec() };
    let blocks = chapters::summary(&shown, &all[4..], &comparisons, &results).unwrap();
    let [Block::List(lines), Block::Table(table)] = &blocks[..] else { panic!("{blocks:?}") };
    let text = lines.join("\n");
    assert!(
        text.contains("On this page: Dark Room, Dark Room (Hard), Dark Key-to-Door, Dark Room (Biased)."),
        "{text}"
    );
    let count = |verdict: Verdict| comparisons.iter().filter(|cell| cell.verdict == Some(verdict)).count();
    let (higher, agree, lower) = (count(Verdict::Higher), count(Verdict::Agrees), count(Verdict::Lower));
    let said =
        format!("ours is significantly higher in {higher}, agrees in {agree} and is significantly lower in {lower}");
    assert!(higher + agree + lower == comparisons.len() && text.contains(&said), "{text}");
    assert!(
        text.contains("icee reproduce --only beyond,bo,tables,ablations,cost --games 10 --trials 3 --seed 4"),
        "{text}"
    );
    assert!(!text.contains("Sixteen functions"), "{text}");
    // The paper has no table of the biased room.
    assert_eq!(table.head, ["", "Dark Room", "Dark Room (Hard)", "Dark Key-to-Door"]);
    let icee = &table.rows[0];
    assert!(icee[0].text == "ICEE" && icee[0].note.contains("relabelled by an expert"), "{icee:?}");
    assert_eq!(icee[1].note.split(' ').count(), 3, "{icee:?}");
    assert!(icee[1].note.contains('▲') == (icee[1].tone == Tone::Good), "{icee:?}");

    let whole = Options { parts: all, ..shown };
    let blocks = chapters::summary(&whole, &[], &comparisons, &results).unwrap();
    let Block::List(lines) = &blocks[0] else { panic!("{blocks:?}") };
    let text = lines.join("\n");
    assert!(
        text.contains("after 20 evaluations")
            && text.contains("GP-EI")
            && text.contains("13 tables of real experiments")
            && text.contains("Five Bernoulli arms")
            && !text.contains("Not computed"),
        "{text}"
    );
}
