"""The shortest worker; worker.py also extends reservations, waits for a server, and releases rows whose results are refused."""

import sys

import icee

study = icee.Study(url=sys.argv[1])
while study.summary()["left"]:
    study.ask(more=True, within="2h")
    row = study.answer["suggestions"][0]
    study.tell(row["id"], float(row["cells"]["heat"]) / 100)  # your experiment
