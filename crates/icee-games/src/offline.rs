//! What can be said of a model without playing: logged games that it has not learned from, looked at step by step.
//!
//! The agent is shown each game as it was played and asked at every step what it would do; what was done is then what it
//! remembers. Where the log says how likely each action was, *importance sampling* tells what one action of the agent's, followed
//! by the log's own policy, would have earned: an improvement there is an improvement of the policy.

use crate::agent::Agent;
use crate::logs::Logs;
use crate::model::TrainedModel;
use crate::{Error, Result};
use icee_base::stats::NORMAL_95;
use icee_train::Device;
use icee_worlds::{Decision, Observations, StepOutcome, Turn, returns_to_go};
use serde::Serialize;

/// The greatest importance weight: rarer actions would decide alone.
const GREATEST_WEIGHT: f64 = 20.0;
/// Games that are shown side by side.
const SIDE_BY_SIDE: usize = 64;
/// What to try where nothing was learned.
const TRY: &str = "Try more games, more varied ones, more updates (train.steps), or another rate (train.lr)";
/// Probabilities of the intervals that should hold the return so often.
const LEVELS: [f64; 3] = [0.5, 0.8, 0.95];

/// What logged games say of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfflineEvaluation {
    /// How many games, and how many steps they have.
    pub games: usize,
    /// See `games`.
    pub steps: usize,
    /// Whether they were held out of the log that is learned from; games of any other log are just its games.
    pub held_out: bool,
    /// For each level how often the interval of that probability held the return; none where the method predicts no returns.
    pub calibration: Option<[(f64, f64); 3]>,
    /// The mean probability that the agent gives to what was done in episodes of the better half of each game, and in the others.
    pub agreement: (f64, f64),
    /// All steps, those of the first third of each game's episodes, and those of the last; none where the log knows no probabilities.
    pub improvement: Option<[Improvement; 3]>,
}

/// What one action of the agent's instead of the log's is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Improvement {
    /// The mean return-to-go of the log's own actions.
    pub logged: f64,
    /// The same of the agent's.
    pub agent: f64,
    /// Half the 95 % interval of the difference.
    pub half_width_95: f64,
}

impl Improvement {
    /// Whether the agent is better, or worse, beyond chance.
    #[must_use]
    pub fn verdict(&self) -> Option<bool> {
        let difference = self.agent - self.logged;
        (difference.abs() > self.half_width_95).then_some(difference > 0.0)
    }
}

impl OfflineEvaluation {
    /// The result in words, with what to try where it is bad.
    #[must_use]
    pub fn words(&self) -> String {
        let OfflineEvaluation { games, steps, held_out, .. } = self;
        let on = match held_out {
            true => format!("on {games} held-out games ({steps} steps)"),
            false => format!("on {games} games of this log ({steps} steps)"),
        };
        let Some([all, ..]) = &self.improvement else {
            let (better, worse) = self.agreement;
            let word = if better > worse { "prefers" } else { "does not prefer" };
            return format!(
                "{on}: it {word} what was done in the better episodes ({better:.2} against {worse:.2}); the log has no \
                 probabilities, so more cannot be said without playing"
            );
        };
        let Improvement { logged, agent, half_width_95 } = all;
        let numbers = format!("return-to-go {agent:.3} instead of {logged:.3} (± {half_width_95:.3})");
        match all.verdict() {
            Some(true) => format!("{on}: better than the log's own policy: {numbers} for one action of its own"),
            Some(false) => format!("{on}: worse than the log's own policy: {numbers} for one action of its own. {TRY}"),
            None => format!("{on}: no better than the log's own policy: {numbers} for one action of its own. {TRY}"),
        }
    }
}

/// One step of a logged game, as the agent saw it.
struct Judged {
    game: usize,
    /// The place of its episode in the game, from 0 to 1.
    progress: f64,
    /// Whether its episode is of the game's better half.
    better: bool,
    /// c, the return that came.
    to_go: f64,
    /// The probability that the agent gave to what was done, and what the log's policy gave.
    agent: f64,
    logged: f64,
    /// The probability that the agent gave to lower returns, and to this one.
    returns: Option<(f64, f64)>,
}

/// Judges a model by these games of a log.
///
/// # Errors
/// Where the games are not seen and played as the model's, or there are none.
pub fn evaluate_offline(
    device: &Device,
    model: &TrainedModel,
    logs: &Logs,
    games: &[usize],
) -> Result<OfflineEvaluation> {
    let (mine, theirs) = (&model.task, &logs.task);
    if mine.actions < theirs.actions || mine.observation.none() != theirs.observation.none() {
        return Err(Error::Config(format!(
            "the log has {} actions and observations {:?}; the model knows {} and {:?}",
            theirs.actions, theirs.observation, mine.actions, mine.observation
        )));
    }
    if games.is_empty() {
        return Err(Error::Config("no game of the log is held out; there is nothing to judge by".into()));
    }
    // On the CPU, where an agent says what returns it believes in.
    let mut agent = Agent::new(&device.without_gpu(), model)?;
    let mut steps = Vec::new();
    for some in games.chunks(SIDE_BY_SIDE) {
        agent.begin_games(some.len(), 0, 0)?;
        replay(&mut agent, logs, some, &mut steps)?;
    }
    Ok(OfflineEvaluation {
        games: games.len(),
        steps: steps.len(),
        held_out: games.iter().all(|game| logs.held_out().contains(game)),
        calibration: calibration(&steps),
        agreement: (mean(steps.iter().filter(|step| step.better)), mean(steps.iter().filter(|step| !step.better))),
        improvement: logs.has_probabilities.then(|| {
            [(0.0, 1.0), (0.0, 1.0 / 3.0), (2.0 / 3.0, 1.0)]
                .map(|(from, to)| improvement(steps.iter().filter(|step| (from..=to).contains(&step.progress))))
        }),
    })
}

/// Shows games to the agent, side by side.
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
            let bin = agent.blueprint().bins.bin(played.to_go as f32) as usize;
            let returns = thought.marginal.get(bin).map(|&here| (thought.marginal[..bin].iter().sum(), here));
            steps.push(Judged {
                game: games[place as usize],
                progress: played.progress,
                better: played.better,
                to_go: played.to_go,
                agent: thought.actions.get(action as usize).copied().unwrap_or(0.0),
                logged: f64::from(data.taken_probability(at)),
                returns,
            });
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
    better: bool,
    to_go: f64,
    last: bool,
}

impl Played {
    fn of(logs: &Logs, game: usize, agent: &Agent) -> Vec<Played> {
        let data = &logs.data;
        let episodes = data.sequence_episodes(game);
        let mut returns: Vec<f32> = episodes.clone().map(|episode| data.episode_return(episode)).collect();
        returns.sort_by(f32::total_cmp);
        let median = returns[returns.len() / 2];
        let count = episodes.len().max(2) - 1;
        let mut played = Vec::new();
        for (number, episode) in episodes.enumerate() {
            let steps = data.episode_steps(episode);
            let to_go = returns_to_go(&data.rewards[steps.clone()], agent.blueprint().task.idle_price());
            let better = data.episode_return(episode) >= median;
            played.extend(to_go.iter().enumerate().map(|(at, &to_go)| Played {
                progress: number as f64 / count as f64,
                better,
                to_go: f64::from(to_go),
                last: at + 1 == steps.len(),
            }));
        }
        played
    }
}

fn mean<'a>(steps: impl Iterator<Item = &'a Judged>) -> f64 {
    let (sum, count) = steps.fold((0.0, 0), |(sum, count), step| (sum + step.agent, count + 1));
    sum / f64::from(count.max(1))
}

/// How often central intervals of the believed returns hold the one that came. The bin that it falls into counts by half on both sides.
fn calibration(steps: &[Judged]) -> Option<[(f64, f64); 3]> {
    let ranks: Vec<f64> =
        steps.iter().filter_map(|step| step.returns).map(|(below, here)| below + here / 2.0).collect();
    (!ranks.is_empty()).then(|| {
        LEVELS.map(|level| {
            let held = ranks.iter().filter(|&&rank| (2.0 * rank - 1.0).abs() <= level).count();
            (level, held as f64 / ranks.len() as f64)
        })
    })
}

/// Self-normalised importance sampling, with a standard error over games: steps of one game are no independent witnesses.
fn improvement<'a>(steps: impl Iterator<Item = &'a Judged>) -> Improvement {
    let steps: Vec<&Judged> = steps.collect();
    let weight = |step: &Judged| (step.agent / step.logged.max(1e-6)).min(GREATEST_WEIGHT);
    let total: f64 = steps.iter().map(|step| weight(step)).sum();
    let count = steps.len().max(1) as f64;
    let logged = steps.iter().map(|step| step.to_go).sum::<f64>() / count;
    if total == 0.0 {
        return Improvement { logged, agent: logged, half_width_95: f64::INFINITY };
    }
    let agent = steps.iter().map(|step| weight(step) * step.to_go).sum::<f64>() / total;
    let mut games: Vec<(usize, f64)> = Vec::new();
    for step in &steps {
        let part = weight(step) * (step.to_go - agent) / total - (step.to_go - logged) / count;
        match games.iter_mut().rfind(|(game, _)| *game == step.game) {
            Some((_, sum)) => *sum += part,
            None => games.push((step.game, part)),
        }
    }
    let variance: f64 = games.iter().map(|(_, part)| part * part).sum();
    Improvement { logged, agent, half_width_95: NORMAL_95 * variance.sqrt() }
}
