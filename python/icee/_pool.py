"""Tables of candidates as they are given, and what names their rows."""

from __future__ import annotations

import os
import re
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

    @classmethod
    def of(cls, pool: Any, id: str | None, *, is_new: bool = True) -> Pool:
        """That of a study whose rows are named by the column ``id``; of a new one they are called as pandas calls them unless a column
        names them."""
        if isinstance(pool, (str, os.PathLike)):
            return cls(frames.default_kind(), Path(pool).read_bytes(), None, id)
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
        return cls(frames.kind_of(pool), frames.to_csv(given).encode(), given, id)


def _free(given: frames.Columns) -> str:
    """What the index of a table is called that has no name: as pandas would call it."""
    names = ("index", *(f"index_{number}" for number in range(2, len(given) + 3)))
    return next(name for name in names if name not in given)


def names_rows(index: frames.Index, id: str) -> bool:
    """Whether an index has the names of a study whose rows are named by the column ``id``, rather than names of its own."""
    if index.name is not None:
        return index.name == id
    # The study began with an index without a name; the first version called any but mere counts so.
    return re.fullmatch(r"index(_\d+)?", id) is not None or (id == "id" and all(isinstance(label, str) for label in index.labels))
