"""A fitted classifier as the rest of holdtrue sees it: tables in, decisions out."""

import functools
import hashlib
from dataclasses import dataclass
from typing import Any, Protocol

import equinox as eqx
import jax
import numpy as np

from holdtrue._types import Label
from holdtrue.batch._map import map_rows
from holdtrue.encoding import Encoder
from holdtrue.models import BlackBox, Decision, batch_decide, batch_logits
from holdtrue.schema import Table


class Guarantee(Protocol):
    """A document about one model and threshold; `holdtrue.Certificate` is one."""

    @property
    def model(self) -> str:
        """The digest of the predictor that it is about."""
        ...


@dataclass(frozen=True)
class Predictor:
    """Encoder, decision and class labels of one classifier.

    Attributes
    ----------
    encoder : Encoder
    decision : Decision
        The model with its threshold and favourable class.
    classes : array
        Labels, in the order of the logits.
    foreign : BlackBox, optional
        Where the model was made elsewhere: it is asked in its own columns.
    certificate : Guarantee, optional
        What was certified of the model at this threshold. It is here so that it comes along with every plan,
        whichever method found it and whoever asked: records have its terms.
    """

    encoder: Encoder
    decision: Decision
    classes: np.ndarray
    foreign: BlackBox | None = None
    certificate: Guarantee | None = None

    @property
    def capabilities(self) -> frozenset[str]:
        """What a method may ask of the model."""
        return self.decision.model.capabilities

    @property
    def favourable(self) -> Label:
        """Label of the favourable class."""
        return self.classes[self.decision.favourable]

    @property
    def threshold(self) -> float | None:
        """From which probability on the favourable class is decided; None with more than two classes."""
        # The shortest text that is this float32: 0.8, not 0.800000011920929.
        return float(str(np.float32(self.decision.threshold))) if self.decision.n_classes == 2 else None

    def logits(self, table: Table) -> np.ndarray:
        """Logits of every row of a table."""
        if self.foreign is not None:
            return self.foreign.log_proba(self.encoder.schema.check(table))
        return self.logits_of(self.encoder.encode(table))

    def logits_of(self, encoded: np.ndarray) -> np.ndarray:
        """Logits of encoded rows."""
        ask = functools.partial(batch_logits, self.decision.model.alone)
        return map_rows(ask, np.asarray(encoded, np.float32))

    def decide_of(self, logits: np.ndarray) -> np.ndarray:
        """Class indices decided from logits: those of a model made elsewhere, in float64, as it has them."""
        logits = np.asarray(logits)
        if self.foreign is not None and logits.dtype == np.float64:
            return self.decision.decide_in_double(logits, self.foreign.threshold_of(self.decision))
        return map_rows(functools.partial(batch_decide, self.decision), np.asarray(logits, np.float32))

    def decide(self, table: Table) -> np.ndarray:
        """Class indices decided for every row of a table."""
        return self.decide_of(self.logits(table))

    def proba(self, table: Table) -> np.ndarray:
        """Probabilities of every row of a table."""
        return proba_of(self.logits(table))

    def digest(self) -> str | None:
        """SHA-256 of schema, scaling, weights and threshold; None for a foreign model that was not adopted."""
        parts = hashlib.sha256(self.encoder.schema.digest().encode())
        if self.foreign is not None:
            return None if self.foreign.digest is None else self._foreign_digest(parts, self.foreign.digest)
        for array in (
            self.encoder.scale,
            self.encoder.offset,
            *jax.tree.leaves(eqx.filter(self.decision, eqx.is_array)),
        ):
            parts.update(np.ascontiguousarray(array).tobytes())
        return parts.hexdigest()

    def _foreign_digest(self, parts: Any, model: str) -> str:
        """The same where weights are what another library wrote, and the threshold may be finer than float32."""
        decision, foreign = self.decision, self.foreign
        exact = None if foreign is None else foreign.threshold_of(decision)
        for part in (self.encoder.scale, self.encoder.offset):
            parts.update(np.ascontiguousarray(part).tobytes())
        parts.update(f"{model} {float(decision.threshold)!r} {exact!r} {decision.favourable}".encode())
        return parts.hexdigest()


def proba_of(logits: np.ndarray) -> np.ndarray:
    """Softmax in double precision, so that rows add up to 1."""
    logits = np.asarray(logits, np.float64)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)
