"""A worker: asks a server for a row, tries it and records the result, until no row is left. Start as many as you like.

    export ICEE_TOKEN=icee_...
    python worker.py http://127.0.0.1:8642/studies/bread

The row is reserved for two hours, which is extended while the experiment runs. An experiment that raises, or gives no finite number, has
failed. The worker waits for a server that is busy or cannot be reached, and for rows that others have reserved. A result that the server
refuses is printed, and the next row is tried; such rows are released at the end. After three in a row the worker stops.
"""

import math
import os
import platform
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Callable
from typing import TypeVar

import icee

LEASE, RENEW, PAUSE, PATIENCE = "2h", 60 * 60, 30, 3

T = TypeVar("T")


def experiment(cells: dict[str, str]) -> float:
    """Your experiment; here, hot and short is good."""
    return float(cells["heat"]) / 100 - float(cells["minutes"]) / 60


def patiently(request: Callable[[], T]) -> T:
    """Sends a request until a server answers it."""
    while True:
        try:
            return request()
        except ConnectionError:
            time.sleep(PAUSE)


def keep(study: icee.Study, row: str, name: str, done: threading.Event) -> None:
    """Extends the reservation, until the row is done."""
    while not done.wait(RENEW):
        try:
            study.renew(row, within=LEASE, by=name)
        except (icee.Error, ConnectionError):
            # Perhaps next time. A late result counts, too.
            traceback.print_exc()


def measured(cells: dict[str, str]) -> float:
    """The result of the experiment, if it can be recorded."""
    value = float(experiment(cells))
    if not math.isfinite(value):
        raise ValueError(f"the experiment gave {value}")
    return value


def work(url: str) -> tuple[int, list[str]]:
    """How many rows were tried, and those whose results were refused."""
    # Workers share a token, so each says who it is.
    name, tried = f"{platform.node()[-40:]}-{os.getpid()}-{uuid.uuid4().hex[:8]}", 0
    study, renewing = icee.Study(url=url), icee.Study(url=url)
    refused: list[str] = []
    in_a_row = 0
    while in_a_row < PATIENCE:
        try:
            patiently(lambda: study.ask(more=True, within=LEASE, by=name))
        except icee.Error as error:
            if error.code != "none-left":
                raise
            # The reservations of a worker that dies expire.
            if error.problem["running"] <= len(set(refused)):
                break
            time.sleep(PAUSE)
            continue
        row, done = study.answer["suggestions"][0], threading.Event()
        keeper = threading.Thread(target=keep, args=(renewing, row["id"], name, done), daemon=True)
        keeper.start()
        try:
            outcome = {"value": measured(row["cells"])}
        except Exception:
            traceback.print_exc()
            outcome = {"failed": True}
        done.set()
        keeper.join()
        try:
            patiently(lambda: study.tell(row["id"], by=name, **outcome))
            tried, in_a_row = tried + 1, 0
        except Exception as error:
            traceback.print_exc()
            print(f"not recorded: row {row['id']}, {outcome}", file=sys.stderr)
            if getattr(error, "code", None) != "already-measured":
                refused.append(row["id"])
                in_a_row += 1
    for row in refused:
        try:
            patiently(lambda: study.withdraw(row, by=name))
        except icee.Error:
            # The reservation has expired, and perhaps someone else has the row.
            traceback.print_exc()
    return tried, refused


if __name__ == "__main__":
    tried, refused = work(sys.argv[1])
    print(f"{tried} rows tried")
    if refused:
        sys.exit(f"results refused: {', '.join(refused)}")
