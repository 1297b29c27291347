"""How far a recourse is, and how much of the person it touches."""

import numpy as np
from numpy.typing import ArrayLike

from holdtrue.batch import distances
from holdtrue.encoding import NORMS, Encoder, Norm
from holdtrue.errors import DataError


def costs(encoder: Encoder, factual: np.ndarray, recourse: np.ndarray) -> dict[Norm, np.ndarray]:
    """Cost of every recourse in every norm, in scaled units.

    The distance is `holdtrue.encoding.distance`, the one the methods minimise: features count by their
    `cost_weight`; a changed category counts 2 in l1, 1 in l0 and in ``mad``.

    Parameters
    ----------
    encoder : Encoder
    factual, recourse : array of shape (people, columns)
        Encoded rows, as `encoder.encode` gives them.

    Returns
    -------
    dict
        ``l0``, ``l1``, ``l2``, ``linf``, ``mad``, each an array with one cost per person.
    """
    factual, recourse = np.asarray(factual, np.float64), np.asarray(recourse, np.float64)
    if factual.shape != recourse.shape or factual.ndim != 2 or factual.shape[1] != encoder.n_columns:
        raise DataError(
            f"costs: `factual` and `recourse` must have shape (people, {encoder.n_columns}); got {factual.shape} "
            f"and {recourse.shape}. Encode both with the same encoder."
        )
    return {norm: distances(encoder, factual, recourse, norm).astype(np.float64) for norm in NORMS}


def sparsity(changed: ArrayLike) -> np.ndarray:
    """Number of features each person has to change.

    Features as the person knows them, without weights: unlike l0, which weighs them by `cost_weight`.

    Parameters
    ----------
    changed : array of bool, shape (people, features)
        As `RecourseFrame.changed` gives it.

    Examples
    --------
    >>> sparsity([[True, False, True], [False, False, True]])
    array([2, 1])
    """
    return _matrix("sparsity", changed).sum(axis=1)


def change_rates(changed: ArrayLike) -> np.ndarray:
    """Share of people who have to change each feature; NaN for every feature where there is nobody.

    Parameters
    ----------
    changed : array of bool, shape (people, features)

    Examples
    --------
    >>> change_rates([[True, False, True], [False, False, True]])
    array([0.5, 0. , 1. ])
    """
    changed = _matrix("change_rates", changed)
    return changed.mean(axis=0) if len(changed) else np.full(changed.shape[1], np.nan)


def _matrix(where: str, changed: ArrayLike) -> np.ndarray:
    changed = np.asarray(changed, bool)
    if changed.ndim != 2:
        raise DataError(f"{where}: `changed` must have shape (people, features); got {changed.shape}.")
    return changed
