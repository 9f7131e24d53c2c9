"""BoTorch's Gaussian process with expected improvement on the pools of `icee eval`.

    pip install botorch==0.18.1
    icee functions tasks --trials 20 --seed 0 > tasks.csv
    python tools/bench/botorch_race.py tasks.csv --workers 2 --out botorch.csv
    icee eval bo__value --trials 20 --seed 0 --csv icee.csv
    python tools/bench/botorch_race.py --compare icee.csv botorch.csv    # or docs/results/bo-race.csv

SingleTaskGP with Matérn 5/2, one length scale a column with BoTorch's former Gamma(3, 6) prior, standardised values, fitted
anew before each suggestion; the candidate of the greatest log expected improvement among those not yet evaluated. One
thread a worker unless told otherwise. The result has the columns of `icee eval --csv`: sampler, function, trial, evaluation, regret, seconds.
"""

import argparse
import collections
import csv
import functools
import multiprocessing
import time

EVALUATIONS = 55
SHOWN = (10, 20, 30, 40, 55)


def read_tasks(path):
    pools = collections.OrderedDict()
    with open(path) as file:
        for row in csv.DictReader(file):
            pools.setdefault((row["function"], int(row["trial"])), []).append(row)
    for name, rows in pools.items():
        points = [[float(row["x1"]), float(row["x2"])] for row in rows]
        first = sorted((int(row["first"]), int(row["candidate"])) for row in rows if row["first"])
        yield name, points, [float(row["value"]) for row in rows], [candidate for _, candidate in first]


def search(task, threads):
    """Regret and seconds spent on suggestions after each evaluation."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from gpytorch.priors import GammaPrior

    torch.set_num_threads(threads)
    torch.set_default_dtype(torch.float64)
    (function, trial), points, values, first = task
    x, y = torch.tensor(points), torch.tensor(values)
    lowest = y.min().item()
    told, seconds, rows = list(first), 0.0, []
    for evaluation in range(1, EVALUATIONS + 1):
        if evaluation > len(first):
            start = time.perf_counter()
            kernel = ScaleKernel(
                MaternKernel(nu=2.5, ard_num_dims=2, lengthscale_prior=GammaPrior(3.0, 6.0)),
                outputscale_prior=GammaPrior(2.0, 0.15),
            )
            # BoTorch maximises.
            model = SingleTaskGP(x[told], -y[told, None], covar_module=kernel, outcome_transform=Standardize(1))
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            acquisition = LogExpectedImprovement(model, best_f=(-y[told]).max())
            with torch.no_grad():
                score = acquisition(x[:, None, :])
            score[told] = -torch.inf
            told.append(int(score.argmax()))
            seconds += time.perf_counter() - start
        best = y[told[:evaluation]].min().item()
        rows.append(["botorch", function, trial, evaluation, best - lowest, seconds])
    return rows


def read_regret(paths):
    regret, seconds = collections.defaultdict(dict), collections.defaultdict(list)
    for path in paths:
        with open(path) as file:
            for row in csv.DictReader(file):
                key = (row["function"], int(row["trial"]))
                regret[row["sampler"]].setdefault(key, {})[int(row["evaluation"])] = float(row["regret"])
                if int(row["evaluation"]) == EVALUATIONS:
                    seconds[row["sampler"]].append(float(row["seconds"]))
    return regret, seconds


def mean_and_half_width(numbers):
    mean = sum(numbers) / len(numbers)
    variance = sum((number - mean) ** 2 for number in numbers) / (len(numbers) - 1)
    return mean, 1.96 * (variance / len(numbers)) ** 0.5


def compare(paths):
    """The runs that all samplers of some files have in common."""
    regret, seconds = read_regret(paths)
    shared = set.intersection(*[set(runs) for runs in regret.values()])
    regret = {sampler: {key: run for key, run in runs.items() if key in shared} for sampler, runs in regret.items()}
    print(f"{len(shared)} runs")
    print("sampler".ljust(18), *[f"{evaluation:>14}" for evaluation in SHOWN], " solved  s a suggestion")
    for sampler, runs in regret.items():
        cells = [mean_and_half_width([run[at] for run in runs.values()]) for at in SHOWN]
        solved = sum(run[EVALUATIONS] <= 1e-12 for run in runs.values()) / len(runs)
        each = sum(seconds[sampler]) / len(seconds[sampler]) / (EVALUATIONS - 5)
        print(sampler.ljust(18), *[f"{m:8.3f} ±{h:.2f}" for m, h in cells], f"{solved:7.1%} {each:8.4f}")
    for sampler, runs in regret.items():
        if sampler != "botorch":
            pairs = {at: [runs[key][at] - regret["botorch"][key][at] for key in runs] for at in SHOWN}
            print(f"{sampler} − botorch".ljust(18), *["%8.3f ±%.2f" % mean_and_half_width(pairs[at]) for at in SHOWN])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="?", help="what `icee functions tasks` wrote")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="threads of each worker")
    parser.add_argument("--out", default="botorch.csv")
    parser.add_argument("--compare", nargs="+", metavar="FILE", help="files of results, of all samplers together")
    arguments = parser.parse_args()
    if arguments.compare:
        return compare(arguments.compare)
    if not arguments.tasks:
        parser.error("give the tasks, or --compare")
    with multiprocessing.get_context("spawn").Pool(arguments.workers) as workers, open(arguments.out, "w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["sampler", "function", "trial", "evaluation", "regret", "seconds"])
        # Trial by trial: a race that is stopped has as many runs of each function.
        tasks = sorted(read_tasks(arguments.tasks), key=lambda task: task[0][1])
        for rows in workers.imap(functools.partial(search, threads=arguments.threads), tasks):
            writer.writerows(rows)
            file.flush()


if __name__ == "__main__":
    main()
