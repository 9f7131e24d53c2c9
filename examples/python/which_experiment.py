"""Which experiment next? A search among 74 real reactions, with pandas.

The yields were all measured once; here they are taken away, and one is looked up whenever a chemist would have gone to
the lab. Run it with: python examples/python/which_experiment.py
"""

import pathlib
import tempfile

import pandas

import icee

TABLE = pathlib.Path(__file__).parents[2] / "data" / "tables" / "pools" / "suzuki_i.csv"

reactions = pandas.read_csv(TABLE)
yields = reactions.pop("yield")

with tempfile.TemporaryDirectory() as folder:
    study = icee.Study.create(f"{folder}/suzuki.jsonl", reactions, direction="maximize", bounds=(0, 100))

    for _ in range(5):
        batch = study.ask(3)
        study.tell(yields[batch.index])  # what came out, by the same index
        print(f"best so far {study.best()['value']:5.1f}, of {yields.max()} in the whole table")

    print("\nThe most promising of those that are left:")
    print(study.predict(top=3)[["ligand", "temperature", "mean", "low", "high", "beats_best"]])
    left = study.ask()
    print(f"\nA better one is left with probability {study.answer['remaining']['any']:.2f}.")
    print(f"Next: row {left.index[0]}, because: {left['reasons'].iloc[0]}")
    print(f"\nA page about it: {study.report()}")
