//! The measured cost of learning: `data/learning-cost.csv`, made by `tools/bench/learning-cost.sh`.

use crate::{Error, Result};
use icee_base::files::FileError;
use icee_models::catalogue::{self, Entry};
use serde::Deserialize;
use std::path::Path;

/// The return of the paper's ICEE at the last episode of the Dark Room, to a tenth.
pub const WANTED: f64 = 13.6;

const FILE: &str = "data/learning-cost.csv";

/// The device of a training run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hardware {
    /// One H200, alone.
    Gpu,
    /// Two cores of a bigger machine.
    TwoCores,
}

/// One method's learning on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct CostRun {
    /// The device.
    pub hardware: Hardware,
    /// The method.
    pub entry: &'static Entry,
    /// In the order of learning; at least one.
    pub evaluations: Vec<Evaluation>,
}

/// How well a method plays after some learning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// Updates so far.
    pub updates: u64,
    /// Seconds of learning so far; those of evaluations are not counted.
    pub seconds: f64,
    /// The mean return at episode 50.
    pub last_return: f64,
}

impl Hardware {
    /// Both, in the order of tables and figures.
    pub const ALL: [Hardware; 2] = [Hardware::Gpu, Hardware::TwoCores];

    /// Its name in the file.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Hardware::Gpu => "H200",
            Hardware::TwoCores => "two cores",
        }
    }

    /// Its name for readers.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Hardware::Gpu => "one H200",
            Hardware::TwoCores => "two cores",
        }
    }
}

impl CostRun {
    /// The first evaluation that reaches the wanted return; none if no evaluation does.
    #[must_use]
    pub fn reached(&self) -> Option<Evaluation> {
        self.evaluations.iter().copied().find(|evaluation| evaluation.last_return >= WANTED)
    }

    /// Where the run ended.
    #[must_use]
    pub fn end(&self) -> Option<Evaluation> {
        self.evaluations.last().copied()
    }
}

/// All runs, in the file's order.
///
/// # Errors
/// None but a damaged program's.
pub fn runs() -> Result<Vec<CostRun>> {
    parse(include_str!("../data/learning-cost.csv"))
}

/// The run of a method on a device.
#[must_use]
pub fn run_of<'a>(runs: &'a [CostRun], hardware: Hardware, entry: &Entry) -> Option<&'a CostRun> {
    runs.iter().find(|run| run.hardware == hardware && run.entry.key == entry.key)
}

/// A line of the file.
#[derive(Deserialize)]
struct Line {
    device: String,
    method: String,
    updates: u64,
    seconds: f64,
    episode_1: f64,
    episode_26: f64,
    episode_50: f64,
}

fn parse(text: &str) -> Result<Vec<CostRun>> {
    let mut runs: Vec<CostRun> = Vec::new();
    for (index, line) in csv::Reader::from_reader(text.as_bytes()).deserialize::<Line>().enumerate() {
        // The first line names the columns.
        let fail = |problem: String| {
            Error::from(FileError::content(Path::new(FILE), format!("line {}: {problem}", index + 2)))
        };
        let line = line.map_err(|e| fail(e.to_string()))?;
        let hardware = Hardware::ALL.into_iter().find(|hardware| hardware.key() == line.device);
        let hardware = hardware.ok_or_else(|| fail(format!("no device is called \"{}\"", line.device)))?;
        let entry = catalogue::entry(&line.method).filter(|entry| entry.agent().is_some());
        let entry = entry.ok_or_else(|| fail(format!("no trained agent is called \"{}\"", line.method)))?;
        let returns = [line.episode_1, line.episode_26, line.episode_50];
        if !returns.iter().chain([&line.seconds]).all(|number| number.is_finite()) {
            return Err(fail("a number is not finite".into()));
        }
        let evaluation = Evaluation { updates: line.updates, seconds: line.seconds, last_return: line.episode_50 };
        let known = runs.iter_mut().find(|run| run.hardware == hardware && run.entry.key == entry.key);
        let (updates, seconds) =
            known.as_ref().and_then(|run| run.end()).map_or((0, 0.0), |end| (end.updates, end.seconds));
        if evaluation.updates <= updates || evaluation.seconds <= seconds {
            return Err(fail("updates and seconds must grow".into()));
        }
        match known {
            Some(run) => run.evaluations.push(evaluation),
            None => runs.push(CostRun { hardware, entry, evaluations: vec![evaluation] }),
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper;

    const HEAD: &str = "device,method,updates,seconds,episode_1,episode_26,episode_50\n";

    fn reached(hardware: Hardware, method: &str) -> Option<(u64, f64)> {
        let runs = runs().unwrap();
        let run = run_of(&runs, hardware, catalogue::entry(method).unwrap()).unwrap();
        run.reached().map(|at| (at.updates, at.seconds))
    }

    #[test]
    fn the_measured_runs_are_read() {
        let runs = runs().unwrap();
        for hardware in Hardware::ALL {
            let of: Vec<&str> = runs.iter().filter(|run| run.hardware == hardware).map(|run| run.entry.key).collect();
            assert_eq!(of, ["icee", "icee-offline", "icee-paper", "ad", "ad-sorted", "dpt", "mgdt"]);
        }
        assert_eq!(runs.iter().map(|run| run.evaluations.len()).sum::<usize>(), 197);
        let end = runs[0].end().unwrap();
        assert_eq!((end.updates, end.seconds, end.last_return), (3500, 27.2, 16.085));
    }

    #[test]
    fn the_first_time_counts_and_never_is_never() {
        assert_eq!(reached(Hardware::Gpu, "icee"), Some((2500, 20.5)));
        // It falls below again.
        assert_eq!(reached(Hardware::Gpu, "icee-offline"), Some((2250, 13.2)));
        assert_eq!(reached(Hardware::TwoCores, "icee"), Some((4750, 1007.0)));
        assert_eq!(reached(Hardware::TwoCores, "icee-paper"), None);
        for hardware in Hardware::ALL {
            assert_eq!((reached(hardware, "ad"), reached(hardware, "mgdt")), (None, None));
        }
    }

    #[test]
    fn what_is_wanted_is_the_papers() {
        let last = paper::row("DarkRoom-v0", "icee")[2].clone();
        assert!(last.episode == 50 && (last.mean - WANTED).abs() < 0.05, "{last:?}");
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let good = "H200,icee,250,5.4,0.2,0.2,0.1\n";
        assert_eq!(parse(&format!("{HEAD}{good}")).unwrap().len(), 1);
        for (line, said) in [
            ("H100,icee,500,6.0,0,0,0", "no device is called \"H100\""),
            ("H200,oracle,500,6.0,0,0,0", "no trained agent is called \"oracle\""),
            ("H200,icee,250,6.0,0,0,0", "must grow"),
            ("H200,icee,500,5.4,0,0,0", "must grow"),
            ("H200,ad,0,1.0,0,0,0", "must grow"),
            ("H200,icee,500,6.0,0,0,NaN", "not finite"),
            ("H200,icee,500,inf,0,0,0", "not finite"),
            ("H200,icee,many,6.0,0,0,0", "field 2: invalid digit"),
            ("H200,icee,500,6.0", "fields"),
        ] {
            let told = parse(&format!("{HEAD}{good}{line}\n")).expect_err(line).to_string();
            assert!(told.contains("line 3") && told.contains(said), "{line}: {told}");
        }
        let told = parse("device,updates\nH200,1\n").expect_err("columns are missing").to_string();
        assert!(told.contains("method"), "{told}");
    }
}
