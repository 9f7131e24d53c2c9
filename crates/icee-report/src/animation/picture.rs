//! Draws a game along its timeline.

use super::timeline::{Frame, Span, Timeline};
use super::{Episode, Game};
use crate::ink::{self, Paint};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

/// Seconds in which something appears.
const FADE: f64 = 0.2;

// Pixels.
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 446.0;
const TOP: f64 = 70.0;
const ROOM_LEFT: f64 = 32.0;
const ROOM_SIZE: f64 = 324.0;
const CHART: Range<f64> = 446.0..822.0;
const BOTTOM: f64 = TOP + ROOM_SIZE;
/// About the width of the name of the mean.
const MEAN_NAME: f64 = 168.0;
const FONT: &str = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif";

/// A picture that is being drawn.
pub(super) struct Picture<'a> {
    game: &'a Game,
    timeline: &'a Timeline,
    paint: Paint,
    keyframes: String,
    names: usize,
}

impl<'a> Picture<'a> {
    pub fn new(game: &'a Game, timeline: &'a Timeline, paint: Paint) -> Picture<'a> {
        Picture { game, timeline, paint, keyframes: String::new(), names: 0 }
    }

    pub fn draw(mut self) -> String {
        let body = [self.headings(), self.room(), self.chart()].concat();
        self.file(&body)
    }

    fn file(&self, body: &str) -> String {
        let chrome = |name| self.paint.chrome(name);
        let icee = self.paint.ink(ink::of("icee"));
        let title = escaped(&self.game.title);
        let seconds = number(self.timeline.length);
        let page = format!(
            "<rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"10\" fill=\"{}\" stroke=\"{}\"/>",
            WIDTH - 1.0,
            HEIGHT - 1.0,
            chrome("page"),
            chrome("grid")
        );
        let style = format!(
            "text{{font-family:{FONT};font-size:14px;fill:{}}}.q{{fill:{}}}.h{{font-size:19px;font-weight:600}}\
             .e{{text-anchor:end}}.m{{text-anchor:middle}}\
             .t{{fill:none;stroke:{icee};stroke-width:3;stroke-opacity:0.7;stroke-linejoin:round}}\
             .c{{stroke:{icee};stroke-width:3}}.i{{fill:{icee}}}\
             .l,.j{{animation-duration:{seconds}s;animation-iteration-count:infinite;animation-timing-function:linear}}\
             .j{{animation-timing-function:step-end}}\
             @media (prefers-reduced-motion:reduce){{.l,.j{{animation:none!important}}}}",
            chrome("text"),
            chrome("quiet"),
        );
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\"><title>{title}</title>\
             <style>{style}{}</style>{page}{body}</svg>\n",
            self.keyframes
        )
    }

    /// Keyframes under a new name, as the attributes of what they move; `jumps` from one to the next, or even motion.
    fn moving(&mut self, jumps: bool, stops: &[(f64, String)]) -> String {
        let name = format!("a{}", self.names);
        self.names += 1;
        let _ = write!(self.keyframes, "@keyframes {name}{{");
        for (time, change) in stops {
            let _ = write!(self.keyframes, "{}%{{{change}}}", number(100.0 * time / self.timeline.length));
        }
        self.keyframes.push('}');
        format!("class=\"{}\" style=\"animation-name:{name}\"", if jumps { 'j' } else { 'l' })
    }

    /// Seen in these stretches of time only, which ascend; without motion only if one of them is the end.
    fn seen(&mut self, stretches: &[(f64, f64)]) -> String {
        let mut stops: Vec<(f64, String)> = Vec::new();
        let mut shown_at_end = false;
        for &(from, until) in stretches {
            match stops.last() {
                None if from > 0.0 => stops.push((0.0, "opacity:0".into())),
                // It goes on: no gap in between.
                Some((end, _)) if *end == from => drop(stops.pop()),
                _ => {}
            }
            stops.push((from, "opacity:1".into()));
            shown_at_end = until >= self.timeline.length;
            if !shown_at_end {
                stops.push((until, "opacity:0".into()));
            }
        }
        let still = if shown_at_end { "" } else { " opacity=\"0\"" };
        format!("{}{still}", self.moving(true, &stops))
    }

    /// Appears at a moment and stays; what is there from the beginning does not move.
    fn appears(&mut self, time: f64) -> String {
        if time <= 0.0 {
            return String::new();
        }
        let hidden = || "opacity:0".into();
        self.moving(false, &[(0.0, hidden()), (time, hidden()), (time + FADE, "opacity:1".into())])
    }

    /// The number of the episode, what goes on in it, and its return.
    fn headings(&mut self) -> String {
        let timeline = self.timeline;
        let found = timeline.finds(&self.game.episodes).into_values().fold(f64::INFINITY, f64::min);
        let mut body = String::new();
        let right = ROOM_LEFT + ROOM_SIZE;
        for (index, span) in timeline.spans.iter().enumerate() {
            let seen = self.seen(&[(span.from, span.until)]);
            let _ =
                write!(body, "<g {seen}><text class=\"h\" x=\"{ROOM_LEFT}\" y=\"46\">Episode {}</text></g>", index + 1);
        }
        let mut sayings: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for span in &timeline.spans {
            let earned = timeline.frames[span.frames.clone()].last().map_or(0.0, |frame| frame.earned);
            if found < span.from {
                let saying = if earned > 0.0 { "going back to it" } else { "did not get back" };
                sayings.entry(saying).or_default().push((span.from, span.until));
            } else {
                sayings.entry("searching").or_default().push((span.from, span.until.min(found)));
                if found < span.until {
                    sayings.entry("found the goal").or_default().push((found, span.until));
                }
            }
        }
        for (saying, stretches) in sayings {
            let seen = self.seen(&stretches);
            let _ = write!(body, "<g {seen}><text class=\"q e\" x=\"{right}\" y=\"46\">{saying}</text></g>");
        }
        let _ = write!(body, "<text class=\"h\" x=\"{}\" y=\"46\">Return by episode</text>", CHART.start);
        let _ = write!(body, "<text class=\"q e\" x=\"{}\" y=\"46\">this episode</text>", CHART.end - 34.0);
        let mut counts: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        let ends = timeline.frames.iter().skip(1).map(|frame| frame.time).chain([timeline.length]);
        for (frame, end) in timeline.frames.iter().zip(ends) {
            let stretches = counts.entry(number(frame.earned)).or_default();
            match stretches.last_mut() {
                Some((_, until)) if *until == frame.time => *until = end,
                _ => stretches.push((frame.time, end)),
            }
        }
        for (count, stretches) in counts {
            let seen = self.seen(&stretches);
            let _ = write!(body, "<g {seen}><text class=\"h e\" x=\"{}\" y=\"46\">{count}</text></g>", CHART.end);
        }
        body
    }

    fn cell_size(&self) -> f64 {
        ROOM_SIZE / f64::from(self.game.columns.max(self.game.rows))
    }

    /// The middle of a cell.
    fn centre(&self, cell: u32) -> (f64, f64) {
        let (size, columns) = (self.cell_size(), self.game.columns);
        (ROOM_LEFT + (f64::from(cell % columns) + 0.5) * size, TOP + (f64::from(cell / columns) + 0.5) * size)
    }

    /// A square over a cell.
    fn square(&self, cell: u32, attributes: &str) -> String {
        let (size, (x, y)) = (self.cell_size(), self.centre(cell));
        let side = size - 2.0;
        let (x, y) = (number(x - side / 2.0), number(y - side / 2.0));
        let (side, round) = (number(side), number(size / 9.0));
        format!("<rect x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\" rx=\"{round}\" {attributes}/>")
    }

    fn room(&mut self) -> String {
        let (timeline, episodes) = (self.timeline, &self.game.episodes);
        let goal = self.paint.ink(ink::of("ad"));
        let mut body = format!("<g fill=\"{}\">", self.paint.chrome("grid"));
        for cell in 0..self.game.columns * self.game.rows {
            body += &self.square(cell, "");
        }
        body += "</g><g class=\"i\" fill-opacity=\"0.26\">";
        for (cell, time) in timeline.visits(&episodes[..timeline.spans.len()]) {
            let appears = self.appears(time);
            body += &self.square(cell, &appears);
        }
        body += "</g>";
        for (cell, time) in timeline.finds(&episodes[..timeline.spans.len()]) {
            let (appears, (x, y)) = (self.appears(time), self.centre(cell));
            let square = self.square(cell, &format!("fill=\"{goal}\""));
            let star = star(x, y, self.cell_size() * 0.34);
            let _ =
                write!(body, "<g {appears}>{square}<path d=\"{star}\" fill=\"{}\"/></g>", self.paint.chrome("page"));
        }
        for (span, episode) in timeline.spans.iter().zip(episodes) {
            body += &self.trail(span, episode);
        }
        let agent = self.disc(self.cell_size() * 0.27, |picture, _, frame| picture.centre(frame.cell));
        body + &agent + &self.key(&goal)
    }

    /// The path of an episode as it grows, seen until the next one begins.
    fn trail(&mut self, span: &Span, episode: &Episode) -> String {
        let cells = [episode.start].into_iter().chain(episode.steps.iter().map(|step| step.cell));
        let cells: Vec<u32> = cells.collect();
        let mut line = String::new();
        // Moves made by the end of each step: the length of the path so far.
        let mut moves = vec![0usize];
        for (index, &cell) in cells.iter().enumerate() {
            let moved = index > 0 && cell != cells[index - 1];
            if index == 0 || moved {
                let (x, y) = self.centre(cell);
                let _ = write!(line, "{}{} {}", if index == 0 { 'M' } else { 'L' }, number(x), number(y));
            }
            if index > 0 {
                moves.push(moves[index - 1] + usize::from(moved));
            }
        }
        let total = moves.last().copied().unwrap_or(0);
        let frames = &self.timeline.frames[span.frames.clone()];
        if total == 0 {
            return String::new();
        }
        let seen = self.seen(&[(span.from, span.until)]);
        if frames.len() < moves.len() {
            return format!("<g {seen}><path class=\"t\" d=\"{line}\"/></g>");
        }
        let offset = |moves: usize| format!("stroke-dashoffset:{}", total - moves);
        let mut stops = vec![(0.0, offset(0)), (span.from, offset(0))];
        for index in 1..moves.len() {
            // Even motion between two stops: only where walking and resting meet.
            let even = moves.get(index + 1).is_some_and(|next| next + moves[index - 1] == 2 * moves[index]);
            if !even {
                stops.push((frames[index].time, offset(moves[index])));
            }
        }
        let grows = self.moving(false, &stops);
        let dashes = format!("pathLength=\"{total}\" stroke-dasharray=\"{total} {total}\"");
        format!("<g {seen}><g {grows}><path class=\"t\" {dashes} d=\"{line}\"/></g></g>")
    }

    /// A disc that is somewhere in every frame, one keyframe each; it glides within an episode and jumps between two.
    fn disc(&mut self, radius: f64, place: impl Fn(&Self, usize, &Frame) -> (f64, f64)) -> String {
        let timeline = self.timeline;
        let (mut stops, mut last) = (Vec::new(), (String::new(), String::new()));
        for (episode, span) in timeline.spans.iter().enumerate() {
            for (index, frame) in timeline.frames[span.frames.clone()].iter().enumerate() {
                let (x, y) = place(self, episode, frame);
                last = (number(x), number(y));
                let jump = if index + 1 == span.frames.len() { ";animation-timing-function:step-end" } else { "" };
                stops.push((frame.time, format!("transform:translate({}px,{}px){jump}", last.0, last.1)));
            }
        }
        let (moves, (x, y)) = (self.moving(false, &stops), last);
        let (radius, page) = (number(radius), self.paint.chrome("page"));
        format!(
            "<g {moves} transform=\"translate({x} {y})\">\
             <circle class=\"i\" r=\"{radius}\" stroke=\"{page}\" stroke-width=\"2.5\"/></g>"
        )
    }

    /// What the signs of the room mean.
    fn key(&self, goal: &str) -> String {
        let (y, grid) = (BOTTOM + 28.0, self.paint.chrome("grid"));
        let mut body = format!("<circle class=\"i\" cx=\"{}\" cy=\"{}\" r=\"6\"/>", ROOM_LEFT + 8.0, y - 5.0);
        let signs = [("agent", 0.0), ("visited", 84.0), ("goal, once found", 180.0)];
        for (text, x) in signs {
            let left = ROOM_LEFT + x;
            let square = |fill: &str| {
                format!("<rect x=\"{left}\" y=\"{}\" width=\"15\" height=\"15\" rx=\"2.5\" {fill}/>", y - 12.5)
            };
            if x == signs[1].1 {
                body += &square(&format!("fill=\"{grid}\""));
                body += &square("class=\"i\" fill-opacity=\"0.26\"");
            } else if x == signs[2].1 {
                body += &square(&format!("fill=\"{goal}\""));
            }
            let _ = write!(body, "<text class=\"q\" x=\"{}\" y=\"{y}\">{text}</text>", left + 22.0);
        }
        body
    }

    fn chart_x(&self, episode: usize) -> f64 {
        let steps = self.timeline.spans.len().saturating_sub(1).max(1) as f64;
        CHART.start + 14.0 + (CHART.end - CHART.start - 28.0) * episode as f64 / steps
    }

    fn chart_y(&self, earned: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * (earned / self.game.most).clamp(0.0, 1.0)
    }

    fn chart(&mut self) -> String {
        let timeline = self.timeline;
        let mut body = self.axes();
        body += &self.mean();
        let points: Vec<(f64, f64)> = timeline
            .spans
            .iter()
            .enumerate()
            .map(|(index, span)| {
                let earned = timeline.frames[span.frames.clone()].last().map_or(0.0, |frame| frame.earned);
                (self.chart_x(index), self.chart_y(earned))
            })
            .collect();
        for (index, span) in timeline.spans.iter().enumerate() {
            let (x, y) = points[index];
            if index > 0 {
                let (from_x, from_y) = points[index - 1];
                let hidden = || "stroke-dashoffset:1".into();
                let grows = self.moving(
                    false,
                    &[(0.0, hidden()), (span.played, hidden()), (span.played + FADE, "stroke-dashoffset:0".into())],
                );
                let _ = write!(
                    body,
                    "<g {grows}><path class=\"c\" d=\"M{} {}L{} {}\" pathLength=\"1\" stroke-dasharray=\"1 1\"/></g>",
                    number(from_x),
                    number(from_y),
                    number(x),
                    number(y)
                );
            }
            let appears = self.appears(span.played);
            let _ = write!(
                body,
                "<g {appears}><circle class=\"i\" cx=\"{}\" cy=\"{}\" r=\"4\"/></g>",
                number(x),
                number(y)
            );
        }
        // The episode that is being played: what it has earned so far.
        body + &self.disc(7.0, |picture, episode, frame| (picture.chart_x(episode), picture.chart_y(frame.earned)))
    }

    /// What the same agent earns on average, with its name below the line.
    fn mean(&self) -> String {
        let shown = self.game.mean.iter().take(self.timeline.spans.len()).enumerate();
        let points: Vec<(f64, f64)> = shown.map(|(index, mean)| (self.chart_x(index), self.chart_y(*mean))).collect();
        let Some(&(right, _)) = points.last() else { return String::new() };
        let line: Vec<String> = points.iter().map(|(x, y)| format!("{} {}", number(*x), number(*y))).collect();
        let under = points.iter().filter(|(x, _)| right - x <= MEAN_NAME);
        let y = under.map(|(_, y)| *y).fold(TOP, f64::max).min(BOTTOM - 24.0) + 16.0;
        format!(
            "<path d=\"M{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"5 4\"/>\
             <text class=\"q e\" x=\"{}\" y=\"{}\">mean of many games</text>",
            line.join("L"),
            self.paint.chrome("axis"),
            number(right),
            number(y)
        )
    }

    fn axes(&self) -> String {
        let mut body = String::new();
        let (grid, step) = (self.paint.chrome("grid"), tick(self.game.most));
        for index in 0..=(self.game.most / step + 1e-9) as usize {
            let value = index as f64 * step;
            let y = self.chart_y(value);
            let _ = write!(body, "<path d=\"M{} {}H{}\" stroke=\"{grid}\"/>", CHART.start, number(y), CHART.end);
            let _ = write!(
                body,
                "<text class=\"q e\" x=\"{}\" y=\"{}\">{}</text>",
                CHART.start - 10.0,
                number(y + 5.0),
                number(value)
            );
        }
        for index in 0..self.timeline.spans.len() {
            let x = number(self.chart_x(index));
            let _ = write!(body, "<text class=\"q m\" x=\"{x}\" y=\"{}\">{}</text>", BOTTOM + 28.0, index + 1);
        }
        body
    }
}

/// A number as short as it can be said to a hundredth.
fn number(value: f64) -> String {
    let rounded = format!("{value:.2}");
    let short = rounded.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".into() } else { short.into() }
}

/// The distance of the marks at an axis that ends at `most`: about four of them.
fn tick(most: f64) -> f64 {
    let decade = 10f64.powi((most / 4.0).log10().floor() as i32);
    let step = [1.0, 2.0, 2.5, 5.0].into_iter().rev().find(|step| step * decade <= most / 4.0 + 1e-9);
    step.unwrap_or(1.0) * decade
}

/// A star of five points.
fn star(x: f64, y: f64, radius: f64) -> String {
    let mut path = String::new();
    for point in 0..10 {
        let angle = std::f64::consts::PI * (f64::from(point) / 5.0 - 0.5);
        let radius = if point % 2 == 0 { radius } else { 0.45 * radius };
        let (x, y) = (x + radius * angle.cos(), y + radius * angle.sin());
        let _ = write!(path, "{}{} {}", if point == 0 { 'M' } else { 'L' }, number(x), number(y));
    }
    path + "Z"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_marks() {
        assert_eq!([0.0, -0.001, 5.0, 12.345, 100.0].map(number), ["0", "0", "5", "12.35", "100"]);
        assert_eq!([20.0, 1.0, 2.0, 8.0, 100.0].map(tick), [5.0, 0.25, 0.5, 2.0, 25.0]);
    }
}
