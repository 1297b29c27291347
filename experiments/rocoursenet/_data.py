"""Subsets of one dataset under one encoder: the first rows of each to learn from, its last to be asked about."""

from typing import Literal

import jax.numpy as jnp
import numpy as np

from experiments._task import Rows, Task
from experiments.rocoursenet._settings import SETTINGS, ShiftedDataset
from holdtrue.datasets import load
from holdtrue.encoding import Encoder
from holdtrue.models import Data

LEARNED = 0.75
"""Share of a subset's rows, in the order of the file, that a model learns from."""
CHOSEN = 0.8
"""Share of those that it learns from while settings are being chosen; the rest then stands for the test rows."""
Tasks = tuple[Task[ShiftedDataset], ...]
"""Subsets of one dataset: years, places or versions of the data. They share their encoder and setting."""


def read_tasks(
    name: str,
    *,
    n_people: int | None = None,
    subsets: tuple[str, ...] | None = None,
    scaled_on: Literal["all", "learned"] = "all",
    choosing: bool = False,
) -> Tasks:
    """A dataset's subsets, encoded alike, so that any model can be asked about anybody.

    Parameters
    ----------
    name : str
        One of `SETTINGS`.
    n_people : int, optional
        At most so many test rows of each subset.
    subsets : tuple of str, optional
        Some of the subsets; all when omitted.
    scaled_on : {"all", "learned"}
        Rows that the scaling of numbers is learned from: every row of every subset, as the paper's code does,
        or only those that models learn from.
    choosing : bool, default=False
        Leave every test row aside: the last fifth of the rows to learn from takes its place.
    """
    setting = SETTINGS[name]
    data = load(setting.dataset, **setting.options)
    assert data.schema is not None
    assert data.groups is not None
    group = data.groups[setting.group].astype(str).to_numpy()
    y = (np.asarray(data.y) == data.favourable).astype(np.int32)
    wanted = subsets or tuple(dict.fromkeys(group.tolist()))  # in the order of the file
    parts: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for own in sorted(wanted) if setting.sort else wanted:
        rows = np.flatnonzero(group == own)
        cut = round(LEARNED * len(rows))
        learned, asked = rows[:cut], rows[cut:]
        if choosing:
            cut = round(CHOSEN * len(learned))
            learned, asked = learned[:cut], learned[cut:]
        parts[own] = learned, asked
    seen = np.arange(len(y)) if scaled_on == "all" else np.concatenate([p[0] for p in parts.values()])
    encoder = Encoder.fit(data.schema, data.X.iloc[seen])
    made = []
    for own, (learned, asked) in parts.items():
        x, learned_x = (encoder.encode(data.X.iloc[rows]).astype(np.float32) for rows in (asked, learned))
        X, tested = data.X.iloc[asked].reset_index(drop=True), Rows(x, y[asked])
        made.append(Task(setting, encoder, Rows(learned_x, y[learned]), tested, tested, X, name=own).few(n_people))
    return tuple(made)


def alike(tasks: Tasks) -> list[Data]:
    """Every subset's rows to learn from, repeated to the length of the longest.

    One shape serves all subsets with one compiled program, and all have the same number of updates. A row's
    copies share its weight, so that each row counts the same.
    """
    longest = max(len(s.learned.y) for s in tasks)
    out = []
    for s in tasks:
        order = np.arange(longest) % len(s.learned.y)
        weight = (longest / len(s.learned.y)) / np.bincount(order)[order]
        out.append(Data(jnp.asarray(s.learned.x[order]), jnp.asarray(s.learned.y[order]),
                        jnp.asarray(weight, jnp.float32)))  # fmt: skip
    return out
