//! A figure as data: what is drawn is what its CSV says.

use crate::ink::Ink;

/// One or several panels under a title.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in file names.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
    /// Panels in a row.
    pub columns: usize,
}

/// Lines on one pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Its name; empty for the only panel of a figure.
    pub title: String,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// What is drawn, in the order of reading: the first lies on top.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The quantity and its unit.
    pub label: String,
    /// How values lie on it.
    pub scale: Scale,
    /// Where it ends; none to take what the data needs.
    pub range: Option<(f64, f64)>,
}

/// How values lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// Evenly, and they are counts: only whole numbers are written at the axis.
    Count,
    /// By their logarithms.
    Log,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its colour.
    pub ink: Ink,
    /// Its name.
    pub label: String,
    /// How it is drawn.
    pub mark: Mark,
    /// Whether the figure is about it: a stronger line, with its intervals as a band. Bands of many lines would hide each
    /// other; the intervals of the others are in the numbers.
    pub highlighted: bool,
    /// The points from left to right.
    pub points: Vec<Point>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line; with its intervals as a band where it is highlighted.
    Line,
    /// A dashed line: a ceiling or a reference.
    Dashed,
    /// Hollow markers with their intervals: somebody else's numbers.
    Points,
}

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Across.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Half the width of the 95 % interval.
    pub half_width: Option<f64>,
}

impl Axis {
    /// A linear axis.
    #[must_use]
    pub fn linear(label: &str) -> Axis {
        Axis { label: label.into(), scale: Scale::Linear, range: None }
    }

    /// An axis that counts.
    #[must_use]
    pub fn count(label: &str) -> Axis {
        Axis { scale: Scale::Count, ..Axis::linear(label) }
    }

    /// A logarithmic axis.
    #[must_use]
    pub fn log(label: &str) -> Axis {
        Axis { scale: Scale::Log, ..Axis::linear(label) }
    }

    /// With fixed ends.
    #[must_use]
    pub fn between(self, low: f64, high: f64) -> Axis {
        Axis { range: Some((low, high)), ..self }
    }
}

impl Series {
    /// A series named after its ink.
    #[must_use]
    pub fn new(ink: Ink, mark: Mark, points: Vec<Point>) -> Series {
        Series { ink, label: ink.label.into(), mark, highlighted: true, points }
    }

    /// Only highlighted if so.
    #[must_use]
    pub fn highlighted_if(self, highlighted: bool) -> Series {
        Series { highlighted, ..self }
    }

    /// With another name.
    #[must_use]
    pub fn called(self, label: &str) -> Series {
        Series { label: label.into(), ..self }
    }
}

impl Point {
    /// The ends of the interval.
    #[must_use]
    pub fn ends(&self) -> (f64, f64) {
        let half = self.half_width.unwrap_or(0.0);
        (self.y - half, self.y + half)
    }
}

impl Figure {
    /// A figure of one panel.
    #[must_use]
    pub fn single(id: &str, title: &str, caption: &str, x: Axis, y: Axis, series: Vec<Series>) -> Figure {
        let panels = vec![Panel { title: String::new(), x, y, series }];
        Figure { id: id.into(), title: title.into(), caption: caption.into(), panels, columns: 1 }
    }

    /// Everything that is drawn, as CSV.
    ///
    /// # Errors
    /// The writer's, which does not fail in memory.
    pub fn to_csv(&self) -> Result<String, csv::Error> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(["panel", "series", "x", "y", "half_width_95"])?;
        for panel in &self.panels {
            for series in &panel.series {
                for Point { x, y, half_width } in &series.points {
                    let half = half_width.map_or(String::new(), |half| half.to_string());
                    csv.write_record([&panel.title, &series.label, &x.to_string(), &y.to_string(), &half])?;
                }
            }
        }
        let bytes = csv.into_inner().map_err(|e| e.into_error())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The different series of all panels, in order of appearance.
    #[must_use]
    pub fn legend(&self) -> Vec<&Series> {
        let mut legend: Vec<&Series> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if legend.iter().all(|known| known.label != series.label) {
                legend.push(series);
            }
        }
        legend
    }
}
