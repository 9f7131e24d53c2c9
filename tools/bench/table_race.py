"""Other tools on the real tables of `data/tables`, from the same first rows as `icee eval --pools`.

    pip install botorch scikit-learn optuna
    python tools/bench/table_race.py data/tables --methods botorch,forest --runs 20 --workers 16 > others.tsv
    icee eval MODEL --pools data/tables --trials 20 --runs others.tsv

- botorch: SingleTaskGP as it comes (squared exponential, with a prior on length scales that grows with the dimension), values
  standardised, categories one-hot, the row of the greatest log expected improvement.
- forest: 100 trees of scikit-learn's RandomForestRegressor, the spread over trees as deviation, expected improvement.
- optuna-tpe, optuna-gp: Optuna's TPESampler and GPSampler as they come. They know no tables: they suggest a value for each column,
  and the row nearest to it that is left is taken and told.

A line a search: pool, method, run, milliseconds a suggestion, the rows tried (numbered from one). One thread a worker.
"""

import argparse
import csv
import functools
import multiprocessing
import os
import time
import typing
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
EVALUATIONS = 55


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def coordinates(cells):
    """One column as coordinates: numbers scaled to [0, 1], else one for each level."""
    import numpy as np

    try:
        x = np.array(cells, dtype=float)
    except ValueError:
        levels = sorted(set(cells))
        return np.array([[cell == level for level in levels] for cell in cells], dtype=float)
    spread = x.max() - x.min()
    return ((x - x.min()) / spread if spread > 0 else x * 0)[:, None]


class Pool(typing.NamedTuple):
    """A table: coordinates of all rows, values of which the lowest is best, and the coordinates and cells of each column."""

    x: typing.Any
    y: typing.Any
    columns: list


@functools.cache
def read_pool(folder, name):
    import numpy as np

    entry = next(row for row in rows_of(Path(folder) / "pools.csv") if row["pool"] == name)
    rows = rows_of(Path(folder) / "pools" / f"{name}.csv")
    *inputs, value = rows[0].keys()
    columns = [[row[column] for row in rows] for column in inputs]
    parts = [coordinates(cells) for cells in columns]
    sign = {"minimize": 1.0, "maximize": -1.0}[entry["direction"]]
    y = sign * np.array([float(row[value]) for row in rows])
    return Pool(np.hstack(parts), y, list(zip(parts, columns)))


def botorch(pool, told):
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    x, y = pool.x, pool.y
    values = torch.tensor(y[told])
    # BoTorch maximises.
    scaled = (values.mean() - values) / values.std(unbiased=False).clamp(min=1e-9)
    model = SingleTaskGP(torch.tensor(x[told]), scaled[:, None], outcome_transform=None)
    try:
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    except Exception:  # a fit that fails leaves its start, which still predicts
        pass
    gain = LogExpectedImprovement(model, best_f=scaled.max())
    with torch.no_grad():
        return torch.cat([gain(part[:, None]) for part in torch.tensor(x).split(1024)]).numpy()


def forest(pool, told):
    import numpy as np
    from scipy.stats import norm
    from sklearn.ensemble import RandomForestRegressor

    x, y = pool.x, pool.y
    model = RandomForestRegressor(100, random_state=len(told)).fit(x[told], y[told])
    guesses = np.array([tree.predict(x) for tree in model.estimators_])
    mean, deviation = guesses.mean(0), guesses.std(0) + 1e-9
    z = (y[told].min() - mean) / deviation
    return deviation * (z * norm.cdf(z) + norm.pdf(z))


def optuna_with(make):
    """A method that scores rows by how near they are to what a sampler of Optuna suggests."""

    def score(pool, told):
        import numpy as np
        import optuna
        import torch

        torch.set_num_threads(1)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        ranges, cells = {}, []
        for at, (part, column) in enumerate(pool.columns):
            number = part.shape[1] == 1 and all(is_number(cell) for cell in column)
            # Numbers as coordinates in [0, 1], categories as the words that they are.
            values = part[:, 0] if number else np.array(column)
            cells.append(values)
            float_range = optuna.distributions.FloatDistribution(0.0, 1.0)
            ranges[str(at)] = float_range if number else optuna.distributions.CategoricalDistribution(sorted(set(column)))
        study = optuna.create_study(sampler=make(optuna, len(told)))
        for row in told:
            params = {str(at): values[row].item() for at, values in enumerate(cells)}
            study.add_trial(optuna.create_trial(params=params, distributions=ranges, value=float(pool.y[row])))
        wanted = study.ask(ranges).params
        distance = np.zeros(len(pool.y))
        for at, values in enumerate(cells):
            number = values.dtype.kind == "f"
            distance += (values - wanted[str(at)]) ** 2 if number else (values != wanted[str(at)]).astype(float)
        return -distance

    return score


def is_number(cell):
    try:
        float(cell)
        return True
    except ValueError:
        return False


METHODS = {
    "botorch": botorch,
    "forest": forest,
    "optuna-tpe": optuna_with(lambda optuna, seed: optuna.samplers.TPESampler(seed=seed)),
    "optuna-gp": optuna_with(lambda optuna, seed: optuna.samplers.GPSampler(seed=seed)),
}


def search(task):
    import numpy as np

    warnings.filterwarnings("ignore")
    folder, name, method, run, first = task
    pool = read_pool(folder, name)
    told, spent = list(first), 0.0
    while len(told) < min(EVALUATIONS, len(pool.y)):
        start = time.perf_counter()
        score = METHODS[method](pool, told)
        score[told] = -np.inf
        told.append(int(np.argmax(score)))
        spent += time.perf_counter() - start
    milliseconds = 1e3 * spent / max(len(told) - len(first), 1)
    return "\t".join([name, method, str(run), f"{milliseconds:.1f}", " ".join(str(row + 1) for row in told)])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder")
    options.add_argument("--methods", default="botorch,forest")
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--pools", help="only these, separated by commas")
    options = options.parse_args()
    only = options.pools.split(",") if options.pools else None
    tasks = []
    for row in rows_of(Path(options.folder) / "first-rows.csv"):
        run = int(row["run"])
        if run < options.runs and (only is None or row["pool"] in only):
            first = [int(row[f"row{k}"]) - 1 for k in range(1, 6)]
            tasks += [(options.folder, row["pool"], method, run, first) for method in options.methods.split(",")]
    # Run by run, so that what is stopped early has all pools.
    tasks.sort(key=lambda task: task[3])
    with multiprocessing.Pool(options.workers) as workers:
        for line in workers.imap_unordered(search, tasks):
            print(line, flush=True)


if __name__ == "__main__":
    main()
