#!/usr/bin/env bash
# Trains the 4-layer default for a few steps in icee and in PyTorch, one after the other, and prints tokens a second.
#     tools/bench/train.sh [python with torch] [threads]
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${1:-python3}
threads=${2:-$(nproc)}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cargo build --release --quiet
target/release/icee train dark-room --threads "$threads" --out "$out" --json \
    --set train.steps=10 --set train.eval_games=1 >"$out/icee.json"
"$python" tools/bench/torch_train.py --threads "$threads" >"$out/torch.json"
"$python" - "$out" <<'PYTHON'
import csv, glob, json, sys
row = list(csv.DictReader(open(glob.glob(sys.argv[1] + "/*/metrics.csv")[0])))[-1]
icee = float(row["tokens_per_second"])
torch = json.load(open(sys.argv[1] + "/torch.json"))["tokens_per_second"]
print(f"icee {icee:.0f} tokens/s, torch {torch:.0f} tokens/s, ratio {icee / torch:.2f}")
PYTHON
