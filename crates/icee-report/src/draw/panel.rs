//! One panel: axes, bands, lines, points.

use super::names::{LABEL_SIZE, draw_names};
use super::{FONT, Grid, bold, line, marker, text};
use crate::figure::{Axis, Mark, Panel, Point, Scale, Series};
use crate::ink::Paint;
use kuva::plot::{BandPlot, LinePlot};
use kuva::render::layout::{ComputedLayout, Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::render::{Scene, TextAnchor, render_multiple};
use kuva::render::theme::Theme;
use std::sync::Arc;

/// Which sides of a panel look out of the figure, where the axes are named.
pub(super) struct Outer {
    pub(super) left: bool,
    pub(super) bottom: bool,
}

pub(super) fn draw_panel(panel: &Panel, grid: &Grid, named: bool, outer: Outer, paint: Paint) -> Scene {
    let shown = range(panel, &panel.y, true);
    let mut plots: Vec<Plot> = Vec::new();
    for series in panel.series.iter().rev().filter(|series| series.mark == Mark::Line && series.highlighted) {
        let banded: Vec<&Point> = series.points.iter().filter(|point| point.half_width.is_some()).collect();
        if banded.len() > 1 {
            let ends = banded.iter().map(|point| within(point.ends(), shown));
            let (low, high): (Vec<f64>, Vec<f64>) = ends.unzip();
            let band = BandPlot::new(banded.iter().map(|point| point.x), low, high);
            plots.push(band.with_color(paint.ink(series.ink)).with_opacity(0.16).into());
        }
    }
    for series in panel.series.iter().rev().filter(|series| series.mark != Mark::Points) {
        // A regret of nought has no logarithm: it lies at the foot of the axis.
        let height = |y: f64| if panel.y.scale == Scale::Log { y.max(shown.0) } else { y };
        let strength = if series.mark == Mark::Line && series.highlighted { 1.0 } else { 0.65 };
        let line = LinePlot::new()
            .with_data(series.points.iter().map(|point| (point.x, height(point.y))))
            .with_color(paint.ink(series.ink))
            .with_stroke_width(strength * grid.line);
        plots.push(if series.mark == Mark::Dashed { line.with_dashed() } else { line }.into());
    }
    if plots.is_empty() {
        // Without a line there would be no axes either.
        plots.push(LinePlot::new().into());
    }
    let layout = layout(panel, grid, &outer, paint);
    let computed = ComputedLayout::from_layout(&layout);
    let mut scene = render_multiple(plots, layout);
    for series in panel.series.iter().rev().filter(|series| series.mark == Mark::Points) {
        draw_points(&mut scene, series, &computed, shown, paint);
    }
    if named {
        draw_names(&mut scene, panel, &computed, shown, paint);
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
    let ticks = if grid.width < 300.0 { 4 } else { 5 };
    let mut layout = Layout::new(x, y)
        .with_width(grid.width)
        .with_height(grid.height)
        .with_theme(theme)
        .with_ticks(ticks)
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
    match panel.x.scale {
        Scale::Linear => {}
        Scale::Count => layout = layout.with_x_tick_step(whole_step(x, ticks)),
        Scale::Log => layout = layout.with_log_x(),
    }
    match panel.y.scale {
        Scale::Linear => {}
        Scale::Count => layout = layout.with_y_tick_step(whole_step(y, ticks)),
        Scale::Log => layout = layout.with_log_y(),
    }
    if outer.bottom {
        layout = layout.with_x_label(&panel.x.label);
    }
    if outer.left {
        layout = layout.with_y_label(&panel.y.label);
    }
    layout
}

/// The least of 1, 2, 5, 10, 20, … that cuts a range into about so many steps, at most one more.
fn whole_step((low, high): (f64, f64), most: usize) -> f64 {
    let mut step = 1.0;
    for factor in [2.0, 2.5, 2.0].into_iter().cycle() {
        // Steps beyond what can be counted: the range is not one of counts.
        if (high - low) / step <= (most + 1) as f64 || step > 1e15 {
            break;
        }
        step *= factor;
    }
    step
}

/// A number at an axis, without superfluous noughts.
fn tick(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 {
        return format!("{value:e}");
    }
    let rounded = format!("{value:.4}");
    match rounded.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".into(),
        number => number.into(),
    }
}

/// The ends of an axis: its own, or what all points and intervals need.
fn range(panel: &Panel, axis: &Axis, upwards: bool) -> (f64, f64) {
    if let Some(range) = axis.range {
        return range;
    }
    let log = axis.scale == Scale::Log;
    let points = || panel.series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point)));
    let values = points().flat_map(|(series, point)| {
        // What is not drawn needs no room; and where an interval reaches to nought, a logarithm would go on for ever.
        let drawn = series.mark == Mark::Points || series.mark == Mark::Line && series.highlighted;
        let (low, high) = if drawn { point.ends() } else { (point.y, point.y) };
        if upwards { [if log { point.y } else { low }, high] } else { [point.x; 2] }
    });
    let never_negative = points().all(|(_, point)| point.y >= 0.0);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|value| value.is_finite() && (!log || *value > 0.0)) {
        (low, high) = (low.min(value), high.max(value));
    }
    if low > high {
        return if log { (0.1, 1.0) } else { (0.0, 1.0) };
    }
    if log {
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
        scene.add(marker(x, computed.map_y(point.y.clamp(shown.0, shown.1)), &colour, paint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_axes() {
        let said: Vec<String> = [0.0, 5.0, 0.5, 0.25, 1000.0, 0.00001, -0.5, -0.0].map(tick).to_vec();
        assert_eq!(said, ["0", "5", "0.5", "0.25", "1000", "1e-5", "-0.5", "0"]);
    }

    #[test]
    fn counts_are_whole() {
        let steps: Vec<f64> = [3.0, 10.0, 20.0, 50.0, 55.0, 1000.0].map(|last| whole_step((1.0, last), 5)).to_vec();
        assert_eq!(steps, [1.0, 2.0, 5.0, 10.0, 10.0, 200.0]);
        assert!(whole_step((0.0, f64::INFINITY), 5) > 0.0);
    }
}
