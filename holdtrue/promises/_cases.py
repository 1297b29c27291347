"""One broken promise, and the file that lists them all."""

import json
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from holdtrue._files import replaced, unfinished
from holdtrue._types import JsonObject
from holdtrue.errors import DataError
from holdtrue.ledger import Promise, Record


@dataclass
class Case:
    """A promise that the new model would break.

    Attributes
    ----------
    promise : Promise
    group : str or None
    probability : float or None
        Of the wanted class under the new model; None where it could not be asked.
    shortfall : float or None
        How far that is below what the decision needs.
    reason : str or None
        Why the model could not be asked.
    instead, further : dict or None
        What the person could do instead of what they were told, or on top of it: `status`, `changes`, `row`,
        `cost`, and `extra`, the cost beyond that of the promise.
    """

    promise: Promise
    group: str | None
    probability: float | None
    shortfall: float | None
    reason: str | None
    instead: JsonObject | None = None
    further: JsonObject | None = None

    @cached_property
    def record(self) -> Record | None:
        """What was promised; None where that is damaged."""
        try:
            return self.promise.record
        except DataError:
            return None

    def public(self) -> JsonObject:
        """Return what says nothing about the person but a number or two."""
        return {
            "id": self.promise.id,
            "group": self.group,
            "probability": self.probability,
            "shortfall": self.shortfall,
            "extra_instead": None if self.instead is None else self.instead["extra"],
            "extra_further": None if self.further is None else self.further["extra"],
        }

    def to_dict(self) -> JsonObject:
        """Return everything, in plain types."""
        record = self.record
        told = None
        if record is not None:
            told = {"subject": record.subject, "changes": record.changes, "cost": record.cost}
        until = self.promise.valid_until
        return {
            "id": self.promise.id,
            "valid_until": None if until is None else until.isoformat(),
            "promised": told,
            "group": self.group,
            "probability": self.probability,
            "shortfall": self.shortfall,
            "reason": self.reason,
            "instead": self.instead,
            "further": self.further,
        }


class CaseFile:
    """Lines of JSON, written beside their place and moved there at the end; after an error nothing is left.

    Parameters
    ----------
    path : path
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.beside = unfinished(self.path)
        self.stack = ExitStack()
        self.stream: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            self.stream = self.stack.enter_context(replaced(self.path, private=True))
        except OSError as error:
            raise self._refused(error) from error
        return self

    def write(self, case: Case) -> None:
        """Add a line."""
        assert self.stream is not None
        try:
            self.stream.write(json.dumps(case.to_dict(), allow_nan=False).encode() + b"\n")
        except OSError as error:
            raise self._refused(error) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stack.__exit__(kind, error, trace)
        except OSError as failed:
            if failed is error:
                raise
            raise self._refused(failed) from failed

    def _refused(self, error: OSError) -> DataError:
        return DataError(f"gate: cannot write the cases; got {str(self.path)!r} ({error}).")
