"""Reference values for the engine, from PyTorch in float64.

Builds each model of CASES from its description, with weights given by a formula that the Rust test repeats, runs one
batch forward and backward and five AdamW steps, and writes per case NAME.json (description, batch, losses, outputs)
and NAME.safetensors (the gradient of every tensor, and the weights after five steps).

    python tools/golden/engine.py crates/icee-nn/tests/golden
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

torch.set_default_dtype(torch.float64)


def formula(count, start, scale):
    """Numbers in [-scale/2, scale/2) from a multiplicative hash: exact in both languages."""
    index = (np.arange(start, start + count, dtype=np.uint64) * np.uint64(2654435761)) % np.uint64(2**32)
    return ((index.astype(np.float64) / 2.0**32 - 0.5) * scale).astype(np.float32)


class Model:
    """Tensors in the engine's order and naming; linear weights are [in, out]."""

    def __init__(self, spec):
        self.spec, self.t, self.start = spec, {}, 0
        w = spec["width"]
        for f in spec["fields"]:
            self.embedding(f"field.{f['name']}", f["kind"], w, True)
        for i in range(spec["layers"]):
            b = f"block.{i}."
            if spec.get("row_attention"):
                self.attention(b + "rows.norm", b + "rows.", w)
            self.attention(b + "norm1", b, w)
            self.norm(b + "norm2", w)
            self.linear(b + "mlp_in", w, spec["mlp_width"])
            self.linear(b + "mlp_out", spec["mlp_width"], w)
        self.norm("norm", w)
        for h in spec["heads"]:
            sizes = h["hidden"] + [h["classes"]]
            self.linear(f"head.{h['name']}.trunk", w, sizes[0])
            for c in h["conditions"]:
                self.embedding(f"head.{h['name']}.condition.{c['name']}", c["kind"], sizes[0], False)
            self.stack(f"head.{h['name']}", sizes)
        for h in spec["pool_heads"]:
            sizes = h["hidden"] + [1]
            self.linear(f"pool.{h['name']}.trunk", w, sizes[0])
            self.linear(f"pool.{h['name']}.candidate", w, sizes[0], bias=False)
            self.stack(f"pool.{h['name']}", sizes)

    def tensor(self, name, shape, offset=0.0):
        count = math.prod(shape)
        values = formula(count, self.start, 0.4) + np.float32(offset)
        self.start += count
        self.t[name] = torch.tensor(values.astype(np.float64)).reshape(shape).requires_grad_()

    def linear(self, name, i, o, bias=True):
        self.tensor(name + ".weight", [i, o])
        if bias:
            self.tensor(name + ".bias", [o])

    def norm(self, name, w):
        self.tensor(name + ".gain", [w], 1.0)
        self.tensor(name + ".bias", [w])

    def attention(self, norm, part, w):
        self.norm(norm, w)
        self.linear(part + "query", w, w)
        self.linear(part + "key_value", w, 2 * w)
        self.linear(part + "project", w, w)

    def stack(self, name, sizes):
        for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
            self.linear(f"{name}.layer.{i}", a, b)

    def embedding(self, name, kind, outputs, bias):
        if "categorical" in kind:
            self.tensor(name + ".table", [kind["categorical"]["size"], outputs])
        elif kind["vector"].get("hidden") is None:
            self.linear(name, kind["vector"]["size"], outputs, bias)
        else:
            self.linear(name + ".in", kind["vector"]["size"], kind["vector"]["hidden"])
            self.linear(name + ".out", kind["vector"]["hidden"], outputs, bias)

    def apply_linear(self, name, x):
        y = x @ self.t[name + ".weight"]
        return y + self.t[name + ".bias"] if name + ".bias" in self.t else y

    def apply_norm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], self.t[name + ".gain"], self.t[name + ".bias"])

    def embed(self, name, kind, values):
        if "categorical" in kind:
            return self.t[name + ".table"][torch.tensor(values)]
        x = torch.tensor(np.float32(values).astype(np.float64)).reshape(-1, kind["vector"]["size"])
        if kind["vector"].get("hidden") is None:
            return self.apply_linear(name, x)
        return self.apply_linear(name + ".out", F.gelu(self.apply_linear(name + ".in", x), approximate="tanh"))

    def trunk(self, batch):
        """Rows: all history tokens, then all query tokens."""
        spec = self.spec
        def rows_of(tokens, role):
            fields = [f for f in spec["fields"] if f.get("on", "history") in (role, "both")]
            return sum(self.embed(f"field.{f['name']}", f["kind"], v) for f, v in zip(fields, tokens["fields"]))
        x = rows_of(batch["history"], "history")
        ho = batch["history"]["offsets"]
        qo = [0] * len(ho)
        if batch.get("queries"):
            x = torch.cat([x, rows_of(batch["queries"], "query")])
            qo = batch["queries"]["offsets"]
        n = ho[-1]
        # allowed[r, k]: row r may see history row k
        allowed = torch.zeros(len(x), n, dtype=torch.bool)
        for s in range(len(ho) - 1):
            a, b = ho[s], ho[s + 1]
            see = torch.ones(b - a, b - a, dtype=torch.bool)
            allowed[a:b, a:b] = see.tril() if spec["history"] == "causal" else see
            allowed[n + qo[s]:n + qo[s + 1], a:b] = True
        # together[r, k]: rows r and k of the batch are cells of the same row of a table
        together = torch.zeros(len(x), len(x), dtype=torch.bool)
        for base, tokens in [(0, batch["history"]), (n, batch.get("queries"))]:
            tables = tokens.get("tables", []) if tokens else []
            for first, last in zip(tables, tables[1:]):
                for r in range(tokens["offsets"][first + 1] - tokens["offsets"][first]):
                    cells = [base + tokens["offsets"][s] + r for s in range(first, last)]
                    together[np.ix_(cells, cells)] = True
        for i in range(spec["layers"]):
            b = f"block.{i}."
            if spec.get("row_attention"):
                x = self.attend(b + "rows.norm", b + "rows.", x, len(x), together)
            x = self.attend(b + "norm1", b, x, n, allowed)
            h = self.apply_norm(b + "norm2", x)
            h = F.gelu(self.apply_linear(b + "mlp_in", h), approximate="tanh")
            x = x + self.apply_linear(b + "mlp_out", h)
        return self.apply_norm("norm", x)

    def attend(self, norm, part, x, seen, allowed):
        """Attention with its residual; the first `seen` rows have keys and values."""
        heads, w = self.spec["attention_heads"], self.spec["width"]
        d = w // heads
        h = self.apply_norm(norm, x)
        q = self.apply_linear(part + "query", h).reshape(-1, heads, d)
        kv = self.apply_linear(part + "key_value", h[:seen])
        k, v = kv[:, :w].reshape(-1, heads, d), kv[:, w:].reshape(-1, heads, d)
        scores = torch.einsum("rhd,khd->hrk", q, k) / math.sqrt(d)
        scores = scores.masked_fill(~allowed, -math.inf)
        p = torch.nan_to_num(torch.softmax(scores, -1))  # a row that sees nothing attends to nothing
        a = torch.einsum("hrk,khd->rhd", p, v).reshape(-1, w)
        return x + self.apply_linear(part + "project", a)

    def stack_from(self, name, z, depth):
        for i in range(depth):
            z = self.apply_linear(f"{name}.layer.{i}", F.gelu(z, approximate="tanh"))
        return z

    def logits(self, target, out):
        h = self.spec["heads"][target["head"]]
        z = self.apply_linear(f"head.{h['name']}.trunk", out[target["rows"]])
        for c, v in zip(h["conditions"], target["conditions"]):
            z = z + self.embed(f"head.{h['name']}.condition.{c['name']}", c["kind"], v)
        return self.stack_from(f"head.{h['name']}", z, len(h["hidden"]))

    def pool_scores(self, target, out, i):
        h = self.spec["pool_heads"][target["head"]]
        field = next(f for f in self.spec["fields"] if f["name"] == h["candidate"])
        size = field["kind"]["vector"]["size"]
        pool = target["row_pools"][i]
        a, b = target["pools"]["offsets"][pool], target["pools"]["offsets"][pool + 1]
        e = self.embed(f"field.{field['name']}", field["kind"], target["pools"]["candidates"][a * size:b * size])
        z = self.apply_linear(f"pool.{h['name']}.trunk", out[target["rows"][i]])
        z = z + self.apply_linear(f"pool.{h['name']}.candidate", e)
        return self.stack_from(f"pool.{h['name']}", z, len(h["hidden"]))[:, 0]

    def losses(self, batch):
        out = self.trunk(batch)
        found, logits = [], []
        for t in batch["class_targets"]:
            z = self.logits(t, out)
            logits.append(z)
            ce = F.cross_entropy(z, torch.tensor(t["classes"]), reduction="none")
            found.append(t["scale"] * (torch.tensor(np.float32(t["weights"]).astype(np.float64)) * ce).sum())
        for t in batch["pool_targets"]:
            total = 0.0
            for i in range(len(t["rows"])):
                z = self.pool_scores(t, out, i)
                logits.append(z)
                a, b = t["target_offsets"][i], t["target_offsets"][i + 1]
                p = torch.tensor(np.float32(t["probabilities"][a:b]).astype(np.float64))
                total = total - t["weights"][i] * (p * F.log_softmax(z, 0)[t["targets"][a:b]]).sum()
            found.append(t["scale"] * total)
        return found, out, logits


def categorical(size):
    return {"categorical": {"size": size}}


def vector(size, hidden=None):
    return {"vector": {"size": size, "hidden": hidden}}


class Draw:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def values(self, kind, count):
        if "categorical" in kind:
            return self.rng.integers(0, kind["categorical"]["size"], count).tolist()
        return self.reals(count * kind["vector"]["size"])

    def reals(self, count):
        return np.round(self.rng.normal(size=count), 4).tolist()

    def tokens(self, fields, lengths):
        offsets = np.concatenate([[0], np.cumsum(lengths)]).tolist()
        return {"offsets": offsets, "fields": [self.values(f["kind"], offsets[-1]) for f in fields]}

    def class_targets(self, spec, head, rows, scale):
        h = spec["heads"][head]
        return {
            "head": head, "rows": rows, "scale": scale,
            "conditions": [self.values(c["kind"], len(rows)) for c in h["conditions"]],
            "classes": self.rng.integers(0, h["classes"], len(rows)).tolist(),
            "weights": np.round(self.rng.uniform(0.1, 3.0, len(rows)), 3).tolist(),
        }


def base(layers, width, heads, mlp, history, fields):
    return {"layers": layers, "width": width, "attention_heads": heads, "mlp_width": mlp, "context": 200,
            "history": history, "fields": fields, "heads": [], "pool_heads": []}


def causal_case():
    d = Draw(1)
    fields = [{"name": "cell", "kind": categorical(9)}, {"name": "action", "kind": categorical(5)},
              {"name": "sensor", "kind": vector(3)}, {"name": "value", "kind": vector(2, 16)}]
    spec = base(2, 32, 2, 48, "causal", fields)
    spec["heads"] = [
        {"name": "plain", "conditions": [], "hidden": [], "classes": 5},
        {"name": "conditioned", "hidden": [32, 16], "classes": 21,
         "conditions": [{"name": "a", "kind": categorical(5)}, {"name": "x", "kind": vector(2)}]},
    ]
    history = d.tokens(fields, [1, 7, 150, 20])
    rows = history["offsets"][-1]
    some = sorted(d.rng.choice(rows, 100, replace=False).tolist())
    return spec, {"history": history, "class_targets": [
        d.class_targets(spec, 0, list(range(rows)), 1.0 / rows), d.class_targets(spec, 1, some, 0.02)],
        "pool_targets": []}


def set_case():
    d = Draw(2)
    fields = [{"name": "x", "kind": vector(4), "on": "both"}, {"name": "y", "kind": vector(1, 32)},
              {"name": "query", "kind": categorical(1), "on": "query"}]
    spec = base(2, 64, 1, 64, "set", fields)
    spec["heads"] = [{"name": "value", "conditions": [], "hidden": [32], "classes": 12}]
    history = d.tokens([f for f in fields if f.get("on", "history") != "query"], [5, 0, 90, 64])
    queries = d.tokens([f for f in fields if f.get("on", "history") != "history"], [11, 3, 0, 30])
    n, m = history["offsets"][-1], queries["offsets"][-1]
    return spec, {"history": history, "queries": queries, "class_targets": [
        d.class_targets(spec, 0, list(range(n, n + m)), 1.0 / m)], "pool_targets": []}


def pool_case():
    d = Draw(3)
    fields = [{"name": "location", "kind": vector(2)}, {"name": "result", "kind": vector(1)},
              {"name": "better", "kind": categorical(2)}]
    spec = base(1, 96, 3, 32, "causal", fields)
    spec["pool_heads"] = [{"name": "choice", "candidate": "location", "hidden": [32, 16]}]
    spec["heads"] = [{"name": "extra", "conditions": [], "hidden": [16], "classes": 3}]
    history = d.tokens(fields, [6, 4])
    pools = {"offsets": [0, 130, 150], "candidates": d.reals(300)}
    rows, row_pools = [0, 1, 2, 4, 5, 6, 9], [0, 0, 0, 0, 0, 1, 1]
    targets, probabilities, offsets = [], [], [0]
    for i, p in enumerate(row_pools):
        size = pools["offsets"][p + 1] - pools["offsets"][p]
        count = 1 + i % 3
        targets += d.rng.choice(size, count, replace=False).tolist()
        probabilities += [1.0 / count] * count
        offsets.append(len(targets))
    pool = {"head": 0, "pools": pools, "rows": rows, "row_pools": row_pools, "target_offsets": offsets,
            "targets": targets, "probabilities": probabilities, "scale": 1.0 / 7,
            "weights": np.round(d.rng.uniform(0.2, 2.0, 7), 3).tolist()}
    return spec, {"history": history, "class_targets": [d.class_targets(spec, 0, [0, 3, 8], 0.1)],
                  "pool_targets": [pool]}


def wide_case():
    """One head of 112: wider than a panel, and not a multiple of 32."""
    d = Draw(4)
    fields = [{"name": "cell", "kind": categorical(5), "on": "both"}, {"name": "y", "kind": vector(1)}]
    spec = base(1, 112, 1, 16, "causal", fields)
    spec["heads"] = [{"name": "out", "conditions": [], "hidden": [], "classes": 3}]
    history, queries = d.tokens(fields, [70, 3]), d.tokens(fields[:1], [2, 9])
    rows = history["offsets"][-1] + queries["offsets"][-1]
    return spec, {"history": history, "queries": queries, "pool_targets": [],
                  "class_targets": [d.class_targets(spec, 0, list(range(0, rows, 2)), 0.05)]}


def table_case():
    """Tables of 3, 1 and 18 columns, whose cells are tokens."""
    d = Draw(5)
    fields = [{"name": "cell", "kind": vector(3), "on": "both"}]
    spec = base(2, 32, 2, 32, "set", fields)
    spec["row_attention"] = True
    spec["heads"] = [{"name": "value", "conditions": [], "hidden": [], "classes": 4}]
    columns, told, asked = [3, 1, 18], [7, 70, 2], [40, 3, 5]
    tables = np.concatenate([[0], np.cumsum(columns)]).tolist()
    history = d.tokens(fields, np.repeat(told, columns)) | {"tables": tables}
    queries = d.tokens(fields, np.repeat(asked, columns)) | {"tables": tables}
    n, m = history["offsets"][-1], queries["offsets"][-1]
    return spec, {"history": history, "queries": queries, "pool_targets": [], "class_targets": [
        d.class_targets(spec, 0, list(range(3, n + m, 2)), 2.0 / (n + m))]}


CASES = {"causal": causal_case, "set": set_case, "pool": pool_case, "wide": wide_case, "table": table_case}
ADAM = {"rate": 1e-3, "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-8, "weight_decay": 0.01, "clip": 1.0, "steps": 5}


def main(folder):
    for name, make in CASES.items():
        spec, batch = make()
        model = Model(spec)
        found, out, logits = model.losses(batch)
        sum(found).backward()
        tensors = {f"gradient.{k}": v.grad.numpy().astype(np.float32) for k, v in model.t.items()}
        record = {"spec": spec, "batch": batch, "losses": [x.item() for x in found],
                  "out": out[[0, len(out) // 2, len(out) - 1]].flatten().tolist(),
                  "logits": [z.flatten()[:40].tolist() for z in logits], "adam": ADAM, "norms": []}
        groups = [{"params": [t for t in model.t.values() if t.dim() > 1], "weight_decay": ADAM["weight_decay"]},
                  {"params": [t for t in model.t.values() if t.dim() == 1], "weight_decay": 0.0}]
        adam = torch.optim.AdamW(groups, lr=ADAM["rate"], betas=(ADAM["beta1"], ADAM["beta2"]), eps=ADAM["epsilon"])
        for _ in range(ADAM["steps"]):
            adam.zero_grad()
            sum(model.losses(batch)[0]).backward()
            norm = torch.nn.utils.clip_grad_norm_(list(model.t.values()), ADAM["clip"])
            record["norms"].append(norm.item())
            adam.step()
        tensors |= {f"after.{k}": v.detach().numpy().astype(np.float32) for k, v in model.t.items()}
        save_file(tensors, folder / f"{name}.safetensors")
        (folder / f"{name}.json").write_text(json.dumps(record) + "\n")
        print(name, record["losses"], record["norms"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
