"""The cheapest point of a box, what it costs, and the limits across features: compiled, a box at a time.

Everywhere `p` is the person, `b` the place of a box on the desk, and `v` that of a point.
"""

import numpy as np

from holdtrue.search.exact._compiled import compiled
from holdtrue.search.exact._desk import Desk
from holdtrue.search.exact._grove import Ground

L2, LINF, L0 = 1, 2, 3
NEAR = np.float32(3e-7)  # of a grid point: one that lies above an edge by so little lies on it, but for rounding
PAST = np.float32(2e-6)  # how far beyond an edge a number without a grid is put, in encoded units
ACCEPT = 2e-6  # how far a linear constraint may be missed, as in `Feasible`
ROUNDING = 3e-7
SWEEPS = 3  # of bounds from one feature of a constraint to another
HUGE = 1e300
ONE, TWO = np.float32(1.0), np.float32(2.0)
UNNAMED = np.float32(-1.0)  # a level that is any but the cheapest
NAN32 = np.float32(np.nan)
INF32 = np.float32(np.inf)


@compiled
def measured(room: Ground, j: int, value: float) -> float:
    """A number's value, or its height where cost goes by percentile."""
    tail = room.tail[j]
    if tail < 0:
        return value
    knots, slopes = room.knots, room.slopes
    total, n = room.heights[tail, 0], slopes.shape[1]
    for i in range(n):
        total += min(max(value - knots[tail, i], 0.0), knots[tail, i + 1] - knots[tail, i]) * slopes[tail, i]
    outside = min(value - knots[tail, 0], 0.0) + max(value - knots[tail, n], 0.0)
    return total + outside * slopes[tail, n - 1]


@compiled
def spent(room: Ground, p: int, j: int, value: float) -> float:
    """What a number's value costs; infinite where it is NaN and the person's own is known."""
    if room.missing[p, j]:
        return 0.0
    if np.isnan(value):
        return np.inf
    change = measured(room, j, value) - measured(room, j, np.float64(room.own[p, j]))
    norm, weight = room.rule[0], room.weight[p, j]
    if norm == L0:
        return weight if change != 0.0 else 0.0
    return (weight * change) ** 2 if norm == L2 else weight * abs(change)


@compiled
def beyond(edge: np.float32, by: np.float32) -> np.float32:
    """A little above an edge (or below it); no edge at all stays so."""
    return np.float32(edge + by * max(ONE, abs(edge))) if np.isfinite(edge) else edge


@compiled
def under(value: float) -> np.float32:
    """An edge that a value lies above."""
    return np.float32(value - 1e-6 * max(1.0, abs(value)))


@compiled
def above(room: Ground, p: int, j: int, edge: np.float32) -> np.float32:
    """The least permitted value of a number that lies above an edge; NaN where none does."""
    if not room.free[p, j]:
        return NAN32
    lower, upper, size = room.lower[p, j], room.upper[p, j], room.step[p, j]
    if size > 0:
        past = beyond(edge, NEAR)
        count = np.floor((max(np.float64(edge), lower - size) - lower) / size)
        value = np.float32(lower + max(count + 2.0, 0.0) * size)
        for further in (1.0, 0.0):
            at = np.float32(lower + max(count + further, 0.0) * size)
            if at > past:
                value = at
    else:
        value = np.float32(max(lower, np.float64(beyond(edge, PAST))))
    return value if value <= upper + 1e-6 and value > edge else NAN32


@compiled
def below(room: Ground, p: int, j: int, edge: np.float32) -> np.float32:
    """The greatest permitted value of a number that lies at an edge or below it; NaN where none does."""
    if not room.free[p, j]:
        return NAN32
    lower, upper, size = room.lower[p, j], room.upper[p, j], room.step[p, j]
    if size > 0:
        past = beyond(edge, NEAR)
        last = np.rint((upper - lower) / size)
        count = np.floor((min(np.float64(edge), upper + size) - lower) / size)
        value = min(np.float32(lower + min(count - 1.0, last) * size), edge)
        for further in (0.0, 1.0):
            at = np.float32(lower + min(count + further, last) * size)
            if at <= past:
                value = min(at, edge)
    else:
        value = np.float32(min(upper, np.float64(beyond(edge, -PAST))))
    return value if value >= lower - 1e-6 and value <= edge else NAN32


@compiled
def nearest(room: Ground, p: int, j: int, low: np.float32, high: np.float32) -> np.float32:
    """The permitted value in ``(low, high]`` that is nearest to the person's own; NaN where there is none."""
    own = room.own[p, j]
    if room.missing[p, j] or (low < own and own <= high):
        return own
    if own <= low:
        value = above(room, p, j, low)
        return value if value <= high else NAN32
    value = below(room, p, j, high)
    return value if value > low else NAN32


@compiled
def cost_of(room: Ground, p: int, desk: Desk, v: int) -> float:
    """What a point costs, in units that add up; infinite where it changes more features than may be changed."""
    total, changed, largest = 0.0, 0, room.rule[0] == LINF
    own, missing, values, levels = room.own, room.missing, desk.values, desk.levels
    for j in range(own.shape[1]):
        if missing[p, j] or values[v, j] == own[p, j]:
            continue
        changed += 1
        part = spent(room, p, j, np.float64(values[v, j]))
        total = max(total, part) if largest else total + part
    for j in range(levels.shape[1]):
        if levels[v, j] != room.level[p, j]:
            changed += 1
            part = room.price[p, levels[v, j]]
            total = max(total, part) if largest else total + part
    return total if changed <= room.rule[1] else np.inf


@compiled
def corner(room: Ground, p: int, desk: Desk, b: int, v: int) -> float:
    """Write down the cheapest point of a box, limits across features aside; its cost, infinite where the box is
    empty."""
    values, levels, price, spans = desk.values, desk.levels, room.price, room.spans
    low, high, left = desk.box_low, desk.box_high, desk.box_levels
    for j in range(values.shape[1]):
        values[v, j] = nearest(room, p, j, low[b, j], high[b, j])
    for j in range(levels.shape[1]):
        least, at = np.inf, spans[j]
        for i in range(spans[j], spans[j + 1]):
            if left[b, i] and price[p, i] < least:
                least, at = price[p, i], i
        if least == np.inf:
            return np.inf
        levels[v, j] = at
    return cost_of(room, p, desk, v)


# ---- limits across features -------------------------------------------------------------------------


@compiled
def excess(room: Ground, p: int, desk: Desk, v: int, row: int) -> tuple[float, float]:
    """By how much a point exceeds a linear constraint, and what that must not exceed for rounding."""
    left, size, right = 0.0, 0.0, room.right[p, row]
    values, levels, a = desk.values, desk.levels, room.rows_of_numbers
    for j in range(values.shape[1]):
        if not np.isnan(values[v, j]):
            part = np.float64(values[v, j]) * a[row, j]
            left, size = left + part, size + abs(part)
    for j in range(levels.shape[1]):
        part = room.rows_of_levels[row, levels[v, j]]
        left, size = left + part, size + abs(part)
    return left - right, ACCEPT + ROUNDING * (size + abs(right))


@compiled
def broken_row(room: Ground, p: int, desk: Desk, v: int) -> int:
    """The first linear constraint that a point breaks; below 0 where it keeps all."""
    for row in range(room.right.shape[1]):
        over, most = excess(room, p, desk, v, row)
        if over > most:
            return row
    return -1


@compiled
def broken_clause(room: Ground, p: int, desk: Desk, v: int) -> int:
    """The first implication that a point breaks; below 0 where it keeps all."""
    levels = desk.levels
    for i in range(room.binds.shape[1]):
        if room.binds[p, i]:
            when, then = 1, 1
            for j in range(levels.shape[1]):
                when &= room.when[i, levels[v, j]]
                then &= room.then[i, levels[v, j]]
            if when and not then:
                return i
    return -1


@compiled
def is_option(room: Ground, p: int, desk: Desk, v: int) -> bool:
    """Whether a point is an option of its own, beside those that a person has."""
    options, change, place = room.options, desk.change, room.place
    values, levels = desk.values, desk.levels
    if options.shape[1] == 0:
        return True
    n, size, share = values.shape[1], 0.0, 0.0
    for i in range(len(change)):
        change[i] = 0.0
    for j in range(n):
        if not room.missing[p, j]:
            change[place[j]] = np.float64(values[v, j]) - np.float64(room.own[p, j])
    for j in range(levels.shape[1]):
        change[place[n + j]] = room.change[p, levels[v, j]]
    for i in range(len(change)):
        size += change[i] ** 2
    for row in range(options.shape[1]):
        along = 0.0
        for i in range(len(change)):
            along += options[p, row, i] * change[i]
        share += along**2
    return share <= room.same[0] * max(size, room.same[1])


@compiled
def narrowed(room: Ground, p: int, desk: Desk, b: int) -> bool:
    """Take from a box what no point that keeps the linear constraints can have; whether it has such points."""
    a, right, spans, levels = room.rows_of_numbers, room.right, room.spans, desk.box_levels
    low, high, least, most = desk.box_low, desk.box_high, desk.least, desk.largest
    spare, adds = desk.spare, desk.adds
    n_rows, n = a.shape
    if n_rows == 0:
        return True
    for _ in range(SWEEPS):
        for j in range(n):
            least[j] = most[j] = 0.0
            if room.missing[p, j]:
                continue
            own, first, last = room.own[p, j], above(room, p, j, low[b, j]), below(room, p, j, high[b, j])
            least[j] = np.float64(first) if first <= high[b, j] else np.nan
            most[j] = np.float64(last) if last > low[b, j] else np.nan
            if low[b, j] < own and own <= high[b, j]:
                least[j] = least[j] if least[j] < own else np.float64(own)
                most[j] = most[j] if most[j] > own else np.float64(own)
            if np.isnan(least[j]):
                return False
        for row in range(n_rows):
            total = right[p, row] + ACCEPT + 10 * ROUNDING * (1 + abs(right[p, row]))
            for j in range(n):
                one, other = a[row, j] * least[j], a[row, j] * most[j]
                part = other if np.isnan(one) or other < one else one
                adds[row, j] = 0.0 if np.isnan(part) else min(max(part, -HUGE), HUGE)
                total -= adds[row, j]
            for j in range(len(spans) - 1):
                part = np.inf
                for i in range(spans[j], spans[j + 1]):
                    if levels[b, i]:
                        part = min(part, room.rows_of_levels[row, i])
                total -= part
            if not total >= 0:
                return False
            spare[row] = total
        same = True
        for j in range(n):
            if not room.free[p, j]:
                continue
            ceiling, floor = np.inf, -np.inf
            for row in range(n_rows):
                if a[row, j] > 0:
                    ceiling = min(ceiling, (spare[row] + adds[row, j]) / a[row, j])
                elif a[row, j] < 0:
                    floor = max(floor, (spare[row] + adds[row, j]) / a[row, j])
            if np.float32(ceiling) < high[b, j]:
                high[b, j], same = np.float32(ceiling), False
            if floor > least[j]:
                edge = np.float32(floor - np.float64(PAST) * max(1.0, abs(floor)))
                if edge > low[b, j]:
                    low[b, j], same = edge, False
        if same:
            break
    return True


@compiled
def mend(room: Ground, p: int, desk: Desk, v: int, row: int) -> bool:
    """Set one number of a point to where a linear constraint holds, the cheapest that can be; whether one can."""
    values, a = desk.values, room.rows_of_numbers
    over, _ = excess(room, p, desk, v, row)
    least, at, best = np.inf, -1, NAN32
    for j in range(values.shape[1]):
        if a[row, j] == 0.0 or room.missing[p, j]:
            continue
        edge = np.float64(values[v, j]) - over / a[row, j]
        if not np.isfinite(edge):
            continue
        to = below(room, p, j, np.float32(edge)) if a[row, j] > 0 else above(room, p, j, under(edge))
        price = spent(room, p, j, np.float64(to))
        if price < least:
            least, at, best = price, j, to
    if at >= 0:
        values[v, at] = best
    return at >= 0


@compiled
def _is_open(room: Ground, desk: Desk, b: int, j: int) -> bool:
    """Whether a box has several levels of a feature."""
    left = 0
    for i in range(room.spans[j], room.spans[j + 1]):
        left += desk.box_levels[b, i]
    return left > 1


@compiled
def cut_by_limits(room: Ground, p: int, desk: Desk, b: int, v: int) -> tuple[int, np.float32]:
    """Where to cut a box whose point a limit forbids: between what the limit names. Slot and edge."""
    values, spans = desk.values, room.spans
    n, n_levels = values.shape[1], len(spans) - 1
    clause = broken_clause(room, p, desk, v)
    if clause >= 0:
        for sides in (room.then, room.when):
            for j in range(n_levels):
                named = 0
                for i in range(spans[j], spans[j + 1]):
                    named += sides[clause, i] == 0
                if named > 0 and _is_open(room, desk, b, j):
                    return n + j, UNNAMED
    row = broken_row(room, p, desk, v)
    if row < 0:
        return -1, UNNAMED
    most, slot, edge = 1e-7, -1, UNNAMED
    for j in range(n):
        a, value = room.rows_of_numbers[row, j], values[v, j]
        if a == 0.0 or np.isnan(value):
            continue
        # How much the number could take back of what is exceeded.
        end = above(room, p, j, desk.box_low[b, j]) if a > 0 else below(room, p, j, desk.box_high[b, j])
        if not (end < value if a > 0 else end > value):
            continue
        relief = abs(a * (np.float64(value) - np.float64(end)))
        if np.isfinite(end) and relief > most:
            most, slot, edge = relief, j, np.float32((value + end) / TWO)
    if slot >= 0:
        return slot, edge
    for j in range(n_levels):
        named = 0
        for i in range(spans[j], spans[j + 1]):
            named += room.rows_of_levels[row, i] != 0.0
        if named > 0 and _is_open(room, desk, b, j):
            return n + j, UNNAMED
    return -1, UNNAMED
