//! The stored results of a model: `evaluation.csv`, one line per episode. For a model of functions an evaluation stands for an
//! episode, and the regret for the return.

use crate::Result;
use icee_base::files::FileError;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file's name in a model's folder.
pub const FILE: &str = "evaluation.csv";

/// One episode over all games.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpisodeRow {
    /// From 1.
    pub episode: usize,
    /// The mean return.
    pub mean: f64,
    /// Half the width of its 95 % interval; none for a single game.
    pub half_width_95: Option<f64>,
    /// The mean entropy of the action's distribution, in nats.
    pub entropy: Option<f64>,
}

/// Reads the rows of a CSV with the columns of [`EpisodeRow`], or of the JSON that `icee eval --json` prints.
///
/// # Errors
/// With what is wrong.
pub fn read(path: &Path, text: &str) -> Result<Vec<EpisodeRow>> {
    let fail = |problem: String| FileError::content(path, problem);
    let rows: Vec<EpisodeRow> = if text.trim_start().starts_with('{') {
        match serde_json::from_str::<Printed>(text).map_err(|e| fail(e.to_string()))? {
            Printed::Games { episodes } => episodes,
            Printed::Functions { samplers } => samplers.first().map(Searches::rows).unwrap_or_default(),
        }
    } else {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let rows: std::result::Result<Vec<EpisodeRow>, csv::Error> = reader.deserialize().collect();
        rows.map_err(|e| fail(format!("not an evaluation by episode (episode,mean,half_width_95,entropy): {e}")))?
    };
    let in_order = rows.iter().enumerate().all(|(index, row)| row.episode == index + 1 && row.mean.is_finite());
    if rows.is_empty() || !in_order {
        return Err(fail("the episodes must be numbered from 1, each with a mean return".into()).into());
    }
    Ok(rows)
}

/// The options of `icee eval` that gave these results, where the text is what it printed with `--json`.
#[must_use]
pub fn options(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Said {
        games: Option<usize>,
        trials: Option<usize>,
        seed: u64,
    }
    let Said { games, trials, seed } = serde_json::from_str(text).ok()?;
    match (games, trials) {
        (Some(games), _) => Some(format!("--games {games} --seed {seed}")),
        (_, Some(trials)) => Some(format!("--trials {trials} --seed {seed}")),
        _ => None,
    }
}

/// What `icee eval --json` prints.
#[derive(Deserialize)]
#[serde(untagged)]
enum Printed {
    Games { episodes: Vec<EpisodeRow> },
    Functions { samplers: Vec<Searches> },
}

/// The searches of one sampler; the model's come first.
#[derive(Deserialize)]
struct Searches {
    summary: Summary,
}

#[derive(Deserialize)]
struct Summary {
    /// After each evaluation.
    regret: Vec<Regret>,
}

#[derive(Deserialize)]
struct Regret {
    mean: f64,
    /// None for a single run.
    half_width: Option<f64>,
}

impl Searches {
    fn rows(&self) -> Vec<EpisodeRow> {
        let row = |(index, regret): (usize, &Regret)| EpisodeRow {
            episode: index + 1,
            mean: regret.mean,
            half_width_95: regret.half_width,
            entropy: None,
        };
        self.summary.regret.iter().enumerate().map(row).collect()
    }
}

/// The rows as CSV.
#[must_use]
pub fn to_csv(rows: &[EpisodeRow]) -> String {
    let cell = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let mut text = String::from("episode,mean,half_width_95,entropy\n");
    for EpisodeRow { episode, mean, half_width_95, entropy } in rows {
        text += &format!("{episode},{mean},{},{}\n", cell(*half_width_95), cell(*entropy));
    }
    text
}

/// The episodes that tables show: the paper's three, a fifth, three fifths and all of K (Key-to-Door, K = 20: a quarter,
/// half and all; the protocol of functions, 55 evaluations: 10, 30 and all).
#[must_use]
pub fn milestones(episodes: usize) -> [usize; 3] {
    match episodes {
        20 => [5, 10, 20],
        55 => [10, 30, 55],
        _ => [(episodes / 5).max(1), (3 * episodes / 5).max(1), episodes],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_back_from_csv_and_json() {
        let rows = vec![
            EpisodeRow { episode: 1, mean: 0.1 + 0.2, half_width_95: Some(0.5), entropy: Some(1.25) },
            EpisodeRow { episode: 2, mean: 3.0, half_width_95: None, entropy: None },
        ];
        let path = Path::new("evaluation.csv");
        assert_eq!(read(path, &to_csv(&rows)).unwrap(), rows);
        let json = serde_json::json!({ "world": "x", "episodes": rows });
        assert_eq!(read(path, &json.to_string()).unwrap(), rows);
        assert_eq!(options(&to_csv(&rows)), None);
        assert_eq!(options(r#"{"games": 10, "seed": 3, "episodes": []}"#).unwrap(), "--games 10 --seed 3");
        assert_eq!(options(r#"{"trials": 20, "seed": 0}"#).unwrap(), "--trials 20 --seed 0");
        let regret = r#"[{"mean": 3.0, "half_width": 1.5}, {"mean": 1.0, "half_width": null}]"#;
        let searches = format!(r#"{{"samplers": [{{"sampler": "icee", "summary": {{"regret": {regret}}}}}]}}"#);
        let rows = read(path, &searches).unwrap();
        assert_eq!(
            rows.iter().map(|row| (row.mean, row.half_width_95)).collect::<Vec<_>>(),
            [(3.0, Some(1.5)), (1.0, None)]
        );
        for bad in [
            "",
            "{\"samplers\": []}",
            "a,b\n1,2\n",
            "episode,mean,half_width_95,entropy\n2,1,,\n",
            "{\"episodes\": []}",
            "{",
        ] {
            assert!(read(path, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn milestones_are_the_papers() {
        assert_eq!([milestones(50), milestones(20), milestones(1)], [[10, 30, 50], [5, 10, 20], [1, 1, 1]]);
    }
}
