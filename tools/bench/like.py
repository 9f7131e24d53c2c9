#!/usr/bin/env python3
"""What an earlier campaign is worth: real tables are split by one column into two campaigns, and the second is searched with and
without `--like` the first.

    tools/bench/like.py ICEE [--runs 5] [--values 20] > like.csv

Of each pair of levels of a column the rows of one level are the earlier campaign (40 values of a search of their own), those of the
other the new one; the column itself is left out. Prints the mean regret over the values, in standard deviations of the new campaign's
rows, by pair, run and way.
"""
import argparse, csv, itertools, json, os, statistics, subprocess, sys, tempfile

SPLITS = [("direct_arylation", "Temp_C"), ("direct_arylation", "Concentration"), ("lnp3", "solid_lipid"), ("suzuki_i", "ligand")]
EARLIER = 40


def icee(program, folder, *words):
    done = subprocess.run([program, "study", *words, "--json"], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def write(path, head, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def search(program, folder, name, values, direction, count, seed, like=None):
    """The values found one after another."""
    extra = ["--like", like] if like else []
    icee(program, folder, "create", name, "--pool", f"{name}.csv", "--direction", direction, "--seed", str(seed), *extra)
    found = []
    for _ in range(min(count, len(values))):
        row = icee(program, folder, "ask", name)["suggestions"][0]["row"]
        found.append(values[row - 1])
        icee(program, folder, "tell", name, "--row", str(row), f"--value={values[row - 1]}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("icee")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--values", type=int, default=20)
    parser.add_argument("--tables", default="data/tables")
    options = parser.parse_args()
    program = os.path.abspath(options.icee)
    directions = {row["pool"]: row for row in csv.DictReader(open(f"{options.tables}/pools.csv"))}
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["table", "column", "earlier", "new", "run", "way", "regret"])
    for table, column in SPLITS:
        head, *rows = csv.reader(open(f"{options.tables}/pools/{table}.csv"))
        at = head.index(column)
        direction = next(word for word in directions[table].values() if word in ("max", "min", "maximize", "minimize"))
        sign = -1 if direction.startswith("max") else 1
        groups = {}
        for row in rows:
            groups.setdefault(row[at], []).append(row)
        levels = [level for level, members in sorted(groups.items()) if len(members) >= 30][:3]
        for one, other in itertools.permutations(levels, 2):
            for run in range(options.runs):
                with tempfile.TemporaryDirectory() as folder:
                    names = [name for place, name in enumerate(head[:-1]) if place != at]
                    cells = lambda row: [cell for place, cell in enumerate(row[:-1]) if place != at]
                    values = {}
                    for name, level in (("old", one), ("alone", other), ("with", other)):
                        write(f"{folder}/{name}.csv", names, [cells(row) for row in groups[level]])
                        values[name] = [float(row[-1]) for row in groups[level]]
                    search(program, folder, "old", values["old"], direction, EARLIER, run)
                    best = min(sign * value for value in values["with"])
                    unit = statistics.stdev(values["with"])
                    for name, like in (("alone", None), ("with", "old")):
                        found = search(program, folder, name, values[name], direction, options.values, run, like)
                        so_far = list(itertools.accumulate((sign * value for value in found), min))
                        regret = statistics.mean((value - best) / unit for value in so_far)
                        out.writerow([table, column, one, other, run, name, f"{regret:.4f}"])
                        sys.stdout.flush()


if __name__ == "__main__":
    main()
