"""A scoring service as a model: asked over HTTP, many rows at a time."""

import http.client
import json
import random
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from holdtrue._types import Cell, JsonObject, Label
from holdtrue.errors import DataError, RemoteError
from holdtrue.models.adapters._outputs import proba_from
from holdtrue.schema import HintedKeywords, TableLike, as_table, plain

Body = Literal["dataframe_split", "dataframe_records", "instances"]
ANSWERS = ("predictions", "probabilities", "outputs")
"""Names under which services give their answers."""
AGAIN = (408, 425, 429, 500, 502, 503, 504)
"""Statuses after which asking again may help."""
LONGEST_WAIT = 60.0
SHOWN = 200  # characters of an answer that an error repeats
LARGEST = 256 * 2**20  # bytes of an answer that are read


class Remote(HintedKeywords):
    """A scoring service behind HTTP, used wherever a model is: ``holdtrue.recourse(Remote(url), X, schema)``.

    Rows are posted as JSON, many in one request and each distinct row once. The answer is a JSON list with a row
    of probabilities for each, or with the second class's probability alone, by itself or under ``predictions``,
    ``probabilities`` or ``outputs``. MLflow's scoring server, and what speaks its protocol, is asked so.

    Parameters
    ----------
    url : str
        Where rows are posted to; http or https. Certificates are checked, redirections are refused.
    classes : sequence of labels, optional
        In the order of the probabilities; 0, 1, ... when omitted.
    headers : mapping, optional
        Sent with every request, for example a key: ``{"Authorization": "Bearer ..."}``. Never shown.
    body : {"dataframe_split", "dataframe_records", "instances"}, default="dataframe_split"
        How rows are written: ``{"dataframe_split": {"columns": [...], "data": [[...], ...]}}``, or a list of
        objects under ``dataframe_records`` or ``instances``.
    batch_size : int, default=1000
        Rows of a request at most.
    timeout : float, default=10.0
        Seconds to wait for a connection, and for an answer.
    retries : int, default=3
        How often a request is repeated that got no answer, or a status that may pass (408, 425, 429, 5xx).
    backoff : float, default=0.5
        Seconds before the first repetition, doubled every time, more or less by chance; what the service asks for
        (``Retry-After``) counts where it is more. At most a minute.
    max_calls : int, optional
        Requests in all, repetitions too, after which it is an error to ask: a budget.

    Attributes
    ----------
    n_calls, n_rows : int
        Requests made, and rows asked about.

    Notes
    -----
    A black box: searched without gradients (`SparseSearch`, `NearestNeighbour`), and not kept in model files: a
    file must not decide whom a machine connects to. The service must give the same answer to the same row.

    Examples
    --------
    >>> Remote("https://scores.bank.example/invocations", headers={"Authorization": "Bearer secret"})
    <Remote https://scores.bank.example/invocations: 0 calls>
    """

    takes_frames = True

    def __init__(
        self,
        url: str,
        *,
        classes: Sequence[Label] | None = None,
        headers: Mapping[str, str] | None = None,
        body: Body = "dataframe_split",
        batch_size: int = 1000,
        timeout: float = 10.0,
        retries: int = 3,
        backoff: float = 0.5,
        max_calls: int | None = None,
    ) -> None:
        place = urlsplit(url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise DataError(f"Remote: `url` must begin with http:// or https://; got {url!r}.")
        if place.username or place.password:
            raise DataError("Remote: `url` holds a password. Give it in `headers`, which are never shown.")
        if body not in get_args(Body):
            raise DataError(f"Remote: `body` is not known; got {body!r}. Known are {list(get_args(Body))!r}.")
        _at_least("batch_size", batch_size, 1, whole=True)
        _at_least("timeout", timeout, 0.001)
        _at_least("retries", retries, 0, whole=True)
        _at_least("backoff", backoff, 0)
        if max_calls is not None:
            _at_least("max_calls", max_calls, 1, whole=True)
        self.url, self.body, self.batch_size = url, body, int(batch_size)
        self.timeout, self.retries, self.backoff, self.max_calls = timeout, int(retries), backoff, max_calls
        self._headers = dict(headers or {})
        if classes is not None:
            self.classes_ = np.asarray(classes)
        self.n_calls = self.n_rows = 0
        self._start()

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None

    def __repr__(self) -> str:
        return f"<Remote {self.url}: {self.n_calls} call{'' if self.n_calls == 1 else 's'}>"

    def __del__(self) -> None:
        if "_connection" in self.__dict__:
            self._close()

    def __getstate__(self) -> JsonObject:
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_connection")}

    def __setstate__(self, state: JsonObject) -> None:
        self.__dict__.update(state)
        self._start()

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probabilities of shape (n, classes), each distinct row asked about once.

        Raises
        ------
        RemoteError
            Where the service gives no answer, refuses, or the budget is spent.
        """
        frame = as_table(X, where="Remote")
        names = list(frame.columns)
        rows = _rows(frame.columns, frame.n_rows)
        places: dict[tuple[Cell, ...], int] = {}
        inverse = np.array([places.setdefault(row, len(places)) for row in rows], int)
        distinct = list(places)
        parts = [
            self._part(names, distinct[i : i + self.batch_size]) for i in range(0, len(distinct), self.batch_size)
        ]
        return np.concatenate(parts)[inverse]

    # ---- one request --------------------------------------------------------------------------------

    def _part(self, names: list[str], rows: list[tuple[Cell, ...]]) -> np.ndarray:
        if self.body == "dataframe_split":
            asked: JsonObject = {"dataframe_split": {"columns": names, "data": [list(row) for row in rows]}}
        else:
            asked = {self.body: [dict(zip(names, row, strict=True)) for row in rows]}
        text = self._post(json.dumps(asked, allow_nan=False).encode())
        try:
            answer = json.loads(text)
            for name in ANSWERS:
                if isinstance(answer, dict) and name in answer:
                    answer = answer[name]
            out = np.asarray(answer, np.float64)
        except (ValueError, TypeError) as error:
            raise self._wrong(f"is not a list of probabilities; got {text[:SHOWN]!r}") from error
        if out.ndim == 1:
            out = out[:, None]
        if out.ndim != 2 or len(out) != len(rows):
            raise self._wrong(f"must have one row for each of {len(rows)} asked about; got shape {out.shape}")
        if not ((out >= 0) & (out <= 1)).all():
            raise self._wrong(f"has what is no probability; got {out[~((out >= 0) & (out <= 1))][0]:.4g}")
        if out.shape[1] > 1 and not np.allclose(out.sum(axis=1), 1, atol=1e-3):
            raise self._wrong(f"has probabilities that do not add up to 1; got {out.sum(axis=1)[0]:.4g}")
        self.n_rows += len(rows)
        return proba_from(out, "probabilities")

    def _wrong(self, what: str) -> RemoteError:
        return RemoteError(f"Remote: the answer of {self.url} {what}. Wrap the service in a function of a table.")

    def _post(self, body: bytes) -> bytes:
        """The answer to one request, repeated where that may help."""
        said = ""
        for attempt in range(self.retries + 1):
            with self._lock:
                if self.max_calls is not None and self.n_calls >= self.max_calls:
                    raise RemoteError(
                        f"Remote: the budget of {self.max_calls} calls to {self.url} is spent"
                        f"{f' ({said})' if said else ''}. Raise `max_calls`, ask about fewer people, or set a "
                        "larger `batch_size`."
                    )
                self.n_calls += 1
                try:
                    status, wait, answer = self._send(body)
                    said = f"status {status}"
                except (OSError, http.client.HTTPException) as error:
                    self._close()
                    status, wait, answer = None, 0.0, b""
                    said = (
                        "no answer in time"
                        if isinstance(error, TimeoutError)
                        else f"{type(error).__name__}: {error}"
                    )
            if status == 200:
                return answer
            if status is not None and status not in AGAIN:
                shown = answer[:SHOWN].decode("utf-8", "replace")
                advice = _ADVICE.get(status // 100 * 100 if 300 <= status < 400 else status, "Look at its log.")
                raise RemoteError(f"Remote: {self.url} refused the rows; got status {status}: {shown!r}. {advice}")
            if attempt < self.retries:
                pause = self.backoff * 2**attempt * random.uniform(0.5, 1.5)
                time.sleep(min(LONGEST_WAIT, max(pause, wait)))
        raise RemoteError(
            f"Remote: {self.url} gave no answer in {self.retries + 1} attempts; got {said}. Check that it runs, "
            "or raise `timeout` or `retries`."
        )

    def _send(self, body: bytes) -> tuple[int, float, bytes]:
        """Status, seconds that the service asks to wait, and the answer."""
        place = urlsplit(self.url)
        if self._connection is None:
            if place.scheme == "https":
                self._connection = http.client.HTTPSConnection(
                    place.hostname or "", place.port, timeout=self.timeout, context=ssl.create_default_context()
                )
            else:
                self._connection = http.client.HTTPConnection(
                    place.hostname or "", place.port, timeout=self.timeout
                )
        path = (place.path or "/") + (f"?{place.query}" if place.query else "")
        headers = {"Content-Type": "application/json", "Accept": "application/json"} | self._headers
        self._connection.request("POST", path, body, headers)
        reply = self._connection.getresponse()
        answer = reply.read(LARGEST)
        if reply.will_close or not reply.isclosed():
            self._close()
        asked = reply.getheader("Retry-After") or ""
        return reply.status, float(asked) if asked.isdigit() else 0.0, answer

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


_ADVICE = {
    300: "Give the address that it redirects to; keys are not carried to another one.",
    401: "Give a key in `headers`.",
    403: "Give a key in `headers` that may ask.",
    404: "Check the path of the `url`.",
    413: "Set a smaller `batch_size`.",
    422: "Check that it reads these columns, and `body`.",
    400: "Check that it reads these columns, and `body`.",
}


def _at_least(name: str, value: Any, low: float, *, whole: bool = False) -> None:
    kinds = (int, np.integer) if whole else (int, float, np.number)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value < float("inf"):
        raise DataError(
            f"Remote: `{name}` must be a {'whole ' if whole else ''}number of at least {low:g}; got {value!r}."
        )


def _rows(columns: Mapping[str, np.ndarray], n: int) -> list[tuple[Cell, ...]]:
    """Rows of plain values; None where one is missing."""
    lists = []
    for values in columns.values():
        absent = pd.isna(values)
        lists.append([None if gone else plain(value) for value, gone in zip(values.tolist(), absent, strict=True)])
    return list(zip(*lists, strict=True)) if lists else [()] * n
