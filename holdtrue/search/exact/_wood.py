"""Trees and rows as plain arrays, as compiled code takes them that only adds up what the trees say."""

from typing import NamedTuple

from holdtrue.search.exact._arrays import Short, Singles, Singles2, Whole2


class Wood(NamedTuple):
    """Trees whose every node asks of one column whether it is at most a limit: then left, else right of it.

    Attributes
    ----------
    column, limit, left : of nodes; right lies beside left, and a leaf is its own left.
    root, depth, output : of trees: the first node, how many levels lie below it, and what the leaves add to.
    fixed, single : what leaves add, in whole numbers or in float32; one of them has no columns.
    """

    column: Short
    limit: Singles
    left: Short
    root: Short
    depth: Short
    output: Short
    fixed: Whole2
    single: Singles2


class Asked(NamedTuple):
    """Rows, and what is known of them.

    Attributes
    ----------
    values : of the columns that nodes ask about.
    node, who, at : to work with, for as many rows as go down together.
    fixed, single : sums, an output each; they are added to.
    """

    values: Singles2
    node: Short
    who: Short
    at: Short
    fixed: Whole2
    single: Singles2
