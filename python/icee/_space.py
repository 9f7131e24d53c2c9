"""Optuna's search spaces as tables: a column a parameter, a row a point, and rows to choose from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial

from icee._native import Column

__all__ = ["Space"]

Rows = NDArray[np.float64]

# Spaces of no more points are looked at as a whole.
ENUMERATED = 1024
# Steps up to which a number is one of a grid's.
GRID = 1024
# How far the neighbours of a good point lie, in widths of the space: from this to that, evenly in the logarithm.
NEAR, FAR = 0.003, 0.3


class Numbers:
    """A float or int: between two ends, perhaps in steps, perhaps by its logarithm."""

    def __init__(self, name: str, distribution: FloatDistribution | IntDistribution) -> None:
        self.name, self.log = name, distribution.log
        self.low, self.high = float(distribution.low), float(distribution.high)
        self.step = float(distribution.step or 0.0)
        self.count = 1 + round((self.high - self.low) / self.step) if self.step else math.inf
        # Half a step more on both sides, so that all steps are as likely.
        self.start = self._scaled(self.low - self.step / 2)
        self.width = self._scaled(self.high + self.step / 2) - self.start

    def _scaled(self, x: Any) -> Any:
        return np.log(x) if self.log else x

    def levels(self) -> Rows:
        return self.snapped(self.low + self.step * np.arange(self.count))

    def column(self) -> Column:
        if self.count <= GRID:
            return Column.grid(self.name, self.levels(), log=self.log)
        return Column.between(self.name, self.low, self.high, log=self.log)

    def of_unit(self, unit: Rows) -> Rows:
        x = self.start + unit * self.width
        return self.snapped(np.exp(x) if self.log else x)

    def snapped(self, x: Rows) -> Rows:
        """The nearest numbers that may be suggested; equal ones have the same bits."""
        if self.step:
            x = self.low + self.step * np.round((x - self.low) / self.step)
        return np.clip(x, self.low, self.high) + 0.0

    def to_unit(self, x: Rows) -> Rows:
        return np.asarray((self._scaled(x) - self.start) / self.width)

    def moved(self, x: Rows, by: Rows, rng: np.random.Generator) -> Rows:
        """Neighbours, so far away; of a grid at least the next."""
        least = 0.0 if self.log else 1.0 / self.count
        by = np.copysign(np.maximum(np.abs(by), least), by)
        # Who would leave the space lies on its end: the best points often do.
        return self.of_unit(np.clip(self.to_unit(x) + by, 0.0, 1.0))

    def distance(self, a: Rows, b: Rows) -> Rows:
        return self.to_unit(a) - self.to_unit(b)


class Choices:
    """A categorical: its choices have no order."""

    def __init__(self, name: str, distribution: CategoricalDistribution) -> None:
        self.name, self.choices, self.count = name, distribution.choices, len(distribution.choices)

    def levels(self) -> Rows:
        return np.arange(self.count, dtype=float)

    def column(self) -> Column:
        # Its number beside its text: 1 and "1" are two.
        return Column.words(self.name, [f"{at} {choice}" for at, choice in enumerate(self.choices)])

    def of_unit(self, unit: Rows) -> Rows:
        return np.minimum(np.floor(unit * self.count), self.count - 1)

    def snapped(self, x: Rows) -> Rows:
        return x

    def moved(self, x: Rows, by: Rows, rng: np.random.Generator) -> Rows:
        """Another choice, the sooner the farther."""
        others = (x + rng.integers(1, max(self.count, 2), len(x))) % self.count
        return np.where(rng.random(len(x)) < np.minimum(np.abs(by) / FAR, 0.5), others, x)

    def distance(self, a: Rows, b: Rows) -> Rows:
        return np.asarray(a != b, dtype=float)


def _axis(name: str, distribution: BaseDistribution) -> Numbers | Choices:
    if isinstance(distribution, CategoricalDistribution):
        return Choices(name, distribution)
    if isinstance(distribution, (FloatDistribution, IntDistribution)):
        return Numbers(name, distribution)
    raise ValueError(f"{name!r} is a {type(distribution).__name__}; a float, an int or a categorical was expected")


class Space:
    """Parameters that are suggested together."""

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self.distributions = dict(distributions)
        self.axes = [_axis(name, distribution) for name, distribution in self.distributions.items()]
        self.size = math.prod(axis.count for axis in self.axes)

    def columns(self) -> list[Column]:
        return [axis.column() for axis in self.axes]

    def holds(self, trial: FrozenTrial) -> bool:
        """Whether a trial has all of the parameters, with the same ranges."""
        return all(trial.distributions.get(name) == of for name, of in self.distributions.items())

    def rows(self, points: Iterable[Mapping[str, float]]) -> Rows:
        """Points, given by Optuna's internal numbers, as rows."""
        rows = [[point[name] for name in self.distributions] for point in points]
        cells = np.array(rows, dtype=float).reshape(-1, len(self.axes))
        return np.stack([axis.snapped(cells[:, at]) for at, axis in enumerate(self.axes)], axis=1)

    def point(self, row: Rows) -> dict[str, float]:
        """Undoes :meth:`rows` for one of them."""
        return dict(zip(self.distributions, row.tolist()))

    def params(self, row: Rows) -> dict[str, Any]:
        """A row as parameters in Python's own types."""
        point = self.point(row)
        return {name: of.to_external_repr(point[name]) for name, of in self.distributions.items()}

    def all(self) -> Rows:
        """Every point of a finite space."""
        grid = np.meshgrid(*[axis.levels() for axis in self.axes], indexing="ij")
        return np.stack([levels.ravel() for levels in grid], axis=1)

    def uniform(self, count: int, rng: np.random.Generator) -> Rows:
        """Points at random."""
        unit = rng.random((count, len(self.axes)))
        return np.stack([axis.of_unit(unit[:, at]) for at, axis in enumerate(self.axes)], axis=1)

    def neighbours(self, centres: Rows, count: int, rng: np.random.Generator, far: float = FAR) -> Rows:
        """Points around others: some in every direction, some along a few axes."""
        width = len(self.axes)
        near = centres[np.arange(count) % len(centres)]
        scale = NEAR * (far / NEAR) ** rng.random((count, 1))
        by = scale * rng.standard_normal((count, width))
        # Each of a share of the axes, and at least one.
        share = rng.choice([1.0, 0.5, 1.0 / width], (count, 1))
        moves = rng.random((count, width)) < share
        moves[np.arange(count), rng.integers(0, width, count)] = True
        moved = [axis.moved(near[:, at], by[:, at], rng) for at, axis in enumerate(self.axes)]
        return np.where(moves, np.stack(moved, axis=1), near)

    def farthest(self, known: Rows, draws: int, rng: np.random.Generator) -> Rows:
        """Of some random points the one that is farthest from all known ones."""
        drawn = self.uniform(draws if len(known) else 1, rng)
        square = np.zeros((len(drawn), len(known)))
        for at, axis in enumerate(self.axes):
            square += axis.distance(drawn[:, at, None], known[None, :, at]) ** 2
        return np.asarray(drawn[int(np.argmax(np.min(square, axis=1, initial=np.inf)))])


def new(candidates: Rows, known: Rows) -> Rows:
    """The different ones of some rows that are not known."""
    seen = {row.tobytes() for row in np.ascontiguousarray(known)}
    kept = []
    for at, row in enumerate(np.ascontiguousarray(candidates)):
        if (key := row.tobytes()) not in seen:
            seen.add(key)
            kept.append(at)
    return candidates[kept]
