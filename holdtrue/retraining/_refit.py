"""A model made elsewhere, trained again: other seeds, resampled rows, a row left out."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, resample

from holdtrue._types import Estimator
from holdtrue.batch import Predictor
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import BlackBox, fresh
from holdtrue.schema import Table

REFITS = ("seed", "bootstrap", "leave_one_out")


def seeded(estimator: Estimator, seed: int, *, only_unset: bool = False) -> Estimator:
    """A copy, not fitted, with every `random_state` in it set; with `only_unset`, those that are None."""
    copy: Any = fresh(estimator)
    states = {k: v for k, v in copy.get_params().items() if k == "random_state" or k.endswith("__random_state")}
    return copy.set_params(**{k: seed for k, v in states.items() if v is None or not only_unset})


def refit(
    predictor: Predictor,
    rows: Table,
    labels: np.ndarray,
    n: int,
    *,
    vary: str = "bootstrap",
    random_state: int | None = 0,
    on_model: Callable[[int], None] | None = None,
) -> list[Predictor]:
    """Fit clones of a foreign classifier, each behind the encoder, threshold and labels of the first.

    Parameters
    ----------
    predictor : Predictor
        What `holdtrue.wrap` returned; its model is a scikit-learn estimator.
    rows, labels : Table, array
        What it learned from.
    n : int
        Number of models.
    vary : {"bootstrap", "seed", "leave_one_out"}, default="bootstrap"
        ``bootstrap``: rows resampled within each class. ``seed``: every `random_state` in the model; one that has
        none learns the same each time, and is refused. ``leave_one_out``: one row missing.
    random_state : int, default=0
        Chooses resamples, seeds and rows left out.
    on_model : callable, optional
        Told how many models are done.
    """
    if predictor.foreign is None:
        raise CapabilityError("refit: is for models made elsewhere; got one of holdtrue's. Use holdtrue.retrain.")
    if vary not in REFITS:
        raise DataError(f"refit: `vary` is not known; got {vary!r}. Known are {list(REFITS)!r}.")
    first = predictor.foreign.estimator
    if not hasattr(first, "get_params") or not hasattr(first, "fit"):
        raise CapabilityError(
            f"refit: only scikit-learn estimators can be trained again; got {type(first).__name__}. Give the "
            "retrained models yourself, as `against` of holdtrue.audit."
        )
    if vary == "seed" and not any(key.endswith("random_state") for key in first.get_params()):
        raise CapabilityError(f"refit: {type(first).__name__} has no `random_state`. Use vary='bootstrap'.")
    rng = check_random_state(random_state)
    everyone, out = np.arange(rows.n_rows), []
    for i in range(n):
        seed = int(rng.randint(2**31 - 1))
        picked, again = everyone, seeded(first, seed) if vary == "seed" else fresh(first)
        if vary == "bootstrap":
            # Within classes: a resample without one of them could not be asked.
            drawn: Any = resample(everyone, stratify=labels, random_state=seed)
            picked = np.sort(drawn)
        elif vary == "leave_one_out":
            picked = np.delete(everyone, seed % rows.n_rows)
        again.fit(predictor.foreign.frame(rows.take(picked)), labels[picked])
        out.append(dataclasses.replace(predictor, foreign=BlackBox(again, predictor.encoder, rows)))
        if on_model is not None:
            on_model(i + 1)
    return out
