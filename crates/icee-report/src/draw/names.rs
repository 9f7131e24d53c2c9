//! Names of lines: at their ends, or in a legend.

use super::{DASHES, MARKER, line, marker, text};
use crate::figure::{Figure, Mark, Panel, Series};
use crate::ink::Paint;
use kuva::render::layout::ComputedLayout;
use kuva::render::render::{Scene, TextAnchor};

/// From the plot's edge to the names of its lines.
pub(super) const LABEL_GAP: f64 = 10.0;
/// Between the names of two lines, so that they can be read.
const LABEL_HEIGHT: f64 = 16.0;
pub(super) const LABEL_SIZE: u32 = 13;
/// From the left edge to the legend.
const LEGEND_LEFT: f64 = 12.0;

/// Whether all lines of the only panel end at its right edge, so that their names can stand there.
pub(super) fn names_lines(figure: &Figure) -> bool {
    let [panel] = &figure.panels[..] else { return false };
    let lines = panel.series.iter().filter(|series| series.mark != Mark::Points);
    let mut ends = lines.filter_map(|series| series.points.last().map(|point| point.x));
    let first = ends.next();
    ends.all(|end| Some(end) == first)
}

/// Names the lines at their right ends, moved apart where they would cover each other.
pub(super) fn draw_names(scene: &mut Scene, panel: &Panel, computed: &ComputedLayout, shown: (f64, f64), paint: Paint) {
    let edge = computed.width - computed.margin_right;
    let ends = panel.series.iter().filter_map(|series| series.points.last().map(|point| (series, point)));
    let place = |y: f64| computed.map_y(y.clamp(shown.0, shown.1));
    let mut names: Vec<(&Series, f64, f64)> =
        ends.map(|(series, point)| (series, computed.map_x(point.x), place(point.y))).collect();
    names.sort_by(|a, b| a.2.total_cmp(&b.2));
    let wanted: Vec<f64> = names.iter().map(|name| name.2).collect();
    let places = spread(&wanted, computed.margin_top, computed.height - computed.margin_bottom);
    for ((series, x, y), place) in names.into_iter().zip(places) {
        let colour = paint.ink(series.ink);
        let from = if series.mark == Mark::Points { x + MARKER + 1.0 } else { x };
        if (place - y).abs() > 3.0 || edge - x > 8.0 {
            scene.add(line((from, y), (edge + LABEL_GAP - 2.0, place), &colour, 0.8, Some("1,2")));
        }
        let baseline = place + f64::from(LABEL_SIZE) * 0.35;
        scene.add(text(&series.label, edge + LABEL_GAP, baseline, LABEL_SIZE, TextAnchor::Start, colour));
    }
}

/// Places as near as possible to those that are wanted (ascending), a line's height apart, between two ends.
fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    // Less its own share of the heights, each place need only not precede the one before: isotonic regression, in which
    // neighbours that would are given their mean. Its solution stays one within bounds.
    let mut runs: Vec<(f64, usize)> = Vec::new();
    for (index, place) in wanted.iter().enumerate() {
        runs.push((place - LABEL_HEIGHT * index as f64, 1));
        while let [.., (upper, n), (lower, m)] = runs[..] {
            if lower >= upper {
                break;
            }
            runs.truncate(runs.len() - 2);
            runs.push(((upper * n as f64 + lower * m as f64) / (n + m) as f64, n + m));
        }
    }
    let last = (bottom - LABEL_HEIGHT * wanted.len().saturating_sub(1) as f64).max(top);
    let places = runs.into_iter().flat_map(|(place, count)| std::iter::repeat_n(place.clamp(top, last), count));
    places.enumerate().map(|(index, place)| place + LABEL_HEIGHT * index as f64).collect()
}

/// The legend's entries, as many to a row as fit.
pub(super) fn legend_rows<'a>(legend: &[&'a Series], width: f64) -> Vec<Vec<(&'a Series, f64)>> {
    let mut rows: Vec<Vec<(&Series, f64)>> = Vec::new();
    let mut x = f64::INFINITY;
    for &series in legend {
        let length = 34.0 + text_width(&series.label, LABEL_SIZE) + 18.0;
        if x + length > width {
            rows.push(Vec::new());
            x = LEGEND_LEFT;
        }
        if let Some(row) = rows.last_mut() {
            row.push((series, x));
        }
        x += length;
    }
    rows
}

pub(super) fn draw_legend_row(scene: &mut Scene, entries: &[(&Series, f64)], y: f64, paint: Paint) {
    for &(series, x) in entries {
        let colour = paint.ink(series.ink);
        match series.mark {
            Mark::Points => scene.add(marker(x + 13.0, y, &colour, paint)),
            Mark::Line => {
                let width = if series.highlighted { 2.8 } else { 1.7 };
                scene.add(line((x, y), (x + 26.0, y), &colour, width, None));
            }
            Mark::Dashed => scene.add(line((x, y), (x + 26.0, y), &colour, 1.8, Some(DASHES))),
        }
        let baseline = y + f64::from(LABEL_SIZE) * 0.35;
        scene.add(text(&series.label, x + 34.0, baseline, LABEL_SIZE, TextAnchor::Start, paint.chrome("text")));
    }
}

/// About how wide a text is, in a font on the wide side.
pub(super) fn text_width(content: &str, size: u32) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'I' | '.' | ',' | '\'' | ' ' | '-' => 0.36,
        'm' | 'w' | 'M' | 'W' => 0.95,
        'A'..='Z' => 0.69,
        _ => 0.62,
    };
    content.chars().map(em).sum::<f64>() * f64::from(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_never_touch_and_stay_where_they_can(mut wanted in prop::collection::vec(0.0f64..400.0, 1..20)) {
            wanted.sort_by(f64::total_cmp);
            let places = spread(&wanted, 0.0, 400.0);
            prop_assert_eq!(places.len(), wanted.len());
            let apart = wanted.windows(2).all(|pair| pair[1] - pair[0] >= LABEL_HEIGHT);
            if apart {
                let moved = places.iter().zip(&wanted).any(|(place, wanted)| (place - wanted).abs() > 1e-9);
                prop_assert!(!moved, "{:?}", places);
            }
            prop_assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= LABEL_HEIGHT - 1e-9), "{:?}", places);
            prop_assert!(places.iter().all(|place| (-1e-9..=400.0 + 1e-9).contains(place)), "{:?}", places);
        }
    }
}
