"""What playing environments of other people's needs: making them, and translating what is seen and done."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icee._gymnasium import MISSING, NAMESPACE
from icee._checks import whole
from icee._native import Error

WORLD = f"{NAMESPACE}/"


class Translator:
    """Turns an environment's observations into numbers or vectors, and actions from 0 on into its own."""

    def __init__(self, env: Any) -> None:
        self.name = str(env)
        action, seen = env.action_space, env.observation_space
        if not _is_discrete(action):
            raise Error(f"{self.name} has the actions {action}; agents choose among Discrete(n) actions")
        self.actions = int(action.n)
        self._first_action = int(getattr(action, "start", 0))
        if _is_discrete(seen):
            self.observations: int | None = int(seen.n)
            self.size: int | None = None
            self._first = int(getattr(seen, "start", 0))
        elif hasattr(seen, "low") and hasattr(seen, "high") and seen.shape is not None:
            self.observations, self.size = None, int(np.prod(seen.shape))
        else:
            raise Error(
                f"{self.name} has the observations {seen}; Discrete and Box can be learned from, and "
                "gymnasium.wrappers.FlattenObservation makes a Box of many others"
            )

    def observation(self, observation: Any) -> Any:
        """A number, or a flat vector."""
        if self.size is None:
            number = whole(observation)
            if number is None:
                raise Error(f"{self.name} gave the observation {observation!r}; a whole number is needed")
            return number - self._first
        return np.asarray(observation, dtype=np.float32).reshape(self.size)

    def action(self, action: int) -> int:
        """An action as the environment numbers it."""
        return action + self._first_action

    def number(self, action: Any) -> int:
        """An action of the environment, counted from 0."""
        number = whole(action)
        if number is None or not 0 <= number - self._first_action < self.actions:
            raise Error(f"the policy chose {action!r}, which is none of the {self.actions} actions of {self.name}")
        return number - self._first_action


def _is_discrete(space: Any) -> bool:
    return hasattr(space, "n") and getattr(space, "shape", None) == ()


def makes(env: Any) -> bool:
    """Whether it is a function (or a class) that makes environments."""
    return callable(env) and (isinstance(env, type) or not hasattr(env, "reset"))


def each_game(env: Any, games: int, seed: int) -> Generator[tuple[Any, Callable[[], Any]], None, None]:
    """An environment for each game, and what begins the first episode in it.

    An environment is taken as it is: the seed of its first reset makes the game. A function makes one for each game. An id is
    made anew for each game. What was made is closed when the next is there, or when the iterator is.
    """
    made = None
    try:
        for game in range(games):
            last, made = made, _environment(env, game)
            if last is not None and last is not made:
                _close(last, env)
            yield made, _first_episode(made, env, game, seed)
    finally:
        _close(made, env)


@contextmanager
def all_games(env: Any, games: int, seed: int) -> Iterator[list[tuple[Any, Callable[[], Any]]]]:
    """The same for all games at once."""
    with ExitStack() as opened:
        made = []
        known: set[int] = set()
        for game in range(games):
            one = _environment(env, game)
            if id(one) not in known:
                opened.callback(_close, one, env)
            known.add(id(one))
            made.append((one, _first_episode(one, env, game, seed)))
        yield made


def _environment(env: Any, game: int) -> Any:
    """The environment of a game."""
    if isinstance(env, str):
        made = _made(env, "training")
    elif makes(env):
        made = env(game)
    else:
        made = env
    if not (hasattr(made, "reset") and hasattr(made, "step")):
        raise Error(f"{made!r} is no environment; give an environment, an id, or a function that makes one of a game")
    return made


def _close(made: Any, env: Any) -> None:
    """Closes an environment, unless it is the caller's own."""
    if made is not env and hasattr(made, "close"):
        made.close()


def _first_episode(made: Any, env: Any, game: int, seed: int) -> Callable[[], Any]:
    if isinstance(env, str) and env.startswith(WORLD):
        return lambda: made.reset(seed=seed, options={"game": game})[0]
    return lambda: made.reset(seed=seed + game)[0]


def _made(id: str, split: str) -> Any:
    if id.startswith(WORLD):
        from icee.environments import WorldEnv

        return WorldEnv(id.removeprefix(WORLD), split=split)
    try:
        import gymnasium
    except ImportError as missing:
        raise ImportError(MISSING) from missing
    return gymnasium.make(id)


def stacked(observations: list[Any], translator: Translator) -> NDArray[Any]:
    """Observations of many games in one array."""
    if translator.size is None:
        return np.array(observations, dtype=np.int64)
    return np.stack(observations)
