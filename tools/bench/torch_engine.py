"""The reference workload of `icee bench engine` in PyTorch (eager, float32), with the same shapes and the same work.

    python tools/bench/torch_engine.py [--threads 2] [--repeat 7]

prints one JSON object {"results": [{"name", "milliseconds"}, …]}.
"""

import argparse
import json
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

FIELDS = [82, 6, 3, 64, 2]
WIDTH, HEADS, TOKENS, BATCH, CONTEXT, CLASSES = 128, 4, 1000, 4, 500, 5


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp_in, self.mlp_out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS).transpose(1, 2)

    def finish(self, x, attended):
        x = x + self.project(attended.transpose(1, 2).reshape(x.shape))
        return x + self.mlp_out(F.gelu(self.mlp_in(self.norm2(x)), approximate="tanh"))

    def forward(self, x, causal=True):
        q, k, v = (self.heads(t) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        return self.finish(x, F.scaled_dot_product_attention(q, k, v, is_causal=causal)), (k, v)

    def decode(self, x, keys, values, at):
        """Writes one token into preallocated caches [B, H, T, D] and attends to all before it."""
        q, k, v = (self.heads(t) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        keys[:, :, at:at + 1], values[:, :, at:at + 1] = k, v
        attended = F.scaled_dot_product_attention(q, keys[:, :, :at + 1], values[:, :, :at + 1])
        return self.finish(x, attended)

    def query(self, x, keys, values):
        q = self.heads(F.linear(self.norm1(x), self.qkv.weight[:WIDTH], self.qkv.bias[:WIDTH]))
        return self.finish(x, F.scaled_dot_product_attention(q, keys, values))


class Trunk(nn.Module):
    def __init__(self, layers, classes):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, WIDTH) for n in FIELDS)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, classes)

    def embed(self, tokens):
        return sum(table(tokens[..., i]) for i, table in enumerate(self.tables))

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x, _ = block(x)
        return self.head(self.norm(x))


def median(repeat, work, inner=1):
    work()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(inner):
            work()
        times.append((time.perf_counter() - start) / inner)
    return statistics.median(times) * 1e3


def random_tokens(*shape):
    return torch.stack([torch.randint(0, n, shape) for n in FIELDS], -1)


def train(repeat):
    model = Trunk(12, CLASSES)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.99), weight_decay=0.01)
    tokens, targets = random_tokens(BATCH, TOKENS), torch.randint(0, CLASSES, (BATCH * TOKENS,))

    def step():
        adam.zero_grad()
        F.cross_entropy(model(tokens).flatten(0, 1), targets).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()

    return median(repeat, step)


@torch.no_grad()
def forward(repeat):
    model, tokens, targets = Trunk(12, CLASSES), random_tokens(BATCH, TOKENS), torch.randint(0, CLASSES, (BATCH * TOKENS,))
    return median(repeat, lambda: F.cross_entropy(model(tokens).flatten(0, 1), targets))


@torch.no_grad()
def decode(repeat, sequences):
    model = Trunk(12, CLASSES)
    shape = (sequences, HEADS, CONTEXT + 1, WIDTH // HEADS)
    caches = [(torch.randn(shape), torch.randn(shape)) for _ in model.blocks]
    tokens = random_tokens(sequences, 1)

    def step():
        x = model.embed(tokens)
        for block, (keys, values) in zip(model.blocks, caches):
            x = block.decode(x, keys, values, CONTEXT)
        return model.head(model.norm(x))

    return median(repeat, step, 20 if sequences == 1 else 5)


@torch.no_grad()
def queries(repeat):
    location, result = nn.Linear(22, WIDTH), nn.Linear(2, WIDTH)
    blocks, norm, head = [Block() for _ in range(6)], nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 128)
    x, y, pool = torch.randn(1, 64, 22), torch.randn(1, 64, 2), torch.randn(1, 1024, 22)

    def work():
        history, query = location(x) + result(y), location(pool)
        for block in blocks:
            new_history, (keys, values) = block(history, causal=False)
            query, history = block.query(query, keys, values), new_history
        return head(norm(query))

    return median(repeat, work, 5)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=7)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    results = [
        ("train step, batch 4", train(args.repeat)),
        ("forward, batch 4", forward(args.repeat)),
        ("decode, 1 sequence", decode(args.repeat, 1)),
        ("decode, 100 sequences", decode(args.repeat, 100)),
        ("1,024 queries, history 64", queries(args.repeat)),
    ]
    print(json.dumps({"torch": torch.__version__, "threads": args.threads,
                      "results": [{"name": n, "milliseconds": t} for n, t in results]}, indent=2))


if __name__ == "__main__":
    main()
