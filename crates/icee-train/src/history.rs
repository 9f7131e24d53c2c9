//! Reads the metrics of a run, while it trains or later.

use crate::Result;
use crate::folder::METRICS;
use icee_base::files::{FileError, read_regular};
use std::path::Path;

/// More than any run writes: a hundred million numbers.
const MOST_BYTES: u64 = 1 << 30;

/// The columns of a `metrics.csv`. Numbers are parsed on request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// All columns except for the step.
    names: Vec<String>,
    /// The lines below the header, only whole ones.
    lines: String,
}

impl History {
    /// The metrics in a run folder; none if the run has not begun.
    ///
    /// # Errors
    /// If they cannot be read, or are not metrics.
    pub fn of_run(folder: &Path) -> Result<History> {
        History::read(&folder.join(METRICS))
    }

    pub(crate) fn read(path: &Path) -> Result<History> {
        let bytes = match read_regular(path, MOST_BYTES) {
            Err(FileError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Some(Vec::new()),
            other => other?,
        };
        let Some(bytes) = bytes else {
            return Err(FileError::content(path, "it is too large for the metrics of a run").into());
        };
        let text = String::from_utf8_lossy(&bytes);
        // The writer may be in the middle of a line, also of the first.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let (header, lines) = whole.split_once('\n').unwrap_or((whole, ""));
        let mut names = header.split(',').map(String::from);
        match names.next().as_deref() {
            Some("step" | "") => {
                let names: Vec<String> = names.collect();
                if let Some(bad) = lines.lines().position(|line| !is_line(line, names.len())) {
                    let why = format!("line {} holds no metrics of a run; the file is damaged", bad + 2);
                    return Err(FileError::content(path, why).into());
                }
                Ok(History { names, lines: lines.into() })
            }
            _ => {
                Err(FileError::content(path, "its first column is not \"step\"; these are no metrics of a run").into())
            }
        }
    }

    /// The metrics, in the order of their columns.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The values of a metric with their steps, only those measured. None if there is no such metric.
    #[must_use]
    pub fn values(&self, name: &str) -> Option<Vec<(u64, f64)>> {
        let place = self.names.iter().position(|known| known == name)?;
        let of_line = |line: &str| {
            let mut cells = line.split(',');
            let step = cells.next()?.parse().ok()?;
            Some((step, cells.nth(place)?.parse().ok()?))
        };
        Some(self.lines.lines().filter_map(of_line).collect())
    }

    /// The last value of a metric, if it was ever measured.
    #[must_use]
    pub fn last(&self, name: &str) -> Option<f64> {
        self.values(name)?.last().map(|(_, value)| *value)
    }

    /// The last recorded step.
    #[must_use]
    pub fn last_step(&self) -> u64 {
        self.lines.lines().rev().find_map(|line| line.split(',').next()?.parse().ok()).unwrap_or(0)
    }
}

/// Whether a line is a step and so many metrics, of which some may not have been measured.
fn is_line(line: &str, metrics: usize) -> bool {
    let mut cells = line.split(',');
    let has_step = cells.next().is_some_and(|step| step.parse::<u64>().is_ok());
    let measured = cells.map(|cell| cell.is_empty() || cell.parse::<f64>().is_ok()).collect::<Vec<bool>>();
    has_step && measured.len() == metrics && measured.iter().all(|is_right| *is_right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_as_far_as_they_are_whole() {
        let folder = std::env::temp_dir().join(format!("icee-history-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let read = |text: &str| {
            std::fs::write(folder.join(METRICS), text).unwrap();
            History::of_run(&folder)
        };
        assert_eq!(History::of_run(&folder).unwrap(), History::default(), "not begun");
        let history = read("step,loss,return/last\n1,3,\n2,2.5,1e0\n3,,\n4,2,4.0\n5,1").unwrap();
        assert_eq!(history.names(), ["loss", "return/last"]);
        assert_eq!(history.values("loss").unwrap(), [(1, 3.0), (2, 2.5), (4, 2.0)], "the last line is half a one");
        assert_eq!(history.values("return/last").unwrap(), [(2, 1.0), (4, 4.0)]);
        assert_eq!((history.last("return/last"), history.last("race"), history.last_step()), (Some(4.0), None, 4));
        assert!(history.values("step").is_none() && history.values("").is_none());
        for unwritten in ["", "step,lo", "step,loss\n"] {
            assert_eq!(read(unwritten).unwrap().last_step(), 0, "{unwritten:?}");
        }
        let said = read("time,value\n1,2\n").unwrap_err().to_string();
        assert!(said.contains(METRICS) && said.contains("no metrics of a run"), "{said}");
        for damaged in ["step,loss\n1,3\n2,x\n3,1\n", "step,loss\n1,3\n2\n3,1\n", "step,loss\n1,3\nx,2\n"] {
            let said = read(damaged).unwrap_err().to_string();
            assert!(said.contains("line 3 holds no metrics"), "{damaged:?}: {said}");
        }
        assert_eq!(read("step,loss\n1,NaN\n2,inf\n").unwrap().last_step(), 2, "a loss may be none");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
