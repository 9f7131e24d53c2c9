//! What a reader sees, on a desk and on a phone: nothing cut off, nothing hidden, whole numbers where something is counted.

mod common;

use common::{page, results};
use icee_models::catalogue::WORLDS;
use icee_report::chapters;
use icee_report::draw::{Format, inline_svg, svg_file};
use icee_report::figure::{Axis, Figure, Mark, Point, Series};
use icee_report::ink;
use icee_report::page::{Block, Table};

/// The widest that a phone shows without scrolling.
const PHONE: f64 = 390.0;
/// The page's column at 1,280 pixels: 60 rem of 17 pixels, less its margins.
const COLUMN: f64 = 60.0 * 17.0 - 2.0 * 1.1 * 17.0;

/// A text of a drawing: where it begins and ends (across), how high it stands, what it says.
struct Text {
    left: f64,
    right: f64,
    y: f64,
    anchor: String,
    content: String,
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next()
}

fn number(tag: &str, name: &str) -> f64 {
    attribute(tag, name).and_then(|text| text.trim_end_matches("px").parse().ok()).unwrap_or(0.0)
}

/// The size of a drawing, and its texts but those that are turned.
fn read(svg: &str) -> ((f64, f64), Vec<Text>) {
    let sides: Vec<f64> = attribute(svg, "viewBox").unwrap().split(' ').map(|side| side.parse().unwrap()).collect();
    let (mut moved, mut texts) = (vec![(0.0, 0.0)], Vec::new());
    for part in svg.split('<').skip(1) {
        let (tag, content) = part.split_once('>').unwrap_or((part, ""));
        let (x, y) = moved[moved.len() - 1];
        if tag.starts_with("g ") || tag == "g" {
            let by = attribute(tag, "transform").and_then(|text| text.strip_prefix("translate(")?.strip_suffix(')'));
            let (right, down) = by.and_then(|by| by.split_once(',')).unwrap_or(("0", "0"));
            moved.push((x + right.parse::<f64>().unwrap(), y + down.parse::<f64>().unwrap()));
        } else if tag == "/g" {
            moved.pop();
        } else if tag.starts_with("text") && attribute(tag, "transform").is_none() {
            let content = content.replace("&apos;", "'");
            let anchor = attribute(tag, "text-anchor").unwrap_or("start").to_owned();
            let width = 0.55 * number(tag, "font-size") * content.chars().count() as f64;
            let at = x + number(tag, "x");
            let left = match anchor.as_str() {
                "middle" => at - width / 2.0,
                "end" => at - width,
                _ => at,
            };
            texts.push(Text { left, right: left + width, y: y + number(tag, "y"), anchor, content });
        }
    }
    ((sides[2], sides[3]), texts)
}

#[test]
fn every_name_and_number_is_inside_the_picture() {
    for figure in page(&results(&[])).figures() {
        for format in [Format::Wide, Format::Narrow] {
            let ((width, height), texts) = read(&inline_svg(figure, format));
            assert!(texts.len() > 5, "{}", figure.id);
            for Text { left, right, y, content, .. } in &texts {
                let inside = *left >= -2.0 && *right <= width + 2.0 && (0.0..=height).contains(y);
                assert!(inside, "{} {format:?}: \"{content}\" from {left} to {right} of {width}, at {y}", figure.id);
            }
            for series in figure.legend() {
                let named = texts.iter().any(|text| text.content == series.label);
                assert!(named, "{} {format:?}: {}", figure.id, series.label);
            }
            if format == Format::Narrow {
                assert!(width <= PHONE, "{}: {width}", figure.id);
            }
        }
    }
}

#[test]
fn a_page_has_a_drawing_for_desks_and_one_for_phones() {
    let html = page(&results(&[])).to_html().unwrap();
    let (wide, narrow) = (html.matches("<svg class=\"wide\"").count(), html.matches("<svg class=\"narrow\"").count());
    assert!(wide > 10 && wide == narrow, "{wide} {narrow}");
    let ids: Vec<&str> = html.split("<clipPath id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "an id means one thing");
}

/// The numbers at the axis across.
fn ticks(svg: &str) -> Vec<f64> {
    let (_, texts) = read(svg);
    let across = texts.into_iter().filter(|text| text.anchor == "middle");
    across.filter_map(|text| text.content.parse().ok()).collect()
}

#[test]
fn episodes_and_evaluations_are_whole() {
    let drawn = |last: u32| {
        let point = |x: u32| Point { x: f64::from(x), y: f64::from(x) / 7.0, half_width: None };
        let series = vec![Series::new(ink::of("icee"), Mark::Line, (1..=last).map(point).collect())];
        let (x, y) = (Axis::count("episode"), Axis::linear("mean return"));
        ticks(&svg_file(&Figure::single("f", "F", "C", x, y, series)))
    };
    assert_eq!(drawn(20), [5.0, 10.0, 15.0, 20.0]);
    let picture = include_str!("../../../docs/results/dark-room-tiny.svg");
    assert_eq!(ticks(picture), [5.0, 10.0, 15.0], "`curves OUT TITLE` draws it anew from its CSV");
    for last in [2, 3, 5, 10, 13, 50, 55, 200] {
        let ticks = drawn(last);
        assert!(ticks.len() > 1 && ticks.iter().all(|tick| tick.fract() == 0.0), "{last}: {ticks:?}");
    }
}

#[test]
fn few_bands_lie_on_each_other() {
    for figure in page(&results(&[])).figures() {
        for panel in &figure.panels {
            let banded = panel.series.iter().filter(|series| series.mark == Mark::Line && series.highlighted);
            let banded = banded.filter(|series| series.points.iter().any(|point| point.half_width.is_some())).count();
            assert!(banded <= 3, "{}: {banded} bands", figure.id);
        }
    }
    let results = results(&[]);
    let Block::Figure(figure) = &chapters::world(&WORLDS[0], &results)[0] else { panic!("a figure comes first") };
    assert!(figure.panels[0].series.iter().filter(|series| series.mark == Mark::Line).count() > 4);
    assert_eq!(svg_file(figure).matches("opacity=\"0.16\"").count(), 1, "ICEE's alone");
}

/// About how wide a table is where its first column may wrap and nothing else: see `page.css`.
fn width(table: &Table) -> f64 {
    let (letter, padding, first) = (0.58 * 0.9 * 17.0, 1.1 * 0.9 * 17.0, 8.5 * 17.0);
    let columns = table.rows.iter().map(Vec::len).max().unwrap_or(0);
    let longest = |column: usize| {
        let cells = table.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.chars().count());
        cells.chain([table.head[column].chars().count()]).max().unwrap_or(0) as f64
    };
    first + (1..columns).map(|column| longest(column) * letter + padding).sum::<f64>()
}

#[test]
fn tables_fit_the_page_and_scroll_where_they_do_not() {
    let page = page(&results(&[]));
    let mut seen = 0;
    for block in page.sections.iter().flat_map(|section| &section.blocks) {
        if let Block::Table(table) = block {
            assert!(width(table) <= COLUMN, "{}: {}", table.caption, width(table));
            let columns: usize = table.groups.iter().map(|(_, columns)| columns).sum();
            assert!(table.groups.is_empty() || columns + 1 == table.head.len(), "{}", table.caption);
            seen += 1;
        }
    }
    let html = page.to_html().unwrap();
    assert!(seen > 5 && html.matches("<div class=\"table\" tabindex=\"0\"").count() == seen);
    assert!(html.contains(".table{overflow-x:auto"), "the box scrolls, the page does not");
}
