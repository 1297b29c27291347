"""Structural causal models: abduct, act, predict."""

from holdtrue.causal._builtin import BUILTIN, find, named
from holdtrue.causal._effects import Effects, overwrite
from holdtrue.causal._equation import FUNCTIONS, LINKS, Equation, Term
from holdtrue.causal._fit import fit_equations
from holdtrue.causal._rows import raw_columns
from holdtrue.causal._scm import SCM, Grid, Node

__all__ = [
    "BUILTIN",
    "FUNCTIONS",
    "LINKS",
    "SCM",
    "Effects",
    "Equation",
    "Grid",
    "Node",
    "Term",
    "find",
    "fit_equations",
    "named",
    "overwrite",
    "raw_columns",
]
