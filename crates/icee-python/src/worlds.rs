//! Worlds as Gymnasium plays them: one or thousands of rooms, stepped in one call.

use crate::call::{Result, here, json, said};
use icee_worlds::{
    MAX_GAMES, Observation, ObservationSpace, Observations, Purpose, Registry, Split, StreamRng, World, WorldSpec,
    stream,
};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use rand::Rng;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What happens where an episode is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Autoreset {
    /// The next step begins the next episode, whatever its action.
    NextStep,
    /// The same step does.
    SameStep,
    /// Nothing does but `reset`.
    Disabled,
}

/// Rooms of one world, each with a game of its own.
#[pyclass(frozen, module = "icee._native")]
pub struct Worlds {
    spec: WorldSpec,
    rooms: Mutex<Rooms>,
}

struct Rooms {
    rooms: Vec<Room>,
    /// What is seen in each.
    seen: Seen,
}

/// A game, as [`Games::deal`](icee_worlds::Games::deal) deals it.
struct Room {
    world: Box<dyn World>,
    /// The seed of each episode's start is drawn from here.
    starts: StreamRng,
    /// Whether no episode is running.
    over: bool,
}

/// Observations, as arrays hold them.
#[derive(Clone)]
enum Seen {
    Numbers(Vec<i64>),
    Vectors { width: usize, values: Vec<f32> },
}

/// What a step gave, a list of each.
type Steps<'py> =
    (Py<PyAny>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<bool>>, Option<Py<PyAny>>);

impl Seen {
    fn new(space: &ObservationSpace, count: usize) -> Seen {
        match Observations::new(space) {
            Observations::Discrete(_) => Seen::Numbers(vec![0; count]),
            Observations::Vector { width, .. } => Seen::Vectors { width, values: vec![0.0; width * count] },
        }
    }

    #[inline]
    fn set(&mut self, room: usize, observation: Observation<'_>) {
        match (self, observation) {
            (Seen::Numbers(numbers), Observation::Discrete(number)) => numbers[room] = i64::from(number),
            (Seen::Vectors { width, values }, Observation::Vector(new)) => {
                values[room * *width..][..*width].copy_from_slice(new);
            }
            // No world gives what is not of its space.
            _ => {}
        }
    }

    /// Takes what is seen in one room from another list.
    fn copy(&mut self, room: usize, other: &Seen) {
        match other {
            Seen::Numbers(numbers) => self.set(room, Observation::Discrete(numbers[room] as u32)),
            Seen::Vectors { width, values } => self.set(room, Observation::Vector(&values[room * width..][..*width])),
        }
    }

    fn into_array(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Seen::Numbers(numbers) => numbers.into_pyarray(py).into_py_any(py),
            Seen::Vectors { width, values } => {
                let count = values.len() / width.max(1);
                values.into_pyarray(py).reshape([count, width])?.into_py_any(py)
            }
        }
    }

    /// That of the first room alone.
    fn into_one(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Seen::Numbers(numbers) => numbers.first().copied().unwrap_or(0).into_py_any(py),
            Seen::Vectors { values, .. } => values.into_pyarray(py).into_py_any(py),
        }
    }
}

impl Room {
    fn deal(&mut self, seed: u64, game: u64, split: Split) {
        self.world.new_game(stream(seed, Purpose::Games, game).next_u64(), split);
        self.starts = stream(seed, Purpose::Starts, game);
        self.over = true;
    }

    #[inline]
    fn reset(&mut self, index: usize, seen: &mut Seen) {
        seen.set(index, self.world.reset(self.starts.next_u64()));
        self.over = false;
    }
}

impl Rooms {
    /// Refuses what cannot be done before anything is.
    fn check(&self, spec: &WorldSpec, actions: &[i64], autoreset: Autoreset) -> Result<()> {
        let known = spec.actions();
        if actions.len() != self.rooms.len() {
            return Err(said(format!("{} action(s) for {} environment(s)", actions.len(), self.rooms.len())));
        }
        if let Some(room) = actions.iter().position(|&action| action < 0 || action >= known as i64) {
            let last = known - 1;
            return Err(said(format!(
                "the action of environment {room} is {}; {} has 0 to {last}",
                actions[room], spec.id
            )));
        }
        let waits = |room: &Room| room.over && autoreset != Autoreset::NextStep;
        if let Some(room) = self.rooms.iter().position(waits) {
            return Err(said(format!("no episode is running in environment {room}; reset() begins one")));
        }
        Ok(())
    }

    /// Steps every room.
    fn step(&mut self, actions: &[i64], autoreset: Autoreset) -> Result<Stepped> {
        let mut stepped = Stepped::new(self.rooms.len());
        for (index, (room, &action)) in self.rooms.iter_mut().zip(actions).enumerate() {
            if room.over {
                room.reset(index, &mut self.seen);
                continue;
            }
            let step = room.world.step(action as usize)?;
            self.seen.set(index, step.observation);
            stepped.rewards[index] = f64::from(step.reward);
            (stepped.terminated[index], stepped.truncated[index]) = (step.terminated, step.truncated);
            room.over = step.done();
            if room.over && autoreset == Autoreset::SameStep {
                match &mut stepped.last {
                    Some(last) => last.copy(index, &self.seen),
                    None => stepped.last = Some(self.seen.clone()),
                }
                room.reset(index, &mut self.seen);
            }
        }
        Ok(stepped)
    }
}

/// What a step of every room gave.
struct Stepped {
    rewards: Vec<f64>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    /// Where episodes ended and others began at once: what was seen at their ends.
    last: Option<Seen>,
}

impl Stepped {
    fn new(count: usize) -> Stepped {
        Stepped { rewards: vec![0.0; count], terminated: vec![false; count], truncated: vec![false; count], last: None }
    }
}

impl Worlds {
    fn lock(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Worlds {
    /// Rooms of a world by its id. No game is dealt yet but one that all of them have.
    #[new]
    fn new(py: Python<'_>, id: &str, count: usize) -> PyResult<Worlds> {
        here(py, || {
            if count == 0 || count as u128 > MAX_GAMES {
                return Err(said(format!("{count} environments; 1 to {MAX_GAMES} can be played at once")));
            }
            let world = Registry::builtin().make(id)?;
            let spec = world.spec().clone();
            let room = || Room { world: world.clone_world(), starts: stream(0, Purpose::Starts, 0), over: true };
            let rooms =
                Rooms { rooms: (0..count).map(|_| room()).collect(), seen: Seen::new(&spec.observation_space, count) };
            Ok(Worlds { spec, rooms: Mutex::new(rooms) })
        })
    }

    /// Deals new games: each is fixed by a seed and its number among those of the seed. No episode runs then.
    fn deal(&self, py: Python<'_>, games: Vec<(usize, u64, u64)>, evaluation: bool) -> PyResult<()> {
        here(py, || {
            let split = if evaluation { Split::Evaluation } else { Split::Training };
            let rooms = &mut self.lock().rooms;
            for (room, seed, game) in games {
                let known = rooms.len();
                let room = rooms.get_mut(room).ok_or_else(|| said(format!("environment {room} of {known}")))?;
                room.deal(seed, game, split);
            }
            Ok(())
        })
    }

    /// Begins the next episode of every room, or of those of a mask. Gives what is seen in all.
    #[pyo3(signature = (chosen=None))]
    fn reset<'py>(&self, py: Python<'py>, chosen: Option<PyReadonlyArray1<'py, bool>>) -> PyResult<Py<PyAny>> {
        let chosen = chosen.as_ref().map(|mask| mask.as_slice()).transpose()?;
        let seen = here(py, || {
            let Rooms { rooms, seen } = &mut *self.lock();
            if let Some(mask) = chosen.filter(|mask| mask.len() != rooms.len()) {
                return Err(said(format!("a mask of {} for {} environment(s)", mask.len(), rooms.len())));
            }
            for (index, room) in
                rooms.iter_mut().enumerate().filter(|(index, _)| chosen.is_none_or(|mask| mask[*index]))
            {
                room.reset(index, seen);
            }
            Ok(seen.clone())
        })?;
        seen.into_array(py)
    }

    /// Steps every room.
    fn step<'py>(&self, py: Python<'py>, actions: PyReadonlyArray1<'py, i64>, autoreset: &str) -> PyResult<Steps<'py>> {
        let actions = actions.as_slice()?;
        let (Stepped { rewards, terminated, truncated, last }, seen) = here(py, || {
            let autoreset = autoreset_of(autoreset)?;
            let mut rooms = self.lock();
            rooms.check(&self.spec, actions, autoreset)?;
            Ok((rooms.step(actions, autoreset)?, rooms.seen.clone()))
        })?;
        let last = last.map(|last| last.into_array(py)).transpose()?;
        let (terminated, truncated) = (terminated.into_pyarray(py), truncated.into_pyarray(py));
        Ok((seen.into_array(py)?, rewards.into_pyarray(py), terminated, truncated, last))
    }

    /// Begins the next episode of the only room.
    fn reset_one(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let seen = here(py, || {
            let Rooms { rooms, seen } = &mut *self.lock();
            rooms.iter_mut().enumerate().for_each(|(index, room)| room.reset(index, seen));
            Ok(seen.clone())
        })?;
        seen.into_one(py)
    }

    /// Steps the only room.
    fn step_one(&self, py: Python<'_>, action: i64) -> PyResult<(Py<PyAny>, f64, bool, bool)> {
        let (stepped, seen) = here(py, || {
            let mut rooms = self.lock();
            rooms.check(&self.spec, &[action], Autoreset::Disabled)?;
            Ok((rooms.step(&[action], Autoreset::Disabled)?, rooms.seen.clone()))
        })?;
        Ok((seen.into_one(py)?, stepped.rewards[0], stepped.terminated[0], stepped.truncated[0]))
    }

    /// A room as text, what is hidden included.
    fn render(&self, py: Python<'_>, room: usize) -> PyResult<String> {
        here(py, || {
            let rooms = self.lock();
            Ok(rooms.rooms.get(room).map_or_else(String::new, |room| room.world.render()))
        })
    }
}

/// What is known of every world, as JSON.
#[pyfunction]
pub fn world_specs(py: Python<'_>) -> PyResult<String> {
    let describe = |spec: &WorldSpec| {
        let space = match &spec.observation_space {
            ObservationSpace::Discrete { size } => serde_json::json!({ "discrete": size }),
            ObservationSpace::Grid { width, height } => serde_json::json!({ "grid": [width, height] }),
            // What has no end is null.
            ObservationSpace::Vector { low, high } => serde_json::json!({ "low": low, "high": high }),
        };
        serde_json::json!({
            "id": spec.id, "rules": spec.rules, "observation": space, "actions": spec.action_names,
            "episode_limit": spec.episode_limit, "episodes": spec.episodes,
        })
    };
    here(py, || json(&Registry::builtin().specs().map(describe).collect::<Vec<_>>()))
}

fn autoreset_of(word: &str) -> Result<Autoreset> {
    match word {
        "NextStep" => Ok(Autoreset::NextStep),
        "SameStep" => Ok(Autoreset::SameStep),
        "Disabled" => Ok(Autoreset::Disabled),
        _ => Err(said(format!("autoreset_mode is \"NextStep\", \"SameStep\" or \"Disabled\", not \"{word}\""))),
    }
}
