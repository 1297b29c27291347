"""Whether a stated survival is the share of further retrainings that say yes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import hypergeom

from holdtrue.errors import DataError
from holdtrue.metrics._survival import _answers

EDGES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Where bins of survival begin; those to whom every model says yes are a bin of their own."""


class Bin(NamedTuple):
    """People whose estimate lies in [low, high), or is 1 where both are 1; NaN without people."""

    low: float
    high: float
    n: int
    estimated: float
    observed: float


class Reliability(NamedTuple):
    """Estimated survival beside the share of fresh models that say yes.

    Attributes
    ----------
    bins : list of Bin
    n, n_fresh, n_people : int
        Models behind the estimate; fresh models; people.
    mae : float
        Mean over people of ``|estimate - observed|``.
    mae_by_chance : float
        What `mae` would be on average if all models were drawn alike: both shares are of finitely many models.
    bias, bias_std : float
        Mean of ``estimate - observed``, above 0 where too much was promised; its deviation over fresh models.
    n_always, always : int, float
        People whom every one of the `n` models accepts; the share of fresh models that accepts them.
    """

    bins: list[Bin]
    n: int
    n_fresh: int
    n_people: int
    mae: float
    mae_by_chance: float
    bias: float
    bias_std: float
    n_always: int
    always: float


def binned(share: np.ndarray, edges: Sequence[float] = EDGES) -> list[tuple[float, float, np.ndarray]]:
    """Bins of a share, each with who is in it: [low, high), and at last those at 1."""
    edges = [*edges[:-1], 1.0]
    at = np.searchsorted(edges, share, side="right") - 1
    return [(low, high, at == i) for i, (low, high) in enumerate(zip(edges, [*edges[1:], 1.0], strict=True))]


def reliability(k: ArrayLike, n: int, fresh: ArrayLike, *, edges: Sequence[float] = EDGES) -> Reliability:
    r"""Hold each person's estimated survival, `k` of `n` models, against models that had no part in it.

    Parameters
    ----------
    k : array of int, shape (people,)
        How many of the `n` models say yes to each person.
    n : int
        Models that were asked for the estimate.
    fresh : array of bool, shape (models, people)
        What further models say, as `Retrained.accepts` gives it.
    edges : sequence of float
        Where bins begin, from 0 to 1. Those at exactly 1 are a bin of their own.

    Notes
    -----
    With a perfect estimate the error is not 0, since both shares are noisy. If all :math:`n + m` models are drawn
    alike, then given that :math:`t` of them accept a person, the number among the first `n` is hypergeometric,
    whatever the person's true probability; `mae_by_chance` is the mean error under that law. A `mae` well above
    it, or a `bias` of several ``bias_std / sqrt(n_fresh)``, says that the two sets of models are not alike: as
    when the first ones guided the search.

    Examples
    --------
    >>> table = reliability([4, 2], 4, [[True, True], [True, False]])
    >>> table.mae, table.bias, table.always
    (0.0, 0.0, 1.0)
    """
    answers = _answers("reliability", fresh)
    yes = np.asarray(k)
    m, people = answers.shape
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise DataError(f"reliability: `n` must be a positive whole number; got {n!r}.")
    if yes.shape != (people,):
        raise DataError(
            f"reliability: `k` must have one number per person; got shape {yes.shape} for {people} people."
        )
    if not ((yes == np.rint(yes)) & (yes >= 0) & (yes <= n)).all():
        raise DataError(f"reliability: `k` must be whole numbers from 0 to `n`; got {yes.tolist()[:5]!r}, n={n}.")
    if len(edges) < 2 or edges[0] != 0 or edges[-1] != 1 or (np.diff(edges) <= 0).any():
        raise DataError(f"reliability: `edges` must rise from 0 to 1; got {tuple(edges)!r}.")
    estimate, observed = yes / n, answers.mean(axis=0)
    bins = [
        Bin(low, high, int(who.sum()), _mean(estimate[who]), _mean(observed[who]))
        for low, high, who in binned(estimate, edges)
    ]
    per_model = answers.mean(axis=1) if people else np.full(m, np.nan)
    always = yes == n
    return Reliability(
        bins=bins,
        n=int(n),
        n_fresh=m,
        n_people=people,
        mae=_mean(np.abs(estimate - observed)),
        mae_by_chance=_mean(_error_by_chance(yes.astype(int) + answers.sum(axis=0), int(n), m)),
        bias=_mean(estimate - observed),
        bias_std=float(per_model.std(ddof=1)) if m > 1 else float("nan"),
        n_always=int(always.sum()),
        always=_mean(observed[always]),
    )


def _error_by_chance(total: np.ndarray, n: int, m: int) -> np.ndarray:
    """Mean distance of the two shares when `total` yeses fall on n and m models at random, for each person."""
    values, where = np.unique(total, return_inverse=True)
    first = np.arange(n + 1)
    law = hypergeom.pmf(first[None], n + m, values[:, None], n)
    error = np.abs(first[None] / n - (values[:, None] - first[None]) / m)
    return (law * error).sum(axis=1)[where]


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
