"""Replies about rows as tables: what the user calls each row, its cells, then what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from icee import frames
from icee._places import Place
from icee._pool import Pool

Row = Mapping[str, Any]

#: What is predicted of a row's result.
FORECAST = ("mean", "low", "high", "beats_best")
#: The same of a further result.
FURTHER = ("mean", "low", "high", "holds")


class Sheet(NamedTuple):
    """What stands in a study's sheet."""

    #: Another sheet has another one.
    checksum: str
    #: What the column of the rows' names is called, or that of their numbers.
    names: str
    #: A cell a row: as it was given, or else as the study reads it.
    columns: frames.Columns
    #: What the user calls the rows, where that is known.
    labels: list[Any] | None


class Answers:
    """Makes tables of replies about a study's rows. The sheet is kept until it is another one."""

    def __init__(self, place: Place, study: str, kind: str, sheet: Sheet | None = None) -> None:
        self.place, self.study, self.kind, self.sheet = place, study, kind, sheet

    def __reduce__(self) -> tuple[Any, ...]:
        return Answers, (self.place, self.study, self.kind, self.sheet)

    def take(self, table: Pool, summary: Mapping[str, Any]) -> None:
        """The sheet is now the one that was given."""
        self.kind = table.kind
        if table.given is None:
            self.sheet = None
        else:
            labels = None if table.id is None else table.given[table.id]
            self.sheet = Sheet(summary["sheet"], _names(summary), table.given, labels)

    def table(
        self, checksum: str, ids: Sequence[str], rows: Sequence[int], said: frames.Columns, *, has_cells: bool = True
    ) -> Any:
        """A table of rows of the sheet of this checksum, which have ids and numbers from 1, with columns of what is said of them."""
        sheet = self._read(checksum, ids, rows)
        names = sheet.names
        table: dict[str, list[Any]] = {names: self._labels(sheet, ids, rows)}
        if has_cells:
            others = {name: column for name, column in sheet.columns.items() if name != names}
            table |= {name: [column[row - 1] for row in rows] for name, column in others.items()}
        reals = []
        for name, column in said.items():
            # A column of the sheet keeps its name.
            free = name
            while free in table:
                free = f"predicted_{free}"
            table[free] = column
            reals += [] if name in WORDS else [free]
        return frames.frame(self.kind, table, names, reals)

    def row(self, checksum: str, row: Row) -> tuple[Any, dict[str, Any]]:
        """What the user calls a row, and its cells."""
        sheet = self._read(checksum, [row["id"]], [row["row"]])
        cells = {name: sheet.columns[name][row["row"] - 1] for name in row["cells"] if name in sheet.columns}
        return self._labels(sheet, [row["id"]], [row["row"]])[0], cells

    def suggested(self, checksum: str, rows: Sequence[Row], **more: list[Any]) -> Any:
        """A table of suggested rows. Before there are results to predict from, there are gaps."""
        forecasts = [row["forecast"] or {} for row in rows]
        said = {name: [forecast.get(name) for forecast in forecasts] for name in FORECAST}
        said |= further([forecast.get("further", []) for forecast in forecasts])
        said |= {"reasons": ["; ".join(row["reasons"]) for row in rows], **more}
        return self._of(checksum, rows, said)

    def measured(self, checksum: str, rows: Sequence[Row]) -> Any:
        """A table of measured rows, with their further results."""
        results = [dict(row.get("further", [])) for row in rows]
        said = {name: [row[name] for row in rows] for name in ("status", "value")}
        said |= {name: [of.get(name) for of in results] for name in dict.fromkeys(name for of in results for name in of)}
        return self._of(checksum, rows, said)

    def _of(self, checksum: str, rows: Sequence[Row], said: frames.Columns) -> Any:
        # A sheet that cannot be read now has no cells.
        has_cells = all(row["cells"] for row in rows)
        return self.table(checksum, [row["id"] for row in rows], [row["row"] for row in rows], said, has_cells=has_cells)

    def _read(self, checksum: str, ids: Sequence[str], rows: Sequence[int]) -> Sheet:
        """The sheet of this checksum. The one that was given may be another by now, changed here or elsewhere."""
        sheet = self.sheet
        if sheet is None or sheet.checksum != checksum or not _are_called(sheet, ids, rows):
            names = _names(self.place.look(self.study))
            columns, checksum = self.place.native.cells(self.study)
            sheet = self.sheet = Sheet(checksum, names, {name: frames.parsed(cells) for name, cells in columns}, None)
        return sheet

    def _labels(self, sheet: Sheet, ids: Sequence[str], rows: Sequence[int]) -> list[Any]:
        labels = sheet.labels
        return [frames.label(id) for id in ids] if labels is None else [labels[row - 1] for row in rows]


#: What is said of rows and is no measure.
WORDS = ("status", "reasons", "by", "until")


def further(forecasts: Iterable[Iterable[Row]]) -> frames.Columns:
    """Predictions of further results, each with its name: a row has all of them, or none."""
    rows = [{of["name"]: of for of in row} for row in forecasts]
    names = dict.fromkeys(name for row in rows for name in row)
    return columns_of(
        (name, {number: [row[name][number] if name in row else None for row in rows] for number in FURTHER})
        for name in names
    )


def columns_of(forecasts: Iterable[tuple[str, Mapping[str, list[Any]]]]) -> frames.Columns:
    """The columns of predictions of further results; whether a constraint holds is said only where there is one."""
    return {
        f"{name}_{number}": numbers
        for name, forecast in forecasts
        for number, numbers in forecast.items()
        if number != "holds" or any(holds is not None for holds in numbers)
    }


def _names(summary: Mapping[str, Any]) -> str:
    names: str = summary["id_column"] or summary["row_column"]
    return names


def _are_called(sheet: Sheet, ids: Sequence[str], rows: Sequence[int]) -> bool:
    """Whether the rows have these names in the sheet."""
    labels = sheet.labels
    if labels is None:
        return True
    return all(row <= len(labels) and frames.text(labels[row - 1]) == id for id, row in zip(ids, rows))
