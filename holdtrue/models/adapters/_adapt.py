"""Which adapter reads a foreign model best, and whether it says what the model says."""

from collections.abc import Callable

import jax
import numpy as np

from holdtrue.models._base import AbstractModel
from holdtrue.models._decision import Decision, batch_decide, batch_logits
from holdtrue.models.adapters._black_box import BlackBox
from holdtrue.models.adapters._columns import NotUnderstood, raw_columns
from holdtrue.models.adapters._onnx import OnnxClassifier
from holdtrue.models.adapters._read import Source, read
from holdtrue.models.adapters._torch import TorchClassifier
from holdtrue.models.adapters._trees import TreesModel
from holdtrue.schema import Table

N_ROWS = 4096  # asked of both, at most: the reference, and
MIXED_ROWS = 512  # rows whose columns come from different people
CLOSE = 1e-4  # difference of probabilities that is put down to float32


def adapt(
    foreign: BlackBox, table: Table, decision_of: Callable[[AbstractModel], Decision], *, check: bool = True
) -> Decision:
    """Return the decision of the best model that agrees with the foreign one, or of the black box.

    `foreign.note` then says how the model is read, and `foreign.splits` where its trees split.
    """
    black_box = decision_of(foreign.model(foreign.n_classes(table)))
    try:
        model, splits = understand(foreign, table)
    except NotUnderstood as reason:
        foreign.note = f"Asked as a black box: no adapter reads {reason}."
        return black_box
    except Exception as error:  # another version of a library may keep its numbers elsewhere
        foreign.note = f"Asked as a black box: reading it failed with {type(error).__name__}: {error}."
        return black_box
    decision = decision_of(model)
    difference = disagreement(decision, foreign, table) if check else None
    if difference is not None:
        foreign.note = f"Asked as a black box: the adapter {difference}."
        return black_box
    foreign.note = f"Read as {type(model).__name__}."
    foreign.splits = splits
    return decision


def understand(foreign: BlackBox, table: Table) -> tuple[AbstractModel, dict[str, np.ndarray]]:
    """Read a foreign model; raises `NotUnderstood` where it cannot be."""
    estimator, columns = foreign.estimator, raw_columns(foreign.encoder, foreign.names or foreign.names_read)
    if isinstance(estimator, TorchClassifier):
        return estimator.as_model(foreign.encoder, columns), {}
    if isinstance(estimator, OnnxClassifier):
        return estimator.as_model(foreign.encoder, columns, table)
    return read(estimator, Source(foreign, table, columns))


def disagreement(decision: Decision, foreign: BlackBox, table: Table) -> str | None:
    """How the adapter differs from the model on the reference rows, and on rows mixed from them."""
    rng = np.random.default_rng(0)
    rows = np.arange(table.n_rows)
    if len(rows) > N_ROWS - MIXED_ROWS:
        rows = np.sort(rng.permutation(rows)[: N_ROWS - MIXED_ROWS])
    own = {name: np.resize(rows, MIXED_ROWS)[rng.permutation(MIXED_ROWS)] for name in table.columns}
    columns = {name: values[np.concatenate([rows, own[name]])] for name, values in table.columns.items()}
    both = foreign.encoder.schema.check(Table(columns, len(rows) + MIXED_ROWS))
    encoded, log_proba = foreign.encoder.encode(both), foreign.log_proba(both)
    # Padded to a size that predictions use too, so that one compilation serves both.
    padded = np.resize(np.arange(len(encoded)), N_ROWS)
    x, theirs = (jax.device_put(a[padded].astype(np.float32)) for a in (encoded, log_proba))
    ours = batch_logits(decision.model, x)
    p, q = (_proba(np.asarray(logits)[: len(encoded)]) for logits in (theirs, ours))
    gap = float(np.abs(p - q).max()) if p.shape == q.shape else np.inf
    if not gap <= CLOSE:
        return f"gives probabilities that differ by {gap:.2g}"
    decided = [np.asarray(batch_decide(decision, logits))[: len(encoded)] for logits in (theirs, ours)]
    other = decided[0] != decided[1]
    if not isinstance(decision.model, TreesModel):
        # Float32 cannot tell on which side of the boundary a person right on it stands.
        ordered = np.sort(p, axis=1)
        binary = np.abs(p[:, decision.favourable] - float(decision.threshold))
        other &= (binary if p.shape[1] == 2 else ordered[:, -1] - ordered[:, -2]) > 1e-5
    return f"decides {int(other.sum())} of {both.n_rows} rows otherwise" if other.any() else None


def _proba(logits: np.ndarray) -> np.ndarray:
    p = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)
