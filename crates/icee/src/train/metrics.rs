//! The figures of every step: one line of `metrics.csv`, and the same as TensorBoard scalars.

use super::events::EventWriter;
use super::feed::Prepared;
use super::folder::RunFolder;
use crate::blueprint::Blueprint;
use crate::device::Update;
use crate::eval::Evaluation;
use crate::{Error, Result};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Where the figures go.
pub(super) struct Metrics {
    path: PathBuf,
    csv: BufWriter<File>,
    events: EventWriter<BufWriter<File>>,
    columns: Vec<String>,
    weights: bool,
}

impl Metrics {
    /// Opens the files of a run that stands at `step`; lines of later steps, which a killed run may have left, go.
    pub fn open(folder: &RunFolder, blueprint: &Blueprint, step: u64) -> Result<Metrics> {
        let mut columns: Vec<String> = ["step", "learning_rate", "loss"].map(String::from).to_vec();
        for network in &blueprint.networks {
            columns.extend(network.spec.heads.iter().map(|head| format!("loss/{}/{}", network.name, head.name)));
        }
        let rest = ["gradient_norm", "effective_share", "clipped_share", "tokens_per_second"];
        let returns = ["return/first", "return/middle", "return/last", "return/mean"];
        columns.extend(rest.into_iter().chain(returns).map(String::from));

        let path = folder.metrics();
        let mut text = columns.join(",") + "\n";
        if step > 0
            && let Ok(old) = fs::read_to_string(&path)
        {
            for line in old.lines().skip(1) {
                let at = line.split(',').next().and_then(|cell| cell.parse::<u64>().ok());
                if at.is_some_and(|at| at <= step) {
                    text += line;
                    text.push('\n');
                }
            }
        }
        let file = File::create(&path).map_err(Error::io(&path))?;
        let mut csv = BufWriter::new(file);
        csv.write_all(text.as_bytes()).map_err(Error::io(&path))?;
        let events = EventWriter::create(folder.path(), step)?;
        Ok(Metrics { path, csv, events, columns, weights: blueprint.uses_weights() })
    }

    pub fn write(
        &mut self,
        step: u64,
        rate: f32,
        update: &Update,
        prepared: &Prepared,
        tokens_per_second: f64,
        evaluation: Option<&Evaluation>,
    ) -> Result<()> {
        let mut values = vec![Some(f64::from(rate)), Some(update.total())];
        values.extend(update.losses.iter().flatten().map(|&loss| Some(loss)));
        let of_weights = |value| self.weights.then_some(value);
        values.extend([Some(update.norm), of_weights(prepared.effective_share), of_weights(prepared.clipped_share)]);
        values.push(Some(tokens_per_second));
        match evaluation {
            Some(evaluation) => {
                values.extend(evaluation.first_middle_last().map(Some));
                values.push(Some(evaluation.mean()));
            }
            None => values.extend([None; 4]),
        }
        let cell = |value: &Option<f64>| value.map_or(String::new(), |v| format!("{v:.6e}"));
        let line: Vec<String> = values.iter().map(cell).collect();
        writeln!(self.csv, "{step},{}", line.join(",")).map_err(Error::io(&self.path))?;
        let tags = self.columns[1..].iter().zip(&values);
        let scalars: Vec<(&str, f32)> =
            tags.filter_map(|(tag, value)| Some((tag.as_str(), value.as_ref().copied()? as f32))).collect();
        self.events.scalars(step, &scalars)
    }

    pub fn flush(&mut self) -> Result<()> {
        self.csv.flush().map_err(Error::io(&self.path))?;
        self.events.flush()
    }
}
