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
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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
    if hasattr(table, "__arrow_c_stream__"):
        return _reader_of_arrow(table)
    raise Error(
        f"a table is a path, a pandas, polars or pyarrow table, or a dict of columns, not a {type(table).__name__}"
    )


def is_table(thing: object) -> bool:
    """Whether it is a frame, and not the name of a row."""
    return isinstance(thing, Mapping) or hasattr(thing, "__arrow_c_stream__") or hasattr(thing, "columns")


def default_kind() -> str:
    """The kind of answers where no frame was given: pandas where it is installed."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        return DICT
    return PANDAS


def columns_of(table: Any, index_name: str = "id") -> tuple[Columns, str | None]:
    """The columns of a frame, and the name of the one that was a pandas index.

    Rows that are simply numbered by pandas have no index worth keeping.
    """
    kind = kind_of(table)
    index = None
    if kind == PANDAS:
        import pandas

        table = table.copy(deep=False)
        # Names that are no text stay what they are, as text.
        table.columns = [str(name) for name in table.columns]
        columns = {name: table[name].tolist() for name in dict.fromkeys(table.columns) if _single(table, name)}
        if not (isinstance(table.index, pandas.RangeIndex) and table.index.name is None):
            index = str(table.index.name or index_name)
            if index in columns:
                raise Error(f'the index and a column are both called "{index}"; rename one')
            columns = {index: table.index.tolist(), **columns}
    elif kind == POLARS:
        import polars

        table = table if isinstance(table, polars.DataFrame) else polars.DataFrame(table)
        columns = {name: table[name].to_list() for name in table.columns}
    elif kind == PYARROW:
        columns = _arrow_columns(table)
    else:
        columns = {str(name): _listed(name, column) for name, column in table.items()}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        sizes = ", ".join(f"{name}: {len(column)}" for name, column in columns.items())
        raise Error(f"all columns have the same length; here they have {sizes}")
    return columns, index


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


def _arrow_columns(table: Any) -> Columns:
    import pyarrow

    arrow = table if isinstance(table, pyarrow.Table) else pyarrow.table(table)
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
    if cell is None or cell != cell:  # NaN and NaT are not themselves
        return ""
    if isinstance(cell, (bool, str)):
        return str(cell)
    if type(cell).__name__ in ("NAType", "bool_"):
        return "" if type(cell).__name__ == "NAType" else str(bool(cell))
    if isinstance(cell, numbers.Integral):
        return str(int(cell))
    if isinstance(cell, numbers.Real):
        number = float(cell)
        if math.isinf(number):
            raise Error(f"{number} cannot stand in a table; leave the cell empty")
        return repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    if isinstance(cell, (datetime.date, datetime.datetime)):
        return cell.isoformat()
    return str(cell)


def frame(kind: str, columns: Mapping[str, Sequence[Any]], index: str | None = None) -> Any:
    """Columns as a frame of that kind; with pandas, `index` names the column that becomes the index."""
    if kind == PANDAS:
        import pandas

        table = pandas.DataFrame(dict(columns))
        return table.set_index(index) if index is not None else table
    if kind == POLARS:
        import polars

        return polars.DataFrame(dict(columns), strict=False)
    if kind == PYARROW:
        import pyarrow

        return pyarrow.table(dict(columns))
    return dict(columns)


def parsed(cells: Sequence[str]) -> list[Any]:
    """A column of a sheet: numbers where all its cells are numbers or missing, else the words."""
    values: list[Any] = []
    for cell in cells:
        if cell == "":
            values.append(None)
            continue
        try:
            values.append(float(cell))
        except ValueError:
            return list(cells)
    if all(value is None for value in values):
        return list(cells)
    if all(value is None or value.is_integer() for value in values) and None not in values:
        return [int(value) for value in values]
    return values
