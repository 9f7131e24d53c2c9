"""Optuna's trials as what a model reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from icee._space import Space

__all__ = ["Told", "groups", "outcomes", "points"]


@dataclass(frozen=True)
class Told:
    """What is known of a space."""

    rows: NDArray[np.float64]
    """A row a trial."""
    losses: NDArray[np.float64]
    """A column an objective; lower is better."""
    constraints: NDArray[np.float64]
    """A column a constraint; kept at 0 or below."""
    complete: NDArray[np.bool_]
    """Which trials reached their values; the others were pruned or failed."""


def groups(trials: Sequence[FrozenTrial]) -> list[dict[str, BaseDistribution]]:
    """Parameters that occur in the same trials, always with the same range and with more than one value."""
    ranges: dict[str, BaseDistribution] = {}
    where: dict[str, int] = {}
    unstable = set()
    for at, trial in enumerate(trials):
        for name, distribution in trial.distributions.items():
            if ranges.setdefault(name, distribution) != distribution:
                unstable.add(name)
            where[name] = where.get(name, 0) | 1 << at
    found: dict[int, dict[str, BaseDistribution]] = {}
    for name in sorted(ranges):
        if name not in unstable and not ranges[name].single():
            found.setdefault(where[name], {})[name] = ranges[name]
    return list(found.values())


def points(trial: FrozenTrial, proposed: str | None = None) -> dict[str, float]:
    """What a trial is in Optuna's internal numbers; also before it has said so itself, where `proposed` names what notes of it."""
    point: dict[str, float] = {}
    for name, text in trial.system_attrs.items():
        if proposed is not None and (name == proposed or name.startswith(f"{proposed}:")):
            point.update(json.loads(text))
    point.update({name: trial.distributions[name].to_internal_repr(value) for name, value in trial.params.items()})
    return point


def outcomes(space: Space, trials: Sequence[FrozenTrial], signs: NDArray[np.float64]) -> Told:
    """What came out of trials that have all parameters of a space: failed ones are as bad as the worst."""
    missing = np.full(len(signs), np.nan)
    losses = np.array([_values(trial, signs, missing) for trial in trials]).reshape(len(trials), len(signs))
    held = [_constraints(trial) for trial in trials]
    width = max(map(len, held), default=0)
    constraints = np.array([row if len(row) == width else [np.nan] * width for row in held]).reshape(len(trials), width)
    return Told(
        rows=space.rows(points(trial) for trial in trials),
        losses=_finite(losses),
        constraints=_finite(constraints),
        complete=np.array([trial.state == TrialState.COMPLETE for trial in trials], dtype=bool),
    )


def _values(trial: FrozenTrial, signs: NDArray[np.float64], missing: NDArray[np.float64]) -> NDArray[np.float64]:
    if trial.state == TrialState.COMPLETE:
        return np.asarray(trial.values) * signs
    if trial.state == TrialState.PRUNED and trial.intermediate_values and len(signs) == 1:
        return np.array([trial.intermediate_values[max(trial.intermediate_values)]]) * signs
    return missing


def _constraints(trial: FrozenTrial) -> list[float]:
    """Those that a sampler has written down (a list), and those that the trial has set itself (by name)."""
    attributes = trial.system_attrs
    named = sorted(name for name in attributes if name.startswith("constraints:"))
    return [*(attributes.get("constraints") or ()), *(attributes[name] for name in named)]


def _finite(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same with the worst finite number of each column for what is none, and the best for minus infinity."""
    finite = np.isfinite(numbers)
    worst = np.where(finite, numbers, -np.inf).max(axis=0, initial=-np.inf)
    best = np.where(finite, numbers, np.inf).min(axis=0, initial=np.inf)
    none = ~np.isfinite(worst)
    worst, best = np.where(none, 0.0, worst), np.where(none, 0.0, best)
    return np.where(finite, numbers, np.where(np.isneginf(numbers), best, worst))
