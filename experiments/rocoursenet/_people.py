"""How far Table 2's robust validities are known for other people than those that were asked, one split of them."""

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from experiments._report import cell, read, table

METHODS = ("RoCourseNet", "CounterNet", "ROAR-LIME", "CounterNet, ours", "RoCourseNet, guides")
SETS = ("german", "student", "loan")
LEVEL = 0.95
TOLD = (
    "95% intervals. *Trainings*: over seeds, for the same people and split. *People*: for other people like them "
    "as well. Where there are two subsets a subset's people are draws; those of the other, and of every seed, are "
    "taken for the same people, which makes it wider rather than narrower. On Loan a year, people and all, is one "
    "draw of sixteen. Nothing was split anew: what another split of the rows would change is in neither."
)


def known(matrices: np.ndarray, n_people: list[int], n_asked: int | None = None) -> dict[str, Any]:
    """Mean of what lies off the diagonal, its interval over trainings, and over people as well.

    Parameters
    ----------
    matrices : (seeds, subsets, subsets)
        Share of a row's people whose recourse a column's model decides as wanted.
    n_people : list of int
        Of every subset; as many as were asked where that is fewer (`n_asked`).
    """
    seeds, k, _ = matrices.shape
    off = ~np.eye(k, dtype=bool)
    rows = matrices.mean(axis=0).sum(axis=1, where=off) / (k - 1)
    by_seed = matrices[:, off].mean(axis=1)
    mean, among = float(by_seed.mean()), float(by_seed.var(ddof=1)) / seeds if seeds > 1 else 0.0
    half = float(stats.t.ppf((1 + LEVEL) / 2, seeds - 1)) * among**0.5 if seeds > 1 else float("nan")
    if k > 2:
        spread = float(stats.t.ppf((1 + LEVEL) / 2, k - 1) * rows.std(ddof=1) / k**0.5)
        people = mean - spread, mean + spread
    else:
        low, high = _wilson(mean, min(n_people) if n_asked is None else min(n_asked, *n_people))
        # People and trainings are drawn apart, so that their doubts add up in squares.
        people = (
            mean - np.hypot(mean - low, np.nan_to_num(half)),
            mean + np.hypot(high - mean, np.nan_to_num(half)),
        )
    clipped = [float(np.clip(v, 0, 1)) for v in (mean - half, mean + half, *people)]
    return {"mean": mean, "trainings": clipped[:2], "people": clipped[2:]}


def _wilson(share: float, n: float) -> tuple[float, float]:
    """The score interval of a share; it has a width where nobody or everybody is counted."""
    z = float(stats.norm.ppf((1 + LEVEL) / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * (share * (1 - share) / n + z**2 / (4 * n**2)) ** 0.5
    return middle - half, middle + half


def intervals(folder: Path) -> str:
    """The table of every dataset's main rows."""
    rows = []
    found_of = [read(folder, name).get(name) for name in SETS]
    for own in (own for own in found_of if own is not None):
        for name in METHODS:
            seeds = own["methods"].get(name, [])
            if not seeds:
                continue
            asked = own["n_searched"] if name == "ROAR-LIME" else None
            found = known(np.array([seed["matrix"] for seed in seeds]), own["n_people"], asked)
            spans = [f"{low:.3f} to {high:.3f}" for low, high in (found["trainings"], found["people"])]
            n = len(own["n_people"])
            people = f"{n} years" if n > 2 else str(min(own["n_people"]) if asked is None else asked)
            rows.append([own["title"], name, cell(found["mean"], 3), *spans, people, str(len(seeds))])
    if not rows:
        return ""
    head = ["", "", "robust validity", "over trainings", "over people as well", "people counted", "seeds"]
    title = "### Robust validity (Table 2): intervals over trainings, and over people"
    return f"{title}\n\n{textwrap.fill(TOLD, 120)}\n\n{table(head, rows)}"
