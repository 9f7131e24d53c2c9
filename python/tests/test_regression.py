"""The regressor: scikit-learn's own checks, and what they do not ask."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import icee.regression
from icee import InContextRegressor


@parametrize_with_checks([InContextRegressor()])
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_friedman1(200, n_features=5, random_state=3)
    return X, y


@pytest.mark.parametrize("model", ["learned", "gp"])
def test_predicts(table: tuple[np.ndarray, np.ndarray], model: str) -> None:
    X, y = table
    mean, std, quantiles = (
        InContextRegressor(model=model).fit(X[:100], y[:100]).predict(X[100:], return_std=True, quantiles=[0.1, 0.5, 0.9])
    )
    assert 1 - np.var(y[100:] - mean) / np.var(y[100:]) > 0.8
    assert quantiles.shape == (100, 3) and (np.diff(quantiles, axis=1) > 0).all()
    assert (std > 0).all()
    within = np.mean((quantiles[:, 0] < y[100:]) & (y[100:] < quantiles[:, 2]))
    assert 0.65 < within < 0.98
    assert cross_val_score(InContextRegressor(model=model), X[:100], y[:100], cv=3).mean() > 0.7


def test_another_unit_changes_nothing_else(table: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = table
    mean = InContextRegressor().fit(X[:40], y[:40]).predict(X[40:])
    scaled = InContextRegressor().fit(X[:40] * 1e6 + 5, y[:40] * 1e9 - 4).predict(X[40:] * 1e6 + 5)
    np.testing.assert_allclose(scaled, mean * 1e9 - 4, rtol=1e-3)


def test_a_frame_of_words_numbers_and_gaps() -> None:
    rng = np.random.default_rng(1)
    n = 90
    frame = pd.DataFrame(
        {
            "flour": pd.Categorical(rng.choice(["rye", "wheat", "spelt"], n)),
            "oven": rng.choice(["gas", "wood"], n).astype(object),
            "heat": rng.uniform(150, 250, n),
            "salt": pd.array(rng.integers(0, 5, n), dtype="Int64"),
        }
    )
    value = frame.flour.map({"rye": 0.0, "wheat": 5.0, "spelt": 9.0}).astype(float) + 0.03 * frame.heat
    frame.loc[::9, "oven"] = None
    frame.loc[::7, "heat"] = np.nan
    frame.loc[::5, "salt"] = pd.NA
    for model in ("learned", "gp"):
        regressor = InContextRegressor(model=model).fit(frame[:60], value[:60])
        mean = regressor.predict(frame[60:])
        assert np.corrcoef(mean, value[60:])[0, 1] > 0.85, model
        other = frame[60:62].assign(flour="maize", oven="coal")
        assert np.isfinite(regressor.predict(other)).all()
    assert regressor.feature_names_in_.tolist() == ["flour", "oven", "heat", "salt"]
    with pytest.raises(ValueError, match="column 2 was numbers in fit"):
        regressor.predict(frame[60:].assign(heat="hot"))


def test_numbers_may_be_categories() -> None:
    X = np.array([[k % 4] for k in range(40)], dtype=float)
    y = np.array([0.0, 9.0, 1.0, 8.0] * 10)
    regressor = InContextRegressor(categorical_features=[0]).fit(X, y)
    assert regressor.levels_[0] == ["0", "1", "2", "3"]
    assert np.abs(regressor.predict(X[:4]) - y[:4]).max() < 1.5
    with pytest.raises(ValueError, match="'colour', which is neither"):
        InContextRegressor(categorical_features=["colour"]).fit(X, y)
    for alone in ("colour", 0):
        with pytest.raises(ValueError, match="categorical_features is a list of names or places"):
            InContextRegressor(categorical_features=alone).fit(X, y)


def test_a_number_is_the_same_word_however_it_is_typed() -> None:
    y = np.array([0.0, 9.0, 1.0, 8.0] * 5)
    frame = pd.DataFrame({"kind": [0, 1, 2, 3] * 5})
    regressor = InContextRegressor(categorical_features=["kind"]).fit(frame, y)
    expected = regressor.predict(frame[:4])
    # A gap makes floats of pandas' integers, and words beside them objects.
    gap = pd.DataFrame({"kind": [0, 1, 2, 3, None]})
    assert gap.kind.dtype == float
    for same in (gap[:4], frame[:4].astype("Int64"), frame[:4].astype("category"), frame[:4].astype(object)):
        np.testing.assert_array_equal(regressor.predict(same), expected)
    halves = InContextRegressor(categorical_features=[0]).fit([[0.5], [True], [2], [None]], y[:4])
    assert halves.levels_ == [["0.5", "1", "2"]]


@pytest.mark.parametrize("other", [[True, False] * 6, pd.array([1, None, 3] * 4, dtype="Int64")], ids=["bool", "Int64"])
def test_categories_beside_any_column(other: Any) -> None:
    frame = pd.DataFrame({"flour": pd.Categorical(list("xyzxyz") * 2), "other": other})
    regressor = InContextRegressor().fit(frame, range(12))
    assert regressor.levels_ == [["x", "y", "z"], None]
    np.testing.assert_array_equal(np.isnan(regressor.rows_[:, 1]), frame.other.isna())
    assert np.isfinite(regressor.predict(frame)).all()


def test_numbers_beside_words_in_lists_stay_numbers() -> None:
    X = [[float(k), "rye" if k % 2 else "wheat"] for k in range(20)]
    lists = InContextRegressor().fit(X, range(20))
    assert lists.levels_ == [None, ["rye", "wheat"]]
    frame = pd.DataFrame(X, columns=["x0", "x1"])
    np.testing.assert_array_equal(lists.predict(X), InContextRegressor().fit(frame, range(20)).predict(frame))
    with pytest.raises(ValueError, match="inhomogeneous"):
        InContextRegressor().fit([[1.0, "rye"], [2.0]], [1, 2])


def test_infinite_numbers_are_refused_beside_words_too() -> None:
    with pytest.raises(ValueError, match="infinity"):
        InContextRegressor().fit([[1.0], [np.inf]], [1, 2])
    with pytest.raises(ValueError, match="column 0 has an infinite number"):
        InContextRegressor().fit([[1.0, "rye"], [np.inf, "rye"]], [1, 2])


def test_values_that_do_not_differ() -> None:
    mean, std, quantiles = (
        InContextRegressor().fit([[1.0], [2.0], [3.0]], [7.0, 7.0, 7.0]).predict([[2.5]], True, [0.1, 0.9])
    )
    assert mean == [7.0] and std == [0.0] and (quantiles == 7.0).all()


def test_many_rows_are_said_and_used() -> None:
    X, y = make_friedman1(1200, n_features=5, random_state=0)
    with pytest.warns(UserWarning, match="1000 rows are more than the model reads at once"):
        many = InContextRegressor().fit(X[:1000], y[:1000])
    some = InContextRegressor().fit(X[:256], y[:256])
    errors = [np.mean((model.predict(X[1000:]) - y[1000:]) ** 2) for model in (many, some)]
    assert errors[0] < errors[1]
    # What is said of a row does not depend on what else is asked.
    np.testing.assert_array_equal(many.predict(X[1000:1010]), many.predict(X[1000:])[:10])


def test_very_many_columns_are_left_to_the_process() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 70))
    with pytest.warns(UserWarning, match="70 columns are more than the model reads"):
        assert np.isfinite(InContextRegressor().fit(X, X[:, 0]).predict(X)).all()


def test_wrong_words() -> None:
    with pytest.raises(ValueError, match='model is "learned" or "gp", not "tree"'):
        InContextRegressor(model="tree").fit([[1], [2]], [1, 2])
    with pytest.raises(ValueError, match="a quantile lies between 0 and 1, not at 2"):
        InContextRegressor().fit([[1], [2]], [1, 2]).predict([[1]], quantiles=[2])
    for one in (0.5, "0.5", ["half"]):
        with pytest.raises(ValueError, match=r"quantiles is a list of probabilities, such as \[0.05, 0.95\]"):
            InContextRegressor().fit([[1], [2]], [1, 2]).predict([[1]], quantiles=one)
    assert InContextRegressor().fit([[1], [2]], [1, 2]).predict([[1]], quantiles=np.array([0.1, 0.9]))[1].shape == (1, 2)


def test_pickles_clones_threads_and_forks(table: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = table
    model = InContextRegressor().fit(X[:50], y[:50])
    expected = model.predict(X[50:60])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X[50:60]), expected)
    assert not hasattr(clone(model), "rows_")
    others = [InContextRegressor().fit(X[:50] + k, y[:50]) for k in range(4)]
    with ThreadPoolExecutor(8) as threads:
        for found in threads.map(lambda k: others[k % 4].predict(X[50:60] + k % 4), range(32)):
            np.testing.assert_allclose(found, expected, rtol=1e-2)
    with multiprocessing.get_context("fork").Pool(2) as forks:
        for found in forks.map(model.predict, [X[50:60]] * 4):
            np.testing.assert_array_equal(found, expected)


def test_scikit_learn_is_imported_only_when_used() -> None:
    check = "import sys, icee; assert not {'sklearn', 'optuna', 'pandas'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)
    without = (
        "import sys; sys.modules['sklearn'] = sys.modules['sklearn.base'] = None\n"
        "from icee import InContextRegressor\n"
        "try: InContextRegressor()\n"
        "except ImportError as error: assert 'pip install icee[sklearn]' in str(error), error\n"
        "else: raise SystemExit('made without scikit-learn')"
    )
    subprocess.run([sys.executable, "-c", without], check=True)
