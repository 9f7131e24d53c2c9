"""Prints two benchmark results side by side: python tools/bench/ratios.py icee.json torch.json"""

import json
import sys

ours, theirs = (json.load(open(path)) for path in sys.argv[1:3])
theirs = {r["name"]: r["milliseconds"] for r in theirs["results"]}
print(f"{'work':<34}{'icee ms':>10}{'torch ms':>10}{'ratio':>8}")
for r in ours["results"]:
    base = theirs.get(r["name"].removesuffix(", 16-bit"))
    if base is not None:
        print(f"{r['name']:<34}{r['milliseconds']:>10.3f}{base:>10.3f}{r['milliseconds'] / base:>8.2f}")
