"""The worlds: dark rooms with hidden goals, as Gymnasium environments.

>>> import gymnasium, icee
>>> env = gymnasium.make("icee/DarkRoom-v0", render_mode="ansi")
>>> observation, info = env.reset(seed=7)  # a room of its own, the same for every 7
>>> env.observation_space, env.action_space
(Discrete(81), Discrete(5))
>>> observation, reward, terminated, truncated, info = env.step(4)
>>> observation, info = env.reset()        # the next episode in the same room

Thousands of rooms, stepped in one call:

>>> rooms = gymnasium.make_vec("icee/DarkRoom-v0", num_envs=4096)
>>> observations, infos = rooms.reset(seed=7)
>>> observations.shape
(4096,)

Game number ``n`` of those that ``icee eval --seed S`` plays:

>>> observation, info = env.reset(seed=0, options={"game": 3, "split": "evaluation"})
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from icee._gymnasium import NAMESPACE, register
from icee._native import Error, world_specs

__all__ = ["WorldSpec", "ids", "register", "spec"]


@dataclass(frozen=True)
class WorldSpec:
    """What is known of a world before playing."""

    id: str
    """Its id in Gymnasium."""
    rules: str
    """Its rules in a line."""
    actions: tuple[str, ...]
    """The names of its actions."""
    episode_limit: int
    """The most steps of an episode."""
    episodes: int
    """Episodes that a game usually has."""
    grid: tuple[int, int] | None
    """Columns and rows, where an observation is the number of a cell, row by row."""
    observations: int | None
    """How many observations there are, where they are numbers."""
    low: tuple[float, ...] | None
    """The least value of each coordinate, where observations are vectors."""
    high: tuple[float, ...] | None
    """The greatest value of each coordinate, where observations are vectors."""


def _specs() -> dict[str, WorldSpec]:
    specs = {}
    for raw in json.loads(world_specs()):
        space = raw["observation"]
        grid = tuple(space["grid"]) if "grid" in space else None
        size = space.get("discrete") if grid is None else grid[0] * grid[1]
        low, high = (
            tuple(end if value is None else value for value in space[side]) if side in space else None
            for side, end in (("low", -float("inf")), ("high", float("inf")))
        )
        specs[f"{NAMESPACE}/{raw['id']}"] = WorldSpec(
            id=f"{NAMESPACE}/{raw['id']}",
            rules=raw["rules"],
            actions=tuple(raw["actions"]),
            episode_limit=raw["episode_limit"],
            episodes=raw["episodes"],
            grid=grid,
            observations=size,
            low=low,
            high=high,
        )
    return specs


def ids() -> list[str]:
    """The ids of all worlds.

    >>> import icee
    >>> icee.worlds.ids()[0]
    'icee/DarkRoom-v0'
    """
    return list(_specs())


def spec(id: str) -> WorldSpec:
    """What is known of a world.

    >>> import icee
    >>> icee.worlds.spec("icee/DarkRoom-v0").grid
    (9, 9)
    """
    specs = _specs()
    name = id if id.startswith(f"{NAMESPACE}/") else f"{NAMESPACE}/{id}"
    if name not in specs:
        raise Error(f"there is no world {id!r}; known are {', '.join(specs)}")
    return specs[name]
