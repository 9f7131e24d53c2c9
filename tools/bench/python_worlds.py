"""Steps a second of the worlds as Python plays them: `python tools/bench/python_worlds.py [WORLD] [ROOMS]`.

Needs `pip install icee[gymnasium]` (or `maturin develop --release`).
"""

import sys
import time

import gymnasium
import icee  # noqa: F401, puts the worlds into Gymnasium
import numpy as np

SECONDS = 3.0


def main() -> None:
    world = sys.argv[1] if len(sys.argv) > 1 else "icee/DarkRoom-v0"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 4096
    rooms = gymnasium.make_vec(world, num_envs=count)
    rooms.reset(seed=0)
    actions = np.random.default_rng(0).integers(rooms.single_action_space.n, size=(64, count))
    print(f"{world}, {count} rooms in one call: {rate(lambda i: rooms.step(actions[i % 64])) * count / 1e6:.1f} million steps/s")
    room = gymnasium.make(world).unwrapped
    room.reset(seed=0)

    def step(i: int) -> None:
        _, _, terminated, truncated, _ = room.step(int(actions[0, i % count]))
        if terminated or truncated:
            room.reset()

    print(f"{world}, one room: {rate(step) / 1e6:.2f} million steps/s")


def rate(work) -> float:
    """Calls a second."""
    work(0)
    calls, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        for _ in range(20):
            calls += 1
            work(calls)
    return calls / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
