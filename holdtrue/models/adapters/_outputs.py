"""What a network made elsewhere gives, and the probabilities it stands for."""

from typing import Any, Literal

import numpy as np

from holdtrue.errors import DataError

Outputs = Literal["logits", "probabilities", "log_probabilities"]
OUTPUTS: tuple[Outputs, ...] = ("logits", "probabilities", "log_probabilities")


def check_outputs(where: str, outputs: Any) -> None:
    """Refuse a kind that is not known; None means that the model says it itself."""
    if outputs is not None and outputs not in OUTPUTS:
        raise DataError(f"{where}: `outputs` is not known; got {outputs!r}. Known are {list(OUTPUTS)!r}.")


def proba_from(out: np.ndarray, outputs: Outputs) -> np.ndarray:
    """Probabilities, a column for each class; one output is the second class's."""
    out = np.asarray(out, np.float64)
    if outputs == "logits":
        out = np.concatenate([np.zeros_like(out), out], axis=1) if out.shape[1] == 1 else out
        return np.exp(out - np.logaddexp.reduce(out, axis=1, keepdims=True))
    p = np.exp(out) if outputs == "log_probabilities" else out
    return np.concatenate([1 - p, p], axis=1) if p.shape[1] == 1 else p
