"""The reach of a model: whom it leaves a way to a yes, whom it is proved to leave none, and who is undecided."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from holdtrue.errors import CapabilityError, DataError
from holdtrue.methods import ExactSearch, RecourseFrame
from holdtrue.metrics import clopper_pearson
from holdtrue.schema import did_you_mean
from holdtrue.search import Status

WITH, WITHOUT, UNDECIDED = "with recourse", "proved without", "undecided"
MISSING = "(missing)"


class Counted(NamedTuple):
    """Refused people by what is known of them, and intervals for the shares behind the counts.

    An interval holds wherever the undecided belong: its lower end counts none of them, its upper end all.
    """

    n_refused: int
    n_with: int
    n_without: int
    n_undecided: int
    with_lower: float
    with_upper: float
    without_lower: float
    without_upper: float


@dataclass(frozen=True)
class ModelReach:
    """Of the refused: with recourse, proved to have none, and undecided; of all, and by group.

    Attributes
    ----------
    confidence : float
        Of every interval (Clopper-Pearson), over the draw of the people.
    time_limit : float
        Seconds that a proof was given for one person.
    everybody : Counted
    column : str or None
        What the groups are values of.
    groups : dict
        Group to `Counted`.
    """

    confidence: float
    time_limit: float
    everybody: Counted
    column: str | None
    groups: dict[str, Counted]


def reach_of(
    plan: RecourseFrame,
    refused: np.ndarray,
    sound: np.ndarray,
    *,
    group: object,
    confidence: float,
    time_limit: float,
) -> tuple[ModelReach, np.ndarray]:
    """Prove, for everyone refused without a sound recourse in the plan, that there is none, or find one.

    Returns the counts, and per person what is known (empty for whom the model accepts).
    """
    if plan.consequences is not None:
        raise CapabilityError(
            f"audit: `prove` knows no consequences of actions; got a plan of {plan.method}. Prove a plan of a "
            "method without a causal model."
        )
    labels, column = _labels(plan, group)
    known = np.full(len(plan), "", object)
    known[refused] = UNDECIDED
    known[refused & sound] = WITH
    left = np.flatnonzero(refused & ~sound)
    method = ExactSearch(time_limit=time_limit, norm=plan.norm).fit(plan.predictor)
    if len(left):
        part = plan.take(left)
        proof = method.recourse(part.factual, target=part.target.tolist(), restrictions=part.restrictions)
        known[left[proof.found]] = WITH
        known[left[proof.status == int(Status.INFEASIBLE)]] = WITHOUT
    groups = {}
    if labels is not None:
        for name in sorted(set(labels[refused].tolist())):
            groups[name] = _counted(known[refused & (labels == name)], confidence)
    return ModelReach(confidence, time_limit, _counted(known[refused], confidence), column, groups), known


def _counted(known: np.ndarray, confidence: float) -> Counted:
    n = len(known)
    yes, no, open_ = (int((known == what).sum()) for what in (WITH, WITHOUT, UNDECIDED))
    ends = [_interval(k, k + open_, n, confidence) for k in (yes, no)]
    return Counted(n, yes, no, open_, *ends[0], *ends[1])


def _interval(least: int, most: int, n: int, confidence: float) -> tuple[float, float]:
    if n == 0:
        return float("nan"), float("nan")
    lower, _ = clopper_pearson(least, n, confidence, side="both")
    _, upper = clopper_pearson(most, n, confidence, side="both")
    return float(lower), float(upper)


def _labels(plan: RecourseFrame, group: Any) -> tuple[np.ndarray | None, str | None]:
    """A text per person, and the column that it comes from."""
    if group is None:
        return None, None
    name = None
    if isinstance(group, str):
        columns = plan.factual.columns
        if group not in columns:
            raise DataError(
                f"audit: `group` is not a column of the table; got {group!r}. {did_you_mean(group, list(columns))}"
            )
        name, group = group, columns[group]
    labels = np.asarray(group.to_numpy() if hasattr(group, "to_numpy") else group)
    if labels.shape != (len(plan),):
        raise DataError(
            f"audit: `group` must have a label per row; got shape {labels.shape} for {len(plan)} rows."
        )
    texts = [
        MISSING if v is None or v != v else f"{v:g}" if isinstance(v, float) else str(v) for v in labels.tolist()
    ]
    return np.array(texts, object), name
