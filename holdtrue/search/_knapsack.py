"""Cheapest choice of one option per feature whose gains reach a goal: a multiple-choice knapsack, exactly."""

from collections.abc import Sequence

import numpy as np

MOST_STATES = 400_000  # beyond this the caller takes the integer programme
EPS = 1e-9

Options = tuple[np.ndarray, np.ndarray]
"""Costs and gains of one feature's options, staying (0, 0) among them."""


def pareto(cost: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Indices of the options that no other beats in both, by rising cost and gain."""
    order = np.lexsort((-gain, cost))
    best = np.maximum.accumulate(gain[order])
    keep = np.r_[True, best[1:] > best[:-1] + EPS]
    return order[keep]


def choose(options: Sequence[Options], slopes: np.ndarray, room: np.ndarray, need: float) -> tuple | None:
    """Solve ``min cost`` subject to ``gain >= need`` exactly.

    Parameters
    ----------
    options : per discrete feature, costs and gains of its options.
    slopes, room : per continuous feature, cost per unit of gain and the most it can gain.
    need : gain wanted.

    Returns
    -------
    Index of the chosen option per discrete feature and gain taken per continuous one; None where no choice
    reaches the goal.

    Raises
    ------
    OverflowError
        Where the states are too many.

    Notes
    -----
    Features are added one after the other to the frontier of (cost, gain). A state is dropped where another
    beats it in both, or where even the relaxation of the remaining features cannot bring it below a known
    answer. Ties in cost are rare and gaps small, so few states survive.
    """
    kept = [pareto(c, g) for c, g in options]
    fronts = [(c[k], g[k]) for (c, g), k in zip(options, kept, strict=True)]
    if sum(g[-1] for _, g in fronts) + room.sum() < need:
        return None
    # Short lists first: the longest is not multiplied out but looked up at the end.
    order = sorted(range(len(fronts)), key=lambda i: len(fronts[i][0]))
    segments = [_hull(*fronts[i]) for i in order]
    rest = [np.column_stack([slopes * room, room]).reshape(-1, 2)]
    for segment in reversed(segments):
        rest.append(np.concatenate([rest[-1], segment]))
    bounds = [_relaxation(part) for part in reversed(rest)]  # bounds[i]: of the features from the i-th on

    ceiling = _rounded_up([fronts[i] for i in order], segments, slopes, room, need) + EPS
    cost, gain = np.zeros(1), np.zeros(1)
    trail: list[tuple[np.ndarray, np.ndarray]] = []
    for step, i in enumerate(order):
        c, g = fronts[i]
        left = need - gain
        if step == len(order) - 1 and len(slopes) == 0:
            enough = np.searchsorted(g, left - EPS)
            open_ = np.flatnonzero(enough < len(g))
            best = open_[np.argmin(cost[open_] + c[enough[open_]])]
            trail.append((np.array([best]), enough[[best]]))
            cost, gain = cost[[best]] + c[enough[[best]]], gain[[best]] + g[enough[[best]]]
            break
        if len(cost) * len(c) > 20 * MOST_STATES:
            raise OverflowError
        new_cost, new_gain = (cost[:, None] + c).ravel(), np.minimum((gain[:, None] + g).ravel(), need)
        floor = new_cost + _cost_of(bounds[step + 1], need - new_gain)
        alive = np.flatnonzero(floor <= ceiling)
        front = alive[pareto(new_cost[alive], new_gain[alive])]
        if len(front) > MOST_STATES:
            raise OverflowError
        trail.append((front // len(c), front % len(c)))
        cost, gain = new_cost[front], new_gain[front]
    final = cost + _cost_of(bounds[-1], need - gain)
    at = int(np.argmin(final))
    smooth = _fill(slopes, room, need - gain[at])
    taken = np.zeros(len(fronts), int)
    for i, (parent, option) in zip(reversed(order), reversed(trail), strict=True):
        taken[i] = kept[i][option[at]]
        at = parent[at]
    return taken, smooth


def _hull(cost: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Segments (cost, gain) of the lower convex hull of a frontier, cheapest gain first."""
    corners = [0]
    while corners[-1] < len(gain) - 1:
        ahead = np.arange(corners[-1] + 1, len(gain))
        slope = (cost[ahead] - cost[corners[-1]]) / (gain[ahead] - gain[corners[-1]])
        # The last of equal slopes, so that a straight line is one segment.
        corners.append(int(ahead[len(ahead) - 1 - np.argmin(slope[::-1])]))
    return np.column_stack([np.diff(cost[corners]), np.diff(gain[corners])]).reshape(-1, 2)


def _relaxation(segments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least cost of every gain when options may be mixed: gains and costs at its corners."""
    used = segments[segments[:, 1] > 0]
    ranked = used[np.argsort(used[:, 0] / used[:, 1], kind="stable")]
    return np.r_[0.0, np.cumsum(ranked[:, 1])], np.r_[0.0, np.cumsum(ranked[:, 0])]


def _cost_of(relaxation: tuple[np.ndarray, np.ndarray], gain: np.ndarray) -> np.ndarray:
    gains, costs = relaxation
    cost = np.interp(np.maximum(gain, 0.0), gains, costs)
    return np.where(gain > gains[-1] + EPS, np.inf, cost)


def _rounded_up(
    fronts: Sequence[Options], segments: Sequence[np.ndarray], slopes: np.ndarray, room: np.ndarray, need: float
) -> float:
    """Cost of an answer: segments in order of price until the goal is reached, the last one rounded up."""
    at = np.zeros(len(fronts))  # gain taken so far in each feature
    priced = [(s[0] / s[1], i, s[1]) for i, part in enumerate(segments) for s in part]
    priced += [(slope, -1, space) for slope, space in zip(slopes, room, strict=True)]
    total, left = 0.0, need
    for price, i, size in sorted(priced):
        if left <= 0:
            break
        take = min(size, left)
        if i < 0:
            total += price * take
            left -= take
            continue
        cost, gain = fronts[i]
        chosen = min(np.searchsorted(gain, at[i] + take - EPS), len(gain) - 1)
        before = np.searchsorted(gain, at[i] - EPS)
        total += float(cost[chosen] - cost[before])
        left -= float(gain[chosen] - at[i])
        at[i] = gain[chosen]
    return float(total) if left <= EPS else np.inf


def _fill(slopes: np.ndarray, room: np.ndarray, need: float) -> np.ndarray:
    """Gain to take of each continuous feature, the cheapest first."""
    out = np.zeros(len(slopes))
    for j in np.argsort(slopes, kind="stable"):
        out[j] = take = float(min(room[j], max(need, 0.0)))
        need -= take
    return out
