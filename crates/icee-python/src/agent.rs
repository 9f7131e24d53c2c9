//! Agents: trained models at play, many games side by side. What is wrong is found before anything changes.

use crate::call::{Process, Result, call, here, json, said};
use icee_games::{Thought, TrainedModel};
use icee_models::ModelStore;
use icee_train::Device;
use icee_worlds::{Agent as _, Decision, MAX_GAMES, Observations, StepOutcome, Turn};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A model that plays a number of games.
#[pyclass(frozen, module = "icee._native")]
pub struct Agent {
    model: TrainedModel,
    games: usize,
    seed: u64,
    threads: usize,
    playing: Mutex<Playing>,
}

/// How far it has come.
struct Playing {
    agent: icee_games::Agent,
    /// Where its threads are.
    process: Process,
    /// Whether there was an action since the games began.
    began: bool,
    /// How often games have begun anew.
    resets: u64,
    /// Whether it was said that something was forgotten.
    noticed: bool,
}

impl Agent {
    fn agent(&self, resets: u64) -> Result<icee_games::Agent> {
        let mut agent = icee_games::Agent::new(&Device::cpu(self.threads)?, &self.model)?;
        agent.begin_games(self.games, self.seed, first_game(resets, self.games))?;
        Ok(agent)
    }

    fn lock(&self) -> MutexGuard<'_, Playing> {
        self.playing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The games for one caller at a time. In a fork there are no threads to play on: new games get new ones.
    fn playing(&self) -> Result<MutexGuard<'_, Playing>> {
        let mut playing = self.lock();
        if self.threads != 1 && !playing.process.is_this() {
            if playing.began {
                return Err(said(
                    "this agent is in the middle of its games and belongs to another process (a fork has no threads); \
                     reset() begins new games here, and threads=1 needs none",
                ));
            }
            self.renew(&mut playing)?;
        }
        Ok(playing)
    }

    /// Threads of this process, and new games.
    fn renew(&self, playing: &mut Playing) -> Result<()> {
        let agent = self.agent(playing.resets)?;
        std::mem::forget(std::mem::replace(&mut playing.agent, agent));
        playing.process = Process::this();
        Ok(())
    }

    /// Acts in the chosen games; where none are chosen, in all.
    /// `show` is an observation as the caller wrote it.
    fn decide(
        &self,
        observations: &Observations,
        active: Option<&[bool]>,
        show: impl Fn(usize) -> String,
    ) -> Result<Vec<i64>> {
        let mut playing = self.playing()?;
        let games = self.chosen(observations.len(), "observation", active)?;
        let mut seen = observations.clone();
        seen.clear();
        for &game in &games {
            let observation = observations.get(game as usize).filter(|&seen| self.model.task.sees(seen));
            if !observation.is_some_and(|observation| seen.push(observation)) {
                return Err(playing.agent.unseen(game, &show(game as usize)).into());
            }
        }
        let mut actions = vec![0; self.games];
        if games.is_empty() {
            return Ok(actions);
        }
        let mut decisions = vec![Decision::default(); games.len()];
        playing.agent.act(Turn { games: &games, observations: &seen }, &mut decisions)?;
        playing.began = true;
        for (&game, decision) in games.iter().zip(&decisions) {
            actions[game as usize] = i64::from(decision.action);
        }
        Ok(actions)
    }

    /// The games of a mask, ascending.
    fn chosen(&self, count: usize, what: &str, active: Option<&[bool]>) -> Result<Vec<u32>> {
        if count != self.games {
            return Err(said(format!("{count} {what}(s) where the agent plays {} game(s)", self.games)));
        }
        match active {
            None => Ok((0..self.games as u32).collect()),
            Some(mask) if mask.len() == self.games => {
                Ok((0..self.games as u32).filter(|&game| mask[game as usize]).collect())
            }
            Some(mask) => Err(said(format!("active has {} entries for {} game(s)", mask.len(), self.games))),
        }
    }
}

#[pymethods]
impl Agent {
    /// A model by name or folder, with games that have begun `resets` times anew.
    #[staticmethod]
    #[pyo3(signature = (model, games, seed, threads, resets=0))]
    fn load(py: Python<'_>, model: &str, games: usize, seed: u64, threads: usize, resets: u64) -> PyResult<Agent> {
        call(py, || {
            if games == 0 || games as u128 > MAX_GAMES {
                return Err(said(format!("games is {games}; an agent plays 1 to {MAX_GAMES} games at once")));
            }
            let model = ModelStore::of_environment().find(model)?.load_agent()?;
            let mut agent = icee_games::Agent::new(&Device::cpu(threads)?, &model)?;
            agent.begin_games(games, seed, first_game(resets, games))?;
            let playing = Mutex::new(Playing { agent, process: Process::this(), began: false, resets, noticed: false });
            Ok(Agent { model, games, seed, threads, playing })
        })
    }

    /// Actions at observations that are numbers; 0 for games that are not active.
    #[pyo3(signature = (observations, active=None))]
    fn act_numbers<'py>(
        &self,
        py: Python<'py>,
        observations: PyReadonlyArray1<'py, i64>,
        active: Option<PyReadonlyArray1<'py, bool>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (observations, active) = (observations.as_slice()?, mask(active.as_ref())?);
        let actions = here(py, || {
            // What no observation can be stays what none can be.
            let numbers = observations.iter().map(|&number| u32::try_from(number).unwrap_or(u32::MAX));
            let all = Observations::Discrete(numbers.collect());
            self.decide(&all, active, |game| observations[game].to_string())
        })?;
        Ok(actions.into_pyarray(py))
    }

    /// Actions at observations that are vectors; 0 for games that are not active.
    #[pyo3(signature = (observations, active=None))]
    fn act_vectors<'py>(
        &self,
        py: Python<'py>,
        observations: PyReadonlyArray2<'py, f32>,
        active: Option<PyReadonlyArray1<'py, bool>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let width = observations.as_array().ncols();
        let (observations, active) = (observations.as_slice()?, mask(active.as_ref())?);
        let actions = here(py, || {
            let all = Observations::Vector { width, values: observations.to_vec() };
            self.decide(&all, active, |game| format!("{:?}", &observations[game * width..][..width]))
        })?;
        Ok(actions.into_pyarray(py))
    }

    /// What the actions earned, in the active games or in those that wait for it. Gives what is to be said once.
    #[pyo3(signature = (rewards, done, active=None))]
    fn observe<'py>(
        &self,
        py: Python<'py>,
        rewards: PyReadonlyArray1<'py, f64>,
        done: PyReadonlyArray1<'py, bool>,
        active: Option<PyReadonlyArray1<'py, bool>>,
    ) -> PyResult<Option<String>> {
        let (rewards, done, active) = (rewards.as_slice()?, done.as_slice()?, mask(active.as_ref())?);
        here(py, || {
            let mut playing = self.playing()?;
            let mut games = self.chosen(rewards.len().min(done.len()), "outcome", active)?;
            if active.is_none() && self.games > 1 {
                games.retain(|&game| playing.agent.waits(game as usize));
            }
            let outcome =
                |&game: &u32| StepOutcome { reward: rewards[game as usize] as f32, done: done[game as usize] };
            let outcomes: Vec<StepOutcome> = games.iter().map(outcome).collect();
            playing.agent.observe(&games, &outcomes)?;
            let notice = if playing.noticed { None } else { playing.agent.notice() };
            playing.noticed |= notice.is_some();
            Ok(notice)
        })
    }

    /// New games begin.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        here(py, || {
            let mut playing = self.lock();
            playing.resets += 1;
            (playing.began, playing.noticed) = (false, false);
            if self.threads != 1 && !playing.process.is_this() {
                return self.renew(&mut playing);
            }
            let first = first_game(playing.resets, self.games);
            Ok(playing.agent.begin_games(self.games, self.seed, first)?)
        })
    }

    /// How often games have begun anew, and whether any is running.
    fn progress(&self, py: Python<'_>) -> PyResult<(u64, bool)> {
        here(py, || {
            let playing = self.lock();
            Ok((playing.resets, playing.began))
        })
    }

    /// What it had in mind at its last decision in a game: p(a), p(c), the c that it asked for, whether it asked for more
    /// than ever. Nothing before the first.
    fn thought<'py>(&self, py: Python<'py>, game: usize) -> PyResult<Option<Had<'py>>> {
        let thought = here(py, || {
            let playing = self.lock();
            let bins = playing.agent.blueprint().bins;
            let thought = playing.agent.thought(game).filter(|thought| !thought.actions.is_empty()).cloned();
            Ok(thought.map(|thought| (bins.centre(thought.step_bin as usize), thought)))
        })?;
        Ok(thought.map(|(wanted, Thought { actions, returns, episode_rtg, .. })| {
            (actions.into_pyarray(py), returns.into_pyarray(py), wanted, episode_rtg == 1)
        }))
    }

    /// What it was trained on, as JSON.
    fn describe(&self, py: Python<'_>) -> PyResult<String> {
        let TrainedModel { task, config, step, .. } = &self.model;
        here(py, || {
            let remembered = config.remembered_episodes(task)?;
            json(&serde_json::json!({ "task": task, "method": config.method, "step": step, "remembered": remembered }))
        })
    }

    /// The return at the centre of every bin of p(c).
    fn return_values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let values = here(py, || {
            let bins = self.lock().agent.blueprint().bins;
            Ok((0..bins.count).map(|bin| bins.centre(bin)).collect::<Vec<_>>())
        })?;
        Ok(values.into_pyarray(py))
    }
}

/// p(a), p(c), c, and whether c̃ = 1.
type Had<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, f64, bool);

/// The number of the first game after so many resets, so that no two games of a seed have the same draws.
fn first_game(resets: u64, games: usize) -> u64 {
    resets.wrapping_mul(games as u64)
}

fn mask<'a>(active: Option<&'a PyReadonlyArray1<'_, bool>>) -> PyResult<Option<&'a [bool]>> {
    active.map(|mask| mask.as_slice().map_err(PyErr::from)).transpose()
}
