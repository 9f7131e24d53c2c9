//! One self-contained page: pictures and style inside, no script, nothing fetched; light or dark as the reader's screen
//! is, readable on a phone and in print.

use crate::draw::{Format, inline_svg};
use crate::figure::Figure;
use crate::ink::css_variables;
use std::fmt::Write;

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// What it is, in a sentence or two.
    pub lead: String,
    /// Its parts.
    pub sections: Vec<Section>,
    /// The last line.
    pub footer: String,
}

/// A part of a page.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// What is in it.
    pub blocks: Vec<Block>,
}

/// What stands in a section. All text is plain text, in which backticks enclose commands.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A list.
    List(Vec<String>),
    /// Commands.
    Code(String),
    /// A table.
    Table(Table),
    /// A picture with its caption and its numbers.
    Figure(Figure),
}

/// A table whose first column names the rows.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What it shows; the first sentence is its title.
    pub caption: String,
    /// What stands above several columns at once, from the second on: its name, how many.
    pub groups: Vec<(String, usize)>,
    /// The columns' names.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// What stands in it.
    pub text: String,
    /// A smaller line below it; may be empty.
    pub note: String,
    /// How the note is meant, or the text where there is none.
    pub tone: Tone,
}

/// How a cell is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// Better than what it is compared with.
    Good,
    /// Worse than what it is compared with.
    Bad,
    /// Not there.
    None,
}

impl Cell {
    /// With a smaller line below.
    #[must_use]
    pub fn noted(self, note: impl Into<String>, tone: Tone) -> Cell {
        Cell { note: note.into(), tone, ..self }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell { text, ..Cell::default() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::from(text.to_owned())
    }
}

impl Page {
    /// The page as HTML.
    ///
    /// # Errors
    /// Where a figure's numbers cannot be written, which does not happen in memory.
    pub fn to_html(&self) -> Result<String, csv::Error> {
        let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
        out += "<meta name=\"color-scheme\" content=\"light dark\">\n";
        let _ = writeln!(out, "<title>{}</title>", escape(&self.title));
        let _ = writeln!(out, "<style>{}\n{}</style>\n</head>\n<body>", css_variables(), include_str!("page.css"));
        let _ = writeln!(out, "<h1>{}</h1>\n<p class=\"lead\">{}</p>", escape(&self.title), escape(&self.lead));
        if self.sections.len() > 3 {
            out += "<nav>";
            for (index, section) in self.sections.iter().enumerate() {
                let _ = write!(out, "<a href=\"#s{index}\">{}</a>", escape(&section.heading));
            }
            out += "</nav>\n";
        }
        for (index, section) in self.sections.iter().enumerate() {
            let _ = writeln!(out, "<section id=\"s{index}\">\n<h2>{}</h2>", escape(&section.heading));
            for block in &section.blocks {
                block.write(&mut out)?;
            }
            out += "</section>\n";
        }
        let _ = writeln!(out, "<footer>{}</footer>\n</body>\n</html>", escape(&self.footer));
        Ok(out)
    }

    /// All figures, in order.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Figure(figure) => Some(figure),
            _ => None,
        })
    }
}

impl Block {
    fn write(&self, out: &mut String) -> Result<(), csv::Error> {
        match self {
            Block::Text(text) => {
                let _ = writeln!(out, "<p>{}</p>", inline(text));
            }
            Block::List(items) => {
                let items: String = items.iter().map(|item| format!("<li>{}</li>", inline(item))).collect();
                let _ = writeln!(out, "<ul>{items}</ul>");
            }
            Block::Code(text) => {
                let _ = writeln!(out, "<pre><code>{}</code></pre>", escape(text));
            }
            Block::Table(table) => table.write(out),
            Block::Figure(figure) => {
                let csv = figure.to_csv()?;
                let (title, caption, id) = (escape(&figure.title), inline(&figure.caption), escape(&figure.id));
                let _ = writeln!(out, "<figure id=\"{id}\"><h3>{title}</h3>");
                // The style shows the one that fits.
                for format in [Format::Wide, Format::Narrow] {
                    let _ = writeln!(out, "<div class=\"picture\">{}</div>", inline_svg(figure, format));
                }
                let numbers = format!("data:text/csv;charset=utf-8,{}", percent(&csv));
                let link = format!("<a class=\"download\" download=\"{id}.csv\" href=\"{numbers}\">The numbers</a>");
                let _ = writeln!(out, "<figcaption>{caption} {link}</figcaption></figure>");
            }
        }
        Ok(())
    }
}

impl Table {
    /// The table as a piece of HTML.
    pub(crate) fn to_html(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        let caption = escape(&self.caption);
        // A box that scrolls by itself where the table is too wide, also with the keyboard; the caption stays where it is.
        let (title, rest) = caption.split_once(". ").unwrap_or((&caption, ""));
        let _ = writeln!(out, "<p class=\"caption\"><b>{}</b> {rest}</p>", title.trim_end_matches('.'));
        let _ = write!(out, "<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">");
        *out += "<table><thead>";
        if !self.groups.is_empty() {
            *out += "<tr class=\"groups\"><td></td>";
            for (name, columns) in &self.groups {
                let _ = write!(out, "<th scope=\"colgroup\" colspan=\"{columns}\">{}</th>", escape(name));
            }
            *out += "</tr>";
        }
        *out += "<tr>";
        for name in &self.head {
            let _ = write!(out, "<th scope=\"col\">{}</th>", escape(name));
        }
        *out += "</tr></thead>\n<tbody>\n";
        for row in &self.rows {
            *out += "<tr>";
            for (index, cell) in row.iter().enumerate() {
                cell.write(out, index == 0);
            }
            *out += "</tr>\n";
        }
        *out += "</tbody></table></div>\n";
    }
}

impl Cell {
    fn write(&self, out: &mut String, names_row: bool) {
        let class = match self.tone {
            Tone::Plain => "",
            Tone::Good => " class=\"good\"",
            Tone::Bad => " class=\"bad\"",
            Tone::None => " class=\"none\"",
        };
        let (open, close) = if names_row { ("th scope=\"row\"", "th") } else { ("td", "td") };
        let text = escape(&self.text);
        let _ = match self.note.as_str() {
            "" => write!(out, "<{open}{class}>{text}</{close}>"),
            note => write!(out, "<{open}>{text}<small{class}>{}</small></{close}>", escape(note)),
        };
    }
}

/// Plain text as HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Plain text as HTML; what stands between backticks as code.
fn inline(text: &str) -> String {
    let parts: Vec<String> = text.split('`').map(escape).collect();
    // An odd number of backticks is no code.
    if parts.len().is_multiple_of(2) {
        return escape(text);
    }
    let part = |(index, part): (usize, String)| if index % 2 == 1 { format!("<code>{part}</code>") } else { part };
    parts.into_iter().enumerate().map(part).collect()
}

/// Text as part of a link.
fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~,".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Mark, Point, Series};
    use crate::ink;

    fn page() -> Page {
        let points = (1..=5).map(|x| Point { x: f64::from(x), y: f64::from(x * x), half_width: Some(0.5) }).collect();
        let series = vec![Series::new(ink::of("icee"), Mark::Line, points)];
        let (x, y) = (Axis::count("episode"), Axis::linear("mean return"));
        let figure = Figure::single("curve", "A <curve> & more", "How to read it.", x, y, series);
        let cells = vec![Cell::from("a & b"), Cell { text: "<1>".into(), tone: Tone::Good, ..Cell::default() }];
        let table =
            Table { caption: "T".into(), groups: Vec::new(), head: vec!["x".into(), "y".into()], rows: vec![cells] };
        let blocks = vec![Block::Text("1 < 2".into()), Block::Table(table), Block::Figure(figure)];
        let sections = vec![Section { heading: "One".into(), blocks }];
        Page { title: "A page".into(), lead: "With \"quotes\".".into(), sections, footer: "End.".into() }
    }

    #[test]
    fn nothing_is_fetched_and_all_text_is_escaped() {
        let html = page().to_html().unwrap();
        crate::check::self_contained(&html).unwrap();
        assert!(html.contains("1 &lt; 2") && html.contains("a &amp; b") && html.contains("&lt;1&gt;"));
        assert!(html.contains("<svg ") && html.contains("viewBox=") && html.contains("var(--ink-icee)"));
        assert!(html.contains("prefers-color-scheme:dark") && html.contains("@media print"));
    }

    #[test]
    fn commands_in_text_are_code() {
        assert_eq!(inline("`a < b` and `c`"), "<code>a &lt; b</code> and <code>c</code>");
        assert_eq!(inline("it`s"), "it`s");
    }

    #[test]
    fn the_numbers_travel_with_the_picture() {
        let page = page();
        let csv = page.figures().next().unwrap().to_csv().unwrap();
        assert_eq!(csv.lines().count(), 6);
        assert!(page.to_html().unwrap().contains(&percent(&csv)));
        assert_eq!(percent("a b\nü"), "a%20b%0A%C3%BC");
    }
}
