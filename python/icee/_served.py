"""Studies on a server (`icee serve`): what `_native.Study` does for a file, over HTTP. Only the standard library."""

from __future__ import annotations

import base64
import email.utils
import http.client
import json
import math
import os
import random
import re
import time
import urllib.parse
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from icee import frames
from icee._native import Error

#: For how long a request is sent again where nobody answers, and where a server is busy. In seconds, as all that follows.
UNANSWERED, BUSY = 8.0, 180.0
#: The pause after the first failure, which doubles with each, and what it grows to.
PAUSE, LONGEST_PAUSE = 0.25, 8.0
#: The longest that an answer may take.
PATIENCE = 3700.0


def _sheet(sheet: bytes) -> dict[str, Any]:
    """A sheet as requests have it."""
    try:
        return {"sheet": sheet.decode()}
    except UnicodeDecodeError:
        return {"sheet_base64": base64.b64encode(sheet).decode()}


class Served:
    """A study on a server. Each request has a connection of its own, so that threads and forks need not care."""

    def __init__(self, url: str, token: str | None) -> None:
        parts = urllib.parse.urlsplit(url)
        place = re.fullmatch(r"(.*?)(?:/api)?/studies/([A-Za-z0-9_-]{1,64})/?", parts.path)
        if parts.scheme not in ("http", "https") or parts.hostname is None or place is None:
            raise Error(f"{url!r} is no address of a study; write http://HOST:PORT/studies/NAME")
        self.url, self.given_token = url, token
        self.pool = None
        self.name = place[2]
        self._secure, self._host, self._port, self._base = parts.scheme == "https", parts.hostname, parts.port, place[1]
        self._token = token or os.environ.get("ICEE_TOKEN", "").strip() or None
        self._notes: list[str] = []
        if self._token is not None and not self._secure and self._host not in ("localhost", "127.0.0.1", "::1"):
            self._notes.append(f"the token goes to {self._host} unencrypted; https or an SSH tunnel would hide it")
        self._accepts_model = False
        self._id: list[str | None] = []
        #: The sheet as it was read last, column by column: cells, and what they are; and how often it was another one.
        self._columns: dict[str, tuple[list[str], list[Any]]] = {}
        self._sheets = 0

    def create(self, sheet: bytes, **wanted: Any) -> None:
        """Starts the study on the server."""
        body = _sheet(sheet) | {"name": self.name} | {name: value for name, value in wanted.items() if value is not None}
        self._notes += json.loads(self._send("POST", "/api/studies", body))["notes"]

    @property
    def id_column(self) -> str | None:
        if not self._id:
            self._id = [json.loads(self.summary())["id_column"]]
        return self._id[0]

    @property
    def row_column(self) -> str:
        column: str = json.loads(self.summary())["row_column"]
        return column

    def take_notes(self) -> list[str]:
        notes, self._notes = self._notes, []
        return notes

    def ask(
        self,
        count: int,
        *,
        condition: str | None,
        more: bool,
        same: Sequence[str],
        within: float | str | None,
        by: str | None,
        sampler: str | None,
    ) -> str:
        body: dict[str, Any] = {"count": count, "more": more, "same": same, "accept_model": self._accepts_model}
        said = {"where": condition, "within": None if within is None else _time(within), "by": by, "sampler": sampler}
        answer = self._post("ask", body | {name: value for name, value in said.items() if value is not None})
        self._accepts_model = False
        return answer

    def tell(
        self,
        row: str,
        value: float | None,
        further: Sequence[tuple[str, float]],
        *,
        impossible: bool,
        repeat: str,
        by: str | None,
    ) -> str:
        for number in [*([] if value is None else [value]), *(number for _, number in further)]:
            if not math.isfinite(number):
                raise Error(f'the value {number} of row "{row}" is not a finite number')
        outcome: dict[str, Any] = {"value": value} if value is not None else {"impossible" if impossible else "failed": True}
        who = {} if by is None else {"by": by}
        return self._told({"row": row, "further": dict(further)} | outcome | _repeat(repeat) | who)

    def tell_table(self, csv: bytes, value: str | None, *, repeat: str) -> str:
        column = {} if value is None else {"column": value}
        return self._told({"csv": csv.decode()} | column | _repeat(repeat))

    def tell_file(self, path: str | os.PathLike[str], value: str | None, *, repeat: str) -> str:
        try:
            return self.tell_table(Path(path).read_bytes(), value, repeat=repeat)
        except UnicodeDecodeError:
            raise Error(f"{path} is no text; save it as CSV, which a server reads") from None

    def update(self, sheet: bytes | None = None, *, repeat: str, keep: bool) -> str:
        body = {} if sheet is None else _sheet(sheet)
        self._columns = {}
        return self._noted(self._post("update", body | {"replace": repeat == "replace", "keep": keep}))

    def predict(self, sampler: str | None = None) -> str:
        return self._get("predict", {} if sampler is None else {"sampler": sampler})

    def best(self) -> str:
        return json.dumps(json.loads(self.summary())["best"])

    def front(self) -> str:
        return self._get("front")

    def summary(self) -> str:
        return self._get("")

    def why(self, row: str) -> str:
        return self._noted(self._get("why", {"row": row}))

    def effects(self) -> str:
        try:
            return self._get("effects")
        except Error as error:
            if "too few values" in str(error):
                return "[]"
            raise

    def sheet_of(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """Which sheet the rows of an answer are numbered by: another one has another text."""

        def known(row: Mapping[str, Any]) -> bool:
            at = row["row"] - 1
            read = {name: self._columns[name][0] for name in row["cells"] if name in self._columns}
            return all(at < len(read.get(name, [])) and read[name][at] == cell for name, cell in row["cells"].items())

        # What the answers say goes before what was read earlier: the sheet on the server may have changed.
        if not self._columns or not all(known(row) for row in rows):
            columns = {name: (cells, frames.parsed(cells)) for name, cells in json.loads(self._get("cells"))}
            self._sheets += columns != self._columns
            self._columns = columns
        return str(self._sheets)

    def cells_of(self, rows: Sequence[Mapping[str, Any]]) -> frames.Columns:
        """The cells of some rows of an answer, as numbers where their whole column is numbers."""
        self.sheet_of(rows)
        return {name: [parsed[row["row"] - 1] for row in rows] for name, (_, parsed) in self._columns.items()}

    def renew(self, rows: Sequence[str], *, within: float | str, by: str | None) -> None:
        self._noted(self._post("renew", {"rows": rows, "within": _time(within)} | ({} if by is None else {"by": by})))

    def withdraw(self, rows: Sequence[str], *, by: str | None) -> None:
        self._noted(self._post("withdraw", {"rows": rows} | ({} if by is None else {"by": by})))

    def forget(self, rows: Sequence[str]) -> None:
        self._noted(self._post("forget", {"rows": rows}))

    def undo(self) -> str:
        undone: str = json.loads(self._noted(self._post("undo", {})))["undone"]
        return undone

    def accept_model(self, sampler: str | None = None) -> None:
        # A server does so with the next ask.
        self._accepts_model = True

    def report(self, path: str | os.PathLike[str], ahead: int) -> list[str]:
        page = self._get("report", {"count": ahead})
        Path(path).write_text(page, encoding="utf-8")
        return self.take_notes()

    def glance(self) -> str:
        return self._get("glance")

    def _told(self, body: dict[str, Any]) -> str:
        return json.dumps(json.loads(self._noted(self._post("tell", body)))["told"])

    def _noted(self, text: str) -> str:
        """Takes the notes out of an answer."""
        self._notes += json.loads(text).get("notes", [])
        return text

    def _post(self, what: str, body: dict[str, Any]) -> str:
        return self._send("POST", f"/api/studies/{self.name}/{what}", body)

    def _get(self, what: str, query: Mapping[str, Any] | None = None) -> str:
        path = f"/api/studies/{self.name}" + (f"/{what}" if what else "")
        return self._send("GET", path + (f"?{urllib.parse.urlencode(query)}" if query else ""), None)

    def _send(self, method: str, path: str, body: dict[str, Any] | None) -> str:
        """Sends a request until there is an answer: with the same key it is done once, however often it is sent."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())} if method == "POST" else {}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        begun, pause = time.monotonic(), PAUSE
        while True:
            failure: Exception
            try:
                status, found, text = self._once(method, self._base + path, data, headers)
            except (OSError, http.client.HTTPException) as error:
                where = self.url.split("/studies/")[0]
                failure, wait = ConnectionError(f"no answer from {where}: {error}; is `icee serve` running there?"), 0.0
                patience = UNANSWERED
            else:
                self._notes += json.loads(found.get("icee-notes") or "[]")
                if 200 <= status < 300:
                    return text
                failure = _failure(status, text, creates=path == "/api/studies")
                if found.get("retry-after") is None:
                    raise failure
                # It could not be done for now, as if nobody had answered.
                failure, wait, patience = ConnectionError(str(failure)), _seconds(found["retry-after"]), BUSY
            # Not all come back at once who were sent away at once.
            wait = max(wait, pause / 2) + random.uniform(0, pause)
            if time.monotonic() - begun + wait >= patience:
                raise failure
            time.sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _once(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, http.client.HTTPMessage, str]:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=PATIENCE)
        try:
            connection.request(method, path, data, dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()


def _failure(status: int, text: str, *, creates: bool) -> Exception:
    """The exception that the same has with a file."""
    try:
        words = str(json.loads(text)["error"])
    except (ValueError, KeyError, TypeError):
        return Error(f"it does not answer like icee serve (status {status}); is it another program, or of another version?")
    if status in (401, 403):
        return PermissionError(words)
    if status == 404:
        return FileNotFoundError(words)
    if status == 409 and creates:
        return FileExistsError(words)
    return Error(words)


def _seconds(after: str) -> float:
    """How long to wait, as an answer says it: in seconds, or until when."""
    try:
        return max(0.0, float(after))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(after).timestamp() - time.time())
    except (TypeError, ValueError):
        return 1.0


def _time(within: float | str) -> str:
    """A time as requests have it."""
    return within if isinstance(within, str) else f"{within:f}".rstrip("0").rstrip(".") + "s"


def _repeat(word: str) -> dict[str, bool]:
    if word not in ("refuse", "again", "replace"):
        raise Error(f'repeat is "refuse", "again" or "replace", not "{word}"')
    return {} if word == "refuse" else {word: True}
