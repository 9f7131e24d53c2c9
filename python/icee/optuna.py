"""A sampler for Optuna that proposes with a model which has learned to optimise.

It trains nothing: a transformer reads the finished trials as a table and predicts a few hundred points, and the one with the
greatest expected improvement is suggested.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError as missing:
    raise ImportError("icee.optuna needs Optuna: pip install icee[optuna]") from missing

from icee._checks import natural
from icee._space import ENUMERATED, Space, new
from icee._surrogate import surrogate
from icee._trials import Told, groups, outcomes, points

__all__ = ["IceeSampler"]

_logger = logging.getLogger(__name__)

# Candidates: so many at random and as many around the best trials, then fewer around the most promising ones. Chosen on functions
# of our own (draws of Gaussian processes, quadratics, mixed ones), where twice as many found no more.
CANDIDATES = 256
# Trials, and then candidates, whose neighbourhoods are looked at.
CENTRES = 8
# The reach of each further look.
CLOSER = (0.05, 0.01)
CLOSER_CANDIDATES = 128
# Random points of which the farthest from all others is a good start.
START_DRAWS = 32
# Steps in which running trials get their sampled outcomes; within a step each for itself.
RUNNING_STEPS = 8
# Points at which the integral of a weighted gain is evaluated, and how many standard deviations it reaches below the best.
POINTS, REACH = 32, 4.0

# The parameters of a running trial, for others to see before it reports them. Storages may limit texts to this length: the rest goes
# into further attributes, `icee:proposed:1` and so on.
PROPOSED, LONGEST = "icee:proposed", 2045


class IceeSampler(BaseSampler):
    """Suggests parameters by expected improvement under a model that learns in context.

    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> study = optuna.create_study(sampler=IceeSampler(seed=1))
    >>> study.optimize(lambda trial: (trial.suggest_float("x", -10, 10) - 2) ** 2, n_trials=25)
    >>> study.best_value < 0.1
    True

    Floats, ints, steps, logarithms and categoricals are read as they are. Several objectives are weighed anew for every trial;
    constraints multiply the gain with the probability that they hold. Running trials count with a result that is
    drawn from their predictions, pruned ones with their last intermediate value, failed ones as the worst. Parameters that
    always come together are suggested together; one whose range changes is drawn at random.

    Args:
        model: ``"learned"``, the transformer, or ``"gp"``, a Gaussian process.
        n_startup_trials: Trials that are spread over the space before any is predicted; at least 2.
        seed: Fixes all suggestions of one process.
        constraints_func: As in Optuna's samplers: numbers that are to be at most 0.
        warn_independent_sampling: Whether to warn that a parameter is drawn at random.
    """

    def __init__(
        self,
        *,
        model: str = "learned",
        n_startup_trials: int = 4,
        seed: int | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        warn_independent_sampling: bool = True,
    ) -> None:
        if n_startup_trials < 2:
            raise ValueError(f"n_startup_trials is {n_startup_trials}: nothing is predicted from fewer than 2 trials")
        surrogate(model)  # refuses other names
        seed = None if seed is None else natural("seed", seed)
        self._model = model
        self._n_startup_trials = n_startup_trials
        self._constraints_func = constraints_func
        self._warn_independent_sampling = warn_independent_sampling
        self._rng = np.random.default_rng(seed)
        self._independent = RandomSampler(seed=seed)
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def reseed_rng(self) -> None:
        self._rng = np.random.default_rng()
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return {name: of for group in groups(_finished(study)) for name, of in group.items()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        if not search_space:
            return {}
        # One at a time: the next one sees what was proposed.
        with self._lock:
            params: dict[str, Any] = {}
            proposed: dict[str, float] = {}
            known = groups(_finished(study))
            spaces = [{name: of for name, of in group.items() if search_space.get(name) == of} for group in known]
            grouped = {name for group in spaces for name in group}
            spaces.append({name: of for name, of in search_space.items() if name not in grouped})
            for distributions in filter(None, spaces):
                space = Space(distributions)
                row = self._propose(study, trial, space)
                params.update(space.params(row))
                proposed.update(space.point(row))
            for number, text in enumerate(_texts(proposed)):
                name = f"{PROPOSED}:{number}" if number else PROPOSED
                study._storage.set_trial_system_attr(trial._trial_id, name, text)
            return params

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        if self._warn_independent_sampling and any(param_name in other.params for other in _finished(study)):
            self._warn_independent_sampling = False
            _logger.warning(
                f"The parameter {param_name!r} of trial {trial.number} is drawn at random: its range is not the same in all "
                "trials, so nothing can be learned about it. This is said once, for the first such parameter. To leave it out: "
                "IceeSampler(warn_independent_sampling=False)."
            )
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        if self._constraints_func is None or state not in (TrialState.COMPLETE, TrialState.PRUNED):
            return
        constraints = None
        try:
            constraints = tuple(float(number) for number in self._constraints_func(trial))
            if np.isnan(constraints).any():
                constraints = None
                raise ValueError(f"a constraint of trial {trial.number} is not a number")
        finally:
            study._storage.set_trial_system_attr(trial._trial_id, "constraints", constraints)

    def _propose(self, study: Study, trial: FrozenTrial, space: Space) -> NDArray[np.float64]:
        """A row of the space."""
        others = [other for other in study.get_trials(deepcopy=False) if other.number != trial.number]
        signs = np.array([-1.0 if direction == StudyDirection.MAXIMIZE else 1.0 for direction in study.directions])
        told = outcomes(space, [other for other in others if other.state.is_finished() and space.holds(other)], signs)
        proposed = [points(other, PROPOSED) for other in others if other.state == TrialState.RUNNING]
        pending = space.rows(point for point in proposed if space.distributions.keys() <= point.keys())
        taken = np.concatenate([told.rows, pending])
        left = new(space.all(), taken) if space.size <= ENUMERATED else None
        if left is not None and not len(left):
            # All have been tried: repeat the most promising one.
            left = space.all()
        if len(told.rows) < self._n_startup_trials:
            row = space.farthest(taken, START_DRAWS, self._rng)
            return row if left is None or len(new(row[None], taken)) else left[self._rng.integers(len(left))]
        search = _Search(space, told, self._model, self._rng)
        search.imagine(pending)
        if left is not None:
            return search.best(left)
        return search.best(*search.look_around(taken))


class _Search:
    """One suggestion: results, predictions, gains."""

    def __init__(self, space: Space, told: Told, model: str, rng: np.random.Generator) -> None:
        self.space, self.told, self.rng = space, told, rng
        self.columns = space.columns()
        wide = len(self.columns) > surrogate(model).most_columns
        self.surrogate = surrogate("gp" if wide else model)
        # One history an outcome: the objectives, then the constraints.
        self.outcomes = np.concatenate([told.losses, told.constraints], axis=1)
        self.rows = told.rows
        self.unit = np.maximum(told.losses.std(axis=0), 1e-300)
        # Weights of the objectives, drawn anew for every suggestion, so that the whole front is explored.
        drawn: NDArray[np.float64] = rng.exponential(size=told.losses.shape[1:])
        self.weights = drawn / drawn.max() / self.unit

    def _beliefs(self, asked: NDArray[np.float64]) -> list[Any]:
        return [
            self.surrogate.predict(self.columns, self.rows, np.ascontiguousarray(values), asked)
            for values in self.outcomes.T
        ]

    def _seed(self) -> int:
        return int(self.rng.integers(1 << 63))

    def imagine(self, pending: NDArray[np.float64]) -> None:
        """Running trials count as measured, with a result drawn from their predictions."""
        for step in range(min(RUNNING_STEPS, len(pending))):
            some = pending[step::RUNNING_STEPS]
            drawn = [beliefs.sample(self._seed()) for beliefs in self._beliefs(some)]
            self.rows = np.concatenate([self.rows, some])
            self.outcomes = np.concatenate([self.outcomes, np.stack(drawn, axis=1)])

    def gains(self, asked: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """ln of the expected gain of each row on the known results, and its expected loss."""
        beliefs = self._beliefs(asked)
        count = self.told.losses.shape[1]
        objectives, constraints = beliefs[:count], beliefs[count:]
        loss = np.sum([of.mean() * weight for of, weight in zip(objectives, self.weights)], axis=0)
        gain = np.zeros(len(asked))
        standing = self._standing()
        if len(standing) and count == 1:
            gain = objectives[0].log_improvement(standing.min())
        elif len(standing):
            # The largest weighted loss above the ideal: an integral of P(all are low enough) over its values.
            ideal = standing.min(axis=0)
            best = ((standing - ideal) * self.weights).max(axis=1).min()
            bounds = best - REACH / POINTS * (np.arange(POINTS) + 0.5)
            chances = [
                of.below((lowest + bounds / weight).tolist())
                for of, lowest, weight in zip(objectives, ideal, self.weights)
            ]
            with np.errstate(divide="ignore"):
                gain = np.log(REACH / POINTS * np.prod(chances, axis=0).sum(axis=1))
        with np.errstate(divide="ignore"):
            for of in constraints:
                gain = gain + np.log(of.below([0.0])[:, 0])
        return gain, loss

    def _standing(self) -> NDArray[np.float64]:
        """The losses of complete trials, and imagined ones, that keep all constraints."""
        count = self.told.losses.shape[1]
        kept = np.all(self.outcomes[:, count:] <= 0.0, axis=1)
        kept[: len(self.told.rows)] &= self.told.complete
        return self.outcomes[kept, :count]

    def centres(self) -> NDArray[np.float64]:
        """The best rows known: by the constraints first, then by the largest weighted loss."""
        losses = (self.told.losses - self.told.losses.min(axis=0)) * self.weights
        broken = np.maximum(self.told.constraints, 0.0).sum(axis=1)
        return self.told.rows[np.lexsort((losses.max(axis=1), broken))[:CENTRES]]

    def look_around(self, taken: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Candidates with their gains and losses, ever closer to the most promising ones."""
        some = self.space.uniform(CANDIDATES, self.rng)
        near = self.space.neighbours(self.centres(), CANDIDATES, self.rng)
        rows = new(np.concatenate([some, near]), taken)
        if not len(rows):
            rows = some
        gain, loss = self.gains(rows)
        for far in CLOSER:
            best = rows[np.argsort(-gain, kind="stable")[:CENTRES]]
            near = new(self.space.neighbours(best, CLOSER_CANDIDATES, self.rng, far), np.concatenate([taken, rows]))
            if len(near):
                more = self.gains(near)
                rows = np.concatenate([rows, near])
                gain, loss = np.concatenate([gain, more[0]]), np.concatenate([loss, more[1]])
        return rows, gain, loss

    def best(self, rows: NDArray[np.float64], *known: NDArray[np.float64]) -> NDArray[np.float64]:
        """The row to take, by the model's rule."""
        gain, loss = known or self.gains(rows)
        return np.asarray(rows[self.surrogate.pick(gain, loss, self._seed())])


def _texts(point: dict[str, float]) -> list[str]:
    """A point as JSON, in as many texts as it needs."""
    parts: list[dict[str, float]] = [{}]
    for name, value in point.items():
        # Storages encode a text as JSON again.
        if parts[-1] and len(json.dumps(json.dumps({**parts[-1], name: value}))) > LONGEST:
            parts.append({})
        parts[-1][name] = value
    return [json.dumps(part) for part in parts]


def _finished(study: Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))
