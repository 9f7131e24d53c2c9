"""Samplers of Optuna on real tables and on benchmark functions, side by side.

    pip install icee[optuna] torch
    python tools/bench/optuna_race.py --out race.csv --jobs 16 --seeds 5 --samplers icee,tpe,gp,random --minutes 60
    python tools/bench/optuna_race.py --out race.csv --summary

- Tables (`data/tables`): as in `table_race.py`. A sampler is told the five first rows of a run and suggests a value for each
  column (numbers as floats in [0, 1], categories as words); the nearest row that is left is taken and told, up to 55.
- Functions: the 16 of `icee-bo` in their boxes. All samplers are told the same five points by chance, then suggest 50.

Regret is the best value so far minus the lowest of the table, or the function's minimum. The summary divides its mean over
evaluations 6 to 55 by random search's, which is computed apart from many draws.

Samplers: icee, icee-gp (its Gaussian process), tpe (since Optuna 5 multivariate), tpe-univariate, gp (needs PyTorch), random.
All as they come; one core each.
What a race has done is in the file and is not done again. No choice of icee's sampler was made on these tables or functions.
"""

import argparse
import collections
import csv
import multiprocessing
import os
import sys
import time
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import table_race

EVALUATIONS, FIRST = 55, 5
FIELDS = ("kind", "problem", "sampler", "seed", "evaluation", "regret", "seconds")


def make(sampler, seed):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if sampler.startswith("icee"):
        from icee.optuna import IceeSampler

        return IceeSampler(seed=seed, model="gp" if sampler == "icee-gp" else "learned")
    if sampler == "gp":
        import torch

        torch.set_num_threads(1)
        return optuna.samplers.GPSampler(seed=seed)
    if sampler.startswith("tpe"):
        return optuna.samplers.TPESampler(seed=seed, **({} if sampler == "tpe" else {"multivariate": False}))
    return optuna.samplers.RandomSampler(seed=seed)


def columns(pool):
    """What Optuna is told of a table: a range and the cells of each column."""
    import optuna

    ranges, cells = {}, []
    for at, (part, column) in enumerate(pool.columns):
        number = part.shape[1] == 1 and all(table_race.is_number(cell) for cell in column)
        cells.append(part[:, 0] if number else np.array(column))
        words = optuna.distributions.CategoricalDistribution(sorted(set(column)))
        ranges[str(at)] = optuna.distributions.FloatDistribution(0.0, 1.0) if number else words
    return ranges, cells


def search_table(folder, name, sampler, seed):
    """The regrets of a search of a table, and the seconds spent on suggestions."""
    import optuna

    pool = table_race.read_pool(folder, name)
    ranges, cells = columns(pool)
    first = next(
        row for row in table_race.rows_of(Path(folder) / "first-rows.csv") if (row["pool"], row["run"]) == (name, str(seed))
    )
    trials, told, seconds, spent = [], [], [], 0.0
    for evaluation in range(min(EVALUATIONS, len(pool.y))):
        if evaluation < FIRST:
            row = int(first[f"row{evaluation + 1}"]) - 1
        else:
            # A study of its own each time: what was suggested is not what was tried.
            study = optuna.create_study(sampler=make(sampler, 1000 * seed + evaluation))
            study.add_trials(trials)
            start = time.perf_counter()
            trial = study.ask(ranges)
            spent += time.perf_counter() - start
            distance = np.zeros(len(pool.y))
            for at, values in enumerate(cells):
                wanted = trial.params[str(at)]
                number = values.dtype.kind == "f"
                distance += (values - wanted) ** 2 if number else (values != wanted).astype(float)
            distance[told] = np.inf
            row = int(np.argmin(distance))
        params = {str(at): values[row].item() for at, values in enumerate(cells)}
        trials.append(optuna.create_trial(params=params, distributions=ranges, value=float(pool.y[row])))
        told.append(row)
        seconds.append(spent)
    return np.minimum.accumulate(pool.y[told]) - pool.y.min(), seconds


def search_function(name, domain, minimum, sampler, seed):
    """The same for a benchmark function."""
    import optuna
    from icee import _native

    study = optuna.create_study(sampler=make(sampler, seed))
    ranges = {f"x{at + 1}": optuna.distributions.FloatDistribution(*ends) for at, ends in enumerate(domain)}
    first = np.random.default_rng([seed, FIRST]).uniform(*np.transpose(domain), (FIRST, 2))
    values, seconds, spent = [], [], 0.0
    for evaluation in range(EVALUATIONS):
        if evaluation < FIRST:
            params = dict(zip(ranges, first[evaluation].tolist()))
            values.append(_native.benchmark(name, list(params.values())))
            study.add_trial(optuna.create_trial(params=params, distributions=ranges, value=values[-1]))
        else:
            start = time.perf_counter()
            trial = study.ask(ranges)
            spent += time.perf_counter() - start
            values.append(_native.benchmark(name, list(trial.params.values())))
            study.tell(trial, values[-1])
        seconds.append(spent)
    return np.minimum.accumulate(values) - minimum, seconds


def by_chance(folder, kind, problem):
    """Random search's regret, from many draws."""
    draw = np.random.default_rng(0)
    if kind == "table":
        y = table_race.read_pool(folder, problem).y
        orders = [draw.permutation(len(y))[:EVALUATIONS] for _ in range(2000)]
        return np.mean([np.minimum.accumulate(y[order]) for order in orders], axis=0) - y.min()
    from icee import _native

    domain, minimum = next(rest for name, *rest in _native.benchmarks() if name == problem)
    points = draw.uniform(*np.transpose(domain), (2000, EVALUATIONS, 2))
    values = [[_native.benchmark(problem, point) for point in run] for run in points.tolist()]
    return np.minimum.accumulate(values, axis=1).mean(axis=0) - minimum


def pin(cores, turn):
    """A core for each worker: what takes all cores that it sees then takes one."""
    if hasattr(os, "sched_setaffinity"):
        with turn.get_lock():
            turn.value += 1
            os.sched_setaffinity(0, {cores[turn.value % len(cores)]})


def search(task):
    warnings.filterwarnings("ignore")
    folder, kind, problem, sampler, seed = task
    if kind == "table":
        regrets, seconds = search_table(folder, problem, sampler, seed)
    else:
        from icee import _native

        domain, minimum = next(rest for name, *rest in _native.benchmarks() if name == problem)
        regrets, seconds = search_function(problem, domain, minimum, sampler, seed)
    rows = enumerate(zip(regrets, seconds), 1)
    return [(kind, problem, sampler, seed, at, f"{regret:.9g}", f"{spent:.4f}") for at, (regret, spent) in rows]


def read(path):
    """Regrets and seconds by kind, problem, sampler and seed."""
    found = collections.defaultdict(lambda: ([], []))
    if Path(path).exists():
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                regrets, seconds = found[row["kind"], row["problem"], row["sampler"], int(row["seed"])]
                regrets.append(float(row["regret"]))
                seconds.append(float(row["seconds"]))
    return found


def interval(numbers):
    numbers = np.asarray(numbers)
    half = 1.96 * numbers.std(ddof=1) / len(numbers) ** 0.5 if len(numbers) > 1 else float("nan")
    return f"{numbers.mean():.3f} ± {half:.3f}"


def summary(path, folder):
    """Relative regret of runs that all samplers have, by kind; differences paired by problem."""
    found = read(path)
    for kind in sorted({key[0] for key in found}):
        mine = {key[1:]: value for key, value in found.items() if key[0] == kind}
        samplers = sorted({sampler for _, sampler, _ in mine})
        runs = [{(problem, seed) for problem, s, seed in mine if s == sampler} for sampler in samplers]
        shared = sorted(set.intersection(*runs))
        problems = sorted({problem for problem, _ in shared})
        chance = {problem: by_chance(folder, kind, problem)[FIRST:].mean() for problem in problems}
        score = {
            sampler: [
                np.mean([np.mean(mine[p, sampler, seed][0][FIRST:]) for p, seed in shared if p == problem]) / chance[problem]
                for problem in problems
            ]
            for sampler in samplers
        }
        last = {
            sampler: [
                np.mean([mine[p, sampler, seed][0][-1] for p, seed in shared if p == problem]) / chance[problem]
                for problem in problems
            ]
            for sampler in samplers
        }
        print(f"{kind}s: {len(problems)}, {len(shared)} runs each; regret relative to random, mean and at the end; s a suggestion")
        for sampler in sorted(samplers, key=lambda sampler: np.mean(score[sampler])):
            spent = np.mean([mine[p, sampler, seed][1][-1] for p, seed in shared]) / (EVALUATIONS - FIRST)
            against = ""
            if "icee" in score and sampler != "icee":
                pairs = np.subtract(score["icee"], score[sampler])
                against = f"  icee − it {interval(pairs)}, better on {np.sum(pairs < 0)} of {len(pairs)}"
            print(f"  {sampler:17s} {interval(score[sampler])}  {interval(last[sampler])}  {spent:.3f}{against}")
        print("  " + "problem".ljust(18) + " ".join(f"{sampler:>17s}" for sampler in samplers))
        for at, problem in enumerate(problems):
            print("  " + problem.ljust(18) + " ".join(f"{score[sampler][at]:17.3f}" for sampler in samplers))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", required=True)
    options.add_argument("--tables", default=str(Path(__file__).parents[2] / "data" / "tables"))
    options.add_argument("--samplers", default="icee,tpe,tpe-univariate,gp,random")
    options.add_argument("--problems", help="only these tables and functions, separated by commas")
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--minutes", type=float, default=float("inf"), help="after these no new search begins")
    options.add_argument("--summary", action="store_true", help="only say how it stands")
    options = options.parse_args()
    if options.summary:
        return summary(options.out, options.tables)
    from icee import _native

    only = options.problems.split(",") if options.problems else None
    problems = [("table", row["pool"]) for row in table_race.rows_of(Path(options.tables) / "pools.csv")]
    problems += [("function", name) for name, _, _ in _native.benchmarks()]
    problems = [problem for problem in problems if only is None or problem[1] in only]
    done = read(options.out)
    # Seed by seed, so that what is stopped early has all problems.
    tasks = [
        (options.tables, *problem, sampler, seed)
        for seed in range(options.seeds)
        for problem in problems
        for sampler in options.samplers.split(",")
        if (*problem, sampler, seed) not in done
    ]
    deadline = time.monotonic() + 60 * options.minutes
    begun = iter(task for task in tasks if time.monotonic() < deadline)
    fresh = not Path(options.out).exists()
    spawn = multiprocessing.get_context("spawn")
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    with spawn.Pool(options.jobs, pin, (cores, spawn.Value("i", 0))) as workers, open(options.out, "a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(FIELDS)
        # A few at a time: the queue of a pool would begin all of them.
        while some := [task for _, task in zip(range(4 * options.jobs), begun)]:
            for rows in workers.imap_unordered(search, some):
                writer.writerows(rows)
                file.flush()
    summary(options.out, options.tables)


if __name__ == "__main__":
    main()
