//! Your own episodes: CSV or JSON lines of game, episode, step, observation, action, reward and, if known, the probability of the
//! action. [`LogWriter`] writes the same lines.

mod assemble;
mod lines;
mod remarks;
mod split;
mod write;

pub use write::{LogWriter, LoggedStep, log_bytes};

use crate::Result;
use crate::task::{GameSpec, ObservationKind};
use icee_base::files::FileError;
use icee_base::hash::checksum;
use icee_base::numbers::short;
use icee_train::DataFile;
use icee_worlds::{Observations, SequenceBatch, returns_to_go};
use std::path::Path;
use std::sync::Arc;

/// The columns of a CSV log; the last may be missing.
pub const COLUMNS: [&str; 7] = ["game", "episode", "step", "observation", "action", "reward", "probability"];

/// The longest sequence, in tokens, that is made of a log unless the config says otherwise.
const MAX_TOKENS: usize = 2048;
/// Bins of returns, at least and at most.
const FEWEST_BINS: usize = 8;
const MOST_BINS: usize = 128;
/// Columns of observations whose ranges are told.
const SHOWN_COLUMNS: usize = 8;
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
    /// Steps without one.
    without_probability: usize,
    /// What is to be said of columns that are not read, and of episodes that are not there.
    unread: Vec<String>,
    gap: Option<String>,
    /// What is to be said of rewards that can only be slips.
    outlying: Option<String>,
    /// Where it was read from, and what it was.
    pub file: DataFile,
    /// Of every game the first that is the same.
    firsts: Vec<usize>,
    /// The games that are learned from, and those that are not.
    split: (Vec<usize>, Vec<usize>),
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
        let read = lines::read(text, path)?;
        let file = DataFile { path: path.to_owned(), checksum: checksum(0, text.as_bytes()) };
        Ok(assemble::assemble(read, file))
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
        let (games, held_out, most) = (self.data.sequences(), self.held_out().len(), self.most_episodes());
        let seen = match self.task.observation {
            ObservationKind::Vector { size } => {
                format!("observations of {size} number{} ({})", if size == 1 { "" } else { "s" }, self.ranges())
            }
            ObservationKind::Discrete { size } => format!("{size} observations"),
            ObservationKind::Grid { width, height } => format!("{width} x {height} places"),
        };
        let probabilities = if self.has_probabilities { "with" } else { "without" };
        let [low, high] = [low, high].map(|reward| short(f64::from(reward)));
        format!(
            "{games} games ({held_out} held out) of up to {most} episodes of up to {episode_limit} steps: {seen}, {actions} actions, \
             rewards from {low} to {high}, {probabilities} probabilities"
        )
    }

    /// The least and the greatest value of every column of reals, in words.
    fn ranges(&self) -> String {
        let Observations::Vector { width, values } = &self.data.observations else { return String::new() };
        let of = |column: usize| {
            let column = values.iter().skip(column).step_by(*width);
            let (low, high) = column.fold((f32::MAX, f32::MIN), |(low, high), &v| (low.min(v), high.max(v)));
            format!("{} to {}", short(f64::from(low)), short(f64::from(high)))
        };
        let mut shown: Vec<String> = (0..(*width).min(SHOWN_COLUMNS)).map(of).collect();
        if *width > SHOWN_COLUMNS {
            shown.push("...".into());
        }
        shown.join("; ")
    }

    /// The most episodes of a game.
    #[must_use]
    pub fn most_episodes(&self) -> usize {
        (0..self.data.sequences()).map(|game| self.data.sequence_episodes(game).len()).max().unwrap_or(0)
    }

    /// Whether anything that is done makes a difference, as far as the log shows.
    #[must_use]
    pub fn rewards_differ(&self) -> bool {
        let data = &self.data;
        let first = data.episode_return(0);
        data.rewards.iter().any(|reward| *reward != data.rewards[0])
            || (1..data.episodes()).any(|episode| data.episode_return(episode) != first)
    }

    /// The same log as a run has begun with it: how it is read was decided then, and is written in the run. None where the run's is
    /// of other sizes.
    #[must_use]
    pub fn as_begun(mut self, task: &GameSpec) -> Option<Logs> {
        let sizes =
            |task: &GameSpec| (task.name.clone(), task.observation, task.actions, task.episode_limit, task.episodes);
        (sizes(&self.task) == sizes(task)).then(|| {
            self.task = task.clone();
            self
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_base::random;

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

    /// Games, episodes and steps of (game, episode, step) in this order.
    fn shape(places: &[(u64, u64, u64)]) -> Result<Logs> {
        let line = |&(game, episode, step): &(u64, u64, u64)| format!("{game},{episode},{step},{step},0,{game},0.5\n");
        let lines: String = places.iter().map(line).collect();
        read(&format!("{}\n{lines}", COLUMNS.join(",")))
    }

    #[test]
    fn lines_of_several_games_may_be_mixed() {
        let apart = shape(&[(3, 0, 0), (3, 0, 1), (3, 1, 0), (5, 0, 0), (5, 1, 0), (5, 1, 1)]).unwrap();
        assert_eq!((apart.data.sequences(), apart.data.episodes(), apart.task.episodes), (2, 4, 2));
        // Step by step, as environments side by side; and first the first episodes of all games.
        for mixed in [
            [(3, 0, 0), (5, 0, 0), (3, 0, 1), (5, 1, 0), (3, 1, 0), (5, 1, 1)],
            [(3, 0, 0), (3, 0, 1), (5, 0, 0), (3, 1, 0), (5, 1, 0), (5, 1, 1)],
        ] {
            assert_eq!(shape(&mixed).unwrap().data, apart.data, "{mixed:?}");
        }
        // Two logs, one below the other: their numbers mean different games.
        let joined = shape(&[(0, 0, 0), (0, 1, 0), (1, 0, 0), (0, 0, 0), (0, 1, 0), (1, 0, 0)]).unwrap();
        assert_eq!((joined.data.sequences(), joined.most_episodes()), (4, 2));
        // A game comes back from its beginning, not from anywhere: these are episodes in the wrong order.
        let joined = shape(&[(0, 3, 0), (0, 5, 0), (1, 0, 0), (0, 3, 0), (0, 4, 0)]).unwrap();
        assert_eq!((joined.data.sequences(), joined.most_episodes()), (3, 2));
        let said = shape(&[(0, 0, 0), (1, 0, 0), (0, 2, 0), (1, 1, 0), (0, 1, 0)]).unwrap_err().to_string();
        assert!(said.contains("line 6: does not follow game 0, episode 2, step 0"), "{said}");
        let said = shape(&[(0, 0, 0), (1, 0, 0), (0, 0, 2)]).unwrap_err().to_string();
        assert!(said.contains("line 4: does not follow game 0, episode 0, step 0"), "{said}");
    }

    #[test]
    fn a_step_that_earns_nothing_has_a_price_only_where_none_costs_something() {
        let to_go = |rewards: [i32; 2]| {
            let [first, second] = rewards;
            let logs =
                read(&format!("{}\n0,0,0,3,1,{first},0.5\n0,0,1,3,0,{second},0.5\n", COLUMNS.join(","))).unwrap();
            (logs.task.idle_price(), logs.task.return_range)
        };
        assert_eq!(to_go([0, 1]), (0.5, (0.5, 1.0)));
        // The price is one of the greatest reward.
        assert_eq!(to_go([0, 8]), (4.0, (4.0, 8.0)));
        assert_eq!(to_go([0, -1]), (0.0, (-1.0, -1.0 + 1.0)));
    }

    #[test]
    fn a_run_goes_on_with_its_log_as_it_was_read_when_it_began() {
        let logs = shape(&[(0, 0, 0), (0, 1, 0), (1, 0, 0)]).unwrap();
        // Older programs had a price on idle steps whatever the rewards.
        let older = GameSpec { idle_costs: !logs.task.idle_costs, reward_unit: 2.0, ..logs.task.clone() };
        assert_eq!(logs.clone().as_begun(&older).unwrap().task, older);
        assert!(logs.as_begun(&GameSpec { actions: 7, ..older }).is_none());
    }

    #[test]
    fn columns_are_read_as_what_all_their_cells_are() {
        let column = |cells: &[&str]| {
            let lines: String =
                cells.iter().enumerate().map(|(step, cell)| format!("0;0;{step};{cell};1.0;{step};\n")).collect();
            read(&format!("{}\n{lines}", COLUMNS.join(";")))
        };
        let reals = |cells: &[&str]| match column(cells).unwrap().data.observations.clone() {
            Observations::Vector { values, .. } => values,
            other => panic!("{other:?}"),
        };
        assert_eq!(reals(&["0", "0.5", "-1"]), [0.0, 0.5, -1.0]);
        assert_eq!(reals(&["0,5 -1,25", "1 2"]), [0.5, -1.25, 1.0, 2.0]);
        assert_eq!(reals(&["1500000", "0.5"]), [1_500_000.0, 0.5]);
        let said = column(&["1500000", "0"]).unwrap_err().to_string();
        assert!(
            said.contains("observation 1500000 (game 0, episode 0, step 0)") && said.contains("1500000.0"),
            "{said}"
        );
        let things = column(&["0", "3"]).unwrap();
        assert_eq!((things.task.observation, things.task.actions), (ObservationKind::Discrete { size: 4 }, 2));
        let said = column(&["0", "-1"]).unwrap_err().to_string();
        assert!(said.contains("observation -1 (game 0, episode 0, step 1)") && said.contains("(-1.0)"), "{said}");
        let said = column(&["0", "1 2"]).unwrap_err().to_string();
        assert!(said.contains("line 3: observation is of another kind"), "{said}");
        assert!(
            column(&["0.0", "1.0"]).unwrap().remarks().iter().any(|words| words.contains("write them without points"))
        );
        let json = |observation: &str| {
            read(&format!(
                "{{\"game\":0,\"episode\":0,\"step\":0,\"observation\":{observation},\"action\":1.0,\"reward\":0}}\n{{\"game\":0,\"episode\":0,\"step\":1.0,\"observation\":1,\"action\":0,\"reward\":1}}"
            ))
        };
        assert_eq!(json("0.5").unwrap().task.observation, ObservationKind::Vector { size: 1 });
        assert!(json("-1").unwrap_err().to_string().contains("observation -1"));
    }

    #[test]
    fn columns_of_reals_are_brought_to_one_scale_and_their_ranges_told() {
        let lines: String = (0..400)
            .map(|step| {
                let first = if step == 7 { 1e6 } else { f64::from(step % 2) };
                format!("0,0,{step},{first:?} {} 5.0,0,{},\n", 1000 + 10 * (step % 2), step % 2)
            })
            .collect();
        let logs = read(&format!("{}\n{lines}", COLUMNS.join(","))).unwrap();
        assert_eq!(logs.task.observation_scale.as_ref().unwrap()[1..], [[1005.0, 5.0], [5.0, 1.0]]);
        let mut seen = Vec::new();
        logs.task.scale_reals(&[0.5, 1010.0, 5.0], &mut seen);
        assert_eq!(seen[1..], [1.0, 0.0]);
        assert!(
            logs.describe().contains("observations of 3 numbers (0 to 1000000; 1000 to 1010; 5 to 5)"),
            "{}",
            logs.describe()
        );
        let told: Vec<String> = logs.remarks().into_iter().filter(|words| words.contains("deviations")).collect();
        assert!(told.len() == 1 && told[0].starts_with("number 1 of the observations is 1000000"), "{told:?}");
        logs.task.check().unwrap();
        let text = serde_json::to_string(&logs.task).unwrap();
        assert_eq!(serde_json::from_str::<GameSpec>(&text).unwrap(), logs.task);
    }

    #[test]
    fn probabilities_that_cannot_be_right_are_told() {
        // Half of the games take the first of two actions, which has this probability.
        let log = |first: &str, second: &str| {
            let line = |game: usize| {
                let (action, probability) = if game.is_multiple_of(4) { (1, second) } else { (0, first) };
                format!("{game},0,0,0,{action},{action},{probability}\n")
            };
            read(&format!("{}\n{}", COLUMNS.join(","), (0..400).map(line).collect::<String>())).unwrap()
        };
        let right = log("0.75", "0.25");
        assert_eq!((right.doubtful_probabilities(), right.seems_to_know_more()), (None, false));
        let told = log("0.25", "0.25").doubtful_probabilities().unwrap();
        assert!(told.contains("is 2.00 and should be about 1: the probabilities are too small"), "{told}");
        assert!(log("1", "1").doubtful_probabilities().unwrap().contains("never taken"));
        let partly = log("0.75", "");
        assert!(!partly.has_probabilities);
        assert!(partly.doubtful_probabilities().unwrap().contains("100 of 400 steps have no probability"));
    }

    /// Two episodes of a step in many games, whose policy has noise of its own in every episode and prefers what `preferred` says of
    /// game, episode and the action before.
    fn noisy(reals: bool, noise: f32, preferred: impl Fn(u32, u32, u32) -> Option<u32>) -> bool {
        let mut rng = random::path(1, &[]);
        let mut draw = || rand::RngExt::random::<f32>(&mut rng);
        let mut lines = COLUMNS.join(",");
        for game in 0..if reals { 3000 } else { 300 } {
            let mut action = 0;
            for episode in 0..2 {
                let noise = noise * draw();
                let best = preferred(game, episode, action);
                let probability = |one: u32| match best {
                    Some(best) => noise / 3.0 + if one == best { 1.0 - noise } else { 0.0 },
                    None => 1.0 / 3.0,
                };
                let at = draw();
                action = u32::from(at > probability(0)) + u32::from(at > probability(0) + probability(1));
                let seen = if reals { format!("{} {}", draw(), draw()) } else { "0".into() };
                let reward = u32::from(action == game % 3);
                lines += &format!("\n{game},{episode},0,{seen},{action},{reward},{}", probability(action));
            }
        }
        read(&lines).unwrap().seems_to_know_more()
    }

    #[test]
    fn who_does_the_same_in_a_game_from_its_first_move_on_knows_more_than_is_seen() {
        for reals in [false, true] {
            let knows = |game: u32, _: u32, _: u32| Some(game % 3);
            assert!(noisy(reals, 1.0, knows) && noisy(reals, 0.0, knows), "noisy and sure, with reals: {reals}");
            assert!(!noisy(reals, 1.0, |_, _, _| Some(0)), "noise of every episode tells nothing of a game");
            let learns = |game: u32, episode: u32, before: u32| (episode == 1 && before == game % 3).then_some(before);
            assert!(!noisy(reals, 0.3, learns), "who does again what has paid begins all games alike");
        }
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
        // Returns-to-go: 1; 1 + (−2/2, 1 or 2), which are a unit apart.
        assert_eq!(logs.task.return_range, (0.0, 3.0));
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
    fn a_reward_far_beyond_all_others_is_taken_for_the_greatest_of_them_and_told() {
        let log = |slip: &str| {
            let line = |game: usize| {
                let reward = if game == 7 { slip.to_owned() } else { (game % 2).to_string() };
                format!("{game},0,0,0,{},0,0.5\n{game},1,0,0,1,{reward},0.5\n", game % 2)
            };
            read(&format!("{}\n{}", COLUMNS.join(","), (0..40).map(line).collect::<String>())).unwrap()
        };
        let (right, wrong) = (log("1"), log("1000000"));
        assert_eq!((&right.data, &right.task, right.bins()), (&wrong.data, &wrong.task, wrong.bins()));
        let told: Vec<String> =
            wrong.remarks().into_iter().filter(|words| words.contains("Fix it if it is wrong")).collect();
        assert!(
            told.len() == 1 && told[0].starts_with("reward 1000000 (game 7, episode 1, step 0) is far beyond"),
            "{told:?}"
        );
        let told = |logs: &Logs| logs.remarks().iter().any(|words| words.contains("Fix it if it is wrong"));
        assert!(!told(&right) && !told(&log("20")) && log("20").task.reward_range == (0.0, 20.0));
    }

    #[test]
    fn columns_that_are_not_read_are_named() {
        let unread = |text: &str| -> Vec<String> {
            read(text).unwrap().remarks().into_iter().filter(|words| words.contains("not read")).collect()
        };
        let meant = "column \"probabilty\" is not read; did you mean \"probability\"?";
        let csv = "game,episode,step,observation,action,reward,probabilty,info\n0,0,0,3,1,0,0.5,x\n0,0,1,3,0,1,0.5,y\n";
        assert_eq!(unread(csv), ["column \"info\" is not read", meant]);
        let json = |key: &str| {
            let line = |step: usize| {
                format!(
                    "{{\"game\":0,\"episode\":0,\"step\":{step},\"observation\":3,\"action\":{step},\"reward\":{step},\"{key}\":0.5}}\n"
                )
            };
            format!("{}{}", line(0), line(1))
        };
        assert_eq!(unread(&json("probabilty")), [meant]);
        assert_eq!(unread(&json("probability")), [""; 0]);
        // What is there already was not meant.
        assert_eq!(unread(&json("rewards")), ["column \"rewards\" is not read"]);
        // Spreadsheets and editors put a byte order mark before either.
        for text in [csv.to_owned(), json("probability")] {
            assert_eq!(read(&format!("\u{feff}{text}")).unwrap().data, read(&text).unwrap().data);
        }
    }

    #[test]
    fn actions_and_episodes_that_are_not_there_are_told() {
        let told = |places: &[(u32, u32)], part: &str| {
            let line = |(at, (episode, action)): (usize, &(u32, u32))| format!("0,{episode},0,{at},{action},{at}\n");
            let lines: String = places.iter().enumerate().map(line).collect();
            let logs = read(&format!("{}\n{lines}", COLUMNS[..6].join(","))).unwrap();
            logs.remarks().iter().any(|words| words.contains(part))
        };
        assert!(told(&[(0, 1), (1, 2)], "no action is 0") && !told(&[(0, 0), (1, 2)], "no action is 0"));
        assert!(told(&[(0, 1), (1, 1)], "the only action is 1") && told(&[(0, 0), (1, 0)], "the only action is 0"));
        assert!(told(&[(0, 0), (2, 1)], "episode 1 of game 0 is missing") && !told(&[(1, 0), (2, 1)], "is missing"));
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
            "line 7: 5 cells, but the header has 7.",
            "line 8: observation is of another kind",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        // What follows on a line that cannot be read is right.
        let text = "game,episode,step,observation,action,reward\n0,0,0,3,1,0\n0,0,1,3,x,0\n0,0,2,3,1,0\n1,0,0,3,y,0\n1,0,1,3,0,0\n0,0,5,3,0,0\n";
        let said = read(text).unwrap_err().to_string();
        assert!(said.ends_with("lines 3, 5: action is not a whole number from 0"), "{said}");
        let said = read("{\"game\":0,\"episode\":0,\"step\":0,\"observation\":NaN}").unwrap_err().to_string();
        assert!(said.contains("line 1: NaN is not a number"), "{said}");
        let many = format!("{}\n{}", COLUMNS.join(","), "0,0,0,x,1,0,0.5\n".repeat(30));
        assert!(read(&many).unwrap_err().to_string().contains(" and 10 more: "));
        for text in ["", "game,step\n", "{\n", "game,episode,step,observation,action,reward\n"] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
