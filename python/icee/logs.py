"""Logs: episodes to learn from, collected in any environment, read from files, frames or Minari."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icee import _checks as checks
from icee import _native, _play, frames
from icee._native import Error

__all__ = ["Logs", "collect"]

REQUIRED = ("game", "episode", "step", "observation", "action", "reward")
PROBABILITY = "probability"


@dataclass(frozen=True, eq=False)
class Logs:
    """Logged steps, one entry of each column a step. Steps of an episode, and episodes of a game, lie together and in order.

    >>> import icee
    >>> logs = icee.Logs.of({"game": [0, 0, 0], "episode": [0, 0, 1], "step": [0, 1, 0], "observation": [3, 4, 3],
    ...                      "action": [1, 0, 1], "reward": [0, 1, 0]})
    >>> logs
    Logs(3 steps, 2 episodes, 1 game, without probabilities)
    """

    game: NDArray[np.int64]
    """The task; its hidden part stays the same."""
    episode: NDArray[np.int64]
    """The episode of the game."""
    step: NDArray[np.int64]
    """The step of the episode, from 0."""
    observation: NDArray[Any]
    """The observation before the action: numbers from 0, or a vector a row."""
    action: NDArray[np.int64]
    """The action: numbers from 0."""
    reward: NDArray[np.float64]
    """Its reward."""
    probability: NDArray[np.float64] | None = None
    """The probability of the action under the policy that took it, if it is known for every step."""

    def __post_init__(self) -> None:
        lengths = {name: len(column) for name, column in self.to_dict().items()}
        if len(set(lengths.values())) != 1:
            raise Error(f"the columns of a log have one length, not {lengths}")

    @staticmethod
    def of(source: Any, games: ArrayLike | None = None) -> Logs:
        """Logs from what holds them: a path (CSV or JSON lines), a frame (pandas, polars or pyarrow) or a dict with the columns
        game, episode, step, observation, action, reward and, if known, probability; a Minari dataset, or a list of its
        episodes.

        Of Minari's episodes ``games`` says which game each belongs to; without it, all are of one game.

        >>> table = {"game": [0, 0], "episode": [0, 0], "step": [0, 1], "observation": [3, 4], "action": [1.0, 0.0], "reward": [0, 1]}
        >>> icee.Logs.of(table).action
        array([1, 0])
        """
        if isinstance(source, Logs):
            return source
        if isinstance(source, (str, os.PathLike)):
            return Logs(*_native.read_log(os.fspath(source)))
        if hasattr(source, "iterate_episodes"):
            return _of_episodes(source.iterate_episodes(), games)
        if isinstance(source, Sequence) and len(source) and hasattr(source[0], "observations"):
            return _of_episodes(source, games)
        if games is not None:
            raise Error("games is for Minari's episodes; in a table, the column game says it")
        return _of_table(source)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that ``icee train --logs`` reads: JSON lines for ``.jsonl``, CSV otherwise.

        >>> icee.collect("icee/DarkRoomTiny-v0", "random", games=2, episodes=3).save(folder / "log.csv")
        >>> icee.Logs.of(folder / "log.csv")
        Logs(48 steps, 6 episodes, 2 games, with probabilities)
        """
        _native.write_log(os.fspath(path), self)

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """The columns by name; without probability where it is not known.

        >>> logs = icee.collect("icee/DarkRoomTiny-v0", lambda cell: 4, games=1, episodes=1)
        >>> list(logs.to_dict())
        ['game', 'episode', 'step', 'observation', 'action', 'reward']
        """
        columns = {name: getattr(self, name) for name in REQUIRED}
        return columns if self.probability is None else {**columns, PROBABILITY: self.probability}

    def __len__(self) -> int:
        return len(self.game)

    def __repr__(self) -> str:
        def count(number: int, what: str) -> str:
            return f"{number} {what}{'' if number == 1 else 's'}"

        games = np.unique(self.game).size
        episodes = np.unique(np.stack([self.game, self.episode], axis=1), axis=0).shape[0] if len(self) else 0
        known = "with" if self.probability is not None else "without"
        return (
            f"Logs({count(len(self), 'step')}, {count(episodes, 'episode')}, {count(games, 'game')}, "
            f"{known} probabilities)"
        )


Policy = Callable[[Any], Any] | Literal["random"]


def collect(env: Any, policy: Policy, games: int, episodes: int, seed: int = 0) -> Logs:
    """Plays a policy and logs every step.

    ``env`` is as in :func:`icee.evaluate`: an id, an environment, or a function ``make(game)``. ``policy`` is a function of the
    observation that gives an action, or the action and its probability; or ``"random"``.

    Environments that are made of an id or by a function are closed after their game.

    >>> import icee
    >>> icee.collect("icee/DarkRoomTiny-v0", "random", games=2, episodes=3)
    Logs(48 steps, 6 episodes, 2 games, with probabilities)
    >>> icee.collect("icee/DarkRoomTiny-v0", lambda cell: (cell % 5, 1.0), games=1, episodes=1).action
    array([2, 2, 2, 2, 2, 2, 2, 2])
    """
    checks.positive(games=games, episodes=episodes)
    seed = checks.natural("seed", seed)
    if not (policy == "random" or callable(policy)):
        raise Error(f'the policy is a function of the observation or "random", not {policy!r}')
    rows: list[tuple[int, int, int, Any, int, float, float | None]] = []
    with closing(_play.each_game(env, games, seed)) as each:
        for game, (made, begin) in enumerate(each):
            translator = _play.Translator(made)
            choose = _random(translator, seed, game) if policy == "random" else _told(translator, policy)
            for episode in range(episodes):
                observation = made.reset()[0] if episode else begin()
                step, over = 0, False
                while not over:
                    action, probability = choose(observation)
                    seen = translator.observation(observation)
                    observation, reward, terminated, truncated, _ = made.step(translator.action(action))
                    if not math.isfinite(reward):
                        where = f"game {game}, episode {episode}, step {step}"
                        raise Error(f"{translator.name} gave the reward {reward} ({where}); a finite number is needed")
                    rows.append((game, episode, step, seen, action, float(reward), probability))
                    step, over = step + 1, bool(terminated or truncated)
    columns: list[Any] = list(zip(*rows, strict=True))
    known = all(probability is not None for probability in columns[6])
    names = (*REQUIRED, PROBABILITY) if known else REQUIRED
    return _of_columns(dict(zip(names, columns, strict=False)))


Choice = Callable[[Any], tuple[int, float | None]]


def _random(translator: _play.Translator, seed: int, game: int) -> Choice:
    rng = np.random.default_rng([seed, game])
    return lambda _: (int(rng.integers(translator.actions)), 1.0 / translator.actions)


def _told(translator: _play.Translator, policy: Any) -> Choice:
    def choose(observation: Any) -> tuple[int, float | None]:
        choice = policy(observation)
        if isinstance(choice, tuple):
            action, probability = choice
            if not 0.0 < probability <= 1.0:
                raise Error(f"the policy chose {action!r} with the probability {probability!r}; above 0 and up to 1 is needed")
            return translator.number(action), float(probability)
        return translator.number(choice), None

    return choose


def _of_episodes(episodes: Iterable[Any], games: ArrayLike | None) -> Logs:
    """The episodes of Minari, which have one more observation than actions."""
    numbers = None if games is None else np.asarray(games).tolist()
    found: dict[int, list[Any]] = {}
    for index, episode in enumerate(episodes):
        if numbers is not None and index >= len(numbers):
            raise Error(f"games has {len(numbers)} entries; there are more episodes")
        found.setdefault(0 if numbers is None else int(numbers[index]), []).append(episode)
    if numbers is not None and sum(map(len, found.values())) != len(numbers):
        raise Error(f"games has {len(numbers)} entries for {sum(map(len, found.values()))} episodes")
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in REQUIRED}
    for game, list_of in found.items():
        for number, episode in enumerate(list_of):
            if isinstance(episode.observations, (dict, tuple)):
                raise Error("observations of Minari's episodes are numbers or vectors; flatten those of dicts and tuples first")
            actions = np.asarray(episode.actions)
            steps = len(actions)
            parts["game"].append(np.full(steps, game))
            parts["episode"].append(np.full(steps, number))
            parts["step"].append(np.arange(steps))
            parts["observation"].append(np.asarray(episode.observations)[:steps])
            parts["action"].append(actions)
            parts["reward"].append(np.asarray(episode.rewards))
    if not parts["game"]:
        raise Error("there are no episodes")
    return _of_columns({name: np.concatenate(part) for name, part in parts.items()})


def _of_table(table: Any) -> Logs:
    """A frame or a dict of columns."""
    if hasattr(table, "__arrow_c_stream__"):
        table = frames.frame_of(table)
    names = getattr(table, "column_names", None) or getattr(table, "columns", None)
    if names is None:
        names = table.keys() if hasattr(table, "keys") else None
    if names is None:
        raise Error(
            f"logs are a path, a frame, a dict of arrays or Minari's episodes, not an object of type {type(table).__name__}"
        )
    have = {str(name) for name in names}
    missing = [name for name in REQUIRED if name not in have]
    if missing:
        raise Error(f"the log has no column {', '.join(missing)}; it needs {', '.join(REQUIRED)}")
    wanted = (*REQUIRED, PROBABILITY) if PROBABILITY in have else REQUIRED
    return _of_columns({name: table[name] for name in wanted})


def _of_columns(columns: dict[str, Any]) -> Logs:
    observation = _array(columns["observation"])
    if not observation.size:
        raise Error("the log has no steps")
    if observation.dtype.kind in "iu" and observation.ndim == 1:
        observation = observation.astype(np.int64)
        _refuse("observation", observation, observation < 0, "things are numbered from 0, and reals are floats")
    elif observation.dtype.kind in "biuf":
        with np.errstate(over="ignore"):
            observation = observation.reshape(len(observation), -1).astype(np.float32)
        _refuse("observation", observation, ~np.isfinite(observation).all(axis=1), "finite numbers are needed")
    else:
        raise Error(f"the column observation holds {observation.dtype}; whole numbers or vectors of numbers are needed")
    reward = _reals(columns, "reward")
    # Models compute with 32 bits.
    _refuse("reward", reward, ~(np.abs(reward) <= np.finfo(np.float32).max), "finite numbers are needed")
    probability = _reals(columns, PROBABILITY) if PROBABILITY in columns else None
    if probability is not None:
        _refuse(PROBABILITY, probability, (probability <= 0) | (probability > 1), "above 0 and up to 1 is needed")
    logs = Logs(
        game=_wholes(columns, "game"),
        episode=_wholes(columns, "episode"),
        step=_wholes(columns, "step"),
        observation=np.ascontiguousarray(observation),
        action=_wholes(columns, "action"),
        reward=reward,
        probability=None if probability is None or np.isnan(probability).any() else probability,
    )
    _refuse_disorder(logs)
    return logs


def _refuse(name: str, column: NDArray[Any], wrong: NDArray[np.bool_], needed: str) -> None:
    """Names the first invalid row."""
    if wrong.any():
        row = int(wrong.argmax())
        raise Error(f"the column {name} holds {column[row]} in row {row + 1}; {needed}")


def _refuse_disorder(logs: Logs) -> None:
    """Refuses steps that do not follow each other, as they would in a file. Those of several games may be mixed."""
    rows = np.argsort(logs.game, kind="stable")
    game, episode, step = logs.game[rows], logs.episode[rows], logs.step[rows]
    first = np.ones(len(rows), dtype=np.bool_)
    first[1:] = game[1:] != game[:-1]
    follows, returns = np.zeros_like(first), np.zeros_like(first)
    later = np.diff(episode)
    follows[1:] = np.where(later == 0, np.diff(step) == 1, (later > 0) & (step[1:] == 0))
    # A number that comes back after other games is another game: logs are joined like that. It comes back from its beginning, or
    # rows have been shuffled.
    returns[1:] = (np.diff(rows) > 1) & (later <= 0)
    begins = np.flatnonzero(first | (returns & ~follows & ~first))
    earlier = np.zeros_like(first)
    earlier[begins[1:]] = episode[begins[1:]] <= episode[begins[:-1]]
    wrong = np.where(first, step != 0, ~follows & ~(returns & earlier & (step == 0)))
    if wrong.any():
        row = int(rows[wrong].min())
        where = f"game {logs.game[row]}, episode {logs.episode[row]}, step {logs.step[row]}"
        raise Error(
            f"row {row + 1} ({where}) does not follow what comes before it of its game: the first step of an episode is step 0, and "
            "steps, and the episodes of a game, stand in order. Sort by game, episode and step; each game has a number of its own"
        )


def _array(column: Any) -> NDArray[Any]:
    array = np.asarray(column)
    if array.dtype == object:
        # Lists in the cells of a frame.
        cells = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
        try:
            array = np.array([np.asarray(cell) for cell in cells])
        except ValueError:
            raise Error("the column observation holds vectors of different lengths") from None
    return array


def _wholes(columns: dict[str, Any], name: str) -> NDArray[np.int64]:
    array = np.asarray(columns[name])
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        raise Error(f"the column {name} holds {array.dtype} of shape {array.shape}; whole numbers are needed")
    # Frames with a missing value elsewhere have 3.0 for 3.
    wrong = ~((array >= 0) & (array < 2**53) & (array == np.floor(array))) if array.dtype.kind == "f" else array < 0
    _refuse(name, array, wrong, "whole numbers from 0 are needed")
    return np.ascontiguousarray(array, dtype=np.int64)


def _reals(columns: dict[str, Any], name: str) -> NDArray[np.float64]:
    array = np.asarray(columns[name])
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        raise Error(f"the column {name} holds {array.dtype} of shape {array.shape}; numbers are needed")
    return np.ascontiguousarray(array, dtype=np.float64)
