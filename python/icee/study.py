"""Studies: which row of a table to try next."""

from __future__ import annotations

import datetime
import json
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from icee import _checks as checks
from icee import _native, frames
from icee._native import Error
from icee._pool import Pool, names_rows
from icee._served import Served

Repeat = Literal["refuse", "again", "replace"]
Sampler = Literal["icee", "gp-ei", "random"]


class Note(UserWarning):
    """What the user of a study should know; not an error."""


class Study:
    """Which experiment next? A study of the rows of a table, kept in one file.

    A study suggests rows (:meth:`ask`), is told what came out (:meth:`tell`) and says what to expect of all others
    (:meth:`predict`). Everything is in its file, a journal that the program ``icee`` reads, too; whoever opens it again goes
    on where it was left. Nothing is trained.

    >>> import icee
    >>> bread = {"heat": [180, 200, 220, 240, 180, 200, 220, 240], "flour": ["rye"] * 4 + ["wheat"] * 4}
    >>> study = icee.Study.create(folder / "bread.jsonl", bread, direction="maximize")
    >>> row = study.ask()["row"][0]
    >>> study.tell(row, 7.5)
    >>> study.best()["value"]
    7.5

    Rows are called as the table calls them: by the index of a pandas table, by the column that ``id=`` names, else by their numbers
    from 1, as on the command line. Answers come in the kind of table that was given: pandas, polars, pyarrow or a dict.

    A study on a server (``icee serve``) has the same methods: ``icee.Study(url="http://127.0.0.1:8642/studies/bread")``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        pool: str | os.PathLike[str] | None = None,
        url: str | None = None,
        token: str | None = None,
    ) -> None:
        """Opens a study; ``pool`` says where its sheet lies now, if it was moved.

        With ``url`` it is one on a server, whose ``token`` is that in the variable ``ICEE_TOKEN`` by default.
        """
        if url is not None:
            if path is not None or pool is not None:
                raise Error("a study is in a file (path and pool) or on a server (url), not both")
            served = Served(url, token)
            # Whoever has mistyped it should hear so now.
            served.summary()
            self._begin(served, frames.default_kind())
            _warn(served.take_notes())
            return
        if path is None:
            raise Error("which study? Give the path of its file, or the url of one on a server")
        _only_with_url(token)
        where = Path(path).absolute()
        if not where.exists():
            raise FileNotFoundError(f"there is no study {path}; create it with icee.Study.create")
        self._begin(_native.Study.open(where, None if pool is None else Path(pool).absolute()), frames.default_kind())

    def _begin(self, native: _native.Study | Served, kind: str) -> None:
        self._native = native
        self._kind = kind
        self._answer: dict[str, Any] | None = None
        #: The columns as they were given, where they were, and which sheet they are.
        self._given: frames.Columns | None = None
        self._labels: list[Any] | None = None
        self._given_as = ""

    def _take(self, table: Pool) -> None:
        """What stands in the sheet now, as it was given."""
        self._kind, self._given = table.kind, table.given
        self._labels = None if table.given is None or table.id is None else table.given[table.id]
        self._given_as = self._sheet_of([])

    def _sheet_of(self, rows: Sequence[Mapping[str, Any]]) -> str:
        return self._native.sheet_of(rows) if isinstance(self._native, Served) else self._native.sheet

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str] | None = None,
        pool: Any = None,
        *,
        url: str | None = None,
        token: str | None = None,
        value: str | None = None,
        direction: str | None = None,
        target: float | None = None,
        bounds: tuple[float | None, float | None] | None = None,
        also: Iterable[str] = (),
        cost: str | None = None,
        id: str | None = None,
        columns: Sequence[str] | None = None,
        ignore: Iterable[str] = (),
        log: Iterable[str] = (),
        linear: Iterable[str] = (),
        categories: Iterable[str] = (),
        like: str | os.PathLike[str] | None = None,
        sampler: Sampler | None = None,
        seed: int = 0,
    ) -> Study:
        """Starts a study of the rows of a table.

        ``pool`` is a CSV or Excel file, a pandas, polars or pyarrow table (or anything that offers Arrow's C stream), or a dict
        of columns. What is no file is written beside the study, as NAME.csv. With ``url`` instead of ``path`` the study, and its table, are
        kept by a server: ``icee.Study.create(url="http://127.0.0.1:8642/studies/bread", pool=bread, direction="maximize")``.

        ``direction`` is ``"maximize"`` or ``"minimize"``; ``target`` a value to come near to instead. ``value`` names a column of the
        table that holds results: cells that are filled are told at once. ``bounds`` are the ends of what values can be. ``also``
        are further outcomes and what is wanted of them: ``"price min"``, ``"purity >= 95"``, ``"pH = 7"``. ``cost`` names the column
        of prices, ``like`` an earlier study of such rows. ``columns`` are those to learn from, ``ignore`` those not to; ``log``,
        ``linear`` and ``categories`` say how to take them where that is not plain. ``seed`` fixes all that is random.

        >>> study = icee.Study.create(folder / "tea.jsonl", {"minutes": [1, 2, 3, 4]}, target=7.0)
        >>> study
        <Study tea: 4 rows; the nearer to 7 the better; 0 told, 0 running, 4 left>
        """
        if pool is None or (path is None) == (url is None):
            raise Error("give the path of the study's file, or the url of one on a server, and the pool of rows")
        target = None if target is None else checks.number("the target", target)
        limits = None if bounds is None else checks.bounds(bounds)
        seed = checks.natural("seed", seed)
        wishes = checks.names("also", also)
        scales = [(name, "log") for name in checks.names("log", log)]
        scales += [(name, "linear") for name in checks.names("linear", linear)]
        scales += [(name, "categories") for name in checks.names("categories", categories)]
        for name in {name for name, _ in scales}:
            if [other for other, _ in scales].count(name) > 1:
                raise Error(f'"{name}" stands in two of log, linear and categories')
        if url is not None:
            wanted = {
                "value": value,
                "direction": direction,
                "target": target,
                "bounds": None if limits is None else "..".join("" if end is None else repr(end) for end in limits),
                "also": wishes,
                "cost": cost,
                "columns": None if columns is None else checks.names("columns", columns),
                "ignore": checks.names("ignore", ignore),
                "log": checks.names("log", log),
                "linear": checks.names("linear", linear),
                "categories": checks.names("categories", categories),
                "like": None if like is None else str(like),
                "sampler": sampler,
                "seed": seed,
            }
            return cls._create_served(Served(url, token), Pool.of(pool, id), wanted)
        _only_with_url(token)
        assert path is not None
        where = Path(path).absolute()
        if where.exists():
            raise FileExistsError(f"{path} exists already; choose another name, or open it with icee.Study({str(path)!r})")
        if isinstance(pool, (str, os.PathLike)):
            table, sheet = None, Path(pool).absolute()
            if not sheet.exists():
                raise FileNotFoundError(f"there is no file {pool}")
        else:
            table, sheet = Pool.of(pool, id), where.with_suffix(".csv")
            id = table.id
            if sheet.exists():
                raise FileExistsError(f"{sheet} is in the way: the table is to be written there; choose another name")
            where.parent.mkdir(parents=True, exist_ok=True)
            sheet.write_bytes(table.sheet)
        try:
            native, notes = _native.Study.create(
                where,
                sheet,
                value=value,
                direction=direction,
                target=target,
                bounds=limits,
                also=wishes,
                cost=cost,
                id=id,
                columns=None if columns is None else checks.names("columns", columns),
                ignore=checks.names("ignore", ignore),
                scales=scales,
                like=None if like is None else Path(like).absolute(),
                sampler=sampler,
                seed=seed,
            )
        except BaseException as error:
            if table is not None and not where.exists():
                sheet.unlink(missing_ok=True)
                if isinstance(error, Error):
                    # There is no such file any more, and nobody has written one.
                    raise Error(str(error).replace(str(sheet), "the table")) from None
            raise
        study = cls.__new__(cls)
        study._begin(native, frames.default_kind())
        if table is not None:
            study._take(table)
        _warn(notes)
        return study

    @classmethod
    def _create_served(cls, served: Served, table: Pool, wanted: Mapping[str, Any]) -> Study:
        served.create(table.sheet, id=table.id, **wanted)
        study = cls.__new__(cls)
        study._begin(served, table.kind)
        study._take(table)
        _warn(served.take_notes())
        return study

    @property
    def url(self) -> str | None:
        """Where the study is, if it is on a server."""
        return self._native.url if isinstance(self._native, Served) else None

    @property
    def path(self) -> Path:
        """The study's file."""
        if isinstance(self._native, Served):
            raise Error(f"{self.name} is on a server and has no file here; see its url")
        return Path(self._native.path)

    @property
    def name(self) -> str:
        """The study's name: that of its file."""
        return self._native.name if isinstance(self._native, Served) else self.path.stem

    @property
    def answer(self) -> dict[str, Any] | None:
        """All of the last answer to :meth:`ask`, as the command line's JSON: how likely it is that a better row is left, say."""
        return self._answer

    def ask(
        self,
        n: int = 1,
        *,
        where: str | None = None,
        more: bool = False,
        same: Iterable[str] = (),
        within: str | float | datetime.timedelta | None = None,
        by: str | None = None,
        sampler: Sampler | None = None,
    ) -> Any:
        """Which rows next? A table of ``n`` rows with what to expect of each.

        Beside the row's cells stand ``mean``, ``low`` and ``high`` (what is predicted, and the interval that holds it with
        probability 95 %), ``beats_best`` (the probability of beating the best so far) and ``reasons``. While rows are running they are
        repeated; ``more=True`` asks for others. ``where`` is a condition such as ``"heat < 230 and flour != rye"``, ``same`` names columns
        in which all rows are to be equal, ``within`` says when rows are given back (``"8h"``, seconds, or a timedelta),
        ``by`` who tries them (and then only the rows of this person or worker are repeated).

        >>> study = icee.Study.create(folder / "asked.jsonl", {"heat": list(range(10))}, direction="minimize")
        >>> sorted(study.ask(2))
        ['beats_best', 'heat', 'high', 'low', 'mean', 'reasons', 'row']
        """
        within = None if within is None else checks.time(within)
        text = self._native.ask(
            checks.natural("n", n, 1), condition=where, more=more, same=checks.names("same", same), within=within, by=by, sampler=sampler
        )
        answer = json.loads(text)
        self._answer = answer
        _warn(answer["notes"] + self._native.take_notes())
        return self._rows(answer["suggestions"], reasons=True)

    def tell(
        self,
        row: Any,
        value: float | str | None = None,
        *,
        also: Mapping[str, float] | None = None,
        failed: bool = False,
        impossible: bool = False,
        repeat: Repeat = "refuse",
        by: str | None = None,
    ) -> None:
        """Tells what came out.

        Of one row: ``tell(23, 7.5)``, with ``also={"purity": 97}`` where there are further outcomes; ``failed=True`` where the
        experiment failed, ``impossible=True`` where it cannot be made. Of many: a table with the rows' names, numbers (in a column ``row``)
        or cells and a column of values (called as the study's, ``"value"``, or ``tell(table, "score")``), a pandas series of values whose
        index names the rows, or the path of such a file (a ``pathlib.Path``: text is the name of a row). In a pandas table rows are found
        by the index, and by their cells where the index only counts them.

        A row that has a value is refused; ``repeat="again"`` takes it as one more measurement, ``repeat="replace"`` as a correction.
        ``by`` says who tells it: whoever had the row until his time was up adds a measurement where others have told it meanwhile.

        >>> study = icee.Study.create(folder / "told.jsonl", {"heat": list(range(10))}, direction="minimize")
        >>> study.tell({"row": [1, 2, 3], "value": [4.5, 3.5, None]})
        >>> [told["value"] for told in study.summary()["told"]]
        [4.5, 3.5]
        """
        if isinstance(row, os.PathLike) or frames.is_table(row):
            if also is not None or failed or impossible:
                raise Error("also, failed and impossible are for one row; a table has columns for that")
            column = None if value is None else str(value)
            if isinstance(row, os.PathLike):
                self._native.tell_file(Path(row), column, repeat=repeat)
            else:
                self._tell_table(row, column, repeat)
        else:
            if (value is not None) + failed + impossible != 1:
                raise Error("give a value, failed=True or impossible=True")
            if also and value is None:
                raise Error("also is told beside a value; an experiment that failed, or cannot be made, has no outcomes")
            self._native.tell(
                checks.row(row),
                None if value is None else checks.number("the value", value),
                [(name, checks.number(name, number)) for name, number in (also or {}).items()],
                impossible=impossible,
                repeat=repeat,
                by=by,
            )
        _warn(self._native.take_notes())

    def _tell_table(self, table: Any, value: str | None, repeat: Repeat) -> None:
        """Tells a table, or a series, whose rows are found by their names or, where it has none, by their cells."""
        is_series = frames.is_series(table)
        if is_series:
            if value is not None:
                raise Error("a series holds the values itself; leave out the name of a column")
            # No column of a sheet is called so.
            value = "value of the series"
            table = table.to_frame(value)
        first, *others = self._found_by(frames.columns_of(table), frames.index_of(table), is_series)
        try:
            self._native.tell_table(frames.to_csv(first).encode(), value, repeat=repeat)
        except Error as refused:
            for way in others:
                try:
                    self._native.tell_table(frames.to_csv(way).encode(), value, repeat=repeat)
                except Error:
                    raise refused from None
            if not others:
                raise

    def _found_by(self, columns: frames.Columns, index: frames.Index | None, is_series: bool) -> list[frames.Columns]:
        """Results with what their rows are found by; of two ways the likelier one first."""
        id = self._native.id_column
        known = self._row_column if id is None else id
        if index is None or known in columns:
            return [columns]
        if not (index.name == known if id is None else names_rows(index, id)):
            return [columns]
        named = {known: index.labels, **columns}
        if not index.plain or is_series:
            return [named]
        # An index that only counts is that of the whole table, or of a table that was made for some results.
        summary = self.summary()
        if {name for name, _ in summary["columns"]} <= set(columns):
            return [named, columns]
        return [named if len(index.labels) == summary["rows"] else columns]

    def predict(self, top: int | None = None, *, sampler: Sampler | None = None) -> Any:
        """What is believed of every row, or of the ``top`` most promising of those that are left.

        >>> study = icee.Study.create(folder / "believed.jsonl", {"heat": list(range(10))}, direction="minimize")
        >>> study.tell({"row": [1, 5, 9], "value": [4.5, 3.5, 6.0]})
        >>> study.predict()["status"][:5]
        ['told', 'left', 'left', 'left', 'told']
        """
        rows = json.loads(self._native.predict(sampler))
        if top is not None:
            rows = [row for row in rows if row["status"] == "left"]
            rows.sort(key=lambda row: -row["beats_best"])
            rows = rows[: checks.natural("top", top, 1)]
        _warn(self._native.take_notes())
        return self._rows(rows)

    def best(self) -> dict[str, Any] | None:
        """The best row told so far: ``row``, ``value``, ``cells`` and more; None where there is none. See :meth:`front`.

        >>> study = icee.Study.create(folder / "looked.jsonl", {"heat": [180, 200, 220]}, direction="maximize")
        >>> study.tell(2, 7.5)
        >>> best = study.best()
        >>> best["row"], best["value"], best["cells"]
        (2, 7.5, {'heat': 200})
        """
        best = json.loads(self._native.best())
        _warn(self._native.take_notes())
        if best is not None:
            self._forget_other_sheet([best])
            cells = {name: column[0] for name, column in self._cells([best]).items() if name in best["cells"]}
            best |= {"row": self._label(best), "cells": cells}
        found: dict[str, Any] | None = best
        return found

    def front(self) -> Any:
        """Where several outcomes are to be good: the rows that no other row beats in all of them.

        >>> study = icee.Study.create(folder / "front.jsonl", {"heat": [1, 2, 3]}, direction="maximize", also=["price min"])
        >>> for row, value, price in [(1, 5.0, 2.0), (2, 7.0, 4.0), (3, 4.0, 3.0)]:
        ...     study.tell(row, value, also={"price": price})
        >>> study.front()["row"]
        [2, 1]
        """
        rows = json.loads(self._native.front())
        return self._rows(rows)

    def summary(self) -> dict[str, Any]:
        """All there is to know: columns, goals, what was told and is running, the best; as the command line's JSON."""
        summary: dict[str, Any] = json.loads(self._native.summary())
        return summary

    def why(self, row: Any) -> dict[str, Any]:
        """Why a row is worth trying, or is not: its forecast, how it compares with the best, and the rows most like it.

        >>> study = icee.Study.create(folder / "why.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> study.tell({"row": [1, 4], "value": [4.5, 3.5]})
        >>> sorted(study.why(3)["forecast"])[:4]
        ['beats_best', 'high', 'low', 'mean']
        """
        why: dict[str, Any] = json.loads(self._native.why(checks.row(row)))
        return why

    def effects(self) -> list[dict[str, Any]]:
        """What each column does to the value; empty where too little was told.

        >>> study = icee.Study.create(folder / "effects.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> study.effects()
        []
        """
        effects: list[dict[str, Any]] = json.loads(self._native.effects())
        return effects

    def report(self, path: str | os.PathLike[str] | None = None, *, ahead: int = 5) -> Path:
        """Writes a page about the study, which fetches nothing: progress, what comes next and why; gives its path.

        >>> study = icee.Study.create(folder / "page.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> study.report().name
        'page.html'
        """
        beside = Path(f"{self.name}.html") if isinstance(self._native, Served) else self.path.with_suffix(".html")
        where = beside if path is None else Path(path)
        _warn(self._native.report(where, checks.natural("ahead", ahead, 1)))
        return where

    def renew(self, *rows: Any, within: str | float | datetime.timedelta, by: str | None = None) -> None:
        """Gives rows that are running more time: they are given back after ``within`` from now, and never earlier than they would be.

        ``by`` says who has them: refused where somebody else has one by now. On a server, it is the name of the token by default.

        >>> study = icee.Study.create(folder / "lent.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> row = study.ask(within="1h")["row"][0]
        >>> study.renew(row, within="8h")
        """
        self._native.renew([checks.row(row) for row in rows], within=checks.time(within), by=by)
        _warn(self._native.take_notes())

    def withdraw(self, *rows: Any, by: str | None = None) -> None:
        """Takes back rows that were asked for and will not be tried.

        ``by`` says who has them: refused where somebody else has one by now. On a server, it is the name of the token by default.

        >>> study = icee.Study.create(folder / "back.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> study.withdraw(*study.ask(2)["row"])
        >>> study
        <Study back: 4 rows; lower is better; 0 told, 0 running, 4 left>
        """
        self._native.withdraw([checks.row(row) for row in rows], by=by)
        _warn(self._native.take_notes())

    def forget(self, *rows: Any) -> None:
        """Forgets what was told of rows by mistake.

        >>> study = icee.Study.create(folder / "slip.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> study.tell(1, 75.0)
        >>> study.forget(1)
        >>> study.best() is None
        True
        """
        self._native.forget([checks.row(row) for row in rows])
        _warn(self._native.take_notes())

    def undo(self) -> str:
        """Takes back the last thing that was asked, told, withdrawn or forgotten, and says what it was.

        >>> study = icee.Study.create(folder / "undone.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> study.tell(1, 75.0)
        >>> study.undo()
        'telling row 1'
        """
        undone: str = self._native.undo()
        _warn(self._native.take_notes())
        return undone

    def update(self, pool: Any = None, *, replace: bool = False, keep: bool = False) -> dict[str, Any]:
        """Takes in what has changed in the sheet: rows added or sorted otherwise, values filled in.

        The sheet is the file that the study was created from; of a study of a table, or on a server, ``pool`` is the table or file as
        it is now. ``replace`` takes results that differ from what was told; with ``keep`` rows whose other cells were corrected keep
        their results.

        >>> study = icee.Study.create(folder / "grown.jsonl", {"heat": [1, 2, 3]}, direction="minimize")
        >>> study.update({"heat": [1, 2, 3, 4, 5]})["rows"]
        5
        """
        table = None if pool is None else Pool.of(pool, self._native.id_column, is_new=False)
        repeat = "replace" if replace else "refuse"
        sheet = None if table is None else table.sheet
        try:
            change: dict[str, Any] = json.loads(self._native.update(sheet, repeat=repeat, keep=keep))
        except Error as error:
            way = re.sub(r"`icee study update \S+ --(keep|replace)`", r"update(table, \1=True)", str(error))
            raise Error(way) from None
        if table is not None:
            self._take(table)
        _warn(self._native.take_notes())
        return change

    def accept_model(self) -> None:
        """Goes on with this version's learned model, though the study began with another one."""
        self._native.accept_model()

    def __repr__(self) -> str:
        summary = self.summary()
        wishes = "; ".join(wish if name is None else f"{name}: {wish}" for name, wish in summary["goals"])
        told, running = len(summary["told"]), len(summary["running"])
        state = f"{told} told, {running} running, {summary['left']} left"
        best = summary["best"]
        found = "" if best is None else f"; best {best['value']:g}, row {best['id']}"
        return f"<Study {self.name}: {summary['rows']} rows; {wishes}; {state}{found}>"

    def _repr_html_(self) -> str:
        return self._native.glance()

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self._native, Served):
            return _connected, (self._native.url, self._native.given_token, self._kind)
        return _opened, (str(self.path), self._native.pool, self._kind, self._given, self._labels, self._given_as)

    def _forget_other_sheet(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """The sheet may have changed since it was given, here or elsewhere: then it is read as anybody reads it."""
        if self._given is None:
            return
        labels = self._labels
        moved = labels is not None and any(
            row["row"] > len(labels) or frames.text(labels[row["row"] - 1]) != row["id"] for row in rows
        )
        if moved or self._sheet_of(rows) != self._given_as:
            self._given = self._labels = None

    def _label(self, row: Mapping[str, Any]) -> Any:
        """What the user calls a row: its number, its id, or its label in the pandas table."""
        return frames.label(row["id"]) if self._labels is None else self._labels[row["row"] - 1]

    @property
    def _row_column(self) -> str:
        """What a column of rows' numbers is called."""
        return self._native.row_column

    def _rows(self, rows: list[dict[str, Any]], reasons: bool = False) -> Any:
        """Answers about rows as a table: the row, its cells, then what is said of it."""
        self._forget_other_sheet(rows)
        names = self._native.id_column or self._row_column
        table: dict[str, list[Any]] = {names: [self._label(row) for row in rows]}
        table |= {name: column for name, column in self._cells(rows).items() if name != names}
        reals = set()
        said: dict[str, list[Any]] = {}
        for place, row in enumerate(rows):
            forecast = row.get("forecast", row) or {}
            entries: dict[str, Any] = {name: row[name] for name in ("status", "value") if name in row}
            if "values" in row:  # told: the further outcomes are values, not beliefs
                entries |= dict(row.get("further", []))
            # A suggestion without a forecast has gaps there.
            if reasons or "mean" in forecast:
                entries |= {name: forecast.get(name) for name in ("mean", "low", "high", "beats_best")}
            for other in forecast.get("further", []) if "mean" in forecast else []:
                ends = ("mean", "low", "high", "holds")
                entries |= {f"{other['name']}_{end}": other[end] for end in ends if other[end] is not None}
            reals |= entries.keys() - {"status"}
            if reasons:
                entries["reasons"] = "; ".join(row["reasons"])
            for name, entry in entries.items():
                said.setdefault(name, [None] * place).append(entry)
        numbers = []
        for name, column in said.items():
            # A column of the table keeps its name.
            free = name
            while free in table:
                free = f"predicted_{free}"
            table[free] = column
            numbers += [free] if name in reals else []
        return frames.frame(self._kind, table, names, numbers)

    def _cells(self, rows: list[dict[str, Any]]) -> frames.Columns:
        """What stands in some rows: as it was given, or else as the study reads it."""
        if any(row.get("cells") == {} for row in rows):
            # The sheet is another one than the study knows, and cannot be read.
            return {}
        if self._given is not None:
            columns = self._given
        elif isinstance(self._native, Served):
            return self._native.cells_of(rows)
        else:
            columns = {name: frames.parsed(cells) for name, cells in self._native.cells()}
        return {name: [column[row["row"] - 1] for row in rows] for name, column in columns.items()}


def _opened(
    path: str, pool: Path | None, kind: str, given: frames.Columns | None, labels: list[Any] | None, given_as: str
) -> Study:
    """A study that was pickled: opened again."""
    study = Study.__new__(Study)
    study._begin(_native.Study.open(path, pool), kind)
    study._given, study._labels, study._given_as = given, labels, given_as
    return study


def _connected(url: str, token: str | None, kind: str) -> Study:
    """The same of one on a server."""
    study = Study.__new__(Study)
    study._begin(Served(url, token), kind)
    return study


def _only_with_url(token: str | None) -> None:
    if token is not None:
        raise Error("token is for a study on a server; give its url, too")


def _warn(notes: Iterable[str]) -> None:
    for note in notes:
        warnings.warn(note, Note, stacklevel=3)
