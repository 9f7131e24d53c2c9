//! What people type, as what it means: directions, bounds, wishes and times.

use crate::goals::{Bounds, Direction, Further, Wanted};
use std::str::FromStr;

impl FromStr for Direction {
    type Err = String;

    /// A direction by any of its names; a target is a number of its own.
    fn from_str(word: &str) -> Result<Direction, String> {
        match word.to_lowercase().as_str() {
            "maximize" | "maximise" | "maximum" | "max" | "higher" | "high" | "up" => Ok(Direction::Maximize),
            "minimize" | "minimise" | "minimum" | "min" | "lower" | "low" | "down" => Ok(Direction::Minimize),
            _ => Err("say maximize where high values are good, minimize where low ones are".into()),
        }
    }
}

impl FromStr for Bounds {
    type Err = String;

    /// Ends of values: `0..100`, `0..` or `..100`.
    fn from_str(text: &str) -> Result<Bounds, String> {
        let wrong = || format!("\"{text}\" are no bounds; write 0..100, 0.. or ..100");
        let (low, high) = text.split_once("..").ok_or_else(wrong)?;
        let end = |text: &str| match text.trim() {
            "" => Ok(None),
            number => number.parse().map(Some).map_err(|_| wrong()),
        };
        match (end(low)?, end(high)?) {
            (None, None) => Err(wrong()),
            (low, high) => Ok(Bounds { low, high }),
        }
    }
}

impl FromStr for Further {
    type Err = String;

    /// A further outcome: its name, and a direction, a limit or a target.
    fn from_str(text: &str) -> Result<Further, String> {
        if text.contains("..") || text.matches(['<', '>', '≤', '≥']).count() > 1 {
            return Err(format!(
                "\"{text}\": values between two limits are asked for by their middle, such as \"pH = 7\""
            ));
        }
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let of = |name: &str, wanted| Ok(Further { name: name.trim().to_owned(), wanted });
        let limits = [
            (">=", Wanted::AtLeast as fn(f64) -> Wanted),
            ("≥", Wanted::AtLeast),
            ("<=", Wanted::AtMost),
            ("≤", Wanted::AtMost),
        ];
        for (sign, limit) in limits {
            if let Some((name, value)) = text.split_once(sign) {
                let value = number(value).ok_or_else(|| format!("\"{}\" is not a number", value.trim()))?;
                return of(name, limit(value));
            }
        }
        let wrong = || format!("what is wanted of \"{text}\"? Write \"price min\", \"purity >= 95\" or \"pH = 7\"");
        // The last word says it; names may have blanks.
        let (name, wish) =
            text.split_once('=').or_else(|| text.trim().rsplit_once(char::is_whitespace)).ok_or_else(wrong)?;
        if name.trim_end().ends_with(['<', '>', '!']) {
            return Err(format!("\"{text}\": a limit is written >= or <="));
        }
        match number(wish) {
            Some(target) if text.contains('=') => of(name, Wanted::Best(Direction::Target(target))),
            Some(_) => Err(wrong()),
            None => of(name, Wanted::Best(wish.trim().parse().map_err(|_| wrong())?)),
        }
    }
}

/// A time such as 90m, 8h or 3d, in seconds.
///
/// # Errors
/// Where it is none, in words for whoever typed it.
pub fn duration(text: &str) -> Result<u64, String> {
    let wrong = || format!("\"{text}\" is no time; write 90m, 8h or 3d");
    let text = text.trim();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit.to_ascii_lowercase() {
        's' => 1.0,
        'm' => 60.0,
        'h' => 3600.0,
        'd' => 86_400.0,
        'w' => 604_800.0,
        _ => return Err(wrong()),
    };
    let number: f64 = text[..text.len() - unit.len_utf8()].trim().parse().map_err(|_| wrong())?;
    let total = number * seconds;
    if (1.0..=1e10).contains(&total) { Ok(total as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(text: &str) -> Result<Further, String> {
        text.parse()
    }

    fn ends(text: &str) -> Result<Bounds, String> {
        text.parse()
    }

    #[test]
    fn times_as_people_type_them() {
        assert_eq!([duration("90m"), duration(" 1.5 h"), duration("3d")], [Ok(5400), Ok(5400), Ok(259_200)]);
        assert!(["", "h", "3", "-1h", "1e99d", "0.1s"].iter().all(|text| duration(text).is_err()));
    }

    #[test]
    fn wishes_as_people_type_them() {
        let price = |direction| Further { name: "unit price".into(), wanted: Wanted::Best(direction) };
        assert_eq!(wish("unit price min").unwrap(), price(Direction::Minimize));
        assert_eq!(wish("unit price=max").unwrap(), price(Direction::Maximize));
        assert_eq!(wish("unit price = 7").unwrap(), price(Direction::Target(7.0)));
        let purity = |wanted| Further { name: "purity".into(), wanted };
        assert_eq!(wish("purity>=95").unwrap(), purity(Wanted::AtLeast(95.0)));
        assert_eq!(wish("purity <= -2e3").unwrap(), purity(Wanted::AtMost(-2e3)));
        for (text, said) in [
            ("purity", "Write"),
            ("purity good", "Write"),
            ("purity >= high", "\"high\" is not a number"),
            ("purity > 95", ">= or <="),
            ("purity 95", "Write"),
            ("purity<5", "Write"),
            ("pH 6..8", "by their middle, such as \"pH = 7\""),
            ("6 <= pH <= 8", "by their middle"),
        ] {
            assert!(wish(text).unwrap_err().contains(said), "{text}");
        }
    }

    #[test]
    fn bounds_as_people_type_them() {
        assert_eq!(ends("0..100").unwrap(), Bounds { low: Some(0.0), high: Some(100.0) });
        assert_eq!(ends("-1.5 ..").unwrap(), Bounds { low: Some(-1.5), high: None });
        assert_eq!(ends("..3").unwrap(), Bounds { low: None, high: Some(3.0) });
        assert!(["", "..", "5", "a..b", "0..100..200"].iter().all(|text| ends(text).is_err()));
    }
}
