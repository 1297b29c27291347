"""Which encoded columns an adversary may move."""

from typing import Literal

import numpy as np

from holdtrue.encoding import Layout

Columns = Literal["all", "numeric"]


def movable_columns(layout: Layout, columns: Columns) -> np.ndarray:
    """1 for every encoded column that the adversary may move."""
    movable = np.ones(layout.n_columns)
    if columns == "numeric":
        movable[len(layout.numbers) :] = 0
    return movable
