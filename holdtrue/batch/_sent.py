"""A fitted classifier as the bytes of its model file: what another process is given of it."""

import copy
import tempfile
from pathlib import Path
from typing import Any

NAME = "model.holdtrue"


def to_bytes(clf: Any, method: Any = None) -> bytes:
    """Return the model file of a classifier, with another method as its own where one is given."""
    if method is not None:
        clf = copy.copy(clf)
        clf.method = clf.method_ = method
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        clf.save(path)
        return path.read_bytes()


def from_bytes(cls: Any, model: bytes) -> Any:
    """Return the classifier of a class that `to_bytes` wrote; it holds no training rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        path.write_bytes(model)
        return cls.load(path)
