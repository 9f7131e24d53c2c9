//! The metrics of every step: one line of `metrics.csv`, and the same as TensorBoard scalars.

use crate::device::Update;
use crate::events::EventWriter;
use crate::folder::RunFolder;
use crate::{HeldOutMetrics, Problem, Result};
use icee_base::files::{FileError, write_atomically};
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::PathBuf;

/// Where the metrics go.
pub(crate) struct Metrics {
    path: PathBuf,
    csv: BufWriter<File>,
    events: EventWriter<BufWriter<File>>,
    columns: Vec<String>,
    /// How many of the last columns an evaluation fills.
    held_out: usize,
}

impl Metrics {
    /// Opens the files of a run that stands at `step`; lines of later steps, which a killed run may have left, go.
    pub fn open(folder: &RunFolder, problem: &dyn Problem, step: u64) -> Result<Metrics> {
        let mut columns: Vec<String> = ["step", "learning_rate", "loss"].map(String::from).to_vec();
        for network in problem.networks() {
            let heads = network.spec.heads.iter().map(|head| &head.name);
            let all = heads.chain(network.spec.pool_heads.iter().map(|head| &head.name));
            columns.extend(all.map(|head| format!("loss/{}/{head}", network.name)));
        }
        columns.push("gradient_norm".into());
        columns.extend(problem.batch_metrics().iter().map(ToString::to_string));
        columns.push("tokens_per_second".into());
        columns.extend(problem.held_out_metrics().iter().map(ToString::to_string));
        let held_out = problem.held_out_metrics().len();

        let path = folder.metrics();
        let old = match fs::read(&path) {
            Ok(old) if step > 0 => old,
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(FileError::io(&path)(error).into()),
            _ => Vec::new(),
        };
        // Whole or not at all: who is killed here must not lose the lines that are there.
        write_atomically(&path, lines_until(step, &columns.join(","), &String::from_utf8_lossy(&old)).as_bytes())?;
        let file = OpenOptions::new().append(true).open(&path).map_err(FileError::io(&path))?;
        let csv = BufWriter::new(file);
        let events = EventWriter::create(folder.path(), step)?;
        Ok(Metrics { path, csv, events, columns, held_out })
    }

    pub fn write(
        &mut self,
        step: u64,
        rate: f32,
        update: &Update,
        of_batch: &[Option<f64>],
        tokens_per_second: f64,
        evaluation: Option<&HeldOutMetrics>,
    ) -> Result<()> {
        let mut values = vec![Some(f64::from(rate)), Some(update.total())];
        values.extend(update.losses.iter().flatten().map(|&loss| Some(loss)));
        values.push(Some(update.norm));
        values.extend(of_batch);
        values.push(Some(tokens_per_second));
        match evaluation {
            Some(evaluation) => values.extend(evaluation.values.iter().map(|&value| Some(value))),
            None => values.resize(values.len() + self.held_out, None),
        }
        let cell = |value: &Option<f64>| value.map_or(String::new(), |v| format!("{v:.6e}"));
        let line: Vec<String> = values.iter().map(cell).collect();
        writeln!(self.csv, "{step},{}", line.join(",")).map_err(FileError::io(&self.path))?;
        let tags = self.columns[1..].iter().zip(&values);
        let scalars: Vec<(&str, f32)> =
            tags.filter_map(|(tag, value)| Some((tag.as_str(), value.as_ref().copied()? as f32))).collect();
        self.events.scalars(step, &scalars)
    }

    pub fn flush(&mut self) -> Result<()> {
        self.csv.flush().map_err(FileError::io(&self.path))?;
        self.events.flush()
    }
}

/// The header, and the lines of an old file up to a step; a last line that was cut in its first number is none.
fn lines_until(step: u64, header: &str, old: &str) -> String {
    let is_kept = |line: &&str| {
        let at = line.split_once(',').and_then(|(at, _)| at.parse::<u64>().ok());
        at.is_some_and(|at| at <= step)
    };
    let kept = old.lines().skip(1).filter(is_kept);
    std::iter::once(header).chain(kept).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_later_steps_and_cut_ones_go() {
        let old = "step,loss\n1,0.5\n2,0.4\n13,0.3\n1";
        assert_eq!(lines_until(2, "step,loss", old), "step,loss\n1,0.5\n2,0.4\n");
        assert_eq!(lines_until(0, "step,loss", ""), "step,loss\n");
    }
}
