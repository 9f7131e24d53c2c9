"""Training: runs that can be watched, stopped and resumed, as ``icee train`` makes them."""

from __future__ import annotations

import csv
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icee import _checks as checks
from icee import _native
from icee._native import Error
from icee.agent import Agent
from icee.logs import Logs
from icee.study import Note

__all__ = ["Run", "resume", "train"]

Callback = Callable[[dict[str, Any]], Any]


class Run:
    """A run folder, and what is in it.

    >>> import icee, tempfile
    >>> small = {"train.batch": 2, "train.eval_games": 2, "model.width": 16, "model.attention_heads": 1}
    >>> run = icee.train(preset="dark-room-tiny", steps=2, settings=small, out=tempfile.mkdtemp())
    >>> run.summary["step"], run.summary["finished"]
    (2, True)
    >>> run.metrics()["loss"].shape
    (2,)
    >>> run.agent().actions
    5
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        """The folder."""

    @property
    def summary(self) -> dict[str, Any]:
        """How it ended: ``step``, ``finished``, ``seconds``, ``checkpoint``, and the last ``evaluation``."""
        summary: dict[str, Any] = json.loads((self.path / "summary.json").read_text(encoding="utf-8"))
        return summary

    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """The metrics of every step, a list each; not a number where something was not measured."""
        text = (self.path / "metrics.csv").read_text(encoding="utf-8")
        # Of a run that is still writing, the last line may be half there.
        header, *rows = csv.reader(line for line in text.splitlines(keepends=True) if line.endswith("\n"))
        table = np.array([[float(cell or "nan") for cell in row] for row in rows]).reshape(len(rows), len(header))
        return {name: table[:, column].copy() for column, name in enumerate(header)}

    def agent(self, games: int = 1, seed: int = 0) -> Agent:
        """An agent of the last checkpoint."""
        return Agent(self.path, games, seed)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"


def train(
    logs: Any = None,
    *,
    preset: str | None = None,
    method: str | None = None,
    steps: int | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    out: str | os.PathLike[str] = "runs",
    device: str = "cpu",
    threads: int = 0,
    max_minutes: float | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
) -> Run:
    """Trains a model, on logs or on the world of a preset, into a folder of its own under ``out``.

    With logs no preset is needed: sizes and returns are theirs. A tenth of the games is not learned from; the networks that do best on
    them are kept, and training ends when they only get worse. What is found out about the log and the model is said as a warning
    of the class :class:`icee.Note`.

    ``logs`` is all that :meth:`icee.Logs.of` takes; arrays are kept as a file in ``out``, so that the run can be resumed.
    ``settings`` are those of ``icee train --set``: ``{"train.lr": 1e-3}`` or ``{"train": {"lr": 1e-3}}``. Without a ``seed`` it is
    theirs, or the preset's.

    ``callback`` gets a dict after every step (``event`` is "step"; ``loss``, ``rate``, ...), every evaluation and every
    checkpoint, and stops the run by returning True. Ctrl-C saves and stops. Either way :func:`resume` goes on. ``progress`` is
    shown on stderr where that is a terminal, unless True or False says otherwise.

    >>> import icee
    >>> logs = icee.collect("icee/DarkRoomTiny-v0", "random", games=20, episodes=3)
    >>> small = {"train.batch": 2, "model.width": 16, "model.attention_heads": 1}
    >>> run = icee.train(logs, steps=2, settings=small, out=folder, seed=1)
    >>> icee.evaluate(run.agent(), "icee/DarkRoomTiny-v0", games=4, episodes=3).shape
    (4, 3)
    """
    if preset is None and logs is None:
        raise Error('give logs to learn from, or the preset of a world: icee.train(preset="dark-room-tiny")')
    chosen = [f"{key}={_toml(value)}" for key, value in _flat(settings or {})]
    if steps is not None:
        chosen.append(f"train.steps={steps}")
    if seed is not None:
        chosen.append(f"seed={checks.natural('seed', seed)}")
    path: str | None = None
    if isinstance(logs, (str, os.PathLike)):
        path = os.fspath(logs)
    elif logs is not None:
        path = os.fspath(_native.keep_log(os.fspath(out), Logs.of(logs)))
    watcher = _Watcher(callback, progress)
    return watcher.run(
        lambda: _native.train(
            preset or "custom",
            method=method,
            settings=chosen,
            logs=path,
            out=os.fspath(out),
            device=device,
            threads=checks.natural("threads", threads),
            max_minutes=max_minutes,
            watch=watcher,
            every_step=watcher.every_step,
        )
    )


def resume(
    run: Run | str | os.PathLike[str],
    *,
    device: str = "cpu",
    threads: int = 0,
    max_minutes: float | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
) -> Run:
    """Goes on with a run that was stopped. On the CPU it ends with the same weights as if it had never been.

    >>> import icee
    >>> small = {"train.batch": 2, "train.eval_games": 2, "model.width": 16, "model.attention_heads": 1}
    >>> run = icee.train(preset="dark-room-tiny", steps=2, settings=small, out=folder, callback=lambda event: event["event"] == "step")
    >>> run.summary["step"], icee.resume(run).summary["step"]
    (1, 2)
    """
    folder = os.fspath(run.path if isinstance(run, Run) else run)
    watcher = _Watcher(callback, progress)
    return watcher.run(
        lambda: _native.resume(
            folder,
            device=device,
            threads=checks.natural("threads", threads),
            max_minutes=max_minutes,
            watch=watcher,
            every_step=watcher.every_step,
        )
    )


class _Watcher:
    """Hears of everything that happens in a run: shows how it goes, and tells the callback."""

    def __init__(self, callback: Callback | None, progress: bool | None) -> None:
        self.callback = callback
        self.terminal = sys.stderr is not None and sys.stderr.isatty()
        self.shows = self.terminal if progress is None else progress
        self.every_step = self.shows or callback is not None
        self.pause = 0.2 if self.terminal else 10.0
        self.shown = time.monotonic()
        self.line = ""

    def run(self, work: Callable[[], str]) -> Run:
        try:
            return Run(json.loads(work())["run"])
        finally:
            if self.line:
                print(file=sys.stderr)

    def __call__(self, text: str) -> bool:
        event: dict[str, Any] = json.loads(text)
        if event["event"] == "remark":
            warnings.warn(event["line"], Note, stacklevel=5)
            return False
        if self.shows:
            self.show(event)
        return self.callback is not None and bool(self.callback(event))

    def show(self, event: dict[str, Any]) -> None:
        match event["event"]:
            case "start":
                self.say(f"run folder {event['run']}, {event['device']}")
            case "evaluation":
                self.say(f"step {event['step']}: {event['line']}")
            case "step" if time.monotonic() - self.shown > self.pause or event["step"] == event["steps"]:
                self.shown = time.monotonic()
                line = f"step {event['step']}/{event['steps']} loss {event['loss']:.3f} "
                line += f"{event['tokens_per_second'] / 1e3:.1f}k tokens/s"
                if self.terminal:
                    print(f"\r{line:<{len(self.line)}}", end="", file=sys.stderr, flush=True)
                    self.line = line
                else:
                    self.say(line)

    def say(self, line: str) -> None:
        """A line that stays, in place of one that changes."""
        start = "\r" if self.line else ""
        print(f"{start}{line:<{len(self.line)}}", file=sys.stderr, flush=True)
        self.line = ""


def _flat(settings: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Settings of settings as ``group.key``."""
    flat: list[tuple[str, Any]] = []
    for key, value in settings.items():
        flat.extend(_flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(prefix + key, value)])
    return flat


def _toml(value: Any) -> str:
    if isinstance(value, (bool, str)):
        return json.dumps(value)
    return repr(value.item() if isinstance(value, np.generic) else value)
