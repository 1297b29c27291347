"""Training rows that a method keeps, with what the model decides about them."""

from typing import ClassVar, Protocol

import numpy as np
from sklearn.utils import check_random_state

from holdtrue.batch import Predictor
from holdtrue.methods._base import AbstractSolverMethod
from holdtrue.parameters import Count, configured


class KeepsRows(Protocol):
    """A method that keeps training rows."""

    predictor_: Predictor
    n_rows: int
    random_state: int | None


def kept_rows(method: KeepsRows, x: np.ndarray) -> dict[str, np.ndarray]:
    """Rows of every decision, since which of them serve depends on the wanted class; for `state_`.

    Where there are more than `method.n_rows`, a random sample of that many with the favourable decision and of
    that many with another. Where the model accepts none of them, that is each person's answer and no error: the
    search finds nothing.
    """
    predictor = method.predictor_
    decided = predictor.decide_of(predictor.logits_of(x))
    favourable = np.flatnonzero(decided == predictor.decision.favourable)
    rng = check_random_state(0 if method.random_state is None else method.random_state)
    if len(x) > method.n_rows:
        kept = rng.permutation(favourable)[: method.n_rows]
        others = np.flatnonzero(decided != predictor.decision.favourable)
        kept = np.sort(np.concatenate([kept, rng.permutation(others)[: method.n_rows]]))
        x, decided = x[kept], decided[kept]
    return {"rows": x, "decided": decided.astype(np.int32)}


def kept_rows_at(predictor: Predictor, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A state with `kept_rows`, for the same model at another threshold.

    Where they are a sample, it stays the one that was drawn by the old decisions: the other rows are not kept.
    """
    decided = predictor.decide_of(predictor.logits_of(state["rows"]))
    return state | {"decided": decided.astype(state["decided"].dtype)}


@configured
class AbstractRowsMethod(AbstractSolverMethod):
    """A method that learns nothing but rows, kept with what is decided about them.

    Parameters
    ----------
    n_rows : int, default=2000
        Training rows kept, of the favourable decision and of the others; a random sample where there are more.
    """

    needs_rows: ClassVar[bool] = True

    n_rows: Count = 2000

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Keep rows of every decision: which of them serve depends on the wanted class."""
        return kept_rows(self, x)

    def state_at(self, predictor: Predictor) -> dict[str, np.ndarray]:
        """The rows, as they are decided at the other threshold."""
        return kept_rows_at(predictor, super().state_at(predictor))
