"""From the schema and people's own rows to their feasible sets; and back: does a row keep every limit?"""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from holdtrue.encoding._encoder import Encoder, level_codes, multiples, to_grid
from holdtrue.encoding._feasible import FeasibleSets
from holdtrue.encoding._layout import level_positions
from holdtrue.schema import MISSING_LEVEL, Feature, Restrictions, RestrictionsLike, Table, normalise_restrictions

EXACT = 1e-11  # how far a linear constraint may be missed, of what its terms add up to: the noise of a double
FINEST = 2e-6  # the least step a search counts, in encoded units
HAIR = 1e-2  # how far a number may be moved to mend a linear constraint, in encoded units
PASSES = 3  # over the linear constraints, where mending one may break another


def feasible_sets(encoder: Encoder, factual: Table, restrictions: RestrictionsLike = None) -> FeasibleSets:
    """Every person's feasible set."""
    schema, layout = encoder.schema, encoder.layout
    n, d = factual.n_rows, encoder.n_columns
    own = encoder.encode(factual)
    by_person = normalise_restrictions(restrictions, schema, n)
    lower, upper = own.copy(), own.copy()
    step = np.zeros((n, d))
    movable = np.zeros((n, d), bool)
    for slot in layout.numbers:
        feature, c = schema[slot.name], slot.start
        raw = own[:, c] * encoder.scale[c] + encoder.offset[c]
        low, high = _interval(feature, raw, factual.missing(slot.name), by_person)
        grid = 1.0 if feature.has_levels else feature.grid
        movable[:, c] = low <= high
        lower[:, c] = np.where(movable[:, c], (low - encoder.offset[c]) / encoder.scale[c], own[:, c])
        upper[:, c] = np.where(movable[:, c], (high - encoder.offset[c]) / encoder.scale[c], own[:, c])
        step[:, c] = 0.0 if grid is None else grid / encoder.scale[c]
        # Steps too fine to count in float32 are a continuum to a search; `decode_recourse` puts it on the grid.
        reach = np.maximum(np.maximum(np.abs(lower[:, c]), np.abs(upper[:, c])), 1.0)
        step[:, c] *= step[:, c] > FINEST * reach
    for slot in layout.groups:
        feature, part = schema[slot.name], slice(slot.start, slot.stop)
        codes = level_codes(feature, factual.columns[slot.name], factual.missing(slot.name))
        movable[:, part] = reachable(feature, codes, by_person)
        lower[:, part] = (0.0 - encoder.offset[part]) / encoder.scale[part]
        upper[:, part] = (1.0 - encoder.offset[part]) / encoder.scale[part]
    a, b = constraint_rows(encoder, own)
    active = _active(encoder, factual)
    f32 = np.float32
    return FeasibleSets(
        x=own.astype(f32),
        lower=lower.astype(f32),
        upper=upper.astype(f32),
        step=step.astype(f32),
        movable=movable,
        b=b.astype(f32),
        active=active,
        a=jax.device_put(a.astype(f32)),
        scale=jax.device_put(encoder.scale.astype(f32)),
        offset=jax.device_put(encoder.offset.astype(f32)),
        layout=layout,
        tails=None if encoder.tails is None else encoder.tails.single(),
    )


def decode_recourse(
    encoder: Encoder, x: np.ndarray, factual: Table, restrictions: RestrictionsLike = None
) -> Table:
    """The recourse a person gets, in their own columns, from a hardened encoded row.

    What did not change keeps the person's own value to the last digit. A number that float32 put a hair
    outside its interval is put back on the bound.
    """
    columns = encoder.decode(x, factual)
    by_person = normalise_restrictions(restrictions, encoder.schema, factual.n_rows)
    for feature in encoder.schema:
        if feature.has_levels:
            continue
        before = factual.columns[feature.name].astype(np.float64)
        after = columns[feature.name]
        if not (after != before).any():
            continue
        low, high = permitted(feature, factual, by_person)
        moved = (after != before) & (low <= high)
        inside = np.clip(after, low, np.maximum(low, high))
        if feature.grid is not None:  # steps finer than float32 can count come back between grid points
            inside = np.clip(to_grid(inside, feature.grid), low, np.maximum(low, high))
        columns[feature.name] = np.where(moved, inside, after)
    units = {f.name: f.grid or _finest(f) for f in encoder.schema if not f.has_levels}
    return Table(within_constraints(encoder, columns, factual, by_person, units), factual.n_rows, factual.native)


def within_constraints(
    encoder: Encoder,
    columns: dict[str, np.ndarray],
    factual: Table,
    restrictions: Restrictions,
    units: Mapping[str, float],
) -> dict[str, np.ndarray]:
    """Proposed numbers, moved by a few of their units where they miss a linear constraint by a hair.

    A search adds up in single precision, which on a wide range is off by more than a step; rounding may step over
    the edge too. Of the numbers that the recourse changes, the one that has least to move is moved.
    """
    if not encoder.schema.constraints:
        return columns
    columns = dict(columns)
    names = [f.name for f in encoder.schema if f.name in units]
    for _ in range(PASSES):
        excess, weights = _excess(encoder, factual, Table(columns, factual.n_rows))
        if not (excess > 0).any():
            break
        spans = {name: permitted(encoder.schema[name], factual, restrictions) for name in names}
        for i in np.flatnonzero((excess > 0).any(axis=0)):
            least, choice = np.full(factual.n_rows, np.inf), {}
            for name in names:
                c = encoder.layout.slot(name).start
                if weights[i, c] == 0:
                    continue
                after, unit = columns[name], units[name]
                steps = np.ceil(excess[:, i] / (abs(weights[i, c]) * unit) - 1e-9)
                moved = multiples(np.rint(after / unit) - np.sign(weights[i, c]) * steps, unit)
                low, high = spans[name]
                may = (excess[:, i] > 0) & (after != factual.columns[name]) & (moved >= low) & (moved <= high)
                far = np.where(may, np.abs(moved - after) / encoder.scale[c], np.inf)
                far[far > HAIR] = np.inf
                choice[name] = (far, moved)
                least = np.minimum(least, far)
            taken = np.isinf(least)
            for name, (far, moved) in choice.items():
                here = ~taken & (far <= least)
                columns[name] = np.where(here, moved, columns[name])
                taken |= here
            excess, _ = _excess(encoder, factual, Table(columns, factual.n_rows))
    return columns


def _finest(feature: Feature) -> float:
    """A unit for numbers without a step that no reader and no model would notice."""
    low, high = feature.bounds or (0.0, 1.0)
    return 10.0 ** np.clip(np.floor(np.log10(max(high - low, abs(low), abs(high), 1e-9))) - 9, -22, 22)


def _excess(encoder: Encoder, factual: Table, recourse: Table) -> tuple[np.ndarray, np.ndarray]:
    """By how much each row exceeds each linear constraint (0 where it is kept), and the rows' coefficients.

    In the columns' own units and in double precision.
    """
    constraints = encoder.schema.constraints
    own, new = (encoder.encode(t) * encoder.scale + encoder.offset for t in (factual, recourse))
    weights = np.zeros((len(constraints), encoder.n_columns))
    excess = np.zeros((factual.n_rows, len(constraints)))
    for i, constraint in enumerate(constraints):
        for key, coefficient in constraint.coefficients.items():
            weights[i, _column(encoder, key)] += coefficient
        value = (new - own if constraint.on == "change" else new) @ weights[i]
        size = (np.abs(new) + np.abs(own) * (constraint.on == "change")) @ np.abs(weights[i])
        over = value - constraint.bound
        excess[:, i] = np.where(over > EXACT * (size + abs(constraint.bound)), over, 0.0)
    return excess, weights


def _column(encoder: Encoder, key: str) -> int:
    """The encoded column that a term of a linear constraint speaks of."""
    feature, level = encoder.schema.term(key)
    slot = encoder.layout.slot(feature.name)
    return slot.start + (0 if level is None else (feature.levels or ()).index(level))


def permitted(feature: Feature, factual: Table, restrictions: Restrictions) -> tuple[np.ndarray, np.ndarray]:
    """Everyone's interval of a number, in its own unit; empty (low > high) where it may not move."""
    raw = np.nan_to_num(factual.columns[feature.name].astype(np.float64))
    return _interval(feature, raw, factual.missing(feature.name), restrictions)


def broken_limits(
    encoder: Encoder,
    factual: Table,
    recourse: Table,
    restrictions: RestrictionsLike = None,
    consequences: np.ndarray | None = None,
) -> list[list[str]]:
    """What each recourse breaks, in sentences; an empty list is a recourse that keeps every limit.

    Written over raw values and apart from `Feasible`, so that each checks the other.

    Parameters
    ----------
    encoder : Encoder
    factual, recourse : Table
    restrictions : optional
        What single people may not change.
    consequences : bool array of shape (n, features), optional
        What changed as a consequence of an action and was not itself acted on. Directions and restrictions say
        what a person may do, and do not bind it; bounds, grid and limits across features do. A category is
        never a consequence.
    """
    schema = encoder.schema
    n = factual.n_rows
    by_person = normalise_restrictions(restrictions, schema, n)
    broken: list[list[str]] = [[] for _ in range(n)]

    def mark(mask: np.ndarray, text: str) -> None:
        for i in np.flatnonzero(mask):
            broken[i].append(text)

    nothing = np.zeros(n, bool)
    for j, feature in enumerate(schema):
        name = feature.name
        gone = recourse.missing(name) & ~factual.missing(name)
        mark(gone, f"{name} became missing")
        changed = differs(factual, recourse, name) & ~gone
        if not changed.any():
            continue
        follows = nothing if consequences is None else consequences[:, j]
        if feature.has_levels:
            before = level_codes(feature, factual.columns[name], factual.missing(name))
            after = level_codes(feature, recourse.columns[name], recourse.missing(name))
            if feature.kind == "categorical":
                allowed = reachable(feature, before, by_person)[np.arange(n), after]
                mark(changed & ~allowed, f"{name} may not take that level")
                continue
            before, after = before.astype(float), after.astype(float)
            grid = None
        else:
            before = factual.columns[name].astype(np.float64)
            after = recourse.columns[name].astype(np.float64)
            grid = feature.grid
        low, high = _interval(feature, np.nan_to_num(before), factual.missing(name), by_person, on_grid=False)
        if follows.any():
            bounds = (0.0, len(feature.levels or ()) - 1.0) if feature.has_levels else feature.bounds
            assert bounds is not None  # a resolved schema has them
            low, high = np.where(follows, bounds[0], low), np.where(follows, bounds[1], high)
        slack = 1e-9 * (1.0 + np.abs(after))
        mark(changed & ((after < low - slack) | (after > high + slack)), f"{name} left its permitted interval")
        if grid is not None:
            off = np.abs(after / grid - np.rint(after / grid)) > 1e-6 + 1e-12 * np.abs(after / grid)
            mark(changed & off, f"{name} is off its grid of {grid:g}")
    excess, _ = _excess(encoder, factual, recourse)
    for i, constraint in enumerate(schema.constraints):
        mark(excess[:, i] > 0, f"constraint {constraint.name or dict(constraint.coefficients)} is broken")
    active = _active(encoder, factual)
    for i, implication in enumerate(schema.implications):
        bad = _matches(encoder, recourse, implication.when) & ~_matches(encoder, recourse, implication.then)
        mark(active[:, i] & bad, f"implication {implication.name or implication.to_dict()} is broken")
    return broken


def _interval(
    feature: Feature, raw: np.ndarray, absent: np.ndarray, restrictions: Restrictions, *, on_grid: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Permitted raw interval per person; empty (low > high) where the number may not move."""
    bounds = (0.0, len(feature.levels or ()) - 1.0) if feature.has_levels else feature.bounds
    assert bounds is not None  # a resolved schema has them
    low, high = np.full(len(raw), bounds[0]), np.full(len(raw), bounds[1])
    rises = np.full(len(raw), feature.direction in ("free", "increase"))
    falls = np.full(len(raw), feature.direction in ("free", "decrease"))
    for row, restriction in restrictions.items():
        limit = restriction.get(feature.name, {})
        if "direction" in limit:
            rises[row] &= limit["direction"] in ("free", "increase")
            falls[row] &= limit["direction"] in ("free", "decrease")
        if "bounds" in limit:
            low[row], high[row] = max(low[row], limit["bounds"][0]), min(high[row], limit["bounds"][1])
        if "levels" in limit:
            codes = level_positions(feature, tuple(limit["levels"]))
            low[row], high[row] = max(low[row], min(codes)), min(high[row], max(codes))
    low = np.where(falls, low, np.maximum(low, raw))
    high = np.where(rises, high, np.minimum(high, raw))
    fixed = absent | ~(rises | falls)
    grid = 1.0 if feature.has_levels else feature.grid
    if on_grid and grid is not None:
        low = to_grid(np.ceil(low / grid - 1e-9) * grid, grid)
        high = to_grid(np.floor(high / grid + 1e-9) * grid, grid)
    return np.where(fixed, np.inf, low), np.where(fixed, -np.inf, high)


def reachable(feature: Feature, codes: np.ndarray, restrictions: Restrictions) -> np.ndarray:
    """For each person, the levels of a category they may take."""
    levels = feature.levels or ()
    k = len(levels)
    may = np.ones((k, k), bool)
    for start, allowed in (feature.transitions or {}).items():
        if start in levels:
            may[levels.index(start)] = [level in allowed for level in levels]
    if MISSING_LEVEL in levels:
        may[:, levels.index(MISSING_LEVEL)] = False
    if feature.direction == "fixed":
        may[:] = False
    np.fill_diagonal(may, True)
    out = may[codes]
    for row, restriction in restrictions.items():
        limit = restriction.get(feature.name, {})
        keep = np.ones(k, bool)
        if "levels" in limit:
            keep = np.array([level in limit["levels"] for level in levels])
        if limit.get("direction", "free") != "free":
            keep[:] = False
        out[row] &= keep
        out[row, codes[row]] = True
    return out


def constraint_rows(encoder: Encoder, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Linear constraints in encoded units, rows of unit length; one right-hand side per person."""
    constraints = encoder.schema.constraints
    a = np.zeros((len(constraints), encoder.n_columns))
    b = np.zeros((len(own), len(constraints)))
    for i, constraint in enumerate(constraints):
        for key, coefficient in constraint.coefficients.items():
            column = _column(encoder, key)
            a[i, column] += coefficient * encoder.scale[column]
            b[:, i] -= coefficient * encoder.offset[column] if constraint.on == "value" else 0.0
        b[:, i] += constraint.bound
        if constraint.on == "change":
            b[:, i] += own @ a[i]
        length = np.linalg.norm(a[i]) or 1.0
        a[i] /= length
        b[:, i] /= length
    return a, b


def _active(encoder: Encoder, factual: Table) -> np.ndarray:
    parts = [_matches(encoder, factual, i.was) for i in encoder.schema.implications]
    return np.stack(parts, axis=1) if parts else np.zeros((factual.n_rows, 0), bool)


def _matches(encoder: Encoder, table: Table, sets: Any) -> np.ndarray:
    """Which rows take one of the levels in every feature named; an imputed level counts as taken."""
    ok = np.ones(table.n_rows, bool)
    for name, levels in sets.items():
        feature, absent = encoder.schema[name], table.missing(name)
        codes = level_codes(feature, table.columns[name], absent)
        codes = np.where(absent, encoder.filled.get(name, codes), codes)
        ok &= np.isin(codes, level_positions(feature, levels))
    return ok


def differs(a: Table, b: Table, name: str) -> np.ndarray:
    """Which rows of two tables hold different values in a column; missing equals missing."""
    both_missing = a.missing(name) & b.missing(name)
    x, y = a.columns[name], b.columns[name]
    if x.dtype == object or y.dtype == object:
        unequal = np.fromiter((p != q for p, q in zip(x.tolist(), y.tolist(), strict=True)), bool, len(x))
    else:
        unequal = x != y
    return unequal & ~both_missing
