"""Where studies are: in a folder, or on a server (`icee serve`). Requests go there, and what is noted beside replies is warned of."""

from __future__ import annotations

import json
import os
import sys
import urllib.parse
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from icee import _native
from icee._native import Error

#: What the file of a study ends in.
JOURNAL = ".jsonl"


class Note(UserWarning):
    """What you should know about a study; not an error. ``code`` says what it is, ``note`` has all of it as data."""

    def __init__(self, words: str, note: Mapping[str, Any] | None = None) -> None:
        super().__init__(words)
        self.note = dict(note or {})
        self.code: str | None = self.note.get("code")


class Place:
    """A folder of studies, or a server with studies."""

    def __init__(self, folder: Path | None = None, url: str | None = None, token: str | None = None) -> None:
        self.folder, self.url, self._token = folder, url, token
        if folder is not None:
            self.native = _native.Studies.folder(folder)
        else:
            assert url is not None
            self.native = _native.Studies.server(url, token)

    def __reduce__(self) -> tuple[Any, ...]:
        return Place, (self.folder, self.url, self._token)

    @classmethod
    def of(cls, place: str | os.PathLike[str], token: str | None = None) -> Place:
        """That of a folder's path, or a server's address."""
        if isinstance(place, str) and place.startswith(("http://", "https://")):
            return cls(url=_without(place, "/studies", "/api"), token=token)
        _only_with_url(token)
        return cls(folder=Path(place).absolute())

    @classmethod
    def of_study(
        cls, path: str | os.PathLike[str] | None, url: str | None, token: str | None
    ) -> tuple[Place, str]:
        """The place of a study, and its name there."""
        if (path is None) == (url is None):
            raise Error("Which study? Give the path of its file, or the url of one on a server.")
        if path is not None:
            _only_with_url(token)
            where = Path(path).absolute()
            return cls(folder=where.parent), where.name.removesuffix(JOURNAL)
        assert url is not None
        server, found, name = url.rstrip("/").rpartition("/studies/")
        if not found:
            raise Error(f"{url!r} is not the address of a study. Write http://HOST:PORT/studies/NAME.")
        return cls(url=_without(server, "/api"), token=token), urllib.parse.unquote(name)

    def name_of(self, study: str | os.PathLike[str]) -> str:
        """The name of another study here, given by its name, its path or its address."""
        text = os.fspath(study)
        if self.url is not None:
            return urllib.parse.unquote(text.rstrip("/").rpartition("/")[2])
        if os.path.dirname(text) and Path(text).absolute().parent != self.folder:
            raise Error(f"{text} is in another folder; an earlier study is in the same one ({self.folder})")
        return Path(text).name.removesuffix(JOURNAL)

    def path_of(self, study: str) -> Path | None:
        """The file of a study, if it is one."""
        return None if self.folder is None else self.folder / f"{study}{JOURNAL}"

    def url_of(self, study: str) -> str | None:
        """The address of a study, if it has one."""
        return None if self.url is None else f"{self.url}/studies/{urllib.parse.quote(study)}"

    def send(self, verb: str, study: str | None, **request: Any) -> dict[str, Any]:
        """Does a request, which says nothing where something is None."""
        reply: dict[str, Any] = json.loads(self.native.request(verb, study, written(request)))
        warn(reply.pop("notes"))
        return reply

    def look(self, study: str) -> dict[str, Any]:
        """The summary of a study, without its results."""
        return self.send("show", study, told=0)


def studies(place: str | os.PathLike[str], *, token: str | None = None) -> list[dict[str, Any]]:
    """The studies in a folder, or on a server (``"http://127.0.0.1:8642"``): name, rows, results (``told``), rows in progress
    (``running``), rows left and the best result of each.

    >>> study = icee.Study.create(folder / "listed" / "rye.jsonl", {"heat": [1, 2, 3]}, direction="minimize")
    >>> [(line["name"], line["left"]) for line in icee.studies(folder / "listed")]
    [('rye', 3)]
    """
    lines: list[dict[str, Any]] = Place.of(place, token).send("list", None)["studies"]
    return lines


def written(request: Mapping[str, Any]) -> str:
    """A request as JSON, which says nothing where something is None."""
    return json.dumps({name: value for name, value in request.items() if value is not None}, default=_unwritable)


def _unwritable(value: Any) -> None:
    raise Error(f"{value!r} is a {type(value).__name__}, which no request takes")


def warn(notes: Iterable[Mapping[str, Any]]) -> None:
    """Warns of notes, at the place in the caller's program."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    for note in notes:
        warnings.warn(Note(note["words"], note), stacklevel=level)


def _without(url: str, *ends: str) -> str:
    url = url.rstrip("/")
    for end in ends:
        url = url.removesuffix(end)
    return url.rstrip("/")


def _only_with_url(token: str | None) -> None:
    if token is not None:
        raise Error("token is for a study on a server; give its url, too")
