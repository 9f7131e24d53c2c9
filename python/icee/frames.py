"""Tables as people have them: pandas, polars, pyarrow, or a dict of columns.

Nothing is imported here that the caller has not imported already: a frame is known by the module of its type.
"""

from __future__ import annotations

import csv
import datetime
import importlib.util
import io
import math
import numbers
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from icee._native import Error

#: The kinds of frames that answers come in.
PANDAS, POLARS, PYARROW, DICT = "pandas", "polars", "pyarrow", "dict"

Columns = dict[str, list[Any]]


def kind_of(table: object) -> str:
    """The kind of a frame; answers come in the same."""
    for module, name in ((PANDAS, "DataFrame"), (POLARS, "DataFrame"), (PYARROW, "Table")):
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(table, getattr(loaded, name)):
            return module
    if isinstance(table, Mapping):
        return DICT
    if hasattr(table, "to_frame") and not hasattr(table, "columns"):
        raise Error("a Series is one column; give a table: series.to_frame()")
    if hasattr(table, "__arrow_c_stream__"):
        return _reader_of_arrow(table)
    raise Error(
        f"a table is a path, a pandas, polars or pyarrow table, or a dict of columns, not a {type(table).__name__}"
    )


def is_series(thing: object) -> bool:
    """Whether it is a pandas series."""
    pandas = sys.modules.get(PANDAS)
    return pandas is not None and isinstance(thing, pandas.Series)


def is_table(thing: object) -> bool:
    """Whether it is a frame, and not the name of a row."""
    return isinstance(thing, Mapping) or is_series(thing) or hasattr(thing, "__arrow_c_stream__") or hasattr(thing, "columns")


def default_kind() -> str:
    """The kind of answers where no frame was given: pandas where it is installed."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        return DICT
    return PANDAS


class Index(NamedTuple):
    """What pandas calls the rows of a frame."""

    name: str | None
    labels: list[Any]
    #: Whether it only counts the rows from 0, as pandas does by itself.
    plain: bool


def index_of(table: Any) -> Index | None:
    """The names of a frame's rows; only pandas has them."""
    if kind_of(table) != PANDAS:
        return None
    import pandas

    index = table.index
    counts = isinstance(index, pandas.RangeIndex) and index.name is None and (index.start, index.step) == (0, 1)
    return Index(None if index.name is None else str(index.name), index.tolist(), counts)


def columns_of(table: Any) -> Columns:
    """The columns of a frame."""
    kind, table = kind_of(table), frame_of(table)
    if kind == PANDAS:
        table = table.copy(deep=False)
        # Names that are no text stay what they are, as text.
        table.columns = [str(name) for name in table.columns]
        columns = {name: table[name].tolist() for name in dict.fromkeys(table.columns) if _single(table, name)}
    elif kind == POLARS:
        columns = {name: table[name].to_list() for name in table.columns}
    elif kind == PYARROW:
        columns = _arrow_columns(table)
    else:
        columns = {str(name): _listed(name, column) for name, column in table.items()}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        sizes = ", ".join(f"{name}: {len(column)}" for name, column in columns.items())
        raise Error(f"all columns have the same length; here they have {sizes}")
    return columns


def _single(table: Any, name: str) -> bool:
    if getattr(table[name], "ndim", 1) != 1:
        raise Error(f'two columns are called "{name}"; rename one')
    return True


def _listed(name: object, column: Any) -> list[Any]:
    if isinstance(column, (str, bytes)) or not isinstance(column, Iterable):
        raise Error(f'column "{name}" is a list or an array, not {column!r}')
    array: Any = column
    if getattr(array, "ndim", 1) != 1:
        raise Error(f'column "{name}" has one dimension, not the shape {array.shape}')
    cells: list[Any] = array.tolist() if hasattr(array, "tolist") else list(array)
    return cells


def _reader_of_arrow(table: object) -> str:
    """Whatever is installed that reads Arrow's C stream, which duckdb's tables and others offer."""
    for module in (PYARROW, POLARS):
        if importlib.util.find_spec(module) is not None:
            return module
    raise Error(f"to read a {type(table).__name__}, install pyarrow or polars, or give a path or a dict of columns")


def frame_of(table: Any) -> Any:
    """The table itself; what only offers Arrow's C stream, as a frame of whatever is installed that reads it."""
    kind = kind_of(table)
    if kind == POLARS:
        import polars

        return table if isinstance(table, polars.DataFrame) else polars.DataFrame(table)
    if kind == PYARROW:
        import pyarrow

        return table if isinstance(table, pyarrow.Table) else pyarrow.table(table)
    return table


def _arrow_columns(arrow: Any) -> Columns:
    names = arrow.column_names
    for name in names:
        if names.count(name) > 1:
            raise Error(f'two columns are called "{name}"; rename one')
    return {name: arrow.column(at).to_pylist() for at, name in enumerate(names)}


def to_csv(columns: Columns) -> str:
    """Columns as CSV, every number so that it comes back as it was."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for cells in zip(*columns.values()):
        writer.writerow([text(cell) for cell in cells])
    return out.getvalue()


def text(cell: Any) -> str:
    """A cell as it stands in a sheet."""
    # Missing values of pandas are neither true nor false, and cannot be compared.
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(cell, (bool, str)):
        return str(cell)
    if type(cell).__name__ in ("bool_", "bool"):
        return str(bool(cell))
    if isinstance(cell, numbers.Integral):
        return str(int(cell))
    if isinstance(cell, numbers.Real):
        number = float(cell)
        if math.isnan(number):
            return ""
        if math.isinf(number):
            raise Error(f"{number} cannot stand in a table; leave the cell empty")
        return repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    if isinstance(cell, (datetime.date, datetime.datetime)):
        return cell.isoformat()
    return str(cell)


def frame(kind: str, columns: Mapping[str, Sequence[Any]], index: str | None = None, reals: Iterable[str] = ()) -> Any:
    """Columns as a frame of that kind; with pandas, `index` names the column that becomes the index. Those of `reals` are numbers, also
    where all of them are missing."""
    table: dict[str, Any] = dict(columns)
    if kind == PANDAS:
        import pandas

        table |= {name: pandas.Series(table[name], dtype="float64") for name in reals}
        made = pandas.DataFrame(table)
        return made.set_index(index) if index is not None else made
    if kind == POLARS:
        import polars

        table |= {name: polars.Series(table[name], dtype=polars.Float64) for name in reals}
        return polars.DataFrame(table, strict=False)
    if kind == PYARROW:
        import pyarrow

        table |= {name: pyarrow.array(table[name], pyarrow.float64()) for name in reals}
        return pyarrow.table(table)
    return table


#: Numbers as sheets have them: no 1_000, no inf, and 007 is a name.
_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*|(?=\.\d))(\.\d*)?([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d*)")


def parsed(cells: Sequence[str]) -> list[Any]:
    """A column of a sheet: numbers where all its cells are numbers or missing, truths where all are, else the words."""
    filled = [cell for cell in cells if cell != ""]
    if filled and all(_WHOLE.fullmatch(cell) for cell in filled):
        return [int(cell) for cell in cells] if len(filled) == len(cells) else [float(cell) if cell else None for cell in cells]
    if filled and all(_NUMBER.fullmatch(cell) for cell in filled):
        return [float(cell) if cell else None for cell in cells]
    if filled and all(cell in ("True", "False") for cell in filled):
        return [cell == "True" if cell else None for cell in cells]
    return list(cells)


def label(id: str) -> Any:
    """What names a row, as it was before it was text: numbers are numbers."""
    return int(id) if _WHOLE.fullmatch(id) and not id.startswith("+") else id
