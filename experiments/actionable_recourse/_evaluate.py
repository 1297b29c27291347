"""One trained model on one split: performance, recourse by several searches, and the guarantee."""

from typing import Any, get_args

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

from experiments._task import Rows
from experiments.actionable_recourse._models import act, scores, searches
from experiments.actionable_recourse._settings import RADIUS, Split
from holdtrue.metrics import Bound, allowed_failures, best_f1_threshold, guaranteed_threshold
from holdtrue.models import AbstractModel

THRESHOLDS = np.round(np.arange(0, 1.0001, 0.05), 2)
MISCOVERAGE = FAILURE = 0.05
N_DRAWS = 200
NONE: Any = 0.0  # of a ratio of nothing to nothing
PRECISION = 0.65  # at which groups are compared (B.3)


def performance(y: np.ndarray, score: np.ndarray, threshold: float) -> dict[str, Any]:
    """What a threshold decides, against the labels."""
    yes = score >= threshold
    return {
        "f1": float(f1_score(y, yes, zero_division=NONE)),
        "accuracy": float(accuracy_score(y, yes)),
        "balanced_accuracy": float(balanced_accuracy_score(y, yes)),
        "precision": float(precision_score(y, yes, zero_division=NONE)),
        "recall": float(recall_score(y, yes)),
        "auc": float(roc_auc_score(y, score)),
        "accepted": float(yes.mean()),
        "threshold": float(threshold),
        "n": len(y),
    }


def best_f1(y: np.ndarray, score: np.ndarray) -> float:
    """Threshold of the best F1 among 0, 0.05, ..., 1, the first of equal ones, as in the published code."""
    return float(max(THRESHOLDS, key=lambda t: f1_score(y, score >= t, zero_division=NONE)))


def recourse(score: np.ndarray, after: np.ndarray, threshold: float) -> dict[str, int]:
    """How many are refused, and how many of them get a yes after their action."""
    refused = score < threshold
    return {"refused": int(refused.sum()), "found": int((refused & (after >= threshold)).sum()), "n": len(score)}


def evaluate(model: AbstractModel, split: Split, *, radius: float = RADIUS, full: bool = True) -> dict[str, Any]:
    """Figures of one model at the threshold of the best F1 on the calibration rows.

    With `full`, also by further searches, with the published code's threshold, and against all thresholds.
    """
    actions = searches(split, radius)
    held, test = scores(model, split.calibrate.x), scores(model, split.test.x)
    threshold = best_f1(split.calibrate.y, held)
    names = ("linear", "code", "gradient", "coarse", "best") if full else ("linear", "best")
    after = {name: scores(model, act(actions[name], model, split.test.x)) for name in names}
    # To stay is an action: no search does worse. The code's direction is left as it is.
    after |= {name: np.maximum(values, test) for name, values in after.items() if name != "code"}
    out: dict[str, Any] = {
        "performance": performance(split.test.y, test, threshold),
        "recourse": {name: recourse(test, values, threshold) for name, values in after.items()},
        "step_lowers_score": float((scores(model, act(actions["linear"], model, split.test.x)) < test).mean()),
        "guarantee": {},
    }
    for name in [n for n in ("linear", "coarse") if n in after]:
        critical = np.maximum(held, scores(model, act(actions[name], model, split.calibrate.x)))
        out["guarantee"][name] = _guarantee(split, held, test, critical, after[name])
    if split.white is not None:
        out["groups"] = _groups(split, held, test, after["best"])
    if not full:
        return out
    out["curve"] = [
        {
            "threshold": float(t),
            "f1": float(f1_score(split.test.y, test >= t, zero_division=NONE)),
            "accuracy": float(accuracy_score(split.test.y, test >= t)),
            **{name: recourse(test, after[name], t)["found"] for name in ("linear", "best")},
            "refused": int((test < t).sum()),
        }
        for t in THRESHOLDS
    ]
    out["watch"] = _watched(model, split.watch, actions)
    out["as_published"] = _as_published(model, split, actions, held, test, after["code"])
    return out


def _watched(model: AbstractModel, watch: Rows, actions: dict[str, Any]) -> dict[str, float]:
    """What may choose lambda: rows that neither the training nor the guarantee has seen."""
    score = scores(model, watch.x)
    threshold = best_f1(watch.y, score)
    after = np.maximum(score, scores(model, act(actions["coarse"], model, watch.x)))
    counts = recourse(score, after, threshold)
    return {
        "auc": float(roc_auc_score(watch.y, score)),
        "recourse": counts["found"] / counts["refused"] if counts["refused"] else 1.0,
        "n": len(watch.y),
    }


def _groups(split: Split, held: np.ndarray, test: np.ndarray, after: np.ndarray) -> dict[str, Any]:
    """Who has recourse, by group, at the threshold whose precision on the calibration rows is nearest 0.65."""
    assert split.white is not None
    precision = [precision_score(split.calibrate.y, held >= t, zero_division=NONE) for t in THRESHOLDS[1:-1]]
    threshold = float(THRESHOLDS[1:-1][int(np.argmin(np.abs(np.array(precision) - PRECISION)))])
    has, refused = after >= threshold, test < threshold
    return {
        "threshold": threshold,
        **{
            name: {
                "n": int(who.sum()), "has": int((has & who).sum()), "refused": int((refused & who).sum()),
                "found": int((has & refused & who).sum()),
            }
            for name, who in (("white", split.white), ("other", ~split.white))
        },
    }  # fmt: skip


def _guarantee(
    split: Split, held: np.ndarray, test: np.ndarray, critical: np.ndarray, after: np.ndarray
) -> dict[str, Any]:
    """The threshold of the exact bound, the best one below it, and how often each bound keeps its promise."""
    promised = guaranteed_threshold(critical, MISCOVERAGE, FAILURE)
    chosen, _ = best_f1_threshold(held, split.calibrate.y == 1, promised.threshold)
    out: dict[str, Any] = {"n": promised.n, "k": promised.k}
    for name, threshold in (("highest", promised.threshold), ("best_f1", chosen)):
        out[name] = performance(split.test.y, test, threshold)
        out[name] |= {"recourse_all": float((after >= threshold).mean())}
    everybody = np.concatenate([critical, after])
    drawn = np.random.default_rng(0).choice(everybody, (N_DRAWS, len(critical)))
    kept = {bound: _kept(everybody, drawn, bound) for bound in get_args(Bound)}
    return out | {"coverage": kept, "pool": len(everybody)}


def _kept(everybody: np.ndarray, drawn: np.ndarray, bound: Bound) -> float:
    """Share of calibration draws whose threshold leaves recourse to enough of everybody."""
    k = allowed_failures(drawn.shape[1], MISCOVERAGE, FAILURE, bound=bound)
    assert k is not None  # else the guarantee was refused
    levels = np.partition(drawn, k, axis=1)[:, k]
    below = np.searchsorted(np.sort(everybody), levels, side="left") / len(everybody)
    return float((below <= MISCOVERAGE).mean())


def _as_published(
    model: AbstractModel,
    split: Split,
    actions: dict[str, Any],
    held: np.ndarray,
    test: np.ndarray,
    after: np.ndarray,
) -> dict[str, Any]:
    """The published code's way to a threshold: its direction, its bound, the best of ten by F1."""
    lowered = scores(model, act(actions["code"], model, split.calibrate.x))
    highest = guaranteed_threshold(lowered, MISCOVERAGE, FAILURE, bound="printed").threshold
    tried = np.linspace(0, highest, 10)
    threshold = float(
        max(tried, key=lambda t: round(f1_score(split.calibrate.y, held >= t, zero_division=NONE), 3))
    )
    has = (test >= threshold) | (after >= threshold)
    return performance(split.test.y, test, threshold) | {"recourse_all": float(has.mean())}
