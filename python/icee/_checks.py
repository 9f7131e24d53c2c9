"""What is given by callers, checked where it is given: errors name the argument and say what it may be."""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Iterable
from typing import Any

from icee import frames
from icee._native import Error


def names(what: str, names: Iterable[str]) -> list[str]:
    if isinstance(names, str):
        raise Error(f"{what} is a list of names: [{names!r}]")
    return [str(name) for name in names]


def positive(**counts: int) -> None:
    """Refuses counts below 1."""
    for name, count in counts.items():
        if count < 1:
            raise Error(f"{name} is {count}; at least 1 is needed")


def whole(number: Any) -> int | None:
    """A whole number, if it is one: 1.7 and "1" are none."""
    try:
        return operator.index(number)
    except TypeError:
        return None


def natural(name: str, value: Any, least: int = 0) -> int:
    """A whole number from 0, or from 1, on: seeds, the numbers of games, counts."""
    number = None if isinstance(value, bool) else whole(value)
    if number is None or not least <= number < 2**64:
        raise Error(f"{name} is {value!r}; a whole number from {least} on, below 2^64, is needed")
    return number


def row(row: Any) -> str:
    """What names a row, as text."""
    if not isinstance(row, (str, tuple)) and hasattr(row, "__len__"):
        raise Error(f"{row!r} is no row; name one row at a time, or record the results of many from a table")
    return frames.text(row)


def amount(what: str, value: Any) -> float | str:
    """A number as requests have it: text is read where the study is, and so is what JSON has no numbers for."""
    if isinstance(value, str):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise Error(f"{what} is a number, not {value!r}") from None
    return number if math.isfinite(number) else str(number)


def bounds(bounds: Any) -> str:
    """A range as requests have it, "0..100": from text, or from two numbers."""
    if isinstance(bounds, str):
        return bounds
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise Error(f"bounds are two numbers, or None where there is no end: (0, 100), not {bounds!r}") from None
    return "..".join("" if end is None else str(amount("an end of bounds", end)) for end in (low, high))


def time(within: Any) -> str:
    """A time as requests have it, "8h": from text, whole seconds, or a timedelta."""
    if isinstance(within, str):
        return within
    if isinstance(within, datetime.timedelta):
        within = within.total_seconds()
    elif type(within).__name__ == "timedelta64":
        within = within.astype("timedelta64[ms]").astype(int) / 1000
    if isinstance(within, bool) or not isinstance(within, (int, float)) or not 0 < within < math.inf:
        raise Error(f'a time is "8h", seconds or a timedelta, not {within!r}')
    return f"{math.ceil(within)}s"


def repeat(repeat: Any) -> dict[str, bool]:
    """What to do with a row that has a result, as requests have it."""
    if repeat not in ("refuse", "again", "replace"):
        raise Error(f'repeat is "refuse", "again" or "replace", not {repeat!r}')
    return {} if repeat == "refuse" else {repeat: True}
