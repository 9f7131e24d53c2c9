"""Tables of candidates as they are given, and what names their rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from icee import frames
from icee._native import Error


class Pool(NamedTuple):
    """A table of candidates as it was given."""

    kind: str
    sheet: bytes
    given: frames.Columns | None
    #: The column that names the rows.
    id: str | None
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, pool: Any, id: str | None, value: str | None, also: Sequence[str]) -> Pool:
        """That of a new study, whose rows are called as pandas calls them unless a column names them."""
        if isinstance(pool, (str, os.PathLike)):
            return cls(frames.default_kind(), Path(pool).read_bytes(), None, id)
        given, index = frames.columns_of(pool), frames.index_of(pool)
        if index is None or id in given:
            return cls._made(pool, given, id)
        if id is not None and id != index.name:
            raise Error(f'no column is called "{id}", nor is the index; there are {", ".join(given)}')
        if index.name in given:
            raise Error(f'the index and a column are both called "{index.name}"; rename one')
        measured = [name for name in given if name == value or any(wish.split(" ")[0] == name for wish in also)]
        twins = _twins(given, measured) if index.plain else None
        if twins is not None:
            # Names would make two experiments of them.
            note = f"rows {twins[0]} and {twins[1]} are the same experiment, so rows are numbered from 1 and not called by the index"
            return cls._made(pool, given, None, [note])
        free = (name for name in ("id", "index", "row_id") if name not in given)
        return cls._named(pool, given, index, index.name or next(free))

    @classmethod
    def grown(cls, pool: Any, id: str | None) -> Pool:
        """That of a study whose rows are named by the column ``id``, as it is now."""
        if isinstance(pool, (str, os.PathLike)):
            return cls(frames.default_kind(), Path(pool).read_bytes(), None, id)
        given, index = frames.columns_of(pool), frames.index_of(pool)
        if index is None or id is None or id in given:
            return cls._made(pool, given, id)
        return cls._named(pool, given, index, id)

    @classmethod
    def _named(cls, pool: Any, given: frames.Columns, index: frames.Index, id: str) -> Pool:
        seen: set[str] = set()
        for label in index.labels:
            if frames.text(label) in seen:
                raise Error(f"the index has {label!r} twice; give every row a name of its own: table.reset_index(drop=True)")
            seen.add(frames.text(label))
        return cls._made(pool, {id: index.labels, **given}, id)

    @classmethod
    def _made(cls, pool: Any, given: frames.Columns, id: str | None, notes: Sequence[str] = ()) -> Pool:
        return cls(frames.kind_of(pool), frames.to_csv(given).encode(), given, id, notes)


def _twins(columns: frames.Columns, measured: Sequence[str]) -> tuple[int, int] | None:
    """Two rows, counted from 1, in which everything is the same but what was measured."""
    first: dict[tuple[str, ...], int] = {}
    cells = [[frames.text(cell) for cell in column] for name, column in columns.items() if name not in measured]
    for number, row in enumerate(zip(*cells), start=1):
        if first.setdefault(row, number) != number:
            return first[row], number
    return None
