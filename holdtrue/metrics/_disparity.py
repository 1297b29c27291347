"""Whether two groups of people have recourse equally often."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from holdtrue.errors import DataError


class Disparity(NamedTuple):
    """Share with recourse in a group less that outside it, with a bootstrap interval.

    Attributes
    ----------
    difference : float
        Positive where the group has recourse more often.
    low, high : float
        Ends of the interval.
    share, other_share : float
        Of the group and of the others.
    n, n_other : int
        People behind each share.
    """

    difference: float
    low: float
    high: float
    share: float
    other_share: float
    n: int
    n_other: int


def recourse_disparity(
    has: ArrayLike, group: ArrayLike, *, level: float = 0.95, n_draws: int = 2000, random_state: int = 0
) -> Disparity:
    """Difference of the share with recourse between a group and the others.

    Parameters
    ----------
    has : array of bool, shape (people,)
        Who has recourse. With those accepted counted as having it, this is the paper's "recourse all"; give the
        refused alone for the share among them.
    group : array of bool, shape (people,)
        Who belongs to the group.
    level : float, default=0.95
        Of the interval, which holds the middle of `n_draws` draws of people, with replacement, within the group
        and within the others. It says nothing where a share is 0 or 1: every draw then has the same.

    Examples
    --------
    >>> recourse_disparity([True, True, False, False], [True, True, False, True], n_draws=10).share
    0.6666666666666666
    """
    has, group = np.asarray(has, bool), np.asarray(group, bool)
    if has.shape != group.shape or has.ndim != 1:
        raise DataError(
            f"recourse_disparity: one value per person is needed; got shapes {has.shape} and {group.shape}."
        )
    if not group.any() or group.all():
        raise DataError("recourse_disparity: `group` must hold some people and leave out others; it does not.")
    rng = np.random.default_rng(random_state)
    shares, sizes, drawn = [], [], []
    for part in (has[group], has[~group]):
        shares.append(float(part.mean()))
        sizes.append(len(part))
        # Of people drawn with replacement, the number who have it is binomial.
        drawn.append(rng.binomial(len(part), part.mean(), n_draws) / len(part))
    low, high = np.quantile(drawn[0] - drawn[1], [(1 - level) / 2, (1 + level) / 2])
    return Disparity(shares[0] - shares[1], float(low), float(high), *shares, *sizes)
