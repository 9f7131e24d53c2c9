"""The runs of learning-cost.sh as one table: python tools/bench/learning_cost.py OUT_FOLDER > learning-cost.csv

A line an evaluation. Seconds are those of learning alone: `tokens_per_second` in a run's metrics.csv is the mean since its beginning,
with evaluations left out, and a game of the Dark Room has 1,000 tokens.
"""

import csv
import sys
from pathlib import Path

# Folder, its name in the table, games of a batch.
DEVICES = [("cuda", "H200", 64), ("cpu", "two cores", 8)]
METHODS = ["icee", "icee-offline", "icee-paper", "ad", "ad-sorted", "dpt", "mgdt"]
STEPS_OF_A_GAME = 1000


def evaluations(path, games):
    """Updates, seconds and returns at the first, middle and last episode, wherever a run was evaluated."""
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            # A run that was killed may have left half a line.
            if not row["return/mean"]:
                continue
            updates = int(row["step"])
            seconds = updates * games * STEPS_OF_A_GAME / float(row["tokens_per_second"])
            returns = [float(row[f"return/{which}"]) for which in ("first", "middle", "last")]
            yield [updates, f"{seconds:.1f}", *(f"{value:.3f}" for value in returns)]


def main(folder):
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["device", "method", "updates", "seconds", "episode_1", "episode_26", "episode_50"])
    for device, name, games in DEVICES:
        for method in METHODS:
            runs = sorted((folder / device / method).glob("*/metrics.csv"))
            if len(runs) > 1:
                sys.exit(f"{folder / device / method}: {len(runs)} runs; leave one")
            for run in runs:
                table.writerows([name, method, *line] for line in evaluations(run, games))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
