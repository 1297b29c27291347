"""Shares of any score: of few players by all their sets, of more by random orders, with standard errors."""

import itertools
import math
from collections.abc import Callable

import numpy as np

from holdtrue.attribution._sums import weighted

PAIRS = 2  # orders per reference row, each with its reverse; two tell how far apart they are
FEW = 6  # players, up to which asking about all their sets costs little more
ROWS_AT_ONCE = 2**16  # rows that the model is asked about in one go

Along = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Of people, reference rows and orders (reference, orders, players): scores (people, steps, reference, orders)."""


def sampled(
    margins: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    reference: np.ndarray,
    weights: np.ndarray,
    owner: np.ndarray,
    n_players: int,
    random_state: int,
    along: Along | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Each player's mean share over random orders in which the person's values replace a reference row's.

    Every reference row is gone through `PAIRS` times in a random order and in its reverse, so that the shares of a
    person add up to the score less the reference's, without any correction. The standard errors are of what the
    orders add, since the reference is not random.

    Parameters
    ----------
    margins : callable
        Scores of encoded rows.
    x, reference : array
        Encoded rows; `weights` are the reference's.
    owner : array
        Player of each encoded column.
    random_state : int
        The orders are the same for every person.
    along : callable, optional
        Scores on the way by a shorter one than asking about every row: see `Along`.

    Returns
    -------
    shares, errors : array of shape (rows, players)
    """
    rng = np.random.default_rng(random_state)
    r = len(reference)
    orders = np.stack([rng.permuted(np.tile(np.arange(n_players), (r, 1)), axis=1) for _ in range(PAIRS)], axis=1)
    orders = np.concatenate([orders, orders[:, :, ::-1]], axis=1)  # (reference, orders, players)
    turn = np.argsort(orders, axis=2)
    taken = _taken(turn, owner if along is None else owner[:0])  # not needed on the shorter way
    at_once = max(1, ROWS_AT_ONCE // max((n_players - 1) * r * 2 * PAIRS, 1))
    low = margins(reference)
    shares, errors = np.zeros((len(x), n_players)), np.zeros((len(x), n_players))
    for start in range(0, len(x), at_once):
        some = np.asarray(x[start : start + at_once], np.float32)
        if along is not None:
            between = along(some, reference, orders)
        else:
            mixed = np.where(taken[None], some[:, None, None, None, :], np.asarray(reference, np.float32)[:, None])
            between = margins(mixed.reshape(-1, x.shape[1])).reshape(len(some), *taken.shape[:3])
        first = np.broadcast_to(low[None, None, :, None], (len(some), 1, r, 2 * PAIRS))
        last = np.broadcast_to(margins(some)[:, None, None, None], first.shape)
        added = np.diff(np.concatenate([first, between, last], axis=1), axis=1)  # by step
        by_player = np.take_along_axis(added, np.moveaxis(turn, 2, 0)[None], axis=1)
        pairs = (by_player[..., :PAIRS] + by_player[..., PAIRS:]) / 2  # (people, players, reference, pairs)
        shares[start : start + at_once] = np.einsum("npr,r->np", pairs.mean(axis=-1), weights)
        spread = pairs.var(axis=-1, ddof=1) / PAIRS
        errors[start : start + at_once] = np.sqrt(np.einsum("npr,r->np", spread, weights**2))
    return shares, errors


def _taken(turn: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Whether a column is the person's, (steps, reference, orders, columns): once its player's turn has come."""
    steps = np.arange(1, turn.shape[2])[:, None, None, None]
    return turn[..., owner][None] < steps


def enumerated(
    margins: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    reference: np.ndarray,
    weights: np.ndarray,
    owner: np.ndarray,
    n_players: int,
) -> np.ndarray:
    """Shares by their definition: the model is asked about every set of players taking the person's values."""
    taken = np.array(list(itertools.product([False, True], repeat=n_players)))
    sizes = taken.sum(axis=1)
    # What a set counts for each player: for those in it, that they came last; for others, that they come next.
    last = [math.factorial(s - 1) * math.factorial(n_players - s) for s in range(1, n_players + 1)]
    chance = np.array([0, *last]) / math.factorial(n_players)
    following = np.append(chance[1:], 0.0)
    counts = np.where(taken, chance[sizes][:, None], -following[sizes][:, None])
    mine = taken[:, owner]
    at_once = max(1, ROWS_AT_ONCE // (len(taken) * len(reference)))
    out = []
    for start in range(0, len(x), at_once):
        some = np.asarray(x[start : start + at_once], np.float32)
        mixed = np.where(mine[:, None], some[:, None, None, :], np.asarray(reference, np.float32))
        asked = margins(mixed.reshape(-1, x.shape[1])).reshape(len(some), len(taken), -1)
        out.append(np.einsum("ns,sp->np", weighted(asked, weights), counts))
    return np.concatenate(out) if out else np.zeros((0, n_players))
