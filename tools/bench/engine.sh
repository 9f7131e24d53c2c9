#!/usr/bin/env bash
# Runs the engine's reference workload in icee and in PyTorch, one after the other, and prints the ratios.
#     tools/bench/engine.sh [python with torch] [threads]
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${1:-python3}
threads=${2:-$(nproc)}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cargo build --release --quiet
target/release/icee bench engine --json --threads "$threads" >"$out/icee.json"
"$python" tools/bench/torch_engine.py --threads "$threads" >"$out/torch.json"
"$python" tools/bench/ratios.py "$out/icee.json" "$out/torch.json"
