//! Off-policy evaluation: judges a model by logged tasks that it has not learned from, step by step.
//!
//! The agent sees each task as it was played. At every step it says what it would do; then the logged action enters its memory.
//! Where the log has the probability of each action, *importance sampling* (`importance.rs`) estimates, with bounds, the return of
//! the logged policy with one action replaced by the agent's. An improvement there is an improvement of the policy. Returns are
//! those of the log, without a price on steps without reward.

use crate::advice::advice;
use crate::agent::Agent;
use crate::importance::{Improvement, Tried};
use crate::logs::Logs;
use crate::model::TrainedModel;
use crate::task::GameSpec;
use crate::{Error, Result};
use icee_base::numbers::{percent, short};
use icee_base::stats::Estimate;
use icee_train::Device;
use icee_worlds::{Decision, Observations, StepOutcome, Turn, returns_to_go};
use serde::Serialize;
use std::collections::BTreeMap;

/// Tasks that are replayed side by side.
const SIDE_BY_SIDE: usize = 64;
/// Tasks below which there is no verdict: their spread is not known well enough.
const FEWEST_GAMES: usize = 10;
/// Differences below this share of what is compared are rounding errors.
const ROUNDING: f64 = 1e-6;
/// The verdict's first part where the log has no probabilities.
const NOT_MEASURED: &str = "not compared with the logged policy, because the log has no probabilities";
/// The share of the agent's actions that may be almost absent from the log before this is reported.
const MUCH_UNSEEN: f64 = 0.1;
/// Reported where the lower bound is above the upper bound.
const TOO_SMALL: &str = "The agent's actions occur significantly more often than the log's probabilities allow. Are these the probabilities of the logged actions?";
/// Reported where the logged policy depends on what the agent has to find out.
const KNOWS_MORE: &str = "The logged policy seems to know the hidden task, so this test cannot show how well the agent explores. Let it play";
/// Levels of the predicted intervals.
const LEVELS: [f64; 3] = [0.5, 0.8, 0.95];

/// A model judged by logged tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfflineEvaluation {
    /// The result.
    pub verdict: Verdict,
    /// How many tasks, and how many steps they have.
    pub games: usize,
    /// See `games`.
    pub steps: usize,
    /// Whether they were held out of the training log.
    pub held_out: bool,
    /// How many tasks of the log are held out; training uses some of them at its end.
    pub games_held_out: usize,
    /// For each level the coverage of the predicted interval; none where the method predicts no returns.
    pub calibration: Option<[(f64, f64); 3]>,
    /// The mean probability that the agent gives to the logged actions in the better half of each task's episodes, and in the others;
    /// none where no task has both.
    pub agreement: Option<(f64, f64)>,
    /// Their difference within a task; none where no task has both.
    pub preference: Option<Difference>,
    /// All steps, those of the first third of each task's episodes, and those of the last third, where there are any (a single episode
    /// is a first one); none where the log has no probabilities.
    pub improvement: Option<[Option<Improvement>; 3]>,
    /// Reasons to doubt the result.
    pub doubts: Vec<String>,
    /// What to try if it is bad.
    pub advice: String,
}

/// The result of an off-policy evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Replacing one action improves the return significantly, also in the first third of the episodes: there the log's earlier
    /// episodes reveal least.
    Better,
    /// No significant improvement, or none in the first third.
    NoBetter,
    /// The return gets significantly worse.
    Worse,
    /// Without probabilities: the model gives more probability to the actions of better episodes. So does an imitator, since better
    /// episodes are less noisy and easier to predict: this is no measure of quality.
    PrefersBetter,
    /// Without probabilities: it does not, so it has not even learned to imitate.
    NoPreference,
    /// Without probabilities, and without tasks whose episodes have different returns: nothing was measured.
    CannotBeTold,
    /// There are too few tasks.
    TooFew,
}

/// A mean over tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The mean.
    pub mean: f64,
    /// Half its 95 % interval; none for a single task.
    pub half_width_95: Option<f64>,
}

impl OfflineEvaluation {
    /// The result in words, with what to try if it is bad.
    #[must_use]
    pub fn words(&self) -> String {
        let OfflineEvaluation { games, steps, held_out, games_held_out, advice, .. } = self;
        let on = match held_out {
            true if games_held_out > games => {
                format!("on {games} of {games_held_out} held-out tasks ({steps} steps; icee eval uses all)")
            }
            true => format!("on {games} held-out tasks ({steps} steps)"),
            false => format!("on {games} tasks of this log ({steps} steps)"),
        };
        let all = self.improvement.and_then(|[all, ..]| all);
        let measured = all.map_or(String::new(), |Improvement { logged, agent, at_least, at_most, .. }| {
            let [logged, agent, at_least, at_most] = [logged, agent, at_least, at_most].map(short);
            format!(
                "replacing one logged action by the agent's changes the mean return-to-go from {logged} to {agent} ({at_least} to \
                 {at_most}, 95 %)"
            )
        });
        let half = self.preference.and_then(|difference| difference.half_width_95);
        let preferred = self.agreement.zip(half).map_or(String::new(), |((better, worse), half)| {
            format!("the actions of better episodes of a task ({better:.2} against {worse:.2}, ± {half:.2})")
        });
        let said = match self.verdict {
            Verdict::TooFew => {
                format!(
                    "too few to compare with the logged policy; {FEWEST_GAMES} are needed. Hold out more (data.held_out), or use another \
                     log"
                )
            }
            Verdict::Better => {
                format!(
                    "significantly better than the logged policy, also in the first third of the episodes: {measured}"
                )
            }
            Verdict::Worse => format!("significantly worse than the logged policy: {measured}. {advice}"),
            Verdict::NoBetter => {
                let only_late = all.is_some_and(|all| all.verdict() == Some(true));
                let when = if only_late { " in the first third of the episodes, only later" } else { "" };
                format!("not significantly better than the logged policy{when}: {measured}. {advice}")
            }
            Verdict::PrefersBetter => format!(
                "{NOT_MEASURED}. The model gives more probability to {preferred}. So does an imitator: better episodes are easier to \
                 predict"
            ),
            Verdict::NoPreference => {
                format!(
                    "{NOT_MEASURED}. The model does not give more probability to {preferred}, as an imitator would. {advice}"
                )
            }
            Verdict::CannotBeTold => {
                let which = if self.agreement.is_none() { "no task has" } else { "only one task has" };
                format!(
                    "nothing was measured: the log has no probabilities, and {which} episodes with different returns. Log the \
                     probability of every action, or several episodes of each task; or use another log"
                )
            }
        };
        std::iter::once(format!("{on}: {said}")).chain(self.doubts.iter().cloned()).collect::<Vec<_>>().join(". ")
    }
}

/// One step of a logged task, as the agent saw it.
struct Judged {
    game: usize,
    /// The place of its episode in the task, from 0 to 1.
    progress: f64,
    /// Whether its episode is in the task's better half; none where the task has no halves.
    better: Option<bool>,
    /// The probability that the agent gave to the logged action.
    agent: f64,
    /// The same beside that of the log, and the return that followed.
    tried: Tried,
    /// The probability that the agent gave to lower returns, and to this one.
    returns: Option<(f64, f64)>,
}

/// Judges a model by these tasks of a log.
///
/// # Errors
/// Where observations or actions do not fit the model, or there are no tasks.
pub fn evaluate_offline(
    device: &Device,
    model: &TrainedModel,
    logs: &Logs,
    games: &[usize],
) -> Result<OfflineEvaluation> {
    let (mine, theirs) = (&model.task, &logs.task);
    let seen_alike = mine.observation.none() == theirs.observation.none();
    if mine.actions < theirs.actions || !seen_alike || mine.observation.size() < theirs.observation.size() {
        let shape =
            |task: &GameSpec| format!("{} actions and observations of {}", task.actions, task.observation.describe());
        return Err(Error::Config(format!("the log has {}; the model knows {}", shape(theirs), shape(mine))));
    }
    if games.is_empty() {
        return Err(Error::Config("no task of the log is held out, so the model cannot be judged by it".into()));
    }
    let games = &logs.without_copies(games);
    // On the CPU, where an agent gives its predicted returns.
    let mut agent = Agent::new(&device.without_gpu(), model)?;
    let mut steps = Vec::new();
    for some in games.chunks(SIDE_BY_SIDE) {
        agent.begin_games(some.len(), 0, 0)?;
        replay(&mut agent, logs, some, &mut steps)?;
    }
    let preference = preference(&steps);
    let improvement = logs.has_probabilities.then(|| {
        [(0.0, 1.0), (0.0, 1.0 / 3.0), (2.0 / 3.0, 1.0)].map(|(from, to)| {
            let part = steps.iter().filter(|step| (from..=to).contains(&step.progress)).map(|step| step.tried);
            Improvement::of(&part.collect::<Vec<Tried>>())
        })
    });
    let verdict = match improvement {
        _ if games.len() < FEWEST_GAMES => Verdict::TooFew,
        Some([all, first, _]) => match [all, first].map(|part| part.and_then(|part| part.verdict())) {
            [Some(true), Some(true)] => Verdict::Better,
            [Some(false), _] => Verdict::Worse,
            _ => Verdict::NoBetter,
        },
        None => match preference {
            Some(Difference { mean, half_width_95: Some(half) }) if mean > half.max(ROUNDING) => Verdict::PrefersBetter,
            Some(Difference { half_width_95: Some(_), .. }) => Verdict::NoPreference,
            _ => Verdict::CannotBeTold,
        },
    };
    let mut doubts: Vec<String> = logs.doubtful_probabilities().into_iter().collect();
    if let Some(unseen) =
        improvement.and_then(|[all, ..]| all).map(|all| all.unseen).filter(|unseen| *unseen > MUCH_UNSEEN)
    {
        doubts.push(format!(
            "{} of the agent's actions are almost absent from the log in such places. They count as the worst result for \"better\" and \
             as the best result for \"worse\"",
            percent(unseen)
        ));
    }
    if improvement.and_then(|[all, ..]| all).is_some_and(|all| all.at_least > all.at_most) {
        doubts.push(TOO_SMALL.into());
    }
    if logs.seems_to_know_more() {
        doubts.push(KNOWS_MORE.into());
    }
    Ok(OfflineEvaluation {
        verdict,
        games: games.len(),
        steps: steps.len(),
        held_out: games.iter().all(|game| logs.held_out().contains(game)),
        games_held_out: logs.without_copies(logs.held_out()).len(),
        calibration: calibration(&steps),
        agreement: agreement(&steps),
        preference,
        improvement,
        doubts,
        advice: advice(&model.config, model.step),
    })
}

/// Replays tasks to the agent, side by side.
fn replay(agent: &mut Agent, logs: &Logs, games: &[usize], steps: &mut Vec<Judged>) -> Result<()> {
    let data = &logs.data;
    let details: Vec<Vec<Played>> = games.iter().map(|&game| Played::of(logs, game, agent)).collect();
    let longest = details.iter().map(Vec::len).max().unwrap_or(0);
    for step in 0..longest {
        let mut seen: Observations = agent.blueprint().task.observation.none();
        let (mut playing, mut steps_played) = (Vec::new(), Vec::new());
        for (place, (&game, details)) in games.iter().zip(&details).enumerate() {
            let Some(played) = details.get(step) else { continue };
            let at = data.sequence_steps(game).start + step;
            if data.observations.get(at).is_some_and(|observation| seen.push(observation)) {
                playing.push(place as u32);
                steps_played.push((at, played));
            }
        }
        let mut decisions = vec![Decision::default(); playing.len()];
        agent.decide(Turn { games: &playing, observations: &seen }, &mut decisions)?;
        let mut outcomes = Vec::new();
        for (&place, &(at, played)) in playing.iter().zip(&steps_played) {
            let action = data.actions[at];
            let thought = agent.thought(place as usize).cloned().unwrap_or_default();
            let bin = agent.blueprint().bins.bin(played.step_rtg) as usize;
            let returns = thought.marginal.get(bin).map(|&here| (thought.marginal[..bin].iter().sum(), here));
            let (game, Played { progress, better, to_go, bounds, .. }) = (games[place as usize], *played);
            let likely = thought.actions.get(action as usize).copied().unwrap_or(0.0);
            let tried = Tried { game, weight: likely / f64::from(data.taken_probability(at)), to_go, bounds };
            steps.push(Judged { game, progress, better, agent: likely, tried, returns });
            agent.take_instead(place as usize, action);
            outcomes.push(StepOutcome { reward: data.rewards[at], done: played.last });
        }
        agent.learn_outcomes(&playing, &outcomes)?;
    }
    Ok(())
}

/// What is known of a logged step afterwards.
#[derive(Clone, Copy)]
struct Played {
    progress: f64,
    better: Option<bool>,
    to_go: f64,
    /// The least and the greatest return that steps of this log can still earn there.
    bounds: (f64, f64),
    /// c: the same with the price of steps without reward.
    step_rtg: f32,
    last: bool,
}

impl Played {
    fn of(logs: &Logs, game: usize, agent: &Agent) -> Vec<Played> {
        let data = &logs.data;
        let episodes = data.sequence_episodes(game);
        // In double precision: sums of the same rewards in another order are the same.
        let whole = |episode| data.rewards[data.episode_steps(episode)].iter().copied().map(f64::from).sum();
        let returns: Vec<f64> = episodes.clone().map(whole).collect();
        let better = better_half(&returns);
        let GameSpec { episode_limit, reward_range: (lowest, highest), .. } = logs.task;
        let (lowest, highest) = (f64::from(lowest), f64::from(highest));
        let bounds = |at: usize| {
            // One step at least.
            let left = episode_limit.saturating_sub(at).max(1) as f64;
            (lowest.min(lowest * left), highest.max(highest * left))
        };
        let count = episodes.len().max(2) - 1;
        let mut played = Vec::new();
        for (number, episode) in episodes.enumerate() {
            let steps = data.episode_steps(episode);
            let rewards = &data.rewards[steps.clone()];
            let earned = returns_to_go(rewards, 0.0);
            let step_rtg = returns_to_go(rewards, agent.blueprint().task.idle_price());
            let better = better.as_ref().map(|better| better[number]);
            played.extend(earned.iter().zip(step_rtg).enumerate().map(|(at, (&to_go, step_rtg))| Played {
                progress: number as f64 / count as f64,
                better,
                to_go: f64::from(to_go),
                bounds: bounds(at),
                step_rtg,
                last: at + 1 == steps.len(),
            }));
        }
        played
    }
}

/// Which of a game's episodes are its better half: of the two cuts beside the median the one that leaves the halves more alike; where
/// both do, the median is of the better ones. None where all episodes earned the same, or there is one alone.
fn better_half(returns: &[f64]) -> Option<Vec<bool>> {
    let mut sorted = returns.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (count, median) = (sorted.len(), sorted[sorted.len() / 2]);
    let cuts = [sorted.partition_point(|&one| one < median), sorted.partition_point(|&one| one <= median)];
    let both = cuts.into_iter().filter(|worse| (1..count).contains(worse));
    let worse = both.min_by_key(|worse| count.abs_diff(2 * worse))?;
    Some(returns.iter().map(|one| *one >= sorted[worse]).collect())
}

/// How often central intervals of the predicted returns hold the one that came.
fn calibration(steps: &[Judged]) -> Option<[(f64, f64); 3]> {
    let returns: Vec<(f64, f64)> = steps.iter().filter_map(|step| step.returns).collect();
    let held = |level| returns.iter().map(|&(below, here)| coverage(below, here, level)).sum::<f64>();
    (!returns.is_empty()).then(|| LEVELS.map(|level| (level, held(level) / returns.len() as f64)))
}

/// How much of a return's rank lies in the central interval of this probability: `below` it is the probability of lower returns, and the
/// rank may be anywhere in the `here` of its own. Over returns that come as often as is believed, the mean is the level itself.
fn coverage(below: f64, here: f64, level: f64) -> f64 {
    let (low, high) = ((1.0 - level) / 2.0, (1.0 + level) / 2.0);
    if here > 0.0 {
        ((below + here).min(high) - below.max(low)).max(0.0) / here
    } else {
        f64::from(u8::from((low..=high).contains(&below)))
    }
}

/// The mean probability of what was done in better episodes, and in others.
fn agreement(steps: &[Judged]) -> Option<(f64, f64)> {
    let mean = |better: bool| {
        let of_half = steps.iter().filter(|step| step.better == Some(better));
        let (sum, count) = of_half.fold((0.0, 0), |(sum, count), step| (sum + step.agent, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    };
    mean(true).zip(mean(false))
}

/// How much more probability the agent gives to the actions of a task's better episodes than to those of its others.
fn preference(steps: &[Judged]) -> Option<Difference> {
    let mut games: BTreeMap<usize, [(f64, u32); 2]> = BTreeMap::new();
    for (step, better) in steps.iter().filter_map(|step| Some((step, step.better?))) {
        let half = &mut games.entry(step.game).or_default()[usize::from(better)];
        *half = (half.0 + step.agent, half.1 + 1);
    }
    let both = |[worse, better]: &[(f64, u32); 2]| {
        (worse.1 > 0 && better.1 > 0).then(|| better.0 / f64::from(better.1) - worse.0 / f64::from(worse.1))
    };
    let differences: Vec<f64> = games.values().filter_map(both).collect();
    let estimate = Estimate::of(&differences);
    (!differences.is_empty()).then(|| Difference { mean: estimate.mean, half_width_95: estimate.known_half_width() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_halves_are_as_alike_as_they_can_be_and_every_game_with_two_returns_has_both() {
        let better = |returns: &[f64]| -> Option<Vec<usize>> {
            let better = better_half(returns)?;
            Some((0..returns.len()).filter(|&at| better[at]).collect())
        };
        assert_eq!(better(&[3.0, 1.0, 2.0, 4.0]), Some(vec![0, 3]));
        assert_eq!(better(&[3.0, 1.0, 2.0]), Some(vec![0, 2]), "the median is of the better ones");
        // More than half at the bottom, and more than half at the top.
        assert_eq!(better(&[0.0, 1.0, 0.0, 0.0]), Some(vec![1]));
        assert_eq!(better(&[1.0, 1.0, 0.0, 1.0]), Some(vec![0, 1, 3]));
        // Three against three rather than five against one.
        assert_eq!(better(&[0.0, 1.0, 1.0, 2.0, 2.0, 2.0]), Some(vec![3, 4, 5]));
        assert_eq!(better(&[0.0, 1.0, 1.0, 1.0, 2.0, 2.0]), Some(vec![4, 5]));
        assert_eq!((better(&[1.0, 1.0, 1.0]), better(&[1.0])), (None, None));
    }

    /// Bins of any probabilities, one of them of none, that come as often as is believed.
    #[test]
    fn the_expected_coverage_of_beliefs_that_are_right_is_the_level() {
        for believed in [&[0.5, 0.5][..], &[0.1, 0.0, 0.6, 0.3], &[1.0], &[0.02, 0.9, 0.05, 0.03]] {
            for level in LEVELS {
                let mut below = 0.0;
                let mut expected = 0.0;
                for &here in believed {
                    expected += here * coverage(below, here, level);
                    below += here;
                }
                assert!((expected - level).abs() < 1e-12, "{believed:?}: {expected} for {level}");
            }
        }
        // By hand: [0, 0.5] shares [0.25, 0.5] with the interval of 50 %, and all of it lies in [0.1, 0.9] but for a fifth.
        assert_eq!([0.5, 0.8].map(|level| coverage(0.0, 0.5, level)), [0.5, 0.8]);
        assert_eq!(
            [(0.2, 0.0), (0.5, 0.0), (0.8, 0.1)].map(|(below, here)| coverage(below, here, 0.5)),
            [0.0, 1.0, 0.0]
        );
    }

    /// One step of a game's only episode, or of its first of two.
    fn step(game: usize, progress: f64, better: Option<bool>) -> Judged {
        let tried = Tried { game, weight: 1.0, to_go: 1.0, bounds: (0.0, 1.0) };
        Judged { game, progress, better, agent: 0.5, tried, returns: None }
    }

    #[test]
    fn what_has_no_steps_is_absent() {
        let steps = [step(0, 0.0, None), step(1, 0.0, None)];
        assert_eq!((agreement(&steps), preference(&steps)), (None, None));
    }
}
