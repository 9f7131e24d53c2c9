"""The sampler: Optuna's own suite for samplers, and what it does not ask."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

optuna = pytest.importorskip("optuna")
suite = pytest.importorskip("optuna.testing.pytest_samplers")
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.trial import Trial, TrialState

import icee.optuna
from icee._space import Space, new
from icee._trials import groups, outcomes, points
from icee.optuna import IceeSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestOptunasSuite(
    suite.BasicSamplerTestCase, suite.RelativeSamplerTestCase, suite.MultiObjectiveSamplerTestCase
):
    """All of it but what is for samplers of a single objective."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: IceeSampler(n_startup_trials=2, seed=0)


class TestOptunasSuiteWithTheProcess(suite.RelativeSamplerTestCase):
    """With the Gaussian process, where points are proposed."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: IceeSampler(model="gp", n_startup_trials=2, seed=0)


def mixed(trial: Trial) -> float:
    rate = trial.suggest_float("rate", 1e-5, 1.0, log=True)
    layers = trial.suggest_int("layers", 1, 8)
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    return abs(np.log10(rate) + 3) + 0.3 * abs(layers - 5) + {"a": 1.0, "b": 0.0, "c": 2.0}[kind]


def run(objective: Any = mixed, trials: int = 12, seed: int = 0, **options: Any) -> Any:
    study = optuna.create_study(sampler=IceeSampler(seed=seed, **options))
    study.optimize(objective, n_trials=trials)
    return study


def test_finds_more_than_chance_does() -> None:
    found = run(trials=25).best_value
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(mixed, n_trials=25)
    assert found < 0.3 < study.best_value


def test_higher_may_be_better() -> None:
    study = optuna.create_study(direction="maximize", sampler=IceeSampler(seed=0))
    study.optimize(lambda trial: -((trial.suggest_float("x", 0, 1) - 0.3) ** 2), n_trials=20)
    assert study.best_value > -1e-3


def test_a_seed_fixes_everything_and_pickles_go_on() -> None:
    first, second = run(seed=5), run(seed=5)
    assert [trial.params for trial in first.trials] == [trial.params for trial in second.trials]
    assert run(seed=6).trials[-1].params != first.trials[-1].params
    first.sampler, second.sampler = pickle.loads(pickle.dumps(first.sampler)), second.sampler
    for study in (first, second):
        study.optimize(mixed, n_trials=3)
    assert [trial.params for trial in first.trials] == [trial.params for trial in second.trials]
    before = first.sampler._rng
    first.sampler.reseed_rng()
    assert first.sampler._rng is not before


def test_a_small_space_is_tried_without_repeats() -> None:
    def objective(trial: Trial) -> float:
        return trial.suggest_int("a", 0, 3) + 4 * trial.suggest_categorical("b", [0, 1, 2])

    study = optuna.create_study(sampler=IceeSampler(seed=0))
    study.enqueue_trial({"a": 0, "b": 0})
    study.optimize(objective, n_trials=14)
    tried = [tuple(trial.params.values()) for trial in study.trials]
    assert len(set(tried[:12])) == 12 and len(set(tried)) == 12


def test_threads_do_not_crowd() -> None:
    study = optuna.create_study(sampler=IceeSampler(seed=0))
    study.optimize(mixed, n_trials=16, n_jobs=4)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    ranges = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
    study = optuna.create_study(sampler=IceeSampler(seed=0))
    for x, y, value in [(0.1, 0.2, 1.0), (0.8, 0.3, 0.4), (0.5, 0.9, 0.7), (0.7, 0.6, 0.3), (0.6, 0.4, 0.2)]:
        study.add_trial(optuna.create_trial(params={"x": x, "y": y}, distributions=ranges, value=value))
    asked = [study.ask(ranges).params for _ in range(6)]
    points = np.array([[point["x"], point["y"]] for point in asked])
    distances = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(6, 1)]
    assert distances.min() > 1e-3 and distances.max() > 0.1


def test_wide_spaces_do_not_crowd_either(tmp_path: Path) -> None:
    # Names so long that what is noted of a running trial needs several attributes.
    ranges = {f"{at:02}_{'ä' * 19}": FloatDistribution(0, 1) for at in range(60)}
    study = optuna.create_study(sampler=IceeSampler(seed=0, model="gp"), storage=f"sqlite:///{tmp_path / 'trials.db'}")
    rng = np.random.default_rng(0)
    for _ in range(5):
        params = dict(zip(ranges, rng.random(60).tolist()))
        study.add_trial(optuna.create_trial(params=params, distributions=ranges, value=sum(params.values())))
    trial = study.ask()
    trial.suggest_float(next(iter(ranges)), 0, 1)
    running = study.trials[-1]
    assert len(running.system_attrs) > 1 and len(running.params) == 1
    assert all(len(json.dumps(text)) <= icee.optuna.LONGEST for text in running.system_attrs.values())
    assert points(running, icee.optuna.PROPOSED) == {name: trial.suggest_float(name, 0, 1) for name in ranges}
    # As earlier versions noted them.
    short = optuna.create_trial(state=TrialState.RUNNING, system_attrs={icee.optuna.PROPOSED: '{"x": 0.5}'})
    assert points(short, icee.optuna.PROPOSED) == {"x": 0.5} and points(short) == {}


def test_pruned_and_failed_trials() -> None:
    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        if x < 0.4:
            raise ValueError("broken")
        trial.report((x - 0.7) ** 2 if x < 0.9 else float("nan"), 1)
        if x > 0.8 or trial.number % 5 == 2:
            raise optuna.TrialPruned
        return float("inf") if trial.number == 9 else (x - 0.7) ** 2

    study = optuna.create_study(sampler=IceeSampler(seed=1))
    study.optimize(objective, n_trials=20, catch=ValueError)
    assert study.best_value < 1e-3
    # What failed is kept away from.
    assert all(trial.params["x"] > 0.3 for trial in study.trials[10:])


def test_several_objectives_and_constraints() -> None:
    def objective(trial: Trial) -> tuple[float, float]:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        trial.set_user_attr("limit", 0.5 - y)
        return x**2 + y, (x - 1) ** 2 + y

    sampler = IceeSampler(seed=0, constraints_func=lambda trial: [trial.user_attrs["limit"]])
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    study.optimize(objective, n_trials=20)
    front = np.array([trial.values for trial in study.best_trials])
    assert len(front) >= 4 and np.ptp(front[:, 0]) > 0.3
    assert all(trial.params["y"] >= 0.5 for trial in study.best_trials)
    assert min(trial.params["y"] for trial in study.best_trials) < 0.6


def test_a_limit_comes_first() -> None:
    def objective(trial: Trial) -> float:
        return trial.suggest_float("x", 0, 10)

    sampler = IceeSampler(seed=0, constraints_func=lambda trial: (4.0 - trial.params["x"],))
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=20)
    assert 4.0 <= study.best_value < 4.3
    broken = optuna.create_study(sampler=IceeSampler(constraints_func=lambda trial: [float("nan")]))
    with pytest.raises(ValueError, match="a constraint of trial 0 is not a number"):
        broken.optimize(objective, n_trials=1)


def test_constraints_are_found_where_optuna_keeps_them() -> None:
    ranges = {"x": FloatDistribution(0, 1)}
    kept = [{"constraints": [0.5, -1.0]}, {"constraints:b": -1.0, "constraints:a": 0.5}, {}]
    trials = [
        optuna.create_trial(params={"x": 0.5}, distributions=ranges, value=1.0, system_attrs=attributes)
        for attributes in kept
    ]
    told = outcomes(Space(ranges), trials, np.ones(1))
    # Where none was said, they are as bad as the worst.
    assert told.constraints.tolist() == [[0.5, -1.0], [0.5, -1.0], [0.5, -1.0]]


def test_conditional_spaces_are_grouped(caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: Trial) -> float:
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return (trial.suggest_float("left", 0, 1) - 0.2) ** 2
        return (trial.suggest_float("right", 0, 1) - 0.6) ** 2 + (trial.suggest_float("more", 0, 1) - 0.5) ** 2

    study = run(objective, 25)
    assert [sorted(group) for group in groups(study.trials)] == [["kind"], ["left"], ["more", "right"]]
    assert study.best_value < 1e-2
    assert not caplog.records


def test_a_range_that_changes_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: Trial) -> float:
        return trial.suggest_float("x", 0, 1 + trial.number) + trial.suggest_float("y", 0, 1)

    with caplog.at_level(logging.WARNING):
        run(objective, 8)
        assert [record.getMessage()[:29] for record in caplog.records] == ["The parameter 'x' of trial 2 "]
        caplog.clear()
        run(objective, 6, warn_independent_sampling=False)
        assert not caplog.records


def test_wide_spaces_are_left_to_the_process() -> None:
    def objective(trial: Trial) -> float:
        return sum(trial.suggest_float(f"x{at}", 0, 1) for at in range(70))

    assert len(run(objective, 6).trials) == 6


def test_rows_of_a_space() -> None:
    rng = np.random.default_rng(0)
    space = Space(
        {
            "a": FloatDistribution(-1.0, 1.0),
            "b": FloatDistribution(0.0, 0.7, step=0.1),
            "c": IntDistribution(1, 1000, log=True),
            "d": IntDistribution(0, 10, step=5),
            "e": CategoricalDistribution(["x", "y", "z"]),
            "f": IntDistribution(0, 10**9),
        }
    )
    some = space.uniform(4000, rng)
    near = space.neighbours(some[:3], 4000, rng)
    for rows in (some, near):
        for name, at in zip(space.distributions, range(6)):
            assert all(space.distributions[name]._contains(x) for x in rows[:, at]), name
        assert set(rows[:, 4]) == {0.0, 1.0, 2.0}
    assert np.allclose(np.bincount((some[:, 3] / 5).astype(int)) / 4000, 1 / 3, atol=0.04)
    assert 0.4 < np.mean(some[:, 2] < 31.6) < 0.6
    assert np.median(np.abs(near[:, 0] - some[np.arange(4000) % 3, 0])) < 0.1
    again = space.rows(space.point(row) for row in some)
    assert len(new(again, some)) == 0
    params = space.params(some[0])
    assert [type(value) for value in params.values()] == [float, float, int, int, str, int]
    small = Space({"a": IntDistribution(0, 2), "b": CategoricalDistribution([False, True])})
    assert small.size == len(small.all()) == 6


def test_wrong_words() -> None:
    with pytest.raises(ValueError, match="nothing is predicted from fewer than 2 trials"):
        IceeSampler(n_startup_trials=1)
    with pytest.raises(ValueError, match='model is "learned" or "gp", not "tree"'):
        IceeSampler(model="tree")
    with pytest.raises(ValueError, match="seed is -1; a whole number from 0 on"):
        IceeSampler(seed=-1)
