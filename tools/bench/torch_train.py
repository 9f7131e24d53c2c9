"""Training of the 4-layer default (`icee train dark-room`) in PyTorch (eager, float32): the same sizes, heads and losses.

    python tools/bench/torch_train.py [--threads 2] [--steps 5]

prints one JSON object with the median of tokens a second. Making the games is left out: icee makes them on another
thread while it computes.
"""

import argparse
import json
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from torch_engine import WIDTH, Block

CELLS, ACTIONS, EPISODES, STEPS, BINS, BATCH = 81, 5, 50, 20, 84, 64
TOKENS = EPISODES * STEPS


class Head(nn.Module):
    """An MLP on the trunk's output, with the action as a condition or without."""

    def __init__(self, classes, conditioned):
        super().__init__()
        self.first, self.last = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, classes)
        self.action = nn.Embedding(ACTIONS, WIDTH) if conditioned else None

    def forward(self, trunk, actions):
        hidden = self.first(trunk)
        if self.action is not None:
            hidden = hidden + self.action(actions)
        return self.last(F.gelu(hidden, approximate="tanh"))


class Late(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, WIDTH) for n in (CELLS, ACTIONS + 1, EPISODES, STEPS))
        self.reward = nn.Linear(2, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm = nn.LayerNorm(WIDTH)
        self.heads = nn.ModuleList([Head(2 * BINS, False), Head(2 * BINS, True), Head(2, True)])

    def forward(self, fields, reward, actions):
        x = self.reward(reward) + sum(table(field) for table, field in zip(self.tables, fields))
        for block in self.blocks:
            x, _ = block(x)
        x = self.norm(x)
        return [head(x, actions) for head in self.heads]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    model = Late()
    adam = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.99), weight_decay=0.01)
    shape = (BATCH, TOKENS)
    fields = [torch.randint(0, n, shape) for n in (CELLS, ACTIONS + 1, EPISODES, STEPS)]
    reward, actions = torch.rand(*shape, 2), torch.randint(0, ACTIONS, shape)
    targets = [torch.randint(0, n, (BATCH * TOKENS,)) for n in (2 * BINS, 2 * BINS, 2)]

    def step():
        adam.zero_grad()
        logits = model(fields, reward, actions)
        sum(F.cross_entropy(l.flatten(0, 1), t) for l, t in zip(logits, targets)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()

    times = []
    for _ in range(args.steps + 1):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    speed = BATCH * TOKENS / statistics.median(times[1:])
    print(json.dumps({"torch": torch.__version__, "threads": args.threads, "tokens_per_second": speed}))


if __name__ == "__main__":
    main()
