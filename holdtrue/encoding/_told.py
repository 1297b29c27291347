"""Numbers as people are told them: short enough to be said, and said before they are checked."""

from collections.abc import Mapping

import numpy as np

from holdtrue.encoding._encoder import Encoder
from holdtrue.encoding._limits import permitted, within_constraints
from holdtrue.schema import Feature, Restrictions, Table

NEAR = 1e-6  # of the last digit: a number this near to a round one is that one, but for float32
EXACT = 2.0**53  # whole numbers up to here are told apart by floating point
MOST_DECIMALS = 22  # powers of ten up to here are exact


def told_decimals(feature: Feature) -> int:
    """How many decimals a number of this feature is told with: enough to tell values apart on its own scale."""
    return max(0, _places(feature))


def _places(feature: Feature) -> int:
    """Decimals, or below 0 the zeros that a number ends with: a unit is a ten-thousandth of the range at most."""
    low, high = feature.bounds or (0.0, 1.0)
    width = high - low if high > low else max(abs(low), 1e-9)
    return int(np.clip(4 - np.floor(np.log10(width)), -MOST_DECIMALS, MOST_DECIMALS))


def told(
    encoder: Encoder,
    columns: Mapping[str, np.ndarray],
    factual: Table,
    restrictions: Restrictions,
    *,
    further: int = 0,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Proposed numbers rounded to what is told, and which rows that changed.

    A number without a step moves away from where the person is, to the next one of as many digits as a
    ten-thousandth of its range takes (and `further` ones): what the search made sure of, a clearance or the
    agreement of other models, is then rather kept than lost. It does not pass the end of what the person may do,
    and comes back where a linear constraint says so.
    """
    out, moved = dict(columns), np.zeros(factual.n_rows, bool)
    units = {}
    for feature in encoder.schema:
        if feature.has_levels:
            continue
        decimals = min(_places(feature) + further, MOST_DECIMALS)
        units[feature.name] = feature.grid or 10.0**-decimals
        if feature.grid is not None:
            continue
        before, after = factual.columns[feature.name].astype(np.float64), columns[feature.name]
        changed = (after != before) & ~np.isnan(after) & ~np.isnan(before)
        if not changed.any():
            continue
        low, high = permitted(feature, factual, restrictions)
        # The end of an interval is told with all its digits.
        inside = np.clip(outward(before, after, 10.0**decimals), low, np.maximum(low, high))
        new = np.where(changed & (low <= high), inside, after)
        moved |= changed & (new != after)
        out[feature.name] = new
    if moved.any():
        out = within_constraints(encoder, out, factual, restrictions, units)
    return out, moved


def outward(before: np.ndarray, after: np.ndarray, power: float) -> np.ndarray:
    """`after` at the next multiple of ``1 / power`` away from `before`; as it is where there is none to be had."""
    with np.errstate(over="ignore", invalid="ignore"):
        units = after * power
        near = np.rint(units)
        away = np.where(after > before, np.ceil(units), np.floor(units))
        round_already = (np.abs(units - near) <= NEAR) & ((near / power > before) == (after > before))
        whole = np.where(round_already, near, away)
    return np.where(np.abs(units) < EXACT, whole / power, after)
