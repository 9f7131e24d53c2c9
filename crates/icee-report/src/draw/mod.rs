//! Draws a [`Figure`] with `kuva`: as SVG for a page, wide or for a phone, as an SVG file of its own, as PNG.
//!
//! A wide figure of one panel names its lines at their ends, where these are at its edge; any other has a legend above.

mod names;
mod panel;

use crate::figure::Figure;
use crate::ink::{Paint, css_variables};
use kuva::backend::png::PngBackend;
use kuva::backend::svg::SvgBackend;
use kuva::render::render::{PathData, Primitive, Scene, TextAnchor};
use names::{LABEL_GAP, LABEL_SIZE, draw_legend_row, legend_rows, names_lines, text_width};
use panel::{Outer, draw_panel};

const FONT: &str = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";
const TITLE_SIZE: u32 = 17;
const TITLE_HEIGHT: f64 = 34.0;
const LEGEND_ROW: f64 = 22.0;
/// The width of a narrow figure: a phone's, less its margins.
const NARROW: f64 = 360.0;
/// Pixels of a PNG for one of the drawing.
const PNG_SCALE: f32 = 2.0;
/// The dashes of ceilings and references.
const DASHES: &str = "6,4";
const MARKER: f64 = 4.5;

/// For how much room a figure is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A page on a screen, a file.
    Wide,
    /// A phone: narrow enough to be read without scrolling, panels below each other, a legend.
    Narrow,
}

/// How a drawing is made.
#[derive(Clone, Copy)]
struct Style {
    format: Format,
    paint: Paint,
    /// Whether the title is drawn, too: a page has it as text.
    titled: bool,
}

const FILE: Style = Style { format: Format::Wide, paint: Paint::Variables, titled: true };

/// The figure for a page that defines the colours and says the title: scales with the page, light or dark as it is.
#[must_use]
pub fn inline_svg(figure: &Figure, format: Format) -> String {
    let scene = scene(figure, Style { format, titled: false, ..FILE });
    let class = if format == Format::Wide { "wide" } else { "narrow" };
    // Inside a page the namespace goes without saying.
    let drawn = svg(&scene, figure, &format!("{}-{class}", figure.id));
    drawn.replacen(r#" xmlns="http://www.w3.org/2000/svg""#, &format!(r#" class="{class}""#), 1)
}

/// The figure as a file of its own, light or dark as the reader's screen is.
#[must_use]
pub fn svg_file(figure: &Figure) -> String {
    let mut scene = scene(figure, FILE);
    scene.defs.push(format!("<style>{}</style>", css_variables()));
    svg(&scene, figure, &figure.id)
}

/// The figure as PNG.
///
/// # Errors
/// Where it cannot be encoded.
pub fn png(figure: &Figure, dark: bool) -> Result<Vec<u8>, String> {
    let paint = if dark { Paint::Dark } else { Paint::Light };
    PngBackend::new().with_scale(PNG_SCALE).render_scene(&scene(figure, Style { paint, ..FILE }))
}

/// Made scalable, and named for those who cannot see it.
fn svg(scene: &Scene, figure: &Figure, id: &str) -> String {
    let (width, height) = (scene.width, scene.height);
    let size = format!(r#" width="{width}" height="{height}""#);
    let title = figure.title.replace('&', "and").replace(['<', '>', '"'], "");
    let scalable = format!(r#" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{title}""#);
    let drawn = SvgBackend::new().render_scene(scene).replacen(&size, &scalable, 1);
    stable_ids(&drawn, id)
}

/// The library counts its clipping areas through the whole program; here they are counted through the figure, so that
/// the same figure is always the same text.
fn stable_ids(svg: &str, id: &str) -> String {
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
        out += &format!("{id}-{index}{rest}");
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
    fn of(figure: &Figure, format: Format, named: bool) -> Grid {
        let (left, top, bottom) = (58.0, 10.0, 50.0);
        let single = Grid { width: 700.0, height: 400.0, left, right: 18.0, top, bottom, tick_size: 12, line: 2.4 };
        if named {
            let names = figure.panels[0].series.iter().map(|series| text_width(&series.label, LABEL_SIZE));
            let right = (names.fold(0.0, f64::max) + LABEL_GAP + 12.0).ceil();
            return Grid { width: 580.0 + right, right, ..single };
        }
        let panel = Grid { left: 50.0, right: 14.0, top: 26.0, bottom: 44.0, tick_size: 11, line: 2.0, ..single };
        match (format, figure.panels.len(), figure.columns) {
            (Format::Wide, 1, _) => single,
            (Format::Wide, _, ..=3) => Grid { width: 380.0, height: 270.0, ..panel },
            (Format::Wide, ..) => Grid { width: 244.0, height: 190.0, ..panel },
            (Format::Narrow, 1, _) => Grid { width: NARROW, height: 300.0, top, ..panel },
            (Format::Narrow, _, ..=3) => Grid { width: NARROW, height: 240.0, ..panel },
            (Format::Narrow, ..) => Grid { width: NARROW / 2.0, height: 160.0, ..panel },
        }
    }
}

fn scene(figure: &Figure, style: Style) -> Scene {
    let Style { format, paint, titled } = style;
    let named = format == Format::Wide && names_lines(figure);
    let grid = Grid::of(figure, format, named);
    let most = if format == Format::Narrow { (NARROW / grid.width) as usize } else { figure.columns };
    let columns = most.clamp(1, figure.panels.len().max(1));
    let rows = figure.panels.len().div_ceil(columns);
    let width = grid.width * columns as f64;
    let legend = if named { Vec::new() } else { legend_rows(&figure.legend(), width) };
    let heading = if titled { TITLE_HEIGHT } else { 0.0 };
    let above = heading + LEGEND_ROW * legend.len() as f64 + if legend.is_empty() { 0.0 } else { 6.0 };
    let mut scene = Scene::new(width, above + grid.height * rows as f64);
    scene.background_color = Some(paint.chrome("page"));
    scene.text_color = Some(paint.chrome("text"));
    scene.font_family = Some(FONT.into());
    if titled {
        let title = text(&figure.title, 12.0, 23.0, TITLE_SIZE, TextAnchor::Start, paint.chrome("text"));
        scene.add(bold(title));
    }
    for (row, entries) in legend.iter().enumerate() {
        draw_legend_row(&mut scene, entries, heading + LEGEND_ROW * (row as f64 + 0.5), paint);
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
