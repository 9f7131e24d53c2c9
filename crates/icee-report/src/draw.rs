//! Draws a [`Figure`] with `kuva`: as SVG for a page, as an SVG file of its own, as PNG.
//!
//! A figure of one panel names its lines at their ends, where these are at its edge; any other has a legend above.

use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::ink::{Paint, css_variables};
use kuva::backend::png::PngBackend;
use kuva::backend::svg::SvgBackend;
use kuva::plot::{BandPlot, LinePlot};
use kuva::render::layout::{ComputedLayout, Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::render::{PathData, Primitive, Scene, TextAnchor, render_multiple};
use kuva::render::theme::Theme;
use std::sync::Arc;

const FONT: &str = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";
const TITLE_SIZE: u32 = 17;
const TITLE_HEIGHT: f64 = 34.0;
const LEGEND_ROW: f64 = 22.0;
/// From the plot's edge to the names of its lines.
const LABEL_GAP: f64 = 10.0;
/// Between the names of two lines, so that they can be read.
const LABEL_HEIGHT: f64 = 16.0;
const LABEL_SIZE: u32 = 13;
/// Pixels of a PNG for one of the drawing.
const PNG_SCALE: f32 = 2.0;
/// The dashes of ceilings and references.
const DASHES: &str = "6,4";
const MARKER: f64 = 4.5;

/// The figure for a page that defines the colours: scales with the page, light or dark as it is.
#[must_use]
pub fn inline_svg(figure: &Figure) -> String {
    let scene = scene(figure, Paint::Variables);
    // Inside a page the namespace goes without saying.
    svg(&scene, figure).replacen(r#" xmlns="http://www.w3.org/2000/svg""#, "", 1)
}

/// The figure as a file of its own, light or dark as the reader's screen is.
#[must_use]
pub fn svg_file(figure: &Figure) -> String {
    let mut scene = scene(figure, Paint::Variables);
    scene.defs.push(format!("<style>{}</style>", css_variables()));
    svg(&scene, figure)
}

/// The figure as PNG.
///
/// # Errors
/// Where it cannot be encoded.
pub fn png(figure: &Figure, dark: bool) -> Result<Vec<u8>, String> {
    let paint = if dark { Paint::Dark } else { Paint::Light };
    PngBackend::new().with_scale(PNG_SCALE).render_scene(&scene(figure, paint))
}

/// Made scalable, and named for those who cannot see it.
fn svg(scene: &Scene, figure: &Figure) -> String {
    let (width, height) = (scene.width, scene.height);
    let size = format!(r#" width="{width}" height="{height}""#);
    let title = figure.title.replace('&', "and").replace(['<', '>', '"'], "");
    let scalable = format!(r#" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{title}""#);
    let drawn = SvgBackend::new().render_scene(scene).replacen(&size, &scalable, 1);
    stable_ids(&drawn, &figure.id)
}

/// The library counts its clipping areas through the whole program; here they are counted through the figure, so that
/// the same figure is always the same text.
fn stable_ids(svg: &str, figure: &str) -> String {
    let mut parts = svg.split("kuva-clip-");
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut seen: Vec<&str> = Vec::new();
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = part.split_at(digits);
        let index = seen.iter().position(|known| *known == number).unwrap_or_else(|| {
            seen.push(number);
            seen.len() - 1
        });
        out += &format!("{figure}-{index}{rest}");
    }
    out
}

/// The measures of a figure's panels.
struct Grid {
    /// A panel's whole size.
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    tick_size: u32,
    line: f64,
}

impl Grid {
    fn of(figure: &Figure) -> Grid {
        let (left, top, bottom) = (58.0, 10.0, 50.0);
        let single = Grid { width: 700.0, height: 400.0, left, right: 18.0, top, bottom, tick_size: 12, line: 2.2 };
        if names_lines(figure) {
            let names = figure.panels[0].series.iter().map(|series| text_width(&series.label, LABEL_SIZE));
            let right = (names.fold(0.0, f64::max) + LABEL_GAP + 12.0).ceil();
            return Grid { width: 580.0 + right, right, ..single };
        }
        if figure.panels.len() == 1 {
            return single;
        }
        let (width, height) = if figure.columns > 3 { (244.0, 190.0) } else { (380.0, 270.0) };
        Grid { width, height, left: 50.0, right: 14.0, top: 26.0, bottom: 44.0, tick_size: 11, line: 1.8 }
    }
}

/// Whether all lines of the only panel end at its right edge, so that their names can stand there.
fn names_lines(figure: &Figure) -> bool {
    let [panel] = &figure.panels[..] else { return false };
    let lines = panel.series.iter().filter(|series| series.mark != Mark::Points);
    let mut ends = lines.filter_map(|series| series.points.last().map(|point| point.x));
    let first = ends.next();
    ends.all(|end| Some(end) == first)
}

fn scene(figure: &Figure, paint: Paint) -> Scene {
    let grid = Grid::of(figure);
    let columns = figure.columns.max(1).min(figure.panels.len().max(1));
    let rows = figure.panels.len().div_ceil(columns);
    let width = grid.width * columns as f64;
    let named = names_lines(figure);
    let legend = if named { Vec::new() } else { legend_rows(&figure.legend(), width) };
    let above = TITLE_HEIGHT + LEGEND_ROW * legend.len() as f64 + if legend.is_empty() { 0.0 } else { 6.0 };
    let mut scene = Scene::new(width, above + grid.height * rows as f64);
    scene.background_color = Some(paint.chrome("page"));
    scene.text_color = Some(paint.chrome("text"));
    scene.font_family = Some(FONT.into());
    let title = text(&figure.title, 12.0, 23.0, TITLE_SIZE, TextAnchor::Start, paint.chrome("text"));
    scene.add(bold(title));
    for (row, entries) in legend.iter().enumerate() {
        draw_legend_row(&mut scene, entries, TITLE_HEIGHT + LEGEND_ROW * (row as f64 + 0.5), paint);
    }
    for (index, panel) in figure.panels.iter().enumerate() {
        let (column, row) = (index % columns, index / columns);
        let outer = Outer { left: column == 0, bottom: index + columns >= figure.panels.len() };
        let drawn = draw_panel(panel, &grid, named, outer, paint);
        let (x, y) = (grid.width * column as f64, above + grid.height * row as f64);
        scene.defs.extend(drawn.defs);
        let transform = Some(format!("translate({x},{y})"));
        scene.add(Primitive::GroupStart { transform, title: None, extra_attrs: None });
        drawn.elements.into_iter().for_each(|element| scene.add(element));
        scene.add(Primitive::GroupEnd);
    }
    scene
}

/// Which sides of a panel look out of the figure, where the axes are named.
struct Outer {
    left: bool,
    bottom: bool,
}

fn draw_panel(panel: &Panel, grid: &Grid, named: bool, outer: Outer, paint: Paint) -> Scene {
    let shown = range(panel, &panel.y, true);
    let mut plots: Vec<Plot> = Vec::new();
    for series in panel.series.iter().rev().filter(|series| series.mark == Mark::Line) {
        let banded: Vec<_> = series.points.iter().filter(|point| point.half_width.is_some()).collect();
        if banded.len() > 1 {
            let ends = banded.iter().map(|point| within(point.ends(), shown));
            let (low, high): (Vec<f64>, Vec<f64>) = ends.unzip();
            let band = BandPlot::new(banded.iter().map(|point| point.x), low, high);
            plots.push(band.with_color(paint.ink(series.ink)).with_opacity(0.16).into());
        }
    }
    for series in panel.series.iter().rev().filter(|series| series.mark != Mark::Points) {
        let line = LinePlot::new()
            .with_data(series.points.iter().map(|point| (point.x, point.y)))
            .with_color(paint.ink(series.ink))
            .with_stroke_width(if series.mark == Mark::Dashed { 0.75 * grid.line } else { grid.line });
        plots.push(if series.mark == Mark::Dashed { line.with_dashed() } else { line }.into());
    }
    let layout = layout(panel, grid, &outer, paint);
    let computed = ComputedLayout::from_layout(&layout);
    let mut scene = render_multiple(plots, layout);
    for series in panel.series.iter().rev().filter(|series| series.mark == Mark::Points) {
        draw_points(&mut scene, series, &computed, shown, paint);
    }
    if named {
        draw_names(&mut scene, panel, &computed, paint);
    }
    if !panel.title.is_empty() {
        let title = text(&panel.title, grid.left, 17.0, LABEL_SIZE, TextAnchor::Start, paint.chrome("text"));
        scene.add(bold(title));
    }
    scene
}

fn layout(panel: &Panel, grid: &Grid, outer: &Outer, paint: Paint) -> Layout {
    let (x, y) = (range(panel, &panel.x, false), range(panel, &panel.y, true));
    let mut theme = Theme::light();
    theme.background = "none".into();
    theme.axis_color = paint.chrome("axis");
    theme.tick_color = paint.chrome("axis");
    theme.grid_color = paint.chrome("grid");
    theme.text_color = paint.chrome("quiet");
    let mut layout = Layout::new(x, y)
        .with_width(grid.width)
        .with_height(grid.height)
        .with_theme(theme)
        .with_ticks(if grid.width < 300.0 { 4 } else { 5 })
        .with_tick_size(grid.tick_size)
        .with_label_size(grid.tick_size + 1)
        .with_font_family(FONT)
        .with_tick_format(TickFormat::Custom(Arc::new(tick)))
        .with_x_axis_min(x.0)
        .with_x_axis_max(x.1)
        .with_y_axis_min(y.0)
        .with_y_axis_max(y.1)
        .with_force_margins(grid.left, grid.right)
        .with_force_margins_y(grid.top, grid.bottom);
    if panel.x.log {
        layout = layout.with_log_x();
    }
    if panel.y.log {
        layout = layout.with_log_y();
    }
    if outer.bottom {
        layout = layout.with_x_label(&panel.x.label);
    }
    if outer.left {
        layout = layout.with_y_label(&panel.y.label);
    }
    layout
}

/// A number at an axis, without superfluous noughts.
fn tick(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 {
        return format!("{value:e}");
    }
    let rounded = format!("{:.4}", value);
    rounded.trim_end_matches('0').trim_end_matches('.').replace("-0", "0").to_string()
}

/// The ends of an axis: its own, or what all points and intervals need.
fn range(panel: &Panel, axis: &Axis, upwards: bool) -> (f64, f64) {
    if let Some(range) = axis.range {
        return range;
    }
    let points = panel.series.iter().flat_map(|series| &series.points);
    let values = points.flat_map(|point| {
        let (low, high) = point.ends();
        if upwards { [low, high] } else { [point.x; 2] }
    });
    let never_negative = panel.series.iter().flat_map(|series| &series.points).all(|point| point.y >= 0.0);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|value| value.is_finite() && (!axis.log || *value > 0.0)) {
        (low, high) = (low.min(value), high.max(value));
    }
    if low > high {
        return if axis.log { (0.1, 1.0) } else { (0.0, 1.0) };
    }
    if axis.log {
        return (low * 0.9, (high * 1.1).max(low * 2.0));
    }
    if upwards {
        // From nought where the data allows it: lengths can then be compared.
        low = if never_negative { 0.0 } else { low.min(0.0) };
        high += 0.05 * (high - low);
    }
    (low, if high > low { high } else { low + 1.0 })
}

/// An interval as far as the axis shows it.
fn within((low, high): (f64, f64), (least, most): (f64, f64)) -> (f64, f64) {
    (low.clamp(least, most), high.clamp(least, most))
}

fn draw_points(scene: &mut Scene, series: &Series, computed: &ComputedLayout, shown: (f64, f64), paint: Paint) {
    let colour = paint.ink(series.ink);
    for point in &series.points {
        let (x, (low, high)) = (computed.map_x(point.x), within(point.ends(), shown));
        if point.half_width.is_some() {
            scene.add(line((x, computed.map_y(low)), (x, computed.map_y(high)), &colour, 1.5, None));
        }
        scene.add(marker(x, computed.map_y(point.y), &colour, paint));
    }
}

/// Names the lines at their right ends, moved apart where they would cover each other.
fn draw_names(scene: &mut Scene, panel: &Panel, computed: &ComputedLayout, paint: Paint) {
    let edge = computed.width - computed.margin_right;
    let ends = panel.series.iter().filter_map(|series| series.points.last().map(|point| (series, point)));
    let mut names: Vec<(&Series, f64, f64)> =
        ends.map(|(series, point)| (series, computed.map_x(point.x), computed.map_y(point.y))).collect();
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
fn legend_rows<'a>(legend: &[&'a Series], width: f64) -> Vec<Vec<(&'a Series, f64)>> {
    let mut rows: Vec<Vec<(&Series, f64)>> = Vec::new();
    let mut x = f64::INFINITY;
    for &series in legend {
        let length = 34.0 + text_width(&series.label, LABEL_SIZE) + 18.0;
        if x + length > width {
            rows.push(Vec::new());
            x = 12.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push((series, x));
        }
        x += length;
    }
    rows
}

fn draw_legend_row(scene: &mut Scene, entries: &[(&Series, f64)], y: f64, paint: Paint) {
    for &(series, x) in entries {
        let colour = paint.ink(series.ink);
        match series.mark {
            Mark::Points => scene.add(marker(x + 13.0, y, &colour, paint)),
            Mark::Line => scene.add(line((x, y), (x + 26.0, y), &colour, 2.6, None)),
            Mark::Dashed => scene.add(line((x, y), (x + 26.0, y), &colour, 1.8, Some(DASHES))),
        }
        let baseline = y + f64::from(LABEL_SIZE) * 0.35;
        scene.add(text(&series.label, x + 34.0, baseline, LABEL_SIZE, TextAnchor::Start, paint.chrome("text")));
    }
}

/// About how wide a text is, in a font on the wide side.
fn text_width(content: &str, size: u32) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'I' | '.' | ',' | '\'' | ' ' | '-' => 0.36,
        'm' | 'w' | 'M' | 'W' => 0.95,
        'A'..='Z' => 0.69,
        _ => 0.62,
    };
    content.chars().map(em).sum::<f64>() * f64::from(size)
}

fn text(content: &str, x: f64, y: f64, size: u32, anchor: TextAnchor, colour: String) -> Primitive {
    let color = Some(colour.into());
    Primitive::Text { x, y, content: content.into(), size, anchor, rotate: None, bold: false, color }
}

fn bold(mut primitive: Primitive) -> Primitive {
    if let Primitive::Text { bold, .. } = &mut primitive {
        *bold = true;
    }
    primitive
}

fn line(from: (f64, f64), to: (f64, f64), colour: &str, width: f64, dashes: Option<&str>) -> Primitive {
    let ((x1, y1), (x2, y2)) = (from, to);
    let stroke_dasharray = dashes.map(Into::into);
    Primitive::Line { x1, y1, x2, y2, stroke: colour.into(), stroke_width: width, stroke_dasharray }
}

/// A hollow diamond.
fn marker(x: f64, y: f64, colour: &str, paint: Paint) -> Primitive {
    let r = MARKER * 1.2;
    let d = format!("M {x} {} L {} {y} L {x} {} L {} {y} Z", y - r, x + r, y + r, x - r);
    Primitive::Path(Box::new(PathData {
        d,
        fill: Some(paint.chrome("page").into()),
        stroke: colour.into(),
        stroke_width: 2.0,
        opacity: None,
        stroke_dasharray: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_at_axes() {
        let said: Vec<String> = [0.0, 5.0, 0.5, 0.25, 1000.0, 0.00001].map(tick).to_vec();
        assert_eq!(said, ["0", "5", "0.5", "0.25", "1000", "1e-5"]);
    }

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
