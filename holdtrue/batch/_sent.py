"""A fitted classifier as the bytes of its model file: what another process is given of it."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from holdtrue.batch._classifier import StoredClassifier

NAME = "model.holdtrue"
Method = TypeVar("Method")
Stored = TypeVar("Stored")


def to_bytes(clf: StoredClassifier[Method], method: Method | None = None) -> bytes:
    """Return the model file of a classifier, with another method as its own where one is given."""
    sent = clf if method is None else clf.with_method(method)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        sent.save(path)
        return path.read_bytes()


def from_bytes(read: Callable[[Path], Stored], model: bytes) -> Stored:
    """Return the classifier that `to_bytes` wrote, read by its class's `load`; it holds no training rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        path.write_bytes(model)
        return read(path)
