"""Tables of candidates as they are given, and what names their rows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from icee import frames
from icee._native import Error


class Pool(NamedTuple):
    """A table of candidates as it was given."""

    kind: str
    #: As requests have it: its text, or the path of its file.
    sheet: str | dict[str, str]
    given: frames.Columns | None
    #: The column that names the rows.
    id: str | None

    @classmethod
    def of(cls, pool: Any, id: str | None, *, is_new: bool = True) -> Pool:
        """That of a study whose rows are named by the column ``id``; of a new one they are called as pandas calls them unless a column
        names them."""
        if isinstance(pool, (str, os.PathLike)):
            return cls(frames.default_kind(), {"path": str(Path(pool).absolute())}, None, id)
        given, index = frames.columns_of(pool), frames.index_of(pool)
        if index is None or id in given or (id is None and not is_new):
            return cls._made(pool, given, id)
        if id is None and index.name in given:
            raise Error(f'the index and a column are both called "{index.name}"; rename one')
        if id is not None and not names_rows(index, id):
            raise Error(f'no column is called "{id}", nor is the index; there are {", ".join(given)}')
        return cls._named(pool, given, index, id or index.name or _free(given))

    @classmethod
    def _named(cls, pool: Any, given: frames.Columns, index: frames.Index, id: str) -> Pool:
        seen: set[str] = set()
        for label in index.labels:
            if frames.text(label) in seen:
                raise Error(f"the index has {label!r} twice; give every row a name of its own: table.reset_index(drop=True)")
            seen.add(frames.text(label))
        return cls._made(pool, {id: index.labels, **given}, id)

    @classmethod
    def _made(cls, pool: Any, given: frames.Columns, id: str | None) -> Pool:
        return cls(frames.kind_of(pool), frames.to_csv(given), given, id)


def _free(given: frames.Columns) -> str:
    """What the index of a table is called that has no name: as pandas would call it."""
    names = ("index", *(f"index_{number}" for number in range(2, len(given) + 3)))
    return next(name for name in names if name not in given)


def names_rows(index: frames.Index, id: str) -> bool:
    """Whether an index has the names of a study whose rows are named by the column ``id``, rather than names of its own."""
    if index.name is not None:
        return index.name == id
    # The study began with an index without a name.
    return re.fullmatch(r"index(_\d+)?", id) is not None


def found_by(
    summary: Mapping[str, Any], columns: frames.Columns, index: frames.Index, is_series: bool
) -> list[frames.Columns]:
    """Results with what the rows of a study are found by; of two ways the likelier one first."""
    id = summary["id_column"]
    known = summary["row_column"] if id is None else id
    if known in columns or not (index.name == known if id is None else names_rows(index, id)):
        return [columns]
    named = {known: index.labels, **columns}
    if not index.plain or is_series:
        return [named]
    # An index that only counts is that of the whole table, or of a table that was made for some results.
    if {name for name, _ in summary["columns"]} <= set(columns):
        return [named, columns]
    return [named if len(index.labels) == summary["rows"] else columns]
