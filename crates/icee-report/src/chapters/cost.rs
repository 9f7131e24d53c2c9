//! Cost of learning: updates and seconds until a method reaches the return of the paper's ICEE, on a GPU and on two cores. It was
//! measured once and is not recomputed, because times depend on the machine.

use super::nothing;
use super::worlds::named;
use crate::Result;
use crate::cost::{self, CostRun, Evaluation, Hardware, WANTED, run_of};
use crate::figure::{Axis, Figure, Mark, Panel, Point, Series};
use crate::ink;
use crate::page::{Block, Cell, Table, Tone};
use icee_models::catalogue::{ENTRIES, Entry};

/// The method that the figure is about.
const HIGHLIGHTED: &str = "icee";

/// The chapter.
///
/// # Errors
/// None but a damaged program's.
pub fn cost() -> Result<Vec<Block>> {
    let runs = cost::runs()?;
    Ok(vec![
        Block::Text(format!(
            "Training time of each method until it reaches the paper's return of {WANTED} at episode 50, the last, of the Dark Room. \
             It was measured once; `tools/bench/learning-cost.sh OUT_FOLDER` measures it again."
        )),
        Block::Figure(figure(&runs)),
        Block::Table(table(&runs)),
        Block::List(NOTES.map(String::from).to_vec()),
    ])
}

/// How it was measured, and its limits.
const NOTES: [&str; 5] = [
    "Seconds start with the first update and leave out the evaluations, every 250 updates. On the GPU the first 250 updates of ICEE \
     and MGDT took 3.7 and 2.6 s longer than later ones; this is counted. The first evaluation that reaches the return counts; a \
     later one may be lower. One seed (1) each: another may be faster or slower.",
    "One H200: each method alone on the GPU, with the settings of its recipe (ICEE as its \
     preset is, the paper's data for 12,000 updates, the paper's networks for 6,000 at a rate of 1e-3, AD and AD-sorted with three \
     layers for 4,000, DPT for 4,500, MGDT with two layers of width 64 for 3,000), batches of 64 tasks, evaluated on 200 tasks. AD, \
     AD-sorted and MGDT were trained to the end of their schedules; the others were stopped by a time limit.",
    "Two cores: two of the 16 of that machine's Xeon, pinned, beside other work on it, so an idle machine may be faster. A smaller \
     network for all methods: two layers of width 64, batches of 8 tasks, a rate of 4e-3 on a schedule of 8,000 updates, evaluated on \
     100 tasks, stopped by a time limit. These settings were not tuned for the paper's networks, whose rate on the GPU is a quarter of this.",
    "Methods have different training data (below each name), so times alone do not rank them: DPT gets the best action at every step, \
     and AD-sorted reaches this return in its last episodes only.",
    "Every evaluation, with the returns at episodes 1 and 26: `crates/icee-report/data/learning-cost.csv`.",
];

/// The result in a sentence.
///
/// # Errors
/// As [`cost`].
pub(super) fn sentence() -> Result<String> {
    let runs = cost::runs()?;
    let said = methods(&runs).filter_map(|entry| {
        let run = run_of(&runs, Hardware::Gpu, entry)?;
        let time = run.reached().map_or("never".into(), |at| format!("{} s", seconds(at.seconds)));
        Some(format!("{} {time}", entry.label))
    });
    let list: Vec<String> = said.collect();
    Ok(format!(
        "Training time on one H200 until the paper's {WANTED} at the last episode of the Dark Room, measured once: {}.",
        list.join("; ")
    ))
}

/// The methods that were measured, in the catalogue's order.
fn methods(runs: &[CostRun]) -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().filter(|entry| runs.iter().any(|run| run.entry.key == entry.key))
}

fn figure(runs: &[CostRun]) -> Figure {
    let panel = |hardware: Hardware| {
        let mut series: Vec<Series> = Vec::new();
        for entry in methods(runs) {
            let Some(run) = run_of(runs, hardware, entry) else { continue };
            let point = |at: &Evaluation| Point { x: at.seconds, y: at.last_return, half_width: None };
            let points = run.evaluations.iter().map(point).collect();
            series.push(Series::new(entry.into(), Mark::Line, points).highlighted_if(entry.key == HIGHLIGHTED));
        }
        let times = || series.iter().flat_map(|series| &series.points).map(|point| point.x);
        let ends = [times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max)];
        let wanted = ends.map(|x| Point { x, y: WANTED, half_width: None }).to_vec();
        series.push(Series::new(ink::of(HIGHLIGHTED), Mark::Dashed, wanted).called("paper: ICEE"));
        let (x, y) = (Axis::log("seconds of learning"), Axis::linear("mean return at episode 50"));
        Panel { title: hardware.title().into(), x, y, series }
    };
    Figure {
        id: "learning-cost".into(),
        title: "Dark Room: return at the last episode by seconds of learning".into(),
        caption: format!(
            "Each line is one training run, evaluated every 250 updates; dashed: the paper's {WANTED}. The two panels are not the \
             same networks, see below."
        ),
        panels: Hardware::ALL.map(panel).to_vec(),
        columns: 2,
    }
}

fn table(runs: &[CostRun]) -> Table {
    let mut head = vec![String::new()];
    head.extend(Hardware::ALL.iter().flat_map(|_| ["updates", "seconds", "return at the end"].map(String::from)));
    let row = |entry: &'static Entry| {
        let cells = Hardware::ALL.into_iter().flat_map(|hardware| cells(run_of(runs, hardware, entry)));
        [named(entry)].into_iter().chain(cells).collect()
    };
    Table {
        caption: format!(
            "Cost of learning. Updates and seconds until the return at episode 50 is {WANTED}, and that return at the end of the \
             measured run. Below each method: its training data."
        ),
        groups: Hardware::ALL.map(|hardware| (hardware.title().into(), 3)).to_vec(),
        head,
        rows: methods(runs).map(row).collect(),
    }
}

/// Updates, seconds, and the return at the end.
fn cells(run: Option<&CostRun>) -> [Cell; 3] {
    let Some((run, end)) = run.and_then(|run| Some((run, run.end()?))) else {
        return [nothing(), nothing(), nothing()];
    };
    let last = Cell::from(format!("{:.2}", end.last_return));
    let last = last.noted(format!("after {} updates", grouped(end.updates)), Tone::Plain);
    match run.reached() {
        Some(at) => [grouped(at.updates).into(), seconds(at.seconds).into(), last],
        None => {
            let never = Cell::from("not reached").noted(format!("in {} updates", grouped(end.updates)), Tone::Plain);
            [never, nothing().noted(format!("in {} s", seconds(end.seconds)), Tone::None), last]
        }
    }
}

/// Seconds, with tenths below a minute.
fn seconds(value: f64) -> String {
    if value < 60.0 { format!("{value:.1}") } else { grouped(value.round() as u64) }
}

/// A number with its thousands apart.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::self_contained;
    use crate::page::{Page, Section};

    #[test]
    fn numbers_as_they_are_read() {
        assert_eq!([0, 250, 4750, 1_234_567].map(grouped), ["0", "250", "4,750", "1,234,567"]);
        assert_eq!([1.5, 59.94, 94.1, 1007.0, 1062.7].map(seconds), ["1.5", "59.9", "94", "1,007", "1,063"]);
    }

    #[test]
    fn the_table_says_when_and_where_never() {
        let table = table(&cost::runs().unwrap());
        let texts = |row: usize| table.rows[row].iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>();
        assert_eq!(texts(0), ["ICEE", "2,500", "20.5", "16.09", "4,750", "1,007", "16.03"]);
        assert_eq!(texts(2)[..5], ["ICEE, paper's networks", "2,250", "19.4", "14.65", "not reached"]);
        assert_eq!(table.rows[2][4].note, "in 3,500 updates");
        let never: Vec<&str> =
            table.rows.iter().filter(|row| row[1].text == "not reached").map(|row| row[0].text.as_str()).collect();
        assert_eq!(never, ["AD", "MGDT"]);
        assert!(table.rows.iter().all(|row| row.len() == table.head.len() && !row[0].note.is_empty()));
    }

    #[test]
    fn the_figure_has_a_line_a_method_and_what_is_wanted() {
        let figure = figure(&cost::runs().unwrap());
        assert_eq!(
            figure.panels.iter().map(|panel| panel.title.as_str()).collect::<Vec<_>>(),
            ["one H200", "two cores"]
        );
        for panel in &figure.panels {
            assert_eq!(panel.series.len(), 8);
            let dashed: Vec<&Series> = panel.series.iter().filter(|series| series.mark == Mark::Dashed).collect();
            assert!(dashed.len() == 1 && dashed[0].points.iter().all(|point| point.y == WANTED), "{dashed:?}");
        }
    }

    #[test]
    fn the_page_needs_nothing_but_itself() {
        let sections = vec![Section { heading: "Cost of learning".into(), blocks: cost().unwrap() }];
        let html = Page { title: "T".into(), sections, ..Page::default() }.to_html().unwrap();
        self_contained(&html).unwrap();
        assert!(html.contains("not reached") && html.contains("download=\"learning-cost.csv\""));
        let sentence = sentence().unwrap();
        assert!(sentence.contains("ICEE 20.5 s; ") && sentence.contains("DPT 1.5 s; MGDT never."), "{sentence}");
    }
}
