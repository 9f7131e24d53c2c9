"""Studies: which row of a table to try next."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from icee import _checks as checks
from icee import _native, frames
from icee._answers import Answers, columns_of
from icee._native import Error
from icee._places import Note, Place, studies, warn, written
from icee._pool import Pool, found_by

__all__ = ["Note", "Study", "studies"]

Repeat = Literal["refuse", "again", "replace"]
Sampler = Literal["learned", "gp-ei", "random"]


class Study:
    """Which experiment next? A study of the rows of a table, kept in one file.

    A study suggests rows (:meth:`ask`), records their results (:meth:`tell`) and predicts those of all other rows
    (:meth:`predict`). Everything is in its file, a journal that the program ``icee`` reads, too. Open it again to go on. Nothing is
    trained.

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
        self, path: str | os.PathLike[str] | None = None, *, url: str | None = None, token: str | None = None
    ) -> None:
        """Opens a study: the path of its file, or the ``url`` of one on a server.

        The ``token`` for a server is by default the variable ``ICEE_TOKEN``.
        """
        place, name = Place.of_study(path, url, token)
        # If it is mistyped, that is said now.
        place.look(name)
        self._begin(Answers(place, name, frames.default_kind()))

    def _begin(self, answers: Answers) -> None:
        self._answers = answers
        self._answer: dict[str, Any] | None = None

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
        target: float | str | None = None,
        bounds: tuple[float | None, float | None] | str | None = None,
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
        """Starts a study of the candidates in a table, one a row.

        ``pool`` is a CSV or Excel file, a pandas, polars or pyarrow table (or anything that offers Arrow's C stream), or a dict
        of columns. A study follows a file: see :meth:`update`. A table is kept by the study itself. With ``url`` instead of ``path``
        the study is on a server: ``icee.Study.create(url="http://127.0.0.1:8642/studies/bread", pool=bread, direction="maximize")``.

        ``direction`` is ``"maximize"`` or ``"minimize"``; ``target`` a number that results should come near to instead. ``value`` names
        the column of results: cells that are filled are recorded at once. ``bounds`` is the range of possible results, ``(0, 100)`` or
        ``"0..100"``. ``also`` are additional objectives and constraints: ``"price min"``, ``"purity >= 95"``, ``"pH = 7"``. ``cost``
        names the column with the cost of a row, ``like`` an earlier study in the same place whose results are used as well. ``columns``
        are the inputs, ``ignore`` columns that are none; ``log``, ``linear`` and ``categories`` say how number columns are used.
        ``sampler`` picks the rows: ``"learned"``, ``"gp-ei"`` or ``"random"``. ``seed`` fixes everything that is random.

        >>> study = icee.Study.create(folder / "tea.jsonl", {"minutes": [1, 2, 3, 4]}, target=7.0)
        >>> study
        <Study tea: 4 rows; the nearer to 7 the better; 0 measured, 0 in progress, 4 left>
        """
        if pool is None:
            raise Error("Give the table of candidates: pool=")
        place, name = Place.of_study(path, url, token)
        table = Pool.of(pool, id)
        created = place.send(
            "create",
            name,
            sheet=table.sheet,
            value=value,
            direction=direction,
            target=None if target is None else checks.amount("the target", target),
            bounds=None if bounds is None else checks.bounds(bounds),
            also=checks.names("also", also),
            cost=cost,
            id=table.id,
            columns=None if columns is None else checks.names("columns", columns),
            ignore=checks.names("ignore", ignore),
            log=checks.names("log", log),
            linear=checks.names("linear", linear),
            categories=checks.names("categories", categories),
            like=None if like is None else place.name_of(like),
            sampler=sampler,
            seed=checks.natural("seed", seed),
        )
        study = cls.__new__(cls)
        study._begin(Answers(place, name, table.kind))
        study._answers.take(table, created)
        return study

    @staticmethod
    def upgrade(path: str | os.PathLike[str]) -> Study:
        """Rewrites the file of a study from an earlier version in the format of this version, and opens it. The old file is kept."""
        place, name = Place.of_study(path, None, None)
        assert place.folder is not None
        _native.upgrade(place.folder, name)
        return Study(path)

    @property
    def url(self) -> str | None:
        """The study's address, if it is on a server."""
        return self._answers.place.url_of(self.name)

    @property
    def path(self) -> Path:
        """The study's file."""
        path = self._answers.place.path_of(self.name)
        if path is None:
            raise Error(f"{self.name} is on a server and has no file here; see its url")
        return path

    @property
    def name(self) -> str:
        """The study's name: that of its file."""
        return self._answers.study

    @property
    def answer(self) -> dict[str, Any] | None:
        """All of the last answer to :meth:`ask`, as the command line's JSON; for instance the probability that a better row is left."""
        return self._answer

    def _send(self, verb: str, **request: Any) -> dict[str, Any]:
        return self._answers.place.send(verb, self.name, **request)

    def _look(self) -> dict[str, Any]:
        return self._answers.place.look(self.name)

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
        accept_model: bool = False,
    ) -> Any:
        """Suggests rows to try next: a table of ``n`` rows with their predictions.

        Beside the row's cells are ``mean``, ``low`` and ``high`` (the expected result, and its 95 % interval), ``beats_best`` (the
        probability of beating the best result so far) and ``reasons``. Rows in progress are repeated to the request that they answer: the
        same ``by``, ``where``, ``same`` and ``sampler``; ``more=True`` gives only new ones. ``where`` is a condition such as
        ``"heat < 230 and flour != rye"``, ``same`` names columns in which all rows have the same cells, ``within`` reserves the rows for
        this long (``"8h"``, seconds, or a timedelta), ``by`` is the person or worker who tries them. ``accept_model=True`` goes on with
        this version's learned model, though the study began with another.

        >>> study = icee.Study.create(folder / "asked.jsonl", {"heat": list(range(10))}, direction="minimize")
        >>> sorted(study.ask(2))
        ['beats_best', 'heat', 'high', 'low', 'mean', 'reasons', 'row']
        """
        self._answer = answer = self._send(
            "ask",
            count=checks.natural("n", n),
            where=where,
            more=more,
            same=checks.names("same", same),
            within=None if within is None else checks.time(within),
            by=by,
            sampler=sampler,
            accept_model=accept_model,
        )
        return self._answers.suggested(answer["sheet"], answer["suggestions"])

    def tell(
        self,
        row: Any,
        value: float | str | None = None,
        *,
        also: Mapping[str, float | str] | None = None,
        failed: bool = False,
        impossible: bool = False,
        repeat: Repeat = "refuse",
        by: str | None = None,
    ) -> None:
        """Records results.

        Of one row: ``tell(23, 7.5)``, with ``also={"purity": 97}`` for further results; ``failed=True`` if the experiment failed,
        ``impossible=True`` if it cannot be made. Of many: a table with the rows' names, numbers (in a column ``row``) or cells and
        a column of results (called as the study's, ``"value"``, or ``tell(table, "score")``), a pandas series of results whose index names
        the rows, or the path of such a file (a ``pathlib.Path``: text is the name of a row). In a pandas table rows are found by the
        index, and by their cells if the index only counts them.

        A row that has a result is refused; ``repeat="again"`` adds a replicate, ``repeat="replace"`` corrects the result. ``by`` is
        the person or worker who measured it: if the reservation expired and someone else recorded the row, the result is added as
        a replicate.

        >>> study = icee.Study.create(folder / "told.jsonl", {"heat": list(range(10))}, direction="minimize")
        >>> study.tell({"row": [1, 2, 3], "value": [4.5, 3.5, None]})
        >>> [row["value"] for row in study.summary()["told"]]
        [4.5, 3.5]
        """
        request: dict[str, Any] = {**checks.repeat(repeat), "by": by}
        if isinstance(row, os.PathLike) or frames.is_table(row):
            if also is not None or failed or impossible:
                raise Error("also, failed and impossible are for one row; a table has columns for that")
            request["column"] = None if value is None else str(value)
            if isinstance(row, os.PathLike):
                self._send("tell", csv={"path": str(Path(row).absolute())}, **request)
            else:
                self._tell_table(row, request)
            return
        self._send(
            "tell",
            row=checks.row(row),
            value=None if value is None else checks.amount("the result", value),
            further={name: checks.amount(name, number) for name, number in (also or {}).items()},
            failed=failed,
            impossible=impossible,
            **request,
        )

    def _tell_table(self, table: Any, request: dict[str, Any]) -> None:
        """Records a table, or a series, whose rows are found by their names or, where it has none, by their cells."""
        is_series = frames.is_series(table)
        if is_series:
            if request["column"] is not None:
                raise Error("a series holds the results itself; leave out the name of a column")
            # No column of a sheet is called so.
            request["column"] = "value of the series"
            table = table.to_frame(request["column"])
        columns, index = frames.columns_of(table), frames.index_of(table)
        first, *others = [columns] if index is None else found_by(self._look(), columns, index, is_series)
        try:
            self._send("tell", csv=frames.to_csv(first), **request)
        except Error as refused:
            for way in others:
                try:
                    self._send("tell", csv=frames.to_csv(way), **request)
                except Error:
                    raise refused from None
            if not others:
                raise

    def predict(self, top: int | None = None, *, sampler: Sampler | None = None) -> Any:
        """Predicts the results of all rows, or of the ``top`` most promising of those that are left.

        >>> study = icee.Study.create(folder / "predicted.jsonl", {"heat": list(range(10))}, direction="minimize")
        >>> study.tell({"row": [1, 5, 9], "value": [4.5, 3.5, 6.0]})
        >>> study.predict()["status"][:5]
        ['told', 'left', 'left', 'left', 'told']
        """
        top = None if top is None else checks.natural("top", top)
        found = self._answers.place.native.predict(self.name, written({"top": top, "sampler": sampler}))
        warn(json.loads(found["notes"]))
        said = {name: found[name] for name in ("status", "value", "mean", "low", "high", "beats_best")}
        said |= columns_of(found["further"])
        return self._answers.table(found["sheet"], found["id"], found["row"], said)

    def best(self) -> dict[str, Any] | None:
        """The best row so far: ``row``, ``value``, ``cells`` and more; None if there is none. With several objectives it is the best in
        the first; see :meth:`front`.

        >>> study = icee.Study.create(folder / "looked.jsonl", {"heat": [180, 200, 220]}, direction="maximize")
        >>> study.tell(2, 7.5)
        >>> best = study.best()
        >>> best["row"], best["value"], best["cells"]
        (2, 7.5, {'heat': 200})
        """
        reply = self._send("best")
        best: dict[str, Any] | None = reply["best"]
        if best is not None:
            row, cells = self._answers.row(reply["sheet"], best)
            best |= {"row": row, "cells": cells}
        return best

    def front(self) -> Any:
        """The Pareto front: rows than which no other row is better in every objective. With one objective it is the best row.

        >>> study = icee.Study.create(folder / "front.jsonl", {"heat": [1, 2, 3]}, direction="maximize", also=["price min"])
        >>> for row, value, price in [(1, 5.0, 2.0), (2, 7.0, 4.0), (3, 4.0, 3.0)]:
        ...     study.tell(row, value, also={"price": price})
        >>> study.front()["row"]
        [2, 1]
        """
        reply = self._send("best")
        return self._answers.measured(reply["sheet"], reply["front"])

    def summary(self) -> dict[str, Any]:
        """The study: its columns, its goals, its results, the rows in progress, the best row; as the command line's JSON."""
        return self._send("show")

    def running(self) -> Any:
        """The rows in progress: a table like that of :meth:`ask`, with ``by`` (the person or worker who has the row) and ``until``
        (when the reservation expires, in seconds since 1970).

        >>> study = icee.Study.create(folder / "running.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> rows = study.ask(2, by="Ada")["row"]
        >>> study.running()["row"] == rows, study.running()["by"]
        (True, ['Ada', 'Ada'])
        """
        reply = self._send("running")
        rows = reply["running"]
        return self._answers.suggested(reply["sheet"], rows, **{name: [row.get(name) for row in rows] for name in ("by", "until")})

    def review(self) -> dict[str, Any]:
        """A look back: for each result (``steps``) the best so far and what earlier results predicted of it; how many predictions were
        checked (``checked``), and how many results were in their 50, 80 and 95 % intervals (``held``)."""
        return self._send("review")

    def why(self, row: Any) -> dict[str, Any]:
        """Explains a row: its prediction, how it compares with the best, the measured rows most like it.

        >>> study = icee.Study.create(folder / "why.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> study.tell({"row": [1, 4], "value": [4.5, 3.5]})
        >>> sorted(study.why(3)["forecast"])[:4]
        ['beats_best', 'high', 'low', 'mean']
        """
        return self._send("why", row=checks.row(row))

    def effects(self) -> list[dict[str, Any]]:
        """The mean prediction for each value of each column; empty before there are results to predict from.

        >>> study = icee.Study.create(folder / "effects.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> study.effects()
        []
        """
        effects: list[dict[str, Any]] = self._send("effects")["effects"]
        return effects

    def export(self) -> str:
        """The results as CSV, in the form that :meth:`tell` reads.

        >>> study = icee.Study.create(folder / "exported.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> study.tell(2, 7.5)
        >>> "7.5" in study.export()
        True
        """
        csv: str = self._send("export")["csv"]
        return csv

    def report(self, path: str | os.PathLike[str] | None = None, *, ahead: int = 5) -> Path:
        """Writes a page about the study and gives its path: progress, the next ``ahead`` rows, and why. The page fetches nothing.

        >>> study = icee.Study.create(folder / "page.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> study.report().name
        'page.html'
        """
        page = self._send("report", count=checks.natural("ahead", ahead))
        folder = self._answers.place.folder
        where = Path(path) if path is not None else (folder or Path()) / f"{self.name}.html"
        where.write_text(page["html"], encoding="utf-8")
        return where

    def renew(self, *rows: Any, within: str | float | datetime.timedelta, by: str | None = None) -> None:
        """Extends the reservation of rows in progress to ``within`` from now. A reservation is never shortened.

        ``by`` is the person or worker who has the rows: refused if someone else has one. On a server it is by default the name of the
        token.

        >>> study = icee.Study.create(folder / "lent.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> row = study.ask(within="1h")["row"][0]
        >>> study.renew(row, within="8h")
        """
        self._send("renew", rows=[checks.row(row) for row in rows], within=checks.time(within), by=by)

    def withdraw(self, *rows: Any, by: str | None = None) -> None:
        """Releases suggested rows that will not be tried.

        ``by`` is the person or worker who has the rows: refused if someone else has one. On a server it is by default the name of the
        token.

        >>> study = icee.Study.create(folder / "back.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> study.withdraw(*study.ask(2)["row"])
        >>> study
        <Study back: 4 rows; lower is better; 0 measured, 0 in progress, 4 left>
        """
        self._send("withdraw", rows=[checks.row(row) for row in rows], by=by)

    def forget(self, *rows: Any) -> None:
        """Deletes all results of rows.

        >>> study = icee.Study.create(folder / "slip.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> study.tell(1, 75.0)
        >>> study.forget(1)
        >>> study.best() is None
        True
        """
        self._send("forget", rows=[checks.row(row) for row in rows])

    def undo(self) -> str:
        """Undoes the last step, and says what it was.

        >>> study = icee.Study.create(folder / "undone.jsonl", {"heat": [1, 2, 3, 4]}, direction="minimize")
        >>> study.tell(1, 75.0)
        >>> study.undo()
        'results of row 1'
        """
        words: str = self._send("undo")["undone"]["words"]
        return words

    def goals(
        self, *, bounds: tuple[float | None, float | None] | str | None = None, also: Iterable[str] = ()
    ) -> dict[str, Any]:
        """Changes the goals, and gives them as they are now: ``bounds`` is the range of possible results (``"none"`` for no range),
        ``also`` are objectives and constraints to add or to change. The direction stays.

        >>> study = icee.Study.create(folder / "goals.jsonl", {"heat": [1, 2, 3]}, direction="maximize", also=["purity >= 95"])
        >>> [goal["words"] for goal in study.goals(also=["purity >= 97"])["goals"]]
        ['higher is better', 'at least 97']
        """
        limits = None if bounds is None else checks.bounds(bounds)
        return self._send("goals", bounds=limits, also=checks.names("also", also))

    def update(self, pool: Any = None, *, replace: bool = False, keep: bool = False) -> dict[str, Any]:
        """Updates the study from its sheet: rows added, removed or sorted, results filled in.

        The sheet is the file that the study was created from. ``pool`` is the table, or the file, as it is now; a study in a folder follows
        that file from then on. With ``replace`` results that differ from those recorded correct them; with ``keep`` rows whose
        other cells were corrected keep their results.

        >>> study = icee.Study.create(folder / "grown.jsonl", {"heat": [1, 2, 3]}, direction="minimize")
        >>> study.update({"heat": [1, 2, 3, 4, 5]})["rows"]
        5
        """
        table = None if pool is None else Pool.of(pool, self._look()["id_column"], is_new=False)
        updated = self._send("update", replace=replace, keep=keep, sheet=None if table is None else table.sheet)
        if table is not None:
            self._answers.take(table, self._look())
        return updated

    def delete(self) -> str | None:
        """Deletes the study; its name is free again. In a folder it is moved to the folder that is given, from where it can be brought
        back.

        >>> study = icee.Study.create(folder / "gone.jsonl", {"heat": [1, 2, 3]}, direction="minimize")
        >>> place = study.delete()
        >>> study.path.exists()
        False
        """
        place: str | None = self._send("delete").get("place")
        return place

    def __repr__(self) -> str:
        summary = self._look()
        goals = "; ".join(
            goal["words"] if goal["name"] is None else f"{goal['name']}: {goal['words']}" for goal in summary["goals"]
        )
        measured, running = summary["told_in_all"], len(summary["running"])
        state = f"{measured} measured, {running} in progress, {summary['left']} left"
        best = summary["best"]
        found = "" if best is None else f"; best {best['value']:g}, row {best['id']}"
        return f"<Study {self.name}: {summary['rows']} rows; {goals}; {state}{found}>"

    def _repr_html_(self) -> str:
        html: str = self._send("glance")["html"]
        return html

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (self._answers,)


def _opened(answers: Answers) -> Study:
    """A study that was pickled."""
    study = Study.__new__(Study)
    study._begin(answers)
    return study
