"""A regressor for scikit-learn that is fitted without being trained."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icee._native import Column
from icee._surrogate import surrogate

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:

    class RegressorMixin:  # type: ignore[no-redef]
        """Stands where scikit-learn is not installed."""

    class BaseEstimator:  # type: ignore[no-redef]
        """Stands where scikit-learn is not installed."""

        def __new__(cls, *_: Any, **__: Any) -> Any:
            raise ImportError(f"{cls.__name__} needs scikit-learn: pip install icee[sklearn]")


__all__ = ["InContextRegressor"]

Rows = NDArray[np.float64]
Places = NDArray[np.intp]

# Rows that are predicted at once; the answers do not depend on it.
CHUNK = 4096
# Neighbourhoods of a long table, for each time that it is longer than what the model reads. On scikit-learn's made-up tables and
# draws of Gaussian processes, two explain more than one, a sample of the rows, or the mean over such samples.
CENTRES = 2
# Rounds in which they find their places.
ROUNDS = 10


class InContextRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts with a transformer that reads the training rows as a table.

    Nothing is trained and nothing is tuned: `fit` remembers the rows, `predict` lets the model read them. It gives a whole
    distribution for every row, made for small tables (2 to about 256 rows): numbers, words, and missing values in both.

    >>> from icee import InContextRegressor
    >>> X = [[1.0, "rye"], [2.0, "rye"], [3.0, "rye"], [1.0, "wheat"], [2.0, "wheat"], [3.0, "wheat"]]
    >>> model = InContextRegressor().fit(X, [1.0, 2.0, 3.0, 11.0, 12.0, 13.0])
    >>> mean, std = model.predict([[2.5, "rye"], [2.5, "wheat"]], return_std=True)
    >>> bool(2 < mean[0] < 3 < 12 < mean[1])   # between their neighbours
    True

    A number beyond those of the training rows counts as the outermost. A word that is not among theirs is a word of its own.
    Of more rows than the model reads, each prediction rests on those of a neighbourhood, and `fit` says so.

    Args:
        model: ``"learned"``, the transformer, or ``"gp"``, a Gaussian process.
        categorical_features: Names or places of columns that are categories although they are written as numbers. Words, and
            pandas' categorical columns, are so anyway.
    """

    def __init__(
        self, *, model: str = "learned", categorical_features: Sequence[str | int] | None = None
    ) -> None:
        self.model = model
        self.categorical_features = categorical_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def fit(self, X: Any, y: Any) -> InContextRegressor:
        """Remembers rows and their values.

        >>> table = {"heat": [180, 200, None, 230], "oven": ["gas", "wood", "wood", None]}
        >>> import pandas
        >>> icee.InContextRegressor().fit(pandas.DataFrame(table), [3, 5, 5, 7])
        InContextRegressor()
        """
        known = surrogate(self.model)
        categories = _categorical(X)
        cells, y = validate_data(
            self, _told(X), y, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=2, y_numeric=True
        )
        names = getattr(self, "feature_names_in_", [f"x{at}" for at in range(cells.shape[1])])
        categories |= self._named(list(names))
        self.names_ = [str(name) for name in names]
        self.levels_: list[list[str] | None] = [
            _words(cells[:, at]) if at in categories or not _is_numeric(cells[:, at]) else None
            for at in range(cells.shape[1])
        ]
        self.rows_, _ = _coded(cells, self.levels_)
        self.values_ = np.asarray(y, dtype=float)
        self.model_ = self.model
        if len(self.names_) > known.most_columns:
            warnings.warn(
                f"{len(self.names_)} columns are more than the model reads ({known.most_columns}): "
                "a Gaussian process predicts. To choose fewer columns may be better.",
                stacklevel=2,
            )
            self.model_ = "gp"
        self.centres_: Rows | None = None
        most = surrogate(self.model_).most_rows
        if len(self.rows_) > most:
            warnings.warn(
                f"{len(self.rows_)} rows are more than the model reads at once ({most}): "
                f"each prediction rests on {most} of them, those of a neighbourhood.",
                stacklevel=2,
            )
            self.centres_ = _centres(self._located(self.rows_), CENTRES * -(-len(self.rows_) // most))
        return self

    def predict(
        self, X: Any, return_std: bool = False, quantiles: Sequence[float] | None = None
    ) -> Any:
        """The expected values of rows.

        Args:
            X: Rows with the columns of `fit`.
            return_std: Whether standard deviations come with them.
            quantiles: Probabilities; the values below which they lie come with them, a column each.

        Returns:
            The means; or a tuple of the means and, in this order, standard deviations and quantiles.

        >>> model = icee.InContextRegressor().fit([[1], [2], [3], [4]], [10, 20, 30, 40])
        >>> mean, ends = model.predict([[2.5], [3.5]], quantiles=[0.05, 0.95])
        >>> mean.shape, ends.shape
        ((2,), (2, 2))
        """
        check_is_fitted(self)
        probabilities = _probabilities(quantiles)
        cells = validate_data(self, _told(X), reset=False, dtype=None, ensure_all_finite="allow-nan")
        rows, levels = _coded(cells, self.levels_, unseen=self.model_ != "gp")
        columns = [
            Column.sampled(name, np.ascontiguousarray(told)) if words is None else Column.words(name, words)
            for name, told, words in zip(self.names_, self.rows_.T, levels)
        ]
        mean, std = np.empty(len(rows)), np.empty(len(rows))
        levels_of = np.empty((len(rows), len(probabilities)))
        for places, context in self._contexts(rows):
            beliefs = surrogate(self.model_).predict(columns, self.rows_[context], self.values_[context], rows[places])
            mean[places], std[places] = beliefs.mean(), beliefs.std()
            levels_of[places] = beliefs.quantiles(probabilities)
        if np.ptp(self.values_) == 0.0:
            # Nothing tells by how much values may differ.
            mean[:], std[:], levels_of[:] = self.values_[0], 0.0, self.values_[0]
        answers: list[NDArray[np.float64]] = [mean]
        answers += [std] if return_std else []
        answers += [levels_of] if quantiles is not None else []
        return tuple(answers) if len(answers) > 1 else mean

    def _contexts(self, rows: Rows) -> Iterator[tuple[Places, Places]]:
        """The places of rows that are asked together, and of the training rows that they are predicted from."""
        if self.centres_ is None:
            nearest = np.zeros(len(rows), dtype=int)
        else:
            nearest = _distances(self._located(rows), self.centres_).argmin(axis=1)
        for centre in np.unique(nearest):
            context = np.arange(len(self.rows_))
            if self.centres_ is not None:
                far = _distances(self._located(self.rows_), self.centres_[centre][None])[:, 0]
                context = np.sort(np.argsort(far, kind="stable")[: surrogate(self.model_).most_rows])
            places = np.flatnonzero(nearest == centre)
            for at in range(0, len(places), CHUNK):
                yield places[at : at + CHUNK], context

    def _located(self, rows: Rows) -> Rows:
        """Rows as points: numbers in standard deviations from their means, a coordinate for each word; missing values in the middle."""
        coordinates = []
        for told, asked, words in zip(self.rows_.T, rows.T, self.levels_):
            if words is not None:
                coordinates.append((asked[:, None] == np.arange(len(words))) / 2**0.5)
            elif np.isfinite(told).any():
                spread = np.nanstd(told)
                coordinates.append(np.nan_to_num((asked - np.nanmean(told)) / (spread if spread > 0 else 1.0))[:, None])
        return np.concatenate([np.zeros((len(rows), 1)), *coordinates], axis=1)

    def _named(self, names: list[Any]) -> set[int]:
        """The places of `categorical_features`."""
        if isinstance(self.categorical_features, (str, int, np.integer)):
            raise ValueError(f"categorical_features is a list of names or places: [{self.categorical_features!r}]")
        places = set()
        for feature in self.categorical_features or ():
            if feature in names:
                places.add(names.index(feature))
            elif isinstance(feature, (int, np.integer)) and 0 <= feature < len(names):
                places.add(int(feature))
            else:
                raise ValueError(f"categorical_features has {feature!r}, which is neither a column's name nor its place")
        return places


def _distances(points: Rows, centres: Rows) -> Rows:
    """Squares of distances, a column a centre."""
    return np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres], axis=1)


def _centres(points: Rows, count: int) -> Rows:
    """Centres of neighbourhoods, by k-means; always the same for the same points."""
    centres = points[np.random.default_rng(0).choice(len(points), min(count, len(points)), replace=False)]
    for _ in range(ROUNDS):
        nearest = _distances(points, centres).argmin(axis=1)
        for centre in np.unique(nearest):
            centres[centre] = points[nearest == centre].mean(axis=0)
    return centres


def _told(X: Any) -> Any:
    """A table whose cells arrive as they were given: where kinds are mixed, NumPy makes words of numbers, or nothing at all."""
    if isinstance(X, (list, tuple)):
        try:
            kind = np.asarray(X).dtype.kind
        except ValueError:
            # Its rows differ in length, which scikit-learn says.
            return X
        return np.array(X, dtype=object) if kind in "US" else X
    if hasattr(X, "iloc") and not all(isinstance(dtype, np.dtype) for dtype in getattr(X, "dtypes", ())):
        return X.astype(object)
    return X


def _probabilities(quantiles: Any) -> list[float]:
    if quantiles is None:
        return []
    try:
        if isinstance(quantiles, str):
            raise TypeError
        return [float(probability) for probability in quantiles]
    except (TypeError, ValueError):
        raise ValueError(f"quantiles is a list of probabilities, such as [0.05, 0.95], not {quantiles!r}") from None


def _categorical(X: Any) -> set[int]:
    """The places of a frame's categorical columns."""
    dtypes: Any = getattr(X, "dtypes", ())
    names = [str(getattr(dtype, "name", dtype)).lower() for dtype in dtypes] if hasattr(dtypes, "__iter__") else []
    return {at for at, name in enumerate(names) if name.startswith(("category", "categorical", "enum"))}


def _is_missing(cell: Any) -> bool:
    """None, NaN, NaT and pandas' NA: all that is not itself, or does not say."""
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except TypeError:
        return True


def _is_numeric(column: NDArray[Any]) -> bool:
    if column.dtype.kind in "biuf":
        return True
    return all(_is_missing(cell) or isinstance(cell, (int, float, np.number, np.bool_)) for cell in column)


def _words(column: NDArray[Any]) -> list[str]:
    """The different words of a column."""
    return sorted({_word(cell) for cell in column if not _is_missing(cell)})


def _word(cell: Any) -> str:
    """A cell as a word: a number is the same whether it is an integer, a float or a boolean, as a missing value in its column may make it."""
    whole = isinstance(cell, (int, np.integer, np.bool_)) or (isinstance(cell, (float, np.floating)) and cell.is_integer())
    return str(int(cell)) if whole else str(cell)


def _coded(
    cells: NDArray[Any], levels: list[list[str] | None], unseen: bool = True
) -> tuple[Rows, list[list[str] | None]]:
    """Rows of numbers, words as the places of their levels; and the levels with those that are new, unless these are missing."""
    rows = np.empty(cells.shape)
    known: list[list[str] | None] = []
    for at, words in enumerate(levels):
        column = cells[:, at]
        if words is None:
            numbers = [np.nan if _is_missing(cell) else cell for cell in column] if column.dtype == object else column
            try:
                rows[:, at] = np.asarray(numbers, dtype=float)
            except (TypeError, ValueError) as odd:
                raise ValueError(f"column {at} was numbers in fit and is not now: {odd}") from odd
            if np.isinf(rows[:, at]).any():
                raise ValueError(f"column {at} has an infinite number; leave it missing (NaN) where it is not known")
            known.append(None)
            continue
        if unseen:
            seen = set(words)
            words = words + [word for word in _words(column) if word not in seen]
        places = {word: float(place) for place, word in enumerate(words)}
        rows[:, at] = [np.nan if _is_missing(cell) else places.get(_word(cell), np.nan) for cell in column]
        known.append(words)
    return rows, known
