//! `icee eval` of a model that learned from logs: judges it by logged tasks, without playing.

use anyhow::{Context, bail};
use icee_base::numbers::short;
use icee_games::logs::Logs;
use icee_games::{Difference, Improvement, OfflineEvaluation, TrainedModel, evaluate_offline};
use icee_models::kind::logs_of_run;
use icee_train::{Device, RunInfo};
use std::io::Write;
use std::path::Path;

/// What is judged, and by what.
pub struct Judged<'a> {
    pub model: &'a TrainedModel,
    /// Where the model was found: its run knows the log.
    pub folder: &'a Path,
    /// A log of the user's choice.
    pub logs: Option<&'a Path>,
}

pub fn run(judged: &Judged<'_>, most: Option<usize>, threads: usize, json: bool) -> anyhow::Result<()> {
    let is_run = judged.folder.join("run.json").is_file();
    let held_out = |logs: Logs| logs.holding_out(judged.model.config.data.held_out);
    let learned = judged.model.log.as_ref();
    let (logs, games) = match judged.logs {
        Some(path) => {
            let logs = Logs::read(path)?;
            // Of its own log only the held-out tasks count. The checkpoint or the run knows which log that is.
            let of_run = if is_run { RunInfo::read(judged.folder)?.logs_checksum } else { None };
            let own = learned.map(|log| log.checksum.clone()).or(of_run);
            let same = own.is_some_and(|own| own == logs.file.checksum_text());
            if same { with_games(held_out(logs), true) } else { with_games(logs, false) }
        }
        None => {
            let own = if is_run { logs_of_run(judged.folder).context("cannot use the log of this run")? } else { None };
            let Some(own) = own else {
                let name = learned.map_or("a log".into(), |log| format!("the log {}", log.name));
                bail!("{name} that this model learned from was not found; add --logs FILE")
            };
            with_games(held_out(own), true)
        }
    };
    if games.is_empty() {
        bail!("no game of this log was held out, so the model cannot be judged by it; use another log: --logs FILE");
    }
    let games = &games[..games.len().min(most.unwrap_or(usize::MAX))];
    let evaluation = evaluate_offline(&Device::cpu(threads)?, judged.model, &logs, games)?;
    let mut out = std::io::stdout().lock();
    match json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(&evaluation)?)?,
        false => write(&mut out, &evaluation)?,
    }
    Ok(())
}

fn with_games(logs: Logs, held_out: bool) -> (Logs, Vec<usize>) {
    let games = if held_out { logs.held_out() } else { logs.learned() }.to_vec();
    (logs, games)
}

fn write(out: &mut impl Write, evaluation: &OfflineEvaluation) -> std::io::Result<()> {
    let OfflineEvaluation { calibration, agreement, improvement, preference, .. } = evaluation;
    writeln!(out, "{}", evaluation.words())?;
    if let Some(parts) = improvement {
        writeln!(out, "\none action by              the log   the agent    at least     at most")?;
        for (name, part) in ["all episodes", "the first third", "the last third"].iter().zip(parts) {
            match part {
                Some(Improvement { logged, agent, at_least, at_most, .. }) => {
                    let [logged, agent, at_least, at_most] =
                        [logged, agent, at_least, at_most].map(|value| short(*value));
                    writeln!(out, "{name:<22} {logged:>10} {agent:>11} {at_least:>11} {at_most:>11}")?;
                }
                None => writeln!(out, "{name:<22} no task has a second episode")?,
            }
        }
    }
    let preferred = match preference {
        Some(Difference { mean, half_width_95: Some(half) }) => format!(", {mean:.3} ± {half:.3} more within a task"),
        _ => String::new(),
    };
    match agreement {
        Some((better, worse)) => writeln!(
            out,
            "\nprobability of the logged actions: {better:.3} in the better half of episodes, {worse:.3} in the others{preferred}"
        )?,
        None => writeln!(out, "\nprobability of the logged actions: no task has better and worse episodes to compare")?,
    }
    if let Some(levels) = calibration {
        let held =
            levels.map(|(level, held)| format!("{:.0} % of returns in {:.0} % intervals", 100.0 * held, 100.0 * level));
        writeln!(out, "coverage of the predicted intervals: {}", held.join(", "))?;
    }
    Ok(())
}
