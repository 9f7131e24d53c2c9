#!/usr/bin/env bash
# Trains every method of the Dark Room on a GPU (cuda), on two cores (cpu) or on both, one after the other, and prints what
# stands in crates/icee-report/data/learning-cost.csv:
#     tools/bench/learning-cost.sh OUT_FOLDER [cuda|cpu]
# About four minutes of an H200, and an hour and a half of two cores. The clock ends most runs, so on another machine they are longer
# or shorter. A run that is there is not made again.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:?a folder for the runs}
devices=${2:-cuda cpu}
cargo build --release --quiet --bin icee
icee=target/release/icee
offline=(data.searchers=0 data.novices=0 acting.guard=0.02 acting.temperature=0.5)

# train DEVICE KEY METHOD MINUTES SETTING...
train() {
    local device=$1 key=$2 method=$3 minutes=$4
    shift 4
    [ -d "$out/$device/$key" ] && return
    local prefix=() threads=8 arguments=() setting
    if [ "$device" = cpu ]; then
        threads=2
        command -v taskset >/dev/null && prefix=(taskset --cpu-list 0,1)
    fi
    [ "$method" = icee ] || arguments+=(--method "$method")
    for setting in "$@" train.eval_every=250 train.save_every=100000; do
        arguments+=(--set "$setting")
    done
    "${prefix[@]}" "$icee" train dark-room "${arguments[@]}" --device "$device" --seed 1 --threads "$threads" \
        --max-minutes "$minutes" --out "$out/$device/$key" >&2
}

for device in $devices; do
    case $device in
    cuda) # The recipes of `icee models`.
        train cuda icee icee 0.6 train.eval_games=200
        train cuda icee-offline icee 0.9 "${offline[@]}" train.steps=12000 train.eval_games=200
        train cuda icee-paper icee-paper 0.6 train.lr=1e-3 train.steps=6000 train.eval_games=200
        train cuda ad ad 0.5 model.layers=3 train.steps=4000 train.eval_games=200
        train cuda ad-sorted ad-sorted 0.5 model.layers=3 train.steps=4000 train.eval_games=200
        train cuda dpt dpt 0.25 train.steps=4500 train.eval_games=200
        train cuda mgdt mgdt 0.5 model.layers=2 model.width=64 train.steps=3000 train.eval_games=200
        ;;
    cpu) # One small network for all.
        small=(model.layers=2 model.width=64 train.batch=8 train.lr=4e-3 train.steps=8000 train.eval_games=100)
        train cpu icee icee 24 "${small[@]}"
        train cpu icee-offline icee 24 "${small[@]}" "${offline[@]}"
        train cpu icee-paper icee-paper 24 "${small[@]}"
        train cpu ad ad 5 "${small[@]}"
        train cpu ad-sorted ad-sorted 9 "${small[@]}"
        train cpu dpt dpt 5 "${small[@]}"
        train cpu mgdt mgdt 4 "${small[@]}"
        ;;
    *)
        echo "$device: cuda or cpu" >&2
        exit 2
        ;;
    esac
done
python3 tools/bench/learning_cost.py "$out"
