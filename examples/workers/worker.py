"""A worker: asks a server for a row, tries it, tells what came out, until no row is left. Start as many as you like.

    export ICEE_TOKEN=icee_...
    python worker.py http://127.0.0.1:8642/studies/bread

The row is lent for two hours and renewed while the experiment runs. An experiment that raises is told as failed; a server that is busy or
cannot be reached for a while is waited for; what it refuses is printed, and the next row is tried.
"""

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

LEASE, RENEW, PAUSE = "2h", 30 * 60, 30

T = TypeVar("T")


def experiment(cells: dict[str, str]) -> float:
    """Your experiment; here, hot and short is good."""
    return float(cells["heat"]) / 100 - float(cells["minutes"]) / 60


def patiently(request: Callable[[], T]) -> T:
    """Sends a request until it is known what became of it."""
    while True:
        try:
            return request()
        except ConnectionError:
            time.sleep(PAUSE)
        except icee.Error as error:
            # The server was stopped in the middle of it. What was told is not told twice.
            if "nobody knows" not in str(error):
                raise


def keep(study: icee.Study, row: str, name: str, done: threading.Event) -> None:
    """Asks for more time, until the row is done."""
    while not done.wait(RENEW):
        try:
            study.renew(row, within=LEASE, by=name)
        except (icee.Error, ConnectionError):
            # Perhaps next time; what is told late counts all the same.
            traceback.print_exc()


def work(url: str) -> int:
    """How many rows were tried."""
    # Workers share a token, so each says who it is.
    name, tried = f"{platform.node()[:40]}-{os.getpid()}-{uuid.uuid4().hex[:8]}", 0
    study, renewing = icee.Study(url=url), icee.Study(url=url)
    while True:
        try:
            patiently(lambda: study.ask(more=True, within=LEASE, by=name))
        except icee.Error as error:
            if "nothing is left" in str(error):
                return tried
            raise
        row, done = study.answer["suggestions"][0], threading.Event()
        keeper = threading.Thread(target=keep, args=(renewing, row["id"], name, done), daemon=True)
        keeper.start()
        try:
            outcome = {"value": experiment(row["cells"])}
        except Exception:
            traceback.print_exc()
            outcome = {"failed": True}
        done.set()
        keeper.join()
        try:
            patiently(lambda: study.tell(row["id"], by=name, **outcome))
            tried += 1
        except Exception:
            traceback.print_exc()
            print(f"not taken: row {row['id']}, {outcome}", file=sys.stderr)


if __name__ == "__main__":
    print(f"{work(sys.argv[1])} rows tried")
