"""A table's columns as a causal model reads them."""

from dataclasses import replace

import numpy as np

from holdtrue.encoding import Encoder
from holdtrue.schema import Table


def raw_columns(encoder: Encoder, table: Table) -> dict[str, np.ndarray]:
    """Raw numbers, positions of levels, and 0/1 under ``"column=level"``; a missing number is filled in."""
    unit = replace(encoder, scale=np.ones(encoder.n_columns), offset=np.zeros(encoder.n_columns))
    rows = unit.encode(table)
    names = encoder.layout.column_names(encoder.schema)
    return {name: rows[:, i] for i, name in enumerate(names)}
