"""What it would take to keep every promise all the same, and what that would cost."""

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from holdtrue.batch import Predictor
from holdtrue.errors import DataError
from holdtrue.models import Decision, batch_decide
from holdtrue.promises._report import Honour, Labelled, rate
from holdtrue.schema import Table

GRID = 1_000_000  # thresholds are given to six digits


class Lowest:
    """The promise that is furthest below the boundary: with a threshold that it reaches, none breaks.

    Parameters
    ----------
    decision : Decision
        Of the new model.
    """

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.logits: np.ndarray | None = None
        self.gap = math.inf
        self.mixed = False

    def see(self, logits: np.ndarray, target: np.ndarray) -> None:
        """Look at the promised rows of a batch."""
        if self.decision.n_classes != 2 or self.mixed:
            return
        yes = self.decision.favourable
        self.mixed = bool((target != yes).any())
        logits = logits.astype(np.float32)
        gaps = logits[:, yes] - logits[:, 1 - yes]
        lowest = int(gaps.argmin())
        if self.logits is None or gaps[lowest] < self.gap:
            self.gap, self.logits = float(gaps[lowest]), logits[lowest]

    def threshold(self) -> tuple[float | None, str | None]:
        """The highest threshold, to six digits, at which no promise breaks; or why there is none."""
        if self.decision.n_classes != 2:
            return None, "with more than two classes no threshold decides"
        if self.mixed:
            return None, "some promises want the other class, which a lower threshold would break"
        if self.logits is None:
            return None, "no promise could be asked about"
        steps = min(math.floor(GRID / (1.0 + math.exp(-max(self.gap, -700.0)))) + 1, GRID - 1)
        while steps > 0 and not self._reached(steps / GRID):
            steps -= 1
        return (steps / GRID, None) if steps else (None, "a promise's probability is all but zero")

    def _reached(self, threshold: float) -> bool:
        decision = with_threshold(self.decision, threshold)
        assert self.logits is not None
        return bool(batch_decide(decision, jnp.asarray(self.logits[None]))[0] == decision.favourable)


def with_threshold(decision: Decision, threshold: float) -> Decision:
    """The same model with another threshold."""
    return eqx.tree_at(lambda d: d.threshold, decision, jnp.asarray(threshold, jnp.float32))


def honour(
    predictor: Predictor,
    lowest: Lowest,
    risk: float,
    n_broken: int,
    n_unreadable: int,
    labelled: tuple[Table, np.ndarray] | None,
    confidence: float,
) -> Honour:
    """Both ways of keeping all promises: approving their people regardless, or another threshold."""
    threshold, why = lowest.threshold()
    measured = None
    if labelled is not None and threshold is not None:
        measured = _measured(predictor, threshold, labelled, confidence)
    return Honour(n_broken, risk, threshold, why, n_unreadable, measured)


def labelled_rows(predictor: Predictor, labelled: tuple[Any, Any]) -> tuple[Table, np.ndarray]:
    """Rows of known class, checked."""
    X, y = labelled
    table = predictor.encoder.schema.check(X, where="gate: `labelled`")
    truth = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y).ravel()
    if len(truth) != table.n_rows:
        raise DataError(f"gate: `labelled` must have a label per row; got {len(truth)} for {table.n_rows} rows.")
    unknown = sorted(set(truth.tolist()) - set(predictor.classes.tolist()), key=str)
    if unknown:
        raise DataError(
            f"gate: `labelled` has labels that are no class of the model; got {unknown[:3]!r}. Classes are "
            f"{predictor.classes.tolist()!r}."
        )
    return table, truth


def _measured(
    predictor: Predictor, threshold: float, labelled: tuple[Table, np.ndarray], confidence: float
) -> Labelled:
    table, truth = labelled
    logits = predictor.logits(table)
    now = predictor.decide_of(logits)
    then = np.asarray(
        batch_decide(with_threshold(predictor.decision, threshold), jnp.asarray(logits, jnp.float32))
    )
    yes = predictor.decision.favourable
    good = truth == predictor.classes[yes]
    added = (now != yes) & (then == yes)
    n_added, n_good = int(added.sum()), int((added & good).sum())
    return Labelled(
        n=table.n_rows,
        accuracy=float((predictor.classes[now] == truth).mean()),
        accuracy_then=float((predictor.classes[then] == truth).mean()),
        approved=float((now == yes).mean()),
        approved_then=float((then == yes).mean()),
        n_added=n_added,
        n_added_good=n_good,
        good=rate(n_good, n_added, confidence),
    )
