//! Numbers on the command line, checked as they are read.

/// A number of things, at least one.
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("must be at least 1".into()),
        Ok(count) => Ok(count),
        Err(error) => Err(error.to_string()),
    }
}

/// Minutes of time, none or more.
pub fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse::<f64>().ok().filter(|minutes| *minutes >= 0.0 && minutes.is_finite());
    minutes.ok_or_else(|| "must be a number of minutes, 0 or more".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_nonsense_are_refused() {
        assert_eq!((count("1"), minutes("0.5")), (Ok(1), Ok(0.5)));
        for text in ["0", "-1", "1.5", "", "99999999999999999999999"] {
            assert!(count(text).is_err(), "{text}");
        }
        for text in ["-1", "nan", "inf", "soon"] {
            assert!(minutes(text).is_err(), "{text}");
        }
    }
}
