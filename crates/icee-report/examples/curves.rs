//! Mean return by episode of several evaluations in one figure and one table.
//!
//! `curves OUT TITLE KEY=FILE...` takes what `icee eval RUN --json` printed for each method (KEY is a method's name as figures
//! know it, with `:2` for a second seed) and writes OUT.svg, OUT.csv and OUT.md. The reference agents come from the first file.
//! Without files it draws OUT.svg anew from OUT.csv.
#![allow(clippy::print_stdout)]

use icee_models::catalogue::{ENTRIES, Role};
use icee_models::results::EpisodeRow;
use icee_report::chapters::curve;
use icee_report::draw;
use icee_report::figure::{Axis, Figure, Mark, Point, Series};
use icee_report::ink;
use serde::Deserialize;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

#[derive(Deserialize)]
struct Evaluation {
    episodes: Vec<EpisodeRow>,
    references: Vec<(String, Vec<f64>)>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [out, title, files @ ..] = &arguments[..] else {
        return Err("usage: curves OUT TITLE [KEY=FILE...]".into());
    };
    if files.is_empty() {
        let series = read_back(&fs::read_to_string(format!("{out}.csv"))?)?;
        fs::write(format!("{out}.svg"), draw::svg_file(&figure(out, title, series)))?;
        return Ok(());
    }
    let mut series = Vec::new();
    let mut references = Vec::new();
    for file in files {
        let (key, path) = file.split_once('=').ok_or_else(|| format!("{file} is not KEY=FILE"))?;
        let text = fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
        let evaluation: Evaluation = serde_json::from_str(&text).map_err(|e| format!("{path}: {e}"))?;
        if references.is_empty() {
            references = evaluation.references;
        }
        let (method, seed) = key.split_once(':').map_or((key, None), |(method, seed)| (method, Some(seed)));
        let line = curve(&evaluation.episodes, ink::of(method), Mark::Line);
        let label = seed.map_or(line.label.clone(), |seed| format!("{}, seed {seed}", line.label));
        series.push(line.called(&label));
    }
    for (agent, means) in references {
        let row =
            |(index, &mean): (usize, &f64)| EpisodeRow { episode: index + 1, mean, half_width_95: None, entropy: None };
        let rows: Vec<EpisodeRow> = means.iter().enumerate().map(row).collect();
        series.push(curve(&rows, ink::of(&agent), Mark::Dashed));
    }
    let table = table(&series);
    let figure = figure(out, title, series);
    fs::write(format!("{out}.svg"), draw::svg_file(&figure))?;
    fs::write(format!("{out}.csv"), figure.to_csv()?)?;
    fs::write(format!("{out}.md"), &table)?;
    print!("{table}");
    Ok(())
}

fn figure(out: &str, title: &str, series: Vec<Series>) -> Figure {
    let id = Path::new(out).file_stem().and_then(|name| name.to_str()).unwrap_or("curves");
    // A band for the first line alone: those of all would hide each other.
    let first = |(index, series): (usize, Series)| series.highlighted_if(index == 0);
    let series = series.into_iter().enumerate().map(first).collect();
    Figure::single(id, title, "", Axis::count("episode"), Axis::linear("mean return"), series)
}

/// The series of a figure's CSV, in its order: names are those of the catalogue, with a seed behind them.
fn read_back(csv: &str) -> Result<Vec<Series>, Box<dyn Error>> {
    let mut all: Vec<Series> = Vec::new();
    for row in csv::Reader::from_reader(csv.as_bytes()).deserialize() {
        let (_, label, x, y, half_width): (String, String, f64, f64, Option<f64>) = row?;
        if all.last().is_none_or(|last| last.label != label) {
            let name = label.split(", seed ").next().unwrap_or_default();
            let entry = ENTRIES.iter().find(|entry| entry.label == name).ok_or_else(|| format!("who is {name}?"))?;
            let mark = if matches!(entry.role, Role::Reference { .. }) { Mark::Dashed } else { Mark::Line };
            all.push(Series::new(entry.into(), mark, Vec::new()).called(&label));
        }
        all.last_mut().ok_or("no series")?.points.push(Point { x, y, half_width });
    }
    Ok(all)
}

/// Every method at the first episode, a quarter, half and all of them.
fn table(series: &[Series]) -> String {
    let episodes = series.first().map_or(0, |series| series.points.len());
    let shown = [1, episodes / 4, episodes / 2, episodes];
    let head: Vec<String> = shown.iter().map(usize::to_string).collect();
    let mut text = format!("| episode | {} |\n|---|---|---|---|---|\n", head.join(" | "));
    for series in series {
        let cell = |&episode: &usize| {
            series.points.get(episode.saturating_sub(1)).map_or("–".into(), |point| match point.half_width {
                Some(half) => format!("{:.2} ± {half:.2}", point.y),
                None => format!("{:.2}", point.y),
            })
        };
        let _ = writeln!(text, "| {} | {} |", series.label, shown.iter().map(cell).collect::<Vec<_>>().join(" | "));
    }
    text
}
