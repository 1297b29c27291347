"""Numbers that make no sense, refused in one wording by regimes, heads and attackers."""

from typing import Any

import numpy as np

from holdtrue.errors import DataError


def check_weights(thing: Any, names: tuple[str, ...]) -> None:
    """Refuse weights that are negative or no numbers."""
    for name in names:
        if not 0 <= getattr(thing, name) < np.inf:
            raise DataError(f"{type(thing).__name__}: `{name}` must be at least 0; got {getattr(thing, name)!r}.")


def check_counts(thing: Any, names: tuple[str, ...]) -> None:
    """Refuse counts that are no positive whole numbers."""
    for name in names:
        value = getattr(thing, name)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise DataError(f"{type(thing).__name__}: `{name}` must be a positive whole number; got {value!r}.")
