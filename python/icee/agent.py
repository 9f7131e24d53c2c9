"""Agents: trained models that learn a new game while they play it."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icee import _checks as checks
from icee import _native
from icee._native import Error

__all__ = ["Agent"]


class Agent:
    """A trained model at play. It learns from the rewards of its actions within its context.

    One game of one's own:

    >>> import icee
    >>> agent = icee.Agent.load("dark-room__icee", seed=0)
    >>> agent
    Agent('dark-room__icee', games=1, seed=0)
    >>> action = agent.act(40)                # what it sees: a cell, by number or as (x, y)
    >>> agent.observe(0.0, terminated=False)  # the reward
    >>> sorted(agent.thought)
    ['actions', 'better', 'return_values', 'returns', 'wanted']

    Many games at once, as a vector environment plays them; ``active`` leaves out rooms that are being reset:

    >>> import gymnasium
    >>> rooms = gymnasium.make_vec("icee/DarkRoom-v0", num_envs=8)
    >>> agent = icee.Agent.load("dark-room__icee", games=8)
    >>> observations, _ = rooms.reset(seed=1)
    >>> active = None
    >>> for _ in range(30):
    ...     actions = agent.act(observations, active=active)
    ...     observations, rewards, terminated, truncated, _ = rooms.step(actions)
    ...     agent.observe(rewards, terminated, truncated, active=active)
    ...     active = ~(terminated | truncated)

    The end of an episode is not the end of the game: what was found stays known. :meth:`reset` begins new games.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        games: int = 1,
        seed: int = 0,
        *,
        threads: int | None = None,
        _resets: int = 0,
    ) -> None:
        name = os.fspath(model)
        # A folder is found from any other, too.
        self._model = os.path.abspath(name) if os.path.isdir(name) else name
        self._name = name
        self._games, self._seed = checks.natural("games", games, 1), checks.natural("seed", seed)
        self._threads = (1 if games == 1 else 0) if threads is None else threads
        self._native = _native.Agent.load(self._model, self._games, self._seed, self._threads, _resets)
        about = json.loads(self._native.describe())
        self._task: dict[str, Any] = about["task"]
        self._about: dict[str, Any] = {"name": name, "method": about["method"], "steps": about["step"]}
        self._remembered: int = about["remembered"]
        ((self._kind, self._size),) = self._task["observation"].items()

    @classmethod
    def load(
        cls, model: str | os.PathLike[str], games: int = 1, seed: int = 0, *, threads: int | None = None
    ) -> Agent:
        """A model by its name, or by a run folder or checkpoint folder, at the start of new games.

        ``seed`` fixes all draws, and gives those that ``icee eval --seed`` makes. ``threads`` is 1 for one game and all
        cores for many, unless something else is said.
        """
        return cls(model, games, seed, threads=threads)

    @overload
    def act(self, observation: int | tuple[int, int], *, active: None = None) -> int: ...
    @overload
    def act(self, observation: ArrayLike, *, active: ArrayLike | None = None) -> Any: ...
    def act(self, observation: Any, *, active: ArrayLike | None = None) -> int | NDArray[np.int64]:
        """Chooses the action at an observation; for arrays of observations an array of actions.

        ``active`` are the games to act in: an array of booleans, where some games are over or paused. Others get 0.
        """
        observations, alone = self._observations(observation)
        mask = self._mask(active)
        if self._kind == "vector":
            actions = self._native.act_vectors(observations, mask)
        else:
            actions = self._native.act_numbers(observations, mask)
        return int(actions[0]) if alone else actions

    def observe(
        self,
        reward: ArrayLike,
        terminated: ArrayLike,
        truncated: ArrayLike = False,
        *,
        active: ArrayLike | None = None,
    ) -> None:
        """The rewards of the actions, and whether their episodes are over; of all games that have acted, or of those that
        are ``active``."""
        rewards = self._each("reward", reward, "biuf").astype(np.float64)
        done = self._each("terminated", terminated, "b") | self._each("truncated", truncated, "b")
        notice = self._native.observe(np.ascontiguousarray(rewards), done, self._mask(active))
        if notice is not None:
            warnings.warn(notice, stacklevel=2)

    def reset(self) -> None:
        """Begins new games: forgets everything. The seed and the number of resets fix the draws."""
        self._native.reset()

    def copy(self, games: int | None = None, seed: int | None = None) -> Agent:
        """The same model at the start of new games."""
        games, seed = self._games if games is None else games, self._seed if seed is None else seed
        return Agent(self._model, games, seed, threads=self._threads if games == self._games else None)

    @property
    def games(self) -> int:
        """How many games it plays at once."""
        return self._games

    @property
    def seed(self) -> int:
        """What fixes its draws."""
        return self._seed

    @property
    def model(self) -> dict[str, Any]:
        """The model: its name, its method, the steps of its training."""
        return dict(self._about)

    @property
    def actions(self) -> int:
        """How many actions there are."""
        return int(self._task["actions"])

    @property
    def episodes(self) -> int:
        """Episodes that a game of its world or log has; as many are played by :func:`icee.evaluate`. How many of them it
        can remember is :attr:`remembered_episodes`."""
        return int(self._task["episodes"])

    @property
    def remembered_episodes(self) -> int:
        """The most episodes that it was trained to remember. When there are more, the oldest quarter is forgotten."""
        return self._remembered

    @property
    def episode_limit(self) -> int:
        """The most steps of an episode, as in training."""
        return int(self._task["episode_limit"])

    @property
    def observation_space(self) -> dict[str, Any]:
        """What it sees: ``{"type": "grid", "width": 9, "height": 9, "n": 81}``, ``{"type": "discrete", "n": 3}`` or
        ``{"type": "vector", "size": 4}``."""
        if self._kind == "grid":
            width, height = self._size["width"], self._size["height"]
            return {"type": "grid", "width": width, "height": height, "n": width * height}
        if self._kind == "discrete":
            return {"type": "discrete", "n": self._size["size"]}
        return {"type": "vector", "size": self._size["size"]}

    @property
    def thought(self) -> Any:
        """What it had in mind at its last decision; for several games a list.

        ``actions`` has the probability of every action, ``returns`` that of every return still to come in the episode
        (``return_values`` says which those are; both empty where the method predicts none), ``wanted`` the return that it
        conditioned on, ``better`` whether that is better than in all episodes before. Empty before the first decision.
        """
        thoughts = [self._thought(game) for game in range(self._games)]
        return thoughts[0] if self._games == 1 else thoughts

    def _thought(self, game: int) -> dict[str, Any]:
        had = self._native.thought(game)
        if had is None:
            return {}
        actions, returns, wanted, better = had
        values = self._native.return_values() if len(returns) else np.empty(0)
        return {"actions": actions, "returns": returns, "return_values": values, "wanted": wanted, "better": better}

    def _observations(self, observation: Any) -> tuple[NDArray[Any], bool]:
        """Observations of all games in one array, and whether it was one that does not stand in a list."""
        array = np.asarray(observation)
        if self._kind == "vector":
            size = self._size["size"]
            self._numbers("observation", array, "biuf")
            if array.ndim >= 2 and len(array) == self._games and array.size == self._games * size:
                alone = False
            elif self._games == 1 and array.size == size:
                alone = True
            else:
                raise Error(self._shape("the observation", array, f"{size} numbers", (self._games, size)))
            return np.ascontiguousarray(array.reshape(self._games, size), dtype=np.float32), alone
        self._numbers("observation", array, "iu")
        alone = False
        if self._games == 1 and (array.ndim == 0 or (self._kind == "grid" and array.shape == (2,))):
            array, alone = array[np.newaxis], True
        if self._kind == "grid" and array.shape == (self._games, 2):
            array = self._cells(array)
        if array.shape != (self._games,):
            raise Error(self._shape("the observation", array, "one number a game", (self._games,)))
        return np.ascontiguousarray(array, dtype=np.int64), alone

    def _cells(self, pairs: NDArray[Any]) -> NDArray[Any]:
        """The numbers of cells that were given as (x, y)."""
        width, height = self._size["width"], self._size["height"]
        x, y = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
        wrong = np.flatnonzero((x < 0) | (x >= width) | (y < 0) | (y >= height))
        if len(wrong):
            cell = tuple(pairs[wrong[0]].tolist())
            raise Error(f"the observation {cell} is no cell (x, y) of {width} x {height}")
        cells: NDArray[np.int64] = y * width + x
        return cells

    def _each(self, name: str, values: ArrayLike, kinds: str) -> NDArray[Any]:
        """One value for each game; a single one is meant for all."""
        array = np.asarray(values)
        self._numbers(name, array, kinds)
        if array.ndim == 0 and (self._games == 1 or name == "truncated"):
            array = np.full(self._games, array)
        if array.shape != (self._games,):
            raise Error(self._shape(name, array, "one a game", (self._games,)))
        return array

    def _mask(self, active: ArrayLike | None) -> NDArray[np.bool_] | None:
        return None if active is None else np.ascontiguousarray(self._each("active", active, "b"))

    @staticmethod
    def _numbers(name: str, array: NDArray[Any], kinds: str) -> None:
        if array.dtype.kind not in kinds:
            needed = {"b": "True or False", "iu": "whole numbers", "biuf": "numbers"}[kinds]
            raise Error(f"{name} has dtype {array.dtype}; {needed} are needed")

    def _shape(self, what: str, array: NDArray[Any], needed: str, shape: tuple[int, ...]) -> str:
        return f"{what} has shape {array.shape}; an agent of {self._games} game(s) needs {needed}: {shape}"

    def __reduce__(self) -> tuple[Any, ...]:
        resets, running = self._native.progress()
        if running:
            raise Error("an agent in the middle of its games cannot be pickled or copied; reset() begins new games")
        return _restored, (self._model, self._games, self._seed, self._threads, resets)

    def __repr__(self) -> str:
        return f"Agent({self._name!r}, games={self._games}, seed={self._seed})"


def _restored(model: str, games: int, seed: int, threads: int, resets: int) -> Agent:
    return Agent(model, games, seed, threads=threads, _resets=resets)
