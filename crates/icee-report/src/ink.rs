//! One colour a method, the same in every figure: Okabe and Ito's palette, which colour-blind readers can tell apart, with
//! a brighter twin of each for dark pages.

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

/// All methods and reference agents.
pub const INKS: [Ink; 20] = [
    ink("icee", "ICEE", "#0072B2", "#4DA9E8"),
    ink("icee-paper", "ICEE, paper's networks", "#009E73", "#35C79B"),
    ink("icee-weighted", "ICEE, weighted", "#56B4E9", "#A3D8F7"),
    ink("icee-biased", "ICEE-biased", "#CC79A7", "#E79FC6"),
    ink("icee-no-searchers", "ICEE, no searchers", "#8A6D3B", "#C9AA72"),
    ink("icee-no-novices", "ICEE, no novices", "#D55E00", "#FF8C4B"),
    ink("icee-always-one", "ICEE, always-one", "#E69F00", "#F4B942"),
    ink("ad", "AD", "#E69F00", "#F4B942"),
    ink("ad-sorted", "AD-sorted", "#D55E00", "#FF8C4B"),
    ink("mgdt", "MGDT", "#8A6D3B", "#C9AA72"),
    ink("source", "Source", "#8C8C8C", "#9A9A9A"),
    ink("posterior", "posterior sampling", "#3A3A3A", "#E2E2E2"),
    ink("oracle", "oracle", "#6B6B6B", "#B8B8B8"),
    ink("gp-ei", "GP-EI", "#D55E00", "#FF8C4B"),
    ink("random", "random", "#8C8C8C", "#9A9A9A"),
    ink("value", "ICEE, value", "#0072B2", "#4DA9E8"),
    ink("value-paper-prior", "value, paper's prior", "#56B4E9", "#A3D8F7"),
    ink("exact", "exact objective", "#E69F00", "#F4B942"),
    ink("paper", "ICEE, paper's objective", "#009E73", "#35C79B"),
    ink("biased", "ICEE-biased", "#CC79A7", "#E79FC6"),
];

/// Five steps of one quantity, faint to strong.
pub const RAMP: [Ink; 5] = [
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

/// The ink of a method by its key; unknown ones are drawn like the reference agents.
#[must_use]
pub fn of(key: &str) -> Ink {
    INKS.into_iter().find(|ink| ink.key == key).unwrap_or(ink("other", "other", "#8C8C8C", "#9A9A9A"))
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
pub fn css_variables() -> String {
    let block = |dark: bool| {
        let mut text = String::new();
        for (name, light, night) in CHROME {
            let _ = write!(text, "--{name}:{};", if dark { night } else { light });
        }
        for ink in INKS.into_iter().chain(RAMP).chain([of("")]) {
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
        for ink in INKS {
            assert!(contrast(ink.light, light) > 2.0 && contrast(ink.dark, dark) > 4.5, "{}", ink.key);
        }
    }

    #[test]
    fn every_key_is_there_once_and_has_its_variable() {
        let css = css_variables();
        for (index, ink) in INKS.iter().enumerate() {
            assert!(INKS[..index].iter().all(|other| other.key != ink.key), "{}", ink.key);
            assert_eq!(css.matches(&format!("--ink-{}:", ink.key)).count(), 2);
        }
    }
}
