//! The meaning of typed text: numbers, directions, ranges, goals and times.

use crate::error::Result;
use crate::goals::{Bounds, Direction, Further, Wanted};
use crate::values::{FAILED, IMPOSSIBLE};
use icee_protocol::{Amount, Problem};
use std::str::FromStr;

impl FromStr for Direction {
    type Err = Problem;

    /// A direction by any of its names; a target is a number of its own.
    fn from_str(word: &str) -> Result<Direction> {
        match word.to_lowercase().as_str() {
            "maximize" | "maximise" | "maximum" | "max" | "higher" | "high" | "up" => Ok(Direction::Maximize),
            "minimize" | "minimise" | "minimum" | "min" | "lower" | "low" | "down" => Ok(Direction::Minimize),
            _ => Err(Problem::NotADirection { text: word.to_owned() }),
        }
    }
}

impl FromStr for Bounds {
    type Err = Problem;

    /// A range: `0..100`, `0..` or `..100`.
    fn from_str(text: &str) -> Result<Bounds> {
        let wrong = || Problem::NotARange { text: text.to_owned() };
        let (low, high) = text.split_once("..").ok_or_else(wrong)?;
        let end = |text: &str| match text.trim() {
            "" => Ok(None),
            text => number(text).map(Some).ok_or_else(wrong),
        };
        match (end(low)?, end(high)?) {
            (None, None) => Err(wrong()),
            (low, high) => Ok(Bounds { low, high }),
        }
    }
}

impl FromStr for Further {
    type Err = Problem;

    /// A goal: the name of a result, and a direction, a limit or a target.
    fn from_str(text: &str) -> Result<Further> {
        let all = text.to_owned();
        if text.contains("..") || text.matches(['<', '>', '≤', '≥']).count() > 1 {
            return Err(Problem::TwoLimits { text: all });
        }
        let of = |name: &str, wanted| Ok(Further { name: name.trim().to_owned(), wanted });
        let limits = [
            (">=", Wanted::AtLeast as fn(f64) -> Wanted),
            ("≥", Wanted::AtLeast),
            ("<=", Wanted::AtMost),
            ("≤", Wanted::AtMost),
        ];
        for (sign, limit) in limits {
            if let Some((name, value)) = text.split_once(sign) {
                let value = number(value).ok_or_else(|| Problem::NotANumber { text: value.trim().to_owned() })?;
                return of(name, limit(value));
            }
        }
        let wrong = || Problem::NotAGoal { text: all.clone() };
        // The last word is the goal; names may have blanks.
        let (name, wish) =
            text.split_once('=').or_else(|| text.trim().rsplit_once(char::is_whitespace)).ok_or_else(wrong)?;
        if name.trim_end().ends_with(['<', '>', '!']) {
            return Err(Problem::LimitSign { text: all });
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
/// If it is not a time.
pub fn duration(text: &str) -> Result<u64> {
    let wrong = || Problem::NotATime { text: text.to_owned() };
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
    let total = number(&text[..text.len() - unit.len_utf8()]).ok_or_else(wrong)? * seconds;
    if (1.0..=1e10).contains(&total) { Ok(total as u64) } else { Err(wrong()) }
}

/// A typed number: also with a decimal comma, unless that might separate thousands.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let comma = text.split_once(',').filter(|(_, digits)| digits.len() != 3 && !text.contains('.'));
    let plain = comma.map_or_else(|| text.to_owned(), |(whole, digits)| format!("{whole}.{digits}"));
    plain.parse().ok()
}

/// The number of a request, which may be text.
///
/// # Errors
/// If it is not a number.
pub fn amount(amount: &Amount) -> Result<f64> {
    let text = match amount {
        Amount::Number(number) => return Ok(*number),
        Amount::Text(text) => text.trim(),
    };
    if let Some(word) = [FAILED, IMPOSSIBLE].iter().find(|word| text.eq_ignore_ascii_case(word)) {
        return Err(Problem::WordForValue { word: (*word).to_owned() });
    }
    number(text).ok_or_else(|| Problem::NotANumber { text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(text: &str) -> Result<Further> {
        text.parse()
    }

    fn ends(text: &str) -> Result<Bounds> {
        text.parse()
    }

    #[test]
    fn times_as_people_type_them() {
        assert_eq!([duration("90m"), duration(" 1,5 h"), duration("3d")], [Ok(5400), Ok(5400), Ok(259_200)]);
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
        assert_eq!(wish("purity >= 95,5").unwrap(), purity(Wanted::AtLeast(95.5)));
        assert_eq!(wish("purity <= -2e3").unwrap(), purity(Wanted::AtMost(-2e3)));
        for (text, code) in [
            ("purity", "not-a-goal"),
            ("purity good", "not-a-goal"),
            ("purity >= high", "not-a-number"),
            ("purity >= 1,234", "not-a-number"),
            ("purity >= 9 >", "two-limits"),
            ("purity 95", "not-a-goal"),
            ("purity<5", "not-a-goal"),
            ("purity < = 5", "limit-sign"),
            ("purity > 95", "limit-sign"),
            ("pH 6..8", "two-limits"),
            ("6 <= pH <= 8", "two-limits"),
        ] {
            assert_eq!(wish(text).unwrap_err().code(), code, "{text}");
        }
    }

    #[test]
    fn bounds_as_people_type_them() {
        assert_eq!(ends("0..100").unwrap(), Bounds { low: Some(0.0), high: Some(100.0) });
        assert_eq!(ends("0,5..1,5").unwrap(), Bounds { low: Some(0.5), high: Some(1.5) });
        assert_eq!(ends("-1.5 ..").unwrap(), Bounds { low: Some(-1.5), high: None });
        assert_eq!(ends("..3").unwrap(), Bounds { low: None, high: Some(3.0) });
        assert!(["", "..", "5", "a..b", "0..100..200"].iter().all(|text| ends(text).is_err()));
    }

    #[test]
    fn numbers_as_people_type_them() {
        let number = |text: &str| amount(&Amount::Text(text.into()));
        assert_eq!([number("7,5"), number(" 7.5 "), number("-1e3")], [Ok(7.5), Ok(7.5), Ok(-1e3)]);
        assert_eq!(amount(&Amount::Number(2.0)), Ok(2.0));
        for (text, code) in [("1,234", "not-a-number"), ("7 g", "not-a-number"), ("Failed", "word-for-value")] {
            assert_eq!(number(text).unwrap_err().code(), code, "{text}");
        }
    }
}
