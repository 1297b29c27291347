"""What makes a run the one it is: with the same identity it may be gone on with, and promises nothing twice."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdtrue._json import plain
from holdtrue.classifier import AbstractClassifier, Certificate
from holdtrue.hold import Hold
from holdtrue.methods import AbstractMethod, Level

LAYOUT = ("format", "chunk_rows", "only_refused")
"""Options that say how answers are cut up and written, not what they are."""
BESIDE = ("reason",)
"""Terms that decide which promises are made, not what each of them is: given later, they add the others."""


@dataclass(frozen=True)
class Identity:
    """Inputs, model and options of a run, in plain types.

    Attributes
    ----------
    model : str
        Digest of the model, its schema and its threshold.
    table : dict
        Which table is read; see `Source.identity`.
    options : dict
        What is asked of it: the method with what it learned, the wanted class, limits, how it is written.
    promises : dict or None
        The ledger that promises are written to, and their terms.
    """

    model: str
    table: dict[str, Any]
    options: dict[str, Any]
    promises: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain types, as they are read back from a file."""
        parts = {"model": self.model, "table": self.table, "options": self.options}
        if self.promises is not None:
            parts["promises"] = self.promises
        return json.loads(json.dumps(plain(parts)))

    def changed(self, stored: Mapping[str, object]) -> list[str]:
        """Which parts differ from what another run has stored of itself."""
        return [name for name, value in self.to_dict().items() if stored.get(name) != value]

    @cached_property
    def promised(self) -> str:
        """Digest of all that a promise of this run depends on, the same however its rows are cut up."""
        parts = self.to_dict()
        parts["options"] = {name: value for name, value in parts["options"].items() if name not in LAYOUT}
        if self.promises is not None:
            parts["promises"] = {name: value for name, value in parts["promises"].items() if name not in BESIDE}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def promise_id(promised: str, row: int, option: int) -> str:
    """The name of a promise, which follows from the run, the row of its table and which option it is.

    Issued again, by a run that is gone on with or repeated, it is the same promise. Nothing about the person is in
    it: who was forgotten cannot be found again by trying.
    """
    return hashlib.sha256(f"{promised} {row} {option}".encode()).hexdigest()[:32]


def model_digest(classifier: AbstractClassifier) -> str:
    """Digest of a fitted classifier's model."""
    return str(classifier.predictor_.digest())


def method_of(method: AbstractMethod) -> list[str]:
    """A fitted method: which, with which parameters, and a digest of what it learned."""
    learned = hashlib.sha256()
    for name, value in sorted(method.state_.items()):
        array = np.ascontiguousarray(value)
        learned.update(f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes())
    return [type(method).__name__, repr(method), learned.hexdigest()]


def hold_of(hold: Hold) -> Any:
    """The asked chance of holding, in plain types."""
    return hold.to_dict() if isinstance(hold, Level) else hold


def certificate_of(certificate: Certificate | None) -> str | None:
    """Digest of the guarantee whose terms stand in every promise."""
    return None if certificate is None else str(certificate.to_dict()["sha256"])
