"""The training workloads of `icee bench gpu` in PyTorch: bf16 autocast, fused AdamW, norm clipping, eager and compiled.

    python tools/bench/torch_gpu.py [--repeat 30]

prints one JSON object {"results": [{"name", "milliseconds"}, …]}.
"""

import argparse
import json
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

FIELDS = [82, 6, 3, 64, 2]
WIDTH, HEADS, TOKENS, BATCH, CLASSES = 128, 4, 1000, 64, 5
# BO's value model: tasks, the longest history, queries a task, numbers of x, classes.
TASKS, HISTORY, QUERIES, POINT, BINS = 256, 64, 128, 22, 128


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp_in, self.mlp_out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, mask=None):
        batch, tokens, _ = x.shape
        heads = lambda t: t.view(batch, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)
        q, k, v = (heads(t) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        if mask is None:
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:  # all see the history alone
            attended = F.scaled_dot_product_attention(q, k[:, :, :HISTORY], v[:, :, :HISTORY], attn_mask=mask)
        x = x + self.project(attended.transpose(1, 2).reshape(batch, tokens, WIDTH))
        return x + self.mlp_out(F.gelu(self.mlp_in(self.norm2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, WIDTH) for n in FIELDS)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, tokens, classes):
        x = sum(table(tokens[..., i]) for i, table in enumerate(self.tables))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).float().flatten(0, 1), classes.flatten())


class Value(nn.Module):
    """Histories are padded to the longest, as PyTorch likes it; queries follow in the same tensor."""

    def __init__(self, layers=6):
        super().__init__()
        self.point, self.count = nn.Linear(POINT, WIDTH), nn.Linear(1, WIDTH)
        self.value = nn.Sequential(nn.Linear(2, WIDTH), nn.GELU(approximate="tanh"), nn.Linear(WIDTH, WIDTH))
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(approximate="tanh"), nn.Linear(WIDTH, BINS))

    def forward(self, points, counts, values, mask, classes):
        x = self.point(points) + self.count(counts)
        x = torch.cat([x[:, :HISTORY] + self.value(values), x[:, HISTORY:]], 1)
        for block in self.blocks:
            x = block(x, mask)
        logits = self.head(self.norm(x[:, HISTORY:]))
        return F.cross_entropy(logits.float().flatten(0, 1), classes.flatten())


def reference(layers):
    tokens = torch.stack([torch.randint(n, (BATCH, TOKENS), device="cuda") for n in FIELDS], -1)
    return Model(layers), [(tokens, torch.randint(CLASSES, (BATCH, TOKENS), device="cuda"))]


def value():
    def batch():
        lengths = torch.randint(2, HISTORY + 1, (TASKS,), device="cuda")
        mask = (torch.arange(HISTORY, device="cuda") < lengths[:, None])[:, None, None, :]
        points = torch.rand(TASKS, HISTORY + QUERIES, POINT, device="cuda")
        counts = lengths.float().log()[:, None, None].expand(-1, HISTORY + QUERIES, 1).contiguous()
        values = torch.randn(TASKS, HISTORY, 2, device="cuda")
        return points, counts, values, mask, torch.randint(BINS, (TASKS, QUERIES), device="cuda")

    return Value(), [batch() for _ in range(8)]


def measure(workload, compiled, repeat):
    torch.manual_seed(0)
    model, batches = workload()
    model = model.cuda()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.99), weight_decay=0.01, fused=True)
    run = torch.compile(model) if compiled else model

    def step(number):
        with torch.autocast("cuda", torch.bfloat16):
            loss = run(*batches[number % len(batches)])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    for number in range(8):
        step(number)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for number in range(repeat):
        step(number)
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / repeat * 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=30)
    args = parser.parse_args()
    results = []
    workloads = [
        ("train step, 12 layers, batch 64", lambda: reference(12)),
        ("train step, 4 layers, batch 64", lambda: reference(4)),
        ("train step, BO's value model", value),
    ]
    for name, workload in workloads:
        for kind in ("eager", "compiled"):
            milliseconds = measure(workload, kind == "compiled", args.repeat)
            results.append({"name": name, "kind": kind, "milliseconds": milliseconds})
    print(json.dumps({"torch": torch.__version__, "device": torch.cuda.get_device_name(), "results": results}, indent=2))


if __name__ == "__main__":
    main()
