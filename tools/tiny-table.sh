#!/usr/bin/env bash
# Trains every method on the small Dark Room at full length, ICEE with three seeds, and writes the table and the curves:
# tools/tiny-table.sh WORK_FOLDER  (about half an hour on 2 cores)
set -euo pipefail
cd "$(dirname "$0")/.."
work=${1:?a folder for the runs}
cargo build --release --bin icee
icee=target/release/icee
files=()
for job in icee:1 icee:2 icee:3 icee-weighted:1 icee-paper:1 icee-biased:1 ad:1 ad-sorted:1 mgdt:1; do
    method=${job%:*} seed=${job#*:}
    runs=$work/$method-$seed
    [ -d "$runs" ] || "$icee" train dark-room-tiny --method "$method" --seed "$seed" --out "$runs"
    "$icee" eval "$runs"/* --games 1000 --json > "$work/$method-$seed.json"
    key=$method
    [ "$method" = icee ] && key=$job
    files+=("$key=$work/$method-$seed.json")
done
cargo run --release -p icee-report --example curves -- docs/results/dark-room-tiny "Dark Room, 5 x 5" "${files[@]}"
