//! The lines of a log: read, checked by themselves and against those before, and put in order game by game.

use super::COLUMNS;
use crate::{Error, Result};
use icee_base::names::{nearest, suggestion};
use icee_base::table::{Row, Table};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// Malformed lines that an error shows before it stops counting them out.
const SHOWN: usize = 20;
/// Columns that are not read and are named: in JSON lines there may be others in every line.
const MOST_UNREAD: usize = 8;
/// Bounds that keep a damaged log from asking for absurd memory.
const MAX_ACTIONS: u32 = 4096;
const MAX_CELLS: u32 = 1 << 20;
/// A number far above all others in a log is a slip, and a network with a place for each number below it would be mostly empty.
/// So beyond this many, at least one in so many must occur.
const DENSE_ACTIONS: (usize, usize) = (64, 4);
const DENSE_CELLS: (usize, usize) = (1 << 16, 16);
/// Beyond it a real no longer holds every whole number.
const MOST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub game: u64,
    /// Which of the log's games it is of, in the order in which they begin.
    pub place: usize,
    pub episode: u64,
    pub step: u64,
    pub observation: Seen,
    pub action: u32,
    pub reward: f32,
    pub probability: Option<f32>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen {
    /// The number of a thing.
    Index(u32),
    /// A whole number below 0: a real, if others of its column are.
    Below(i64),
    /// Numbers with a point, or several.
    Reals(Vec<f32>),
}

/// A log that was read.
pub(super) struct Read {
    /// All steps, game by game.
    pub lines: Vec<Line>,
    /// What is to be said of columns that are not read.
    pub unread: Vec<String>,
    /// What is to be said of episodes that are not there.
    pub gap: Option<String>,
}

/// A log, JSON lines or CSV.
pub(super) fn read(text: &str, path: &Path) -> Result<Read> {
    // Some editors and spreadsheets put a byte order mark first.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().find(|line| !line.trim().is_empty());
    let mut steps = Steps::default();
    match first.is_some_and(|line| line.trim_start().starts_with('{')) {
        true => json_lines(text, path, &mut steps)?,
        false => csv_lines(text, path, &mut steps)?,
    }
    let unread = std::mem::take(&mut steps.unread).into_values().collect();
    let gap = steps.gap.take().map(|(place, count)| match count {
        1 => format!("{place} is missing; its number is skipped"),
        _ => format!("{place} is missing, and so on {count} times in all; their numbers are skipped"),
    });
    let lines = steps.in_order();
    let lines = lines.map_err(|problem| Error::Logs { path: path.to_owned(), count: 1, lines: vec![problem] })?;
    Ok(Read { lines, unread, gap })
}

fn json_lines(text: &str, path: &Path, steps: &mut Steps) -> Result<()> {
    let (mut bad, mut count) = (Vec::new(), 0);
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let parsed: std::result::Result<Value, String> = serde_json::from_str(line).map_err(|e| {
            let not_finite = ["NaN", "Infinity"].into_iter().find(|word| line.contains(word));
            not_finite.map_or_else(|| e.to_string(), |word| format!("{word} is not a number: {e}"))
        });
        if let Err(problem) = parsed.and_then(|value| {
            steps.add(from_json(&value)?)?;
            steps.note_unread(value.as_object().into_iter().flat_map(|object| object.keys().map(String::as_str)));
            Ok(())
        }) {
            count += 1;
            steps.bad += 1;
            if bad.len() < SHOWN {
                bad.push(format!("line {}: {problem}", index + 1));
            }
        }
    }
    if count > 0 { Err(Error::Logs { path: path.to_owned(), count, lines: bad }) } else { Ok(()) }
}

fn csv_lines(text: &str, path: &Path, steps: &mut Steps) -> Result<()> {
    let mut table = Table::of_bytes(path, text.as_bytes().to_vec())?;
    let mut places = [0; 6];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        *place = table.column(column)?;
    }
    let probability = table.header().iter().position(|name| name == COLUMNS[6]);
    steps.note_unread(table.header().iter().map(String::as_str));
    Ok(table.scan(|table, row| {
        let added = from_csv(table, row, places, probability).and_then(|line| steps.add(line));
        steps.bad += usize::from(added.is_err());
        added
    })?)
}

fn from_csv(
    table: &Table,
    row: &Row<'_>,
    places: [usize; 6],
    probability: Option<usize>,
) -> std::result::Result<Line, String> {
    let [game, episode, step, observation, action, reward] = places.map(|place| row.cell(place));
    // Tables with gaps elsewhere are often written with a point in every number: 3.0.
    let whole = |name: &str, cell: &str| match cell {
        "" => Err(format!("{name} is missing")),
        cell => {
            let parsed = cell.parse::<u64>().ok().or_else(|| whole_real(table.number(cell)?));
            parsed.ok_or(format!("{name} is not a whole number from 0"))
        }
    };
    let real = |name: &str, cell: &str| {
        table.number(cell).map(|value| value as f32).filter(|v| v.is_finite()).ok_or(format!("{name} is not a number"))
    };
    let observation = match (observation.parse::<u32>(), observation.parse::<i64>()) {
        (Ok(index), _) => Seen::Index(index),
        (_, Ok(below)) if below < 0 => Seen::Below(below),
        _ => {
            let number = |cell: &str| table.number(cell).map(|value| value as f32);
            let values: Option<Vec<f32>> = observation.split_whitespace().map(number).collect();
            Seen::Reals(values.ok_or("observation is neither an index nor numbers separated by spaces")?)
        }
    };
    let probability = match probability.map(|place| row.cell(place)) {
        None | Some("") => None,
        Some(cell) => Some(real("probability", cell)?),
    };
    Ok(Line {
        game: whole("game", game)?,
        place: 0,
        episode: whole("episode", episode)?,
        step: whole("step", step)?,
        observation,
        action: u32::try_from(whole("action", action)?).map_err(|_| "action is too large")?,
        reward: real("reward", reward)?,
        probability,
    })
}

fn from_json(value: &Value) -> std::result::Result<Line, String> {
    let whole = |name: &str| {
        let parsed = value[name].as_u64().or_else(|| whole_real(value[name].as_f64()?));
        parsed.ok_or(format!("{name} is not a whole number from 0"))
    };
    let number = |v: &Value| v.as_f64().map(|v| v as f32).filter(|v| v.is_finite());
    let observation = match &value["observation"] {
        Value::Array(list) => {
            let values: Option<Vec<f32>> = list.iter().map(number).collect();
            Seen::Reals(values.ok_or("observation holds something that is not a number")?)
        }
        one => match (one.as_u64().and_then(|index| u32::try_from(index).ok()), one.as_i64(), number(one)) {
            (Some(index), ..) => Seen::Index(index),
            (_, Some(below), _) if below < 0 => Seen::Below(below),
            (.., Some(real)) => Seen::Reals(vec![real]),
            _ => return Err("observation is neither an index nor a list of numbers".into()),
        },
    };
    let probability = match &value["probability"] {
        Value::Null => None,
        some => Some(number(some).ok_or("probability is not a number")?),
    };
    Ok(Line {
        game: whole("game")?,
        place: 0,
        episode: whole("episode")?,
        step: whole("step")?,
        observation,
        action: u32::try_from(whole("action")?).map_err(|_| "action is too large")?,
        reward: number(&value["reward"]).ok_or("reward is not a number")?,
        probability,
    })
}

/// A real that is a whole number from 0, as one.
fn whole_real(value: f64) -> Option<u64> {
    (value.fract() == 0.0 && (0.0..MOST_WHOLE).contains(&value)).then_some(value as u64)
}

/// The steps so far. Those of several games may be mixed, as environments that run side by side write them; episodes of a game, and
/// steps of an episode, are in order.
#[derive(Default)]
struct Steps {
    lines: Vec<Line>,
    /// Of every game's number, the last step that had it.
    last: HashMap<u64, Last>,
    games: usize,
    /// Whether some observation was a whole number, and how many reals the others are.
    whole: bool,
    reals: Option<usize>,
    /// Malformed lines: what follows on them is not their fault.
    bad: usize,
    /// The first episode that is not there though a later one is, in words, and how many there are.
    gap: Option<(String, usize)>,
    /// By name, what is to be said of columns that are not read.
    unread: BTreeMap<String, String>,
}

#[derive(Clone, Copy)]
struct Last {
    place: usize,
    /// The first episode of the game.
    first: u64,
    episode: u64,
    step: u64,
    /// How many lines were malformed by then.
    bad: usize,
}

impl Steps {
    /// Notes what is not read of a header, or of the keys of a line: a mistyped name would be one that is never told.
    fn note_unread<'a>(&mut self, names: impl Iterator<Item = &'a str> + Clone) {
        for name in names.clone().filter(|name| !COLUMNS.contains(name)) {
            if self.unread.len() == MOST_UNREAD || self.unread.contains_key(name) {
                continue;
            }
            let missing: Vec<&str> =
                COLUMNS.into_iter().filter(|column| !names.clone().any(|name| name == *column)).collect();
            let near: Vec<String> = nearest(name, &missing).into_iter().map(str::to_owned).collect();
            let meant = if near.is_empty() { String::new() } else { format!("; {}", suggestion(&near, &[])) };
            self.unread.insert(name.into(), format!("column \"{name}\" is not read{meant}"));
        }
    }

    /// Takes a line, if it is right by itself and follows those before.
    fn add(&mut self, mut line: Line) -> std::result::Result<(), String> {
        if line.action >= MAX_ACTIONS {
            return Err(format!("action {} is not below {MAX_ACTIONS}", line.action));
        }
        if line.probability.is_some_and(|p| !(p > 0.0 && p <= 1.0)) {
            return Err("probability must be above 0 and at most 1".into());
        }
        let other_kind = || Err("observation is of another kind or length than the first".to_owned());
        match &line.observation {
            Seen::Reals(values) if values.is_empty() || values.iter().any(|v| !v.is_finite()) => {
                return Err("observation needs finite numbers".into());
            }
            Seen::Reals(values) => {
                let width = values.len();
                if self.reals.is_some_and(|reals| reals != width) || (self.whole && width != 1) {
                    return other_kind();
                }
            }
            Seen::Index(_) | Seen::Below(_) if self.reals.is_some_and(|reals| reals != 1) => return other_kind(),
            Seen::Index(_) | Seen::Below(_) => {}
        }
        line.place = self.place(&line)?;
        match &line.observation {
            Seen::Reals(values) => self.reals = Some(values.len()),
            Seen::Index(_) | Seen::Below(_) => self.whole = true,
        }
        let before = self.last.get(&line.game).filter(|last| last.place == line.place);
        let first = before.map_or(line.episode, |last| last.first);
        if let Some(last) = before.filter(|last| line.episode > last.episode + 1) {
            let place = || format!("episode {} of game {}", last.episode + 1, line.game);
            self.gap.get_or_insert_with(|| (place(), 0)).1 += 1;
        }
        let Line { place, episode, step, .. } = line;
        self.last.insert(line.game, Last { place, first, episode, step, bad: self.bad });
        self.games = self.games.max(line.place + 1);
        self.lines.push(line);
        Ok(())
    }

    /// Which game a line goes on with, or begins.
    fn place(&self, line: &Line) -> std::result::Result<usize, String> {
        let Some(Last { place, first, episode, step, bad }) = self.last.get(&line.game).copied() else {
            return if line.step == 0 || self.bad > 0 {
                Ok(self.games)
            } else {
                Err("the first step of an episode is step 0".into())
            };
        };
        let follows =
            if line.episode == episode { line.step == step + 1 } else { line.step == 0 && line.episode > episode };
        if follows {
            return Ok(place);
        }
        // A number that comes back from its beginning, after other games, is another game: logs are joined like that.
        let elsewhere = self.lines.last().is_some_and(|last| last.game != line.game);
        if elsewhere && line.step == 0 && line.episode == first {
            return Ok(self.games);
        }
        // The log is refused anyway, for what stands in between.
        if bad < self.bad {
            return Ok(place);
        }
        let game = line.game;
        Err(format!("does not follow game {game}, episode {episode}, step {step}: keep episodes and steps in order"))
    }

    /// All lines, game by game, their observations of one kind.
    fn in_order(mut self) -> std::result::Result<Vec<Line>, String> {
        if self.lines.is_empty() {
            return Err("there is no step".into());
        }
        if self.reals == Some(1) {
            for line in &mut self.lines {
                match line.observation {
                    Seen::Index(index) => line.observation = Seen::Reals(vec![index as f32]),
                    Seen::Below(below) => line.observation = Seen::Reals(vec![below as f32]),
                    Seen::Reals(_) => {}
                }
            }
        }
        for Line { game, episode, step, observation, .. } in &self.lines {
            let (number, why) = match observation {
                Seen::Below(below) => (*below, "indices start at 0".to_owned()),
                Seen::Index(index) if *index >= MAX_CELLS => {
                    (i64::from(*index), format!("indices must be below {MAX_CELLS}"))
                }
                Seen::Index(_) | Seen::Reals(_) => continue,
            };
            return Err(format!(
                "observation {number} (game {game}, episode {episode}, step {step}): {why}; a column of reals has decimal \
                 points ({number}.0)"
            ));
        }
        if let Some(problem) = sparse(&self.lines) {
            return Err(problem);
        }
        self.lines.sort_by_key(|line| line.place);
        Ok(self.lines)
    }
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
    let seen = |line: &Line| if let Seen::Index(index) = line.observation { index } else { 0 };
    problem("action", &|line| line.action, DENSE_ACTIONS).or_else(|| problem("observation", &seen, DENSE_CELLS))
}
