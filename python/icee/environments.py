"""The worlds as Gymnasium environments, one room or thousands. :mod:`icee.worlds` shows how to make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icee import _checks as checks
from icee._gymnasium import MISSING
from icee._native import Error, Worlds
from icee.worlds import spec

try:
    import gymnasium
    from gymnasium.spaces import Box, Discrete, Space
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as missing:
    raise ImportError(MISSING) from missing

SPLITS = ("training", "evaluation")


class WorldEnv(gymnasium.Env[Any, Any]):
    """One room.

    ``reset(seed=s)`` deals a new game, fixed by ``s``; ``reset()`` begins the next episode of the same game.
    ``reset(seed=s, options={"game": n, "split": "evaluation"})`` deals game number ``n`` of those that
    ``icee eval --seed s`` plays (of seed 0 where none is given).
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 8}

    def __init__(self, world: str, split: str = "training", render_mode: str | None = None) -> None:
        self.observation_space, self.action_space = _spaces(world)
        self.render_mode = _render_mode(render_mode)
        self._split = _checked_split(split)
        self._worlds = Worlds(world, 1)
        self._dealt = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode; of a new game where a seed, a game or a split is given."""
        seed = None if seed is None else checks.natural("seed", seed)
        super().reset(seed=seed)
        game, split = _options(options, ())
        if seed is None and game is None and (split is not None or not self._dealt):
            seed = int(self.np_random.integers(2**63))
        if seed is not None or game is not None:
            self._worlds.deal([(0, seed or 0, game or 0)], (split or self._split) == "evaluation")
            self._dealt = True
        return self._worlds.reset_one(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes an action."""
        number = checks.whole(action)
        if number is None:
            raise Error(f"the action is {action!r}, which is none of {self.action_space}")
        observation, reward, terminated, truncated = self._worlds.step_one(number)
        return observation, reward, terminated, truncated, {}

    def render(self) -> str | None:
        """The room as text, its goal included."""
        return self._worlds.render(0) if self.render_mode == "ansi" else None


class VectorWorldEnv(VectorEnv[Any, Any, Any]):
    """Many rooms, each with a game of its own, stepped in one call.

    ``reset(seed=s)`` gives room ``i`` the game of ``WorldEnv.reset(seed=s + i)``; with ``options={"game": n}`` it has game
    ``n + i`` of those of the seed. ``reset()`` and the end of an episode begin the next episode of the same game.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        world: str,
        split: str = "training",
        render_mode: str | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        super().__init__()
        checks.positive(num_envs=num_envs)
        self.num_envs = num_envs
        self.render_mode = _render_mode(render_mode)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**WorldEnv.metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = _spaces(world)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._split = _checked_split(split)
        self._worlds = Worlds(world, num_envs)
        self._dealt = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode in every room, or in those of ``options["reset_mask"]``."""
        one, several = _seeds(seed)
        super().reset(seed=one)
        game, split = _options(options, ("reset_mask",))
        chosen = self._mask((options or {}).get("reset_mask"))
        everywhere = range(self.num_envs)
        numbers = [0] * self.num_envs
        if game is not None:
            if several is not None:
                raise Error('options={"game": ...} goes with one seed, not with a list of seeds')
            seeds: list[int | None] = [one or 0] * self.num_envs
            numbers = [game + i for i in everywhere]
        elif one is not None:
            seeds = [one + i for i in everywhere]
        elif several is not None:
            seeds = several
            if len(seeds) != self.num_envs:
                raise Error(f"{len(seeds)} seeds for {self.num_envs} environments")
        else:
            seeds = [None] * self.num_envs
        unseeded = [i for i in everywhere if seeds[i] is None and (split is not None or not self._dealt[i])]
        if unseeded:
            for i, drawn in zip(unseeded, self.np_random.integers(2**63, size=len(unseeded)).tolist(), strict=True):
                seeds[i] = drawn
        deals = [
            (i, drawn, number)
            for i, drawn, number in zip(everywhere, seeds, numbers, strict=True)
            if drawn is not None and (chosen is None or chosen[i])
        ]
        self._worlds.deal(deals, (split or self._split) == "evaluation")
        self._dealt[[i for i, _, _ in deals]] = True
        return self._worlds.reset(chosen), {}

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Takes an action in every room."""
        if not self._dealt.all():
            # The next step would begin an episode, of a game that nobody has dealt.
            raise Error(f"no episode is running in environment {int(self._dealt.argmin())}; reset() begins one")
        actions = np.asarray(actions)
        if actions.dtype.kind not in "iu" or actions.ndim != 1:
            raise Error(
                f"actions have shape {actions.shape} and dtype {actions.dtype}; {self.num_envs} whole numbers are needed"
            )
        observations, rewards, terminated, truncated, last = self._worlds.step(
            np.ascontiguousarray(actions, dtype=np.int64), self.autoreset_mode.value
        )
        infos: dict[str, Any] = {}
        if last is not None:
            done = terminated | truncated
            last[~done] = 0
            infos = {"final_obs": last, "_final_obs": done, "final_info": {}, "_final_info": done.copy()}
        return observations, rewards, terminated, truncated, infos

    def render(self) -> tuple[str, ...] | None:
        """Every room as text, its goal included."""
        return tuple(map(self._worlds.render, range(self.num_envs))) if self.render_mode == "ansi" else None

    def _mask(self, mask: Any) -> NDArray[np.bool_] | None:
        if mask is None:
            return None
        array: NDArray[np.bool_] = np.ascontiguousarray(mask)
        if array.shape != (self.num_envs,) or array.dtype != np.bool_:
            raise Error(
                f"reset_mask has shape {array.shape} and dtype {array.dtype}; ({self.num_envs},) and bool are needed"
            )
        return array


def _spaces(world: str) -> tuple[Space[Any], Discrete]:
    known = spec(world)
    if known.observations is not None:
        return Discrete(known.observations), Discrete(len(known.actions))
    low, high = np.array(known.low, dtype=np.float32), np.array(known.high, dtype=np.float32)
    return Box(low, high, dtype=np.float32), Discrete(len(known.actions))


def _seeds(seed: Any) -> tuple[int | None, list[int | None] | None]:
    """One seed, or one of each environment."""
    if seed is None:
        return None, None
    if np.ndim(seed) == 0:
        return checks.natural("seed", seed), None
    return None, [None if each is None else checks.natural("seed", each) for each in seed]


def _options(options: dict[str, Any] | None, more: tuple[str, ...]) -> tuple[int | None, str | None]:
    """The game and the split that options ask for."""
    options = options or {}
    known = ("game", "split", *more)
    for key in options:
        if key not in known:
            raise Error(f"options has {key!r}; known are {', '.join(known)}")
    game, split = options.get("game"), options.get("split")
    return None if game is None else checks.natural("game", game), None if split is None else _checked_split(split)


def _checked_split(split: str) -> str:
    if split not in SPLITS:
        raise Error(f"split is {' or '.join(map(repr, SPLITS))}, not {split!r}")
    return split


def _render_mode(mode: str | None) -> str | None:
    if mode not in (None, "ansi"):
        raise Error(f"render_mode is None or 'ansi', not {mode!r}")
    return mode
