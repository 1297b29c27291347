"""Good points of a network, before anything is proved: one change after another, then back as far as it goes."""

from dataclasses import dataclass

import numpy as np

from holdtrue.encoding import Norm
from holdtrue.search._menu import Choice, Menu, Range
from holdtrue.search.exact._layers import Members

VALUES = 24  # of a range, tried on either side
DEEPEST = 8  # changes of a dive
HALVINGS = 20
SHARES = (1.0, 0.5, 0.25)  # of what is lacking, that a change must bring: strides long and short


@dataclass(frozen=True)
class Cost:
    """What a row costs a person, in units that add up."""

    own: np.ndarray
    weights: np.ndarray
    norm: Norm

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Of many rows."""
        change = np.abs(np.asarray(x, np.float64) - self.own)
        if self.norm == "l0":
            return (change > 1e-6) @ self.weights
        parts = change * self.weights
        if self.norm == "linf":
            return parts.max(axis=-1)
        return (parts**2).sum(axis=-1) if self.norm == "l2" else parts.sum(axis=-1)


def dive(menu: Menu, members: Members, cost: Cost, need: float, max_changes: int | None) -> list[np.ndarray]:
    """Rows that all members accept and that keep the linear constraints, if any were found; the cheapest first."""
    values = [_values(f) for f in menu.features]
    found = []
    for share in SHARES:
        x = _descended(menu, members, cost, need, values, share, max_changes)
        if x is not None:
            found.append(_shortened(menu, members, need, x))
    return sorted(found, key=lambda x: float(cost(x)))


def _values(f: Choice | Range) -> np.ndarray:
    """What a feature may become, its own value aside: a row of its columns each."""
    if isinstance(f, Choice):
        return f.values[1:].astype(np.float64)
    reach = np.concatenate([np.linspace(0, 1, VALUES + 1)[1:] ** 2])
    values = np.concatenate([f.own + reach * (f.upper - f.own), f.own + reach * (f.lower - f.own)])
    if f.step > 0:
        values = f.lower + f.step * np.rint((values - f.lower) / f.step)
    values = np.unique(np.clip(values, f.lower, f.upper))
    return values[np.abs(values - f.own) > 1e-6][:, None]


def _descended(
    menu: Menu,
    members: Members,
    cost: Cost,
    need: float,
    values: list[np.ndarray],
    share: float,
    max_changes: int | None,
) -> np.ndarray | None:
    x = menu.x.astype(np.float64)
    changed: set[int] = set()
    for _ in range(min(DEEPEST, max_changes or DEEPEST)):
        rows, which = [], []
        for i, (f, own) in enumerate(zip(menu.features, values, strict=True)):
            if i in changed or not len(own):
                continue
            block = np.repeat(x[None], len(own), axis=0)
            block[:, f.start : f.start + own.shape[1]] = own
            rows.append(block)
            which += [i] * len(own)
        if not rows:
            return None
        block = np.concatenate(rows)
        lacks = need - members.margins(x[None])[0]
        gains = members.margins(block) - (need - lacks)
        gains = np.where(_keeps(menu, block), gains, -np.inf)
        extra = np.maximum(cost(block) - cost(x), 1e-9)
        done = gains >= lacks
        if done.any():
            return block[np.where(done, extra, np.inf).argmin()]
        enough = gains >= min(share * lacks, gains.max()) - 1e-12
        worth = np.where(enough & (gains > 1e-9), gains / extra, -np.inf)
        best = int(worth.argmax())
        if not np.isfinite(worth[best]):
            return None
        x = block[best]
        changed.add(which[best])
    return None


def _shortened(menu: Menu, members: Members, need: float, x: np.ndarray) -> np.ndarray:
    """Each change taken back, or, of a range, as far as it can be while all accept."""
    x = x.copy()
    own = menu.x.astype(np.float64)
    for f in menu.features:
        part = slice(f.start, f.start + (f.values.shape[1] if isinstance(f, Choice) else 1))
        if np.abs(x[part] - own[part]).max() <= 1e-6:
            continue
        trial = x.copy()
        trial[part] = own[part]
        if _accepts(menu, members, need, trial):
            x = trial
            continue
        if isinstance(f, Choice):
            continue
        bad, good = f.own, float(x[f.start])
        for _ in range(HALVINGS):
            middle = (bad + good) / 2
            if f.step > 0:
                middle = f.lower + f.step * np.rint((middle - f.lower) / f.step)
                if min(abs(middle - bad), abs(middle - good)) < 0.25 * f.step:
                    break
            trial[f.start] = middle
            inside = f.lower <= middle <= f.upper
            if inside and _accepts(menu, members, need, trial):
                good = middle
            else:
                bad = middle
        x[f.start] = good
    return x


def _keeps(menu: Menu, rows: np.ndarray) -> np.ndarray:
    """Which rows keep the linear constraints."""
    return np.asarray((rows @ menu.a.astype(np.float64).T <= menu.b.astype(np.float64) + 1e-6).all(axis=1))


def _accepts(menu: Menu, members: Members, need: float, x: np.ndarray) -> bool:
    return bool(members.margins(x[None])[0] >= need) and bool(_keeps(menu, x[None])[0])
