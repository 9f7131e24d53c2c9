"""A world of one's own: a corridor, and the reward is hidden at one of its ends.

Takes a minute; mean return by episode: 0.46 in the first, when nobody knows the end, and 1.00 in all others.
"""

import gymnasium
import icee
import numpy as np


class Corridor(gymnasium.Env):
    """Seven cells; an episode starts in the middle and ends at either end, or after 12 steps."""

    observation_space, action_space = gymnasium.spaces.Discrete(7), gymnasium.spaces.Discrete(2)

    def __init__(self, game: int):
        self.goal = 6 * int(np.random.default_rng(game).integers(2))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell, self.steps = 3, 0
        return self.cell, {}

    def step(self, action):
        self.cell, self.steps = self.cell + (1 if action else -1), self.steps + 1
        return self.cell, float(self.cell == self.goal), self.cell in (0, 6), self.steps == 12, {}


def main(steps: int = 1000, games: int = 1000) -> np.ndarray:
    logs = icee.collect(Corridor, "random", games=games, episodes=6)
    run = icee.train(logs, steps=steps, out="runs")
    # Corridors that nobody has logged: it tries an end, and from then on knows where to go.
    returns = icee.evaluate(run.agent(), lambda game: Corridor(10**6 + game), games=100)
    print("mean return by episode:", returns.mean(axis=0))
    return returns


if __name__ == "__main__":
    main()
