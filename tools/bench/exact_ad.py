"""What a perfect Algorithm Distillation would earn in the dark rooms.

    python3 exact_ad.py [--games 1000] [--seed 0] > exact-ad.csv

AD learns p(action | history) of the behaviour policy's episodes, in the order in which they were played or sorted from the
noisiest to the best. In these rooms that distribution can be computed: the behaviour policy is epsilon-greedy towards a goal
that is uniformly drawn, so p(a | h) is a mixture over goals and noise whose weights follow from Bayes' rule. An agent that acts by
it is where training a network to perfection would end; no amount of data or width leads further. Needs numpy.
"""

import argparse
import csv
import sys

import numpy as np

SIDE, ACTIONS = 9, 5
CELLS = SIDE * SIDE
MOVES = np.array([[0, 0], [0, -1], [0, 1], [-1, 0], [1, 0]])  # stay, and the four directions
NOISE_LEVELS = 40


class Room:
    def __init__(self, steps, episodes, goals, uniform_start, pays_every_step=False):
        self.steps, self.episodes, self.goals = steps, episodes, goals
        self.uniform_start, self.pays_every_step = uniform_start, pays_every_step


ROOMS = {
    "DarkRoom-v0": Room(20, 50, 1, False, pays_every_step=True),
    "DarkRoomHard-v0": Room(20, 50, 1, False),
    "DarkKeyToDoor-v0": Room(50, 20, 2, True),
}


def walk():
    """Where each action leads from each cell."""
    x, y = np.arange(CELLS) % SIDE, np.arange(CELLS) // SIDE
    nx = np.clip(x[:, None] + MOVES[:, 0], 0, SIDE - 1)
    ny = np.clip(y[:, None] + MOVES[:, 1], 0, SIDE - 1)
    return ny * SIDE + nx


def behaviour(noise):
    """pi[cell, goal, action, noise level]: 1 - eps shared by the actions that lead closer (on the goal: stay), eps by the others."""
    x, y = np.arange(CELLS) % SIDE, np.arange(CELLS) // SIDE
    distance = np.abs(x[:, None] - x) + np.abs(y[:, None] - y)
    after = distance[walk()]  # cell, action, goal
    good = after < distance[:, None, :]
    on_goal = np.arange(CELLS)
    good[on_goal, :, on_goal] = False
    good[on_goal, 0, on_goal] = True
    good = good.transpose(0, 2, 1)[..., None]
    count = good.sum(2, keepdims=True)
    return np.where(good, (1 - noise) / count, noise / (ACTIONS - count)).astype(np.float32)


def next_noise(noise, left):
    """Descending order statistics are a chain: below eps_k lies the greatest of `left` uniform numbers."""
    width = 1 / len(noise)
    edges = np.arange(len(noise) + 1) * width
    below = np.clip(edges[None, :] / (noise[:, None] + width / 2), 0, 1) ** left
    return np.diff(below, axis=1).astype(np.float32)


def play(room, is_sorted, games, rng):
    """Returns by game and episode."""
    noise = ((np.arange(NOISE_LEVELS) + 0.5) / NOISE_LEVELS).astype(np.float32)
    policy, lead = behaviour(noise), walk()
    truth = rng.integers(CELLS, size=(games, room.goals))
    everyone = np.arange(games)
    # What is believed of the first goal that is not known yet, jointly with the noise of the episode.
    found = np.zeros(games, int)
    belief = np.full((games, CELLS, NOISE_LEVELS), 1 / (CELLS * NOISE_LEVELS), np.float32)
    if is_sorted:
        belief *= np.diff(np.linspace(0, 1, NOISE_LEVELS + 1) ** room.episodes) * NOISE_LEVELS
    returns = np.zeros((games, room.episodes))
    for episode in range(room.episodes):
        if episode > 0:
            if is_sorted:
                belief = belief @ next_noise(noise, room.episodes - episode)
            else:
                belief = np.repeat(belief.sum(2, keepdims=True) / NOISE_LEVELS, NOISE_LEVELS, 2)
        start = rng.integers(CELLS, size=games) if room.uniform_start else np.full(games, CELLS // 2)
        cell, stage, playing = start, np.zeros(games, int), np.ones(games, bool)
        for _ in range(room.steps):
            # The goal of this stage: known, or one of those still believed in.
            known = stage < found
            goal = truth[everyone, np.minimum(stage, room.goals - 1)]
            by_goal = policy[cell]  # game, goal, action, noise
            by_goal = np.where(known[:, None, None, None], policy[cell, goal][:, None], by_goal)
            chances = np.einsum("gcn,gcan->ga", belief, by_goal)
            chances /= np.maximum(chances.sum(1, keepdims=True), np.finfo(np.float32).tiny)
            action = (chances.cumsum(1) < rng.random((games, 1))).sum(1).clip(max=ACTIONS - 1)
            arrived = lead[cell, action]
            pays = playing & (arrived == goal)
            # Bayes: the action as the behaviour policy's, then the reward, or that there was none.
            seen = by_goal[everyone, :, action]
            is_there = np.arange(CELLS) == arrived[:, None]
            possible = np.where(known[:, None], True, is_there == pays[:, None])
            updated = belief * seen * possible[..., None]
            updated /= np.maximum(updated.sum((1, 2), keepdims=True), np.finfo(np.float32).tiny)
            belief = np.where(playing[:, None, None], updated, belief)
            returns[:, episode] += pays
            cell = np.where(playing, arrived, cell)
            if room.pays_every_step:
                found = np.maximum(found, pays)
                continue
            stage = stage + pays
            is_new = pays & (stage > found)
            found = np.maximum(found, stage)
            # The next goal may be anywhere; what is known of the noise stays.
            fresh = np.repeat(belief.sum(1, keepdims=True) / CELLS, CELLS, 1)
            belief = np.where((is_new & (stage < room.goals))[:, None, None], fresh, belief)
            playing = playing & (stage < room.goals)
    return returns


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    table = csv.writer(sys.stdout)
    table.writerow(["world", "method", "episode", "mean", "half_width_95"])
    for name, room in ROOMS.items():
        for method in ("ad", "ad-sorted"):
            rng = np.random.default_rng(arguments.seed)
            parts = [play(room, method == "ad-sorted", min(100, arguments.games - i), rng) for i in range(0, arguments.games, 100)]
            returns = np.concatenate(parts)
            spread = 1.96 * returns.std(0, ddof=1) / len(returns) ** 0.5
            for episode, (mean, half) in enumerate(zip(returns.mean(0), spread), 1):
                table.writerow([name, method, episode, f"{mean:.4f}", f"{half:.4f}"])
            sys.stdout.flush()


main()
