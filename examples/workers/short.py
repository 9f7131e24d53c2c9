"""The shortest worker; worker.py also renews rows, waits for a server that is away, and gives back what is refused."""

import sys

import icee

study = icee.Study(url=sys.argv[1])
while study.summary()["left"]:
    study.ask(more=True, within="2h")
    row = study.answer["suggestions"][0]
    study.tell(row["id"], float(row["cells"]["heat"]) / 100)  # your experiment
