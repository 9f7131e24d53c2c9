"""What an agent earns on games that it has never met, episode by episode."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icee import _checks as checks
from icee import _play
from icee._native import Error
from icee.agent import Agent

__all__ = ["evaluate"]


def evaluate(
    agent: Agent | str | os.PathLike[str],
    env: Any = None,
    games: int = 100,
    episodes: int | None = None,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Lets an agent play games from their beginning; gives the return of every episode, ``[games, episodes]``.

    ``env`` is the id of an environment, a function ``make(game)`` that gives an environment for each game, or one
    environment, in which ``reset(seed=seed + game)`` must make a new game and ``reset()`` begin the next episode of the same
    one. Without it, the world of the model is played. What is made of an id or by a function is closed at the end. ``episodes`` of each
    game are played, by default as many as one of that world, or of the agent's own, has; an agent may remember fewer
    (:attr:`Agent.remembered_episodes`). ``agent`` is an agent or the name or folder of a model; it is copied, so that what it plays
    elsewhere goes on.

    The worlds of icee are played many at once, the games that ``icee eval --seed`` plays with the same returns:

    >>> import icee
    >>> returns = icee.evaluate("dark-room__icee", games=20, episodes=6)
    >>> returns.shape
    (20, 6)
    >>> bool(returns[:, 5].mean() > returns[:, 0].mean())   # it has found the goals
    True
    """
    checks.positive(games=games)
    seed = checks.natural("seed", seed)
    player = agent if isinstance(agent, Agent) else Agent(agent)
    if env is None:
        if player._task["name"] == "logs":
            raise Error("this model has learned from logs, so there is no world to play; give an environment")
        env = _play.WORLD + player._task["name"]
    if isinstance(env, str) and env.startswith(_play.WORLD):
        return _in_world(player.copy(games, seed), env, episodes)
    episodes = player.episodes if episodes is None else episodes
    checks.positive(episodes=episodes)
    if isinstance(env, str) or _play.makes(env):
        with _play.all_games(env, games, seed) as made:
            return _side_by_side(player.copy(games, seed), made, episodes)
    # One environment has one game at a time. After so many resets the draws are those of the game with that number.
    one = player.copy(1, seed)
    rows = []
    for game in _play.each_game(env, games, seed):
        rows.append(_side_by_side(one, [game], episodes))
        one.reset()
    return np.concatenate(rows)


def _in_world(agent: Agent, id: str, episodes: int | None) -> NDArray[np.float64]:
    """Games of one of our worlds, in the order of ``icee eval``."""
    from icee.environments import VectorWorldEnv
    from icee.worlds import spec

    world = spec(id)
    episodes = world.episodes if episodes is None else episodes
    checks.positive(episodes=episodes)
    rooms = VectorWorldEnv(agent.games, world=id.removeprefix(_play.WORLD), split="evaluation")
    _check(agent, world.id, len(world.actions), world.observations, None if world.low is None else len(world.low))
    observations, _ = rooms.reset(seed=agent.seed, options={"game": 0})
    returns = np.zeros((agent.games, episodes))
    episode = np.zeros(agent.games, dtype=np.int64)
    running = np.ones(agent.games, dtype=np.bool_)
    while (episode < episodes).any():
        # Rooms whose episode has just ended are reset by this step, whatever is done in them.
        active = running & (episode < episodes)
        actions = agent.act(observations, active=active)
        observations, rewards, terminated, truncated, _ = rooms.step(actions)
        agent.observe(rewards, terminated, truncated, active=active)
        returns[active, episode[active]] += rewards[active]
        running = ~(terminated | truncated)
        episode[active & ~running] += 1
    return returns


def _side_by_side(agent: Agent, games: list[tuple[Any, Any]], episodes: int) -> NDArray[np.float64]:
    """Games of environments, stepped one after another, with all decisions in one call."""
    translators = [_play.Translator(env) for env, _ in games]
    for translator in translators:
        _check(agent, translator.name, translator.actions, translator.observations, translator.size)
    seen = [t.observation(begin()) for t, (_, begin) in zip(translators, games, strict=True)]
    returns = np.zeros((len(games), episodes))
    episode = np.zeros(len(games), dtype=np.int64)
    while (episode < episodes).any():
        active = episode < episodes
        actions = agent.act(_play.stacked(seen, translators[0]), active=active)
        rewards = np.zeros(len(games))
        done = np.zeros(len(games), dtype=np.bool_)
        for game in np.flatnonzero(active).tolist():
            env, translator = games[game][0], translators[game]
            observation, reward, terminated, truncated, _ = env.step(translator.action(int(actions[game])))
            rewards[game], done[game] = reward, terminated or truncated
            if done[game] and episode[game] + 1 < episodes:
                observation, _ = env.reset()
            seen[game] = translator.observation(observation)
        agent.observe(rewards, done, active=active)
        returns[active, episode[active]] += rewards[active]
        episode[done] += 1
    return returns


def _check(agent: Agent, name: str, actions: int, observations: int | None, size: int | None) -> None:
    """Refuses an environment that is seen or played in another way than the agent knows."""
    known = agent.observation_space
    theirs = f"{observations} observations" if observations is not None else f"vectors of {size}"
    ours = f"{known['n']} observations" if "n" in known else f"vectors of {known['size']}"
    fits = (observations, size) == (known.get("n"), known.get("size"))
    if agent._task["name"] == "logs" and observations is not None and "n" in known:
        # A log need not show all that there is; what it does not show is refused when it is met.
        fits = observations >= known["n"]
    if not fits or actions != agent.actions:
        raise Error(
            f"{name} has {theirs} and {actions} actions; the model {agent.model['name']} knows {ours} and "
            f"{agent.actions} actions"
        )
