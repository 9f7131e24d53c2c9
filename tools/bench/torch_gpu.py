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


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp_in, self.mlp_out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, tokens, _ = x.shape
        heads = lambda t: t.view(batch, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)
        q, k, v = (heads(t) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
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


def measure(layers, compiled, repeat):
    torch.manual_seed(0)
    model = Model(layers).cuda()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.99), weight_decay=0.01, fused=True)
    run = torch.compile(model) if compiled else model
    tokens = torch.stack([torch.randint(n, (BATCH, TOKENS), device="cuda") for n in FIELDS], -1)
    classes = torch.randint(CLASSES, (BATCH, TOKENS), device="cuda")

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = run(tokens, classes)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeat):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / repeat * 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=30)
    args = parser.parse_args()
    results = []
    for layers in (12, 4):
        for compiled in (False, True):
            name = f"train step, {layers} layers, batch 64"
            kind = "compiled" if compiled else "eager"
            results.append({"name": name, "kind": kind, "milliseconds": measure(layers, compiled, args.repeat)})
    print(json.dumps({"torch": torch.__version__, "device": torch.cuda.get_device_name(), "results": results}, indent=2))


if __name__ == "__main__":
    main()
