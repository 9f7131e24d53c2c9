"""A worker: asks a server for a row, tries it, tells what came out, until no row is left. Start as many as you like.

    export ICEE_TOKEN=icee_...
    python worker.py http://127.0.0.1:8642/studies/bread
"""

import sys

import icee


def experiment(cells: dict[str, str]) -> float:
    """Your experiment; here, hot and short is good."""
    return float(cells["heat"]) / 100 - float(cells["minutes"]) / 60


def work(url: str) -> int:
    """How many rows were tried."""
    study, tried = icee.Study(url=url), 0
    while True:
        try:
            study.ask(more=True, within="2h")
        except icee.Error as error:
            if "nothing is left" in str(error):
                return tried
            raise
        row = study.answer["suggestions"][0]
        study.tell(row["id"], experiment(row["cells"]))
        tried += 1


if __name__ == "__main__":
    print(f"{work(sys.argv[1])} rows tried")
