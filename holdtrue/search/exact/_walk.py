"""The leaves in which rows end, tree after tree, and what they add up to: in compiled code.

A tree's rows go down together, level by level, so that the processor need not wait for one before it looks at the
next. Down to `EVEN` levels all of them go on; below, those alone that are in no leaf yet.
"""

from holdtrue.search.exact._compiled import compiled, program
from holdtrue.search.exact._wood import Asked, Wood

EVEN = 7


@compiled
def _down(wood: Wood, asked: Asked, t: int, first: int, n: int) -> None:
    """Nodes in which some rows end."""
    column, limit, left, values = wood.column, wood.limit, wood.left, asked.values
    node, who, at = asked.node, asked.who, asked.at
    for r in range(n):
        node[r] = wood.root[t]
    for _ in range(min(wood.depth[t], EVEN)):
        for r in range(n):
            here = node[r]
            node[r] = left[here] + (not (values[first + r, column[here]] <= limit[here]))
    open_ = 0
    if wood.depth[t] > EVEN:
        for r in range(n):
            who[open_], at[open_] = r, node[r]
            open_ += left[node[r]] != node[r]
    for _ in range(wood.depth[t] - EVEN):
        still = 0
        for i in range(open_):
            here, r = at[i], who[i]
            here = left[here] + (not (values[first + r, column[here]] <= limit[here]))
            node[r] = here
            who[still], at[still] = r, here
            still += left[here] != here
        open_ = still


@compiled
def _add(wood: Wood, asked: Asked, output: int, first: int, n: int) -> None:
    """What their nodes add."""
    node, fixed, single = asked.node, wood.fixed, wood.single
    for c in range(fixed.shape[1]):
        for r in range(n):
            asked.fixed[first + r, output + c] += fixed[node[r], c]
    for c in range(single.shape[1]):
        for r in range(n):
            asked.single[first + r, output + c] += single[node[r], c]


@program(Wood, Asked)
def walk(wood: Wood, asked: Asked) -> None:
    """Add up what the trees say of every row, one tree after the other."""
    for first in range(0, len(asked.values), len(asked.node)):
        n = min(len(asked.node), len(asked.values) - first)
        for t in range(len(wood.root)):
            _down(wood, asked, t, first, n)
            _add(wood, asked, wood.output[t], first, n)
