//! A user's own episodes: CSV or JSON lines of game, episode, step, observation, action, reward and, where it is known,
//! the probability of the action. The same lines are written by [`LogWriter`].

mod write;

pub use write::{LogWriter, LoggedStep, log_bytes};

use crate::task::{GameSpec, LOGS, ObservationKind, REWARD_CLASSES};
use crate::{Error, Result};
use icee_base::files::FileError;
use icee_base::hash::checksum;
use icee_base::random::{self, HELD_OUT};
use icee_base::table::{Row, Table};
use icee_train::DataFile;
use icee_worlds::{Observation, ObservationSpace, Observations, SequenceBatch, WorldSpec, returns_to_go};
use rand::seq::index::sample;
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// The columns of a CSV log; the last may be missing.
pub const COLUMNS: [&str; 7] = ["game", "episode", "step", "observation", "action", "reward", "probability"];

/// Malformed lines that an error shows before it stops counting them out.
const SHOWN: usize = 20;
/// The longest sequence, in tokens, that is made of a log unless the config says otherwise.
const MAX_TOKENS: usize = 2048;
/// Bounds that keep a damaged log from asking for absurd memory.
const MAX_ACTIONS: u32 = 4096;
const MAX_CELLS: u32 = 1 << 20;
/// A number far above all others in a log is a slip, and a network with a place for each number below it would be mostly empty.
/// So beyond this many, at least one in so many must occur.
const DENSE_ACTIONS: (usize, usize) = (64, 4);
const DENSE_CELLS: (usize, usize) = (1 << 16, 16);
/// Bins of returns, at least and at most.
const FEWEST_BINS: usize = 8;
const MOST_BINS: usize = 128;
/// Games below which none is held out: one of a few is no measure, and is missed.
const FEWEST_TO_SPLIT: usize = 10;

/// Logged games.
#[derive(Clone, Debug)]
pub struct Logs {
    /// All steps.
    pub data: Arc<SequenceBatch>,
    /// Sizes and ranges, as far as the log shows them.
    pub task: GameSpec,
    /// Whether every line has the action's probability; where not, importance weights are 1.
    pub has_probabilities: bool,
    /// Where it was read from, and what it was.
    pub file: DataFile,
    /// The games that are learned from, and those that are not.
    split: (Vec<usize>, Vec<usize>),
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    game: u64,
    episode: u64,
    step: u64,
    observation: Seen,
    action: u32,
    reward: f32,
    probability: Option<f32>,
}

#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Discrete(u32),
    Vector(Vec<f32>),
}

impl Logs {
    /// Reads a log: JSON lines where the first line begins with `{`, CSV with a header otherwise.
    ///
    /// # Errors
    /// With every malformed line, or where it cannot be read.
    pub fn read(path: &Path) -> Result<Logs> {
        let text = std::fs::read_to_string(path).map_err(FileError::io(path))?;
        Logs::parse(&text, path)
    }

    /// Reads a log that is in memory; `path` is for messages.
    ///
    /// # Errors
    /// As [`Logs::read`].
    pub fn parse(text: &str, path: &Path) -> Result<Logs> {
        let first = text.lines().find(|line| !line.trim().is_empty());
        let lines = match first.is_some_and(|line| line.trim_start().starts_with('{')) {
            true => json_lines(text, path)?,
            false => csv_lines(text, path)?,
        };
        if lines.is_empty() {
            return Err(Error::Logs { path: path.to_owned(), count: 1, lines: vec!["there is no step".into()] });
        }
        if let Some(problem) = sparse(&lines) {
            return Err(Error::Logs { path: path.to_owned(), count: 1, lines: vec![problem] });
        }
        let file = DataFile { path: path.to_owned(), checksum: checksum(0, text.as_bytes()) };
        Ok(assemble(&lines, file))
    }

    /// Puts a share of the games aside: always the same ones, so that a trained model can be judged by them later. Of fewer
    /// than [`FEWEST_TO_SPLIT`] games none is.
    #[must_use]
    pub fn holding_out(mut self, share: f64) -> Logs {
        let games = self.data.sequences();
        let count = if games < FEWEST_TO_SPLIT { 0 } else { ((games as f64 * share).round() as usize).min(games - 1) };
        let mut aside = sample(&mut random::path(HELD_OUT, &[]), games, count).into_vec();
        aside.sort_unstable();
        let learned = (0..games).filter(|game| aside.binary_search(game).is_err()).collect();
        self.split = (learned, aside);
        self
    }

    /// Bins of the return-to-go that keep different returns apart, as far as [`MOST_BINS`] can.
    #[must_use]
    pub fn bins(&self) -> usize {
        let price = self.task.idle_price();
        let data = &self.data;
        let to_go = |episode| returns_to_go(&data.rewards[data.episode_steps(episode)], price);
        let mut returns: Vec<f32> = (0..data.episodes()).flat_map(to_go).collect();
        returns.sort_by(f32::total_cmp);
        let (low, high) = self.task.return_range;
        let range = f64::from(high) - f64::from(low);
        // Sums of the same rewards differ by rounding.
        let gaps = returns.windows(2).map(|pair| f64::from(pair[1] - pair[0])).filter(|gap| *gap > 1e-4 * range);
        let least = gaps.fold(range, f64::min);
        ((range / least).round() as usize + 1).clamp(FEWEST_BINS, MOST_BINS)
    }

    /// What was read, in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let GameSpec { actions, episode_limit, reward_range: (low, high), .. } = self.task;
        let (games, held_out) = (self.data.sequences(), self.held_out().len());
        let most = (0..games).map(|game| self.data.sequence_episodes(game).len()).max().unwrap_or(0);
        let seen = match self.task.observation {
            ObservationKind::Vector { size } => format!("observations of {size} numbers"),
            ObservationKind::Discrete { size } => format!("{size} observations"),
            ObservationKind::Grid { width, height } => format!("{width} x {height} places"),
        };
        let probabilities = if self.has_probabilities { "with" } else { "without" };
        format!(
            "{games} games ({held_out} held out) of up to {most} episodes of up to {episode_limit} steps: {seen}, {actions} actions, \
             rewards from {low} to {high}, {probabilities} probabilities"
        )
    }

    /// The games that are learned from.
    #[must_use]
    pub fn learned(&self) -> &[usize] {
        &self.split.0
    }

    /// The games that are not.
    #[must_use]
    pub fn held_out(&self) -> &[usize] {
        &self.split.1
    }
}

fn json_lines(text: &str, path: &Path) -> Result<Vec<Line>> {
    let (mut good, mut bad, mut count) = (Vec::new(), Vec::new(), 0);
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match from_json(line).and_then(|line| fits(&good, line)) {
            Ok(line) => good.push(line),
            Err(problem) => {
                count += 1;
                if bad.len() < SHOWN {
                    bad.push(format!("line {}: {problem}", index + 1));
                }
            }
        }
    }
    if count > 0 { Err(Error::Logs { path: path.to_owned(), count, lines: bad }) } else { Ok(good) }
}

fn csv_lines(text: &str, path: &Path) -> Result<Vec<Line>> {
    let mut table = Table::of_bytes(path, text.as_bytes().to_vec())?;
    let mut places = [0; 6];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        *place = table.column(column)?;
    }
    let probability = table.header().iter().position(|name| name == COLUMNS[6]);
    let mut lines = Vec::new();
    table.scan(|table, row| {
        let line = from_csv(table, row, places, probability)?;
        lines.push(fits(&lines, line)?);
        Ok(())
    })?;
    Ok(lines)
}

fn from_csv(
    table: &Table,
    row: &Row<'_>,
    places: [usize; 6],
    probability: Option<usize>,
) -> std::result::Result<Line, String> {
    let [game, episode, step, observation, action, reward] = places.map(|place| row.cell(place));
    let whole = |name: &str, cell: &str| match cell {
        "" => Err(format!("{name} is missing")),
        cell => cell.parse::<u64>().map_err(|_| format!("{name} is not a whole number")),
    };
    let real = |name: &str, cell: &str| {
        table.number(cell).map(|value| value as f32).filter(|v| v.is_finite()).ok_or(format!("{name} is not a number"))
    };
    let observation = match observation.parse::<u32>() {
        Ok(index) => Seen::Discrete(index),
        Err(_) => {
            let values: Option<Vec<f32>> = observation.split_whitespace().map(|v| v.parse().ok()).collect();
            Seen::Vector(values.ok_or("observation is neither an index nor numbers separated by spaces")?)
        }
    };
    let probability = match probability.map(|place| row.cell(place)) {
        None | Some("") => None,
        Some(cell) => Some(real("probability", cell)?),
    };
    Ok(Line {
        game: whole("game", game)?,
        episode: whole("episode", episode)?,
        step: whole("step", step)?,
        observation,
        action: u32::try_from(whole("action", action)?).map_err(|_| "action is too large")?,
        reward: real("reward", reward)?,
        probability,
    })
}

fn from_json(line: &str) -> std::result::Result<Line, String> {
    let value: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let whole = |name: &str| value[name].as_u64().ok_or(format!("{name} is not a whole number"));
    let number = |v: &Value| v.as_f64().map(|v| v as f32).filter(|v| v.is_finite());
    let observation = match &value["observation"] {
        Value::Array(list) => {
            let values: Option<Vec<f32>> = list.iter().map(number).collect();
            Seen::Vector(values.ok_or("observation holds something that is not a number")?)
        }
        one => match (one.as_u64().and_then(|index| u32::try_from(index).ok()), number(one)) {
            (Some(index), _) => Seen::Discrete(index),
            (None, Some(real)) => Seen::Vector(vec![real]),
            _ => return Err("observation is neither an index nor a list of numbers".into()),
        },
    };
    let probability = match &value["probability"] {
        Value::Null => None,
        some => Some(number(some).ok_or("probability is not a number")?),
    };
    Ok(Line {
        game: whole("game")?,
        episode: whole("episode")?,
        step: whole("step")?,
        observation,
        action: u32::try_from(whole("action")?).map_err(|_| "action is too large")?,
        reward: number(&value["reward"]).ok_or("reward is not a number")?,
        probability,
    })
}

/// Checks a line by itself and against the ones before: steps of an episode, and episodes of a game, are together and
/// in order.
fn fits(before: &[Line], line: Line) -> std::result::Result<Line, String> {
    if line.action >= MAX_ACTIONS {
        return Err(format!("action {} is not below {MAX_ACTIONS}", line.action));
    }
    if line.probability.is_some_and(|p| !(p > 0.0 && p <= 1.0)) {
        return Err("probability must be above 0 and at most 1".into());
    }
    match &line.observation {
        Seen::Discrete(index) if *index >= MAX_CELLS => return Err(format!("observation is not below {MAX_CELLS}")),
        Seen::Vector(values) if values.is_empty() || values.iter().any(|v| !v.is_finite()) => {
            return Err("observation needs finite numbers".into());
        }
        _ => {}
    }
    let Some(last) = before.last() else {
        return if line.step == 0 { Ok(line) } else { Err("the first step of an episode is step 0".into()) };
    };
    match (&before[0].observation, &line.observation) {
        (Seen::Discrete(_), Seen::Discrete(_)) => {}
        (Seen::Vector(a), Seen::Vector(b)) if a.len() == b.len() => {}
        _ => return Err("observation is of another kind or length than the first".into()),
    }
    let same_game = line.game == last.game;
    let follows = if same_game && line.episode == last.episode {
        line.step == last.step + 1
    } else {
        line.step == 0 && (!same_game || line.episode > last.episode)
    };
    if follows {
        return Ok(line);
    }
    let (game, episode, step) = (last.game, last.episode, last.step);
    Err(format!("does not follow game {game}, episode {episode}, step {step}: keep games, episodes and steps in order"))
}

/// What is wrong where actions or observations have numbers far above those that occur.
fn sparse(lines: &[Line]) -> Option<String> {
    let problem = |what: &str, number: &dyn Fn(&Line) -> u32, (fine, one_in): (usize, usize)| {
        let largest = lines.iter().max_by_key(|line| number(line))?;
        let (size, kinds) = (number(largest) as usize + 1, lines.iter().map(number).collect::<HashSet<_>>().len());
        let Line { game, episode, step, .. } = largest;
        (size > fine && size > one_in * kinds).then(|| {
            format!(
                "{what} {} (game {game}, episode {episode}, step {step}) in a log with {kinds} different {what}s: number \
                 them from 0 without gaps",
                size - 1
            )
        })
    };
    let seen = |line: &Line| if let Seen::Discrete(index) = line.observation { index } else { 0 };
    problem("action", &|line| line.action, DENSE_ACTIONS).or_else(|| problem("observation", &seen, DENSE_CELLS))
}

fn assemble(lines: &[Line], file: DataFile) -> Logs {
    let actions = lines.iter().map(|l| l.action).max().unwrap_or(0) as usize + 1;
    let has_probabilities = lines.iter().all(|l| l.probability.is_some());
    let (space, observation) = match &lines[0].observation {
        Seen::Discrete(_) => {
            let largest = lines.iter().map(|l| if let Seen::Discrete(i) = l.observation { i } else { 0 }).max();
            let size = largest.unwrap_or(0) as usize + 1;
            (ObservationSpace::Discrete { size }, ObservationKind::Discrete { size })
        }
        Seen::Vector(values) => {
            let size = values.len();
            let space = ObservationSpace::Vector { low: vec![f32::MIN; size], high: vec![f32::MAX; size] };
            (space, ObservationKind::Vector { size })
        }
    };
    let mut data = SequenceBatch::new(&WorldSpec {
        id: "logs".into(),
        rules: String::new(),
        observation_space: space.clone(),
        action_names: vec![String::new(); actions],
        episode_limit: 1,
        episodes: 1,
        return_range: (0.0, 1.0),
        reward_range: (0.0, 1.0),
        reward_levels: None,
    });
    data.observations = Observations::new(&space);
    for (index, line) in lines.iter().enumerate() {
        // `fits` has checked that all are of one kind and length.
        let _ = data.observations.push(match &line.observation {
            Seen::Discrete(index) => Observation::Discrete(*index),
            Seen::Vector(values) => Observation::Vector(values),
        });
        data.actions.push(line.action);
        data.rewards.push(line.reward);
        // Only the taken action's probability is known; without any, U(a) makes every weight 1.
        let uniform = 1.0 / actions as f32;
        let taken = if has_probabilities { line.probability.unwrap_or(uniform) } else { uniform };
        let start = data.probabilities.len();
        data.probabilities.resize(start + actions, 0.0);
        data.probabilities[start + line.action as usize] = taken;
        let next = lines.get(index + 1);
        if next.is_none_or(|n| (n.game, n.episode) != (line.game, line.episode)) {
            data.epsilons.push(0.0);
            data.terminated.push(true);
            data.episode_offsets.push(index + 1);
        }
        if next.is_none_or(|n| n.game != line.game) {
            data.sequence_episodes.push(data.epsilons.len());
            data.sequence_offsets.push(index + 1);
        }
    }
    let task = task_of(&data, observation);
    let split = ((0..data.sequences()).collect(), vec![]);
    Logs { data: Arc::new(data), task, has_probabilities, file, split }
}

/// Sizes and ranges, as far as the data shows them.
fn task_of(data: &SequenceBatch, observation: ObservationKind) -> GameSpec {
    let longest = (0..data.episodes()).map(|e| data.episode_steps(e).len()).max().unwrap_or(1);
    let most = (0..data.sequences()).map(|s| data.sequence_episodes(s).len()).max().unwrap_or(1);
    let range = |values: &mut dyn Iterator<Item = f32>| {
        let (low, high) = values.fold((f32::MAX, f32::MIN), |(low, high), v| (low.min(v), high.max(v)));
        if low < high { (low, high) } else { (low.min(0.0), high.max(low.min(0.0) + 1.0)) }
    };
    let price = 1.0 / longest as f32;
    let mut returns = (0..data.episodes()).flat_map(|e| returns_to_go(&data.rewards[data.episode_steps(e)], price));
    let reward_range = range(&mut data.rewards.iter().copied());
    let two_values = data.rewards.iter().all(|&r| r == reward_range.0 || r == reward_range.1);
    GameSpec {
        name: LOGS.into(),
        observation,
        actions: data.action_count,
        episode_limit: longest,
        episodes: most.min((MAX_TOKENS / longest).max(1)),
        return_range: range(&mut returns),
        reward_range,
        reward_classes: if two_values { 2 } else { REWARD_CLASSES },
        idle_costs: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Logs> {
        Logs::parse(text, Path::new("log.csv"))
    }

    #[test]
    fn both_formats_say_the_same() {
        let csv = "game,episode,step,observation,action,reward,probability\n0,0,0,3,1,0,0.5\n0,0,1,2,0,1,0.25\n0,1,0,3,1,0,1\n7,0,0,1,2,1,0.1\n";
        let json = r#"{"game":0,"episode":0,"step":0,"observation":3,"action":1,"reward":0,"probability":0.5}
{"game":0,"episode":0,"step":1,"observation":2,"action":0,"reward":1,"probability":0.25}
{"game":0,"episode":1,"step":0,"observation":3,"action":1,"reward":0,"probability":1}
{"game":7,"episode":0,"step":0,"observation":1,"action":2,"reward":1,"probability":0.1}"#;
        let (a, b) = (read(csv).unwrap(), read(json).unwrap());
        assert_eq!(a.data, b.data);
        assert_eq!((a.data.sequences(), a.data.episodes(), a.task.actions), (2, 3, 3));
        assert_eq!((a.task.episode_limit, a.task.episodes), (2, 2));
        assert_eq!(a.data.taken_probability(1), 0.25);
        a.task.check().unwrap();
    }

    #[test]
    fn vectors_and_missing_probabilities() {
        let logs = read("game,episode,step,action,reward,observation\n0,0,0,1,0.5,0.1 -2\n0,0,1,0,2,3 4\n").unwrap();
        assert!(!logs.has_probabilities);
        assert_eq!(logs.task.observation, ObservationKind::Vector { size: 2 });
        assert_eq!(logs.data.taken_probability(0), 0.5);
    }

    #[test]
    fn a_number_far_above_all_others_is_refused() {
        let log = |action: u32, observation: u32| {
            read(&format!("{}\n0,0,0,3,1,0,0.5\n0,0,1,{observation},{action},0,0.5\n", COLUMNS.join(",")))
        };
        assert_eq!(log(63, 3).unwrap().task.actions, 64);
        let said = log(4095, 3).unwrap_err().to_string();
        assert!(said.contains("action 4095 (game 0, episode 0, step 1) in a log with 2 different actions"), "{said}");
        let said = log(1, 1_000_000).unwrap_err().to_string();
        assert!(said.contains("observation 1000000") && said.contains("without gaps"), "{said}");
        // As many as there really are.
        let lines: String = (0..200).map(|i| format!("0,0,{i},3,{i},0,0.5\n")).collect();
        assert_eq!(read(&format!("{}\n{lines}", COLUMNS.join(","))).unwrap().task.actions, 200);
    }

    #[test]
    fn the_same_games_are_always_held_out_and_bins_keep_returns_apart() {
        let lines: String =
            (0..40).map(|game| format!("{game},0,0,3,1,{},0.5\n{game},0,1,2,0,1,0.5\n", game % 3)).collect();
        let logs = read(&format!("{}\n{lines}", COLUMNS.join(","))).unwrap();
        assert_eq!((logs.learned().len(), logs.held_out().len()), (40, 0));
        let split = logs.clone().holding_out(0.1);
        assert_eq!((split.learned().len(), split.held_out().len()), (36, 4));
        assert_eq!(split.held_out(), logs.clone().holding_out(0.1).held_out());
        assert!(split.held_out().iter().all(|game| !split.learned().contains(game)));
        // Returns-to-go: 1; 1 + (−1/2, 1 or 2), which are half a unit apart.
        assert_eq!(logs.task.return_range, (0.5, 3.0));
        assert_eq!(logs.bins(), FEWEST_BINS);
        assert_eq!(
            split.describe(),
            "40 games (4 held out) of up to 1 episodes of up to 2 steps: 4 observations, 2 actions, rewards from 0 to 2, with probabilities"
        );
        // Of a few games none is missed.
        let few = read(&format!("{}\n0,0,0,3,1,0,0.5\n1,0,0,3,1,1,0.5\n", COLUMNS.join(","))).unwrap();
        assert_eq!(few.holding_out(0.5).held_out().len(), 0);
    }

    #[test]
    fn every_malformed_line_is_named() {
        let text = "game,episode,step,observation,action,reward,probability\n0,0,0,3,1,0,0.5\n0,0,2,3,1,0,0.5\n0,0,1,x,1,0,0.5\n0,0,1,3,1,nan,0.5\n0,0,1,3,1,0,0\n0,0,1,3,1\n0,0,1,1 2,0,0,1\n";
        let said = read(text).unwrap_err().to_string();
        for part in [
            "line 3: does not follow",
            "line 4: observation",
            "line 5: reward",
            "line 6: probability",
            "line 7: 5 cell(s) where the header has 7",
            "line 8: observation is of another kind",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let many = format!("{}\n{}", COLUMNS.join(","), "0,0,0,x,1,0,0.5\n".repeat(30));
        assert!(read(&many).unwrap_err().to_string().contains(" and 10 more: "));
        for text in ["", "game,step\n", "{\n", "game,episode,step,observation,action,reward\n"] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
