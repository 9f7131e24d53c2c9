//! Numbers formatted for readers.

/// Four digits: enough for a prediction.
#[must_use]
pub fn short(value: f64) -> String {
    let digits = format!("{value:.3e}");
    let rounded: f64 = digits.parse().unwrap_or(value);
    if !rounded.is_finite() {
        // Rounded up, the greatest numbers are none any more.
        return digits;
    }
    let plain = rounded == 0.0 || (1e-4..1e7).contains(&rounded.abs());
    if plain { rounded.to_string() } else { format!("{rounded:e}") }
}

/// A probability: whole percents in the middle, a digit more at the ends.
#[must_use]
pub fn percent(share: f64) -> String {
    match 100.0 * share {
        low if low < 0.1 => "less than 0.1 %".into(),
        high if high > 99.9 => "more than 99.9 %".into(),
        edge if !(10.0..=90.0).contains(&edge) => format!("{edge:.1} %"),
        middle => format!("{middle:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_readable() {
        let shown = [0.0, 0.123_456, -1234.6, 12_345_678.0, 2.5e-7, 99_999.0, f64::MIN].map(short);
        assert_eq!(shown, ["0", "0.1235", "-1235", "1.235e7", "2.5e-7", "100000", "-1.798e308"]);
        assert_eq!(
            [0.0, 0.034, 0.5, 0.996, 0.9999].map(percent),
            ["less than 0.1 %", "3.4 %", "50 %", "99.6 %", "more than 99.9 %"]
        );
    }
}
