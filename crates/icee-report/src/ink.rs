//! One colour a method, the same in every figure: Okabe and Ito's palette, which colour-blind readers can tell apart, with
//! a brighter twin of each for dark pages.

use icee_models::catalogue::{ENTRIES, Entry};
use std::fmt::Write;

/// How something is drawn and called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ink {
    /// Its key in names and files.
    pub key: &'static str,
    /// Its name in figures and tables.
    pub label: &'static str,
    /// On a light page.
    pub light: &'static str,
    /// On a dark page.
    pub dark: &'static str,
}

const fn ink(key: &'static str, label: &'static str, light: &'static str, dark: &'static str) -> Ink {
    Ink { key, label, light, dark }
}

/// Five steps of one quantity, faint to strong.
pub(crate) const RAMP: [Ink; 5] = [
    ink("ramp-1", "", "#A6CEE3", "#2F5F8A"),
    ink("ramp-2", "", "#6BAED6", "#3F86BD"),
    ink("ramp-3", "", "#3E8EC4", "#6BAED6"),
    ink("ramp-4", "", "#1F6BAF", "#9ECAE1"),
    ink("ramp-5", "", "#08306B", "#DEEBF7"),
];

/// What surrounds the data: name, light, dark.
const CHROME: [(&str, &str, &str); 6] = [
    ("page", "#FFFFFF", "#16181C"),
    ("text", "#22262B", "#E8EAED"),
    ("quiet", "#5F6670", "#A2A9B2"),
    ("grid", "#E7E9EC", "#2C3036"),
    ("axis", "#9AA1A9", "#5C636C"),
    ("tint", "#F4F6F8", "#1F2329"),
];

/// What is not in the catalogue is drawn like a reference agent.
const OTHER: Ink = ink("other", "other", "#8C8C8C", "#9A9A9A");

impl From<&Entry> for Ink {
    fn from(entry: &Entry) -> Ink {
        let [light, dark] = entry.colours;
        ink(entry.key, entry.label, light, dark)
    }
}

/// The ink of a method or agent by its key in the catalogue.
#[must_use]
pub fn of(key: &str) -> Ink {
    icee_models::catalogue::entry(key).map_or(OTHER, Ink::from)
}

/// The catalogue's different colours, in its order: for things that are told apart, but are not in it.
#[must_use]
pub fn palette() -> Vec<Ink> {
    let mut palette: Vec<Ink> = Vec::new();
    for ink in ENTRIES.iter().map(Ink::from) {
        if palette.iter().all(|known| known.light != ink.light) {
            palette.push(ink);
        }
    }
    palette
}

/// What colours are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Variables that the page or the file defines, light or dark as the reader's screen is.
    Variables,
    /// Plain colours of a light page.
    Light,
    /// Plain colours of a dark page.
    Dark,
}

impl Paint {
    /// The colour of an ink.
    #[must_use]
    pub fn ink(self, ink: Ink) -> String {
        match self {
            Paint::Variables => format!("var(--ink-{})", ink.key),
            Paint::Light => ink.light.into(),
            Paint::Dark => ink.dark.into(),
        }
    }

    /// The colour of what surrounds the data: page, text, quiet, grid, axis or tint.
    #[must_use]
    pub fn chrome(self, name: &str) -> String {
        let (_, light, dark) = CHROME.into_iter().find(|(known, ..)| *known == name).unwrap_or(CHROME[1]);
        match self {
            Paint::Variables => format!("var(--{name})"),
            Paint::Light => light.into(),
            Paint::Dark => dark.into(),
        }
    }
}

/// The variables behind [`Paint::Variables`] as CSS; dark where the reader's screen is, light in print.
#[must_use]
pub(crate) fn css_variables() -> String {
    let block = |dark: bool| {
        let mut text = String::new();
        for (name, light, night) in CHROME {
            let _ = write!(text, "--{name}:{};", if dark { night } else { light });
        }
        for ink in ENTRIES.iter().map(Ink::from).chain(RAMP).chain([OTHER]) {
            let _ = write!(text, "--ink-{}:{};", ink.key, if dark { ink.dark } else { ink.light });
        }
        text
    };
    format!(":root{{{}}}@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}", block(false), block(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The luminance of WCAG's contrast.
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        if a > b { a / b } else { b / a }
    }

    #[test]
    fn text_and_lines_can_be_seen_on_both_pages() {
        let (_, light, dark) = CHROME[0];
        for (name, day, night) in [CHROME[1], CHROME[2]] {
            assert!(contrast(day, light) > 4.5 && contrast(night, dark) > 4.5, "{name}");
        }
        for ink in ENTRIES.iter().map(Ink::from) {
            assert!(contrast(ink.light, light) > 2.0 && contrast(ink.dark, dark) > 4.5, "{}", ink.key);
        }
    }

    #[test]
    fn every_key_has_its_variable() {
        let css = css_variables();
        for entry in &ENTRIES {
            assert_eq!(css.matches(&format!("--ink-{}:", entry.key)).count(), 2, "{}", entry.key);
        }
        assert_eq!(of("nobody").key, "other");
        assert!(palette().len() >= 8 && palette()[0].key == ENTRIES[0].key);
    }
}
