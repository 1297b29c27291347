"""Structural causal models: abduct, act, predict."""

from holdfast.causal._builtin import BUILTIN, find, named
from holdfast.causal._effects import Effects, overwrite
from holdfast.causal._equation import FUNCTIONS, LINKS, Equation, Term
from holdfast.causal._fit import fit_equations
from holdfast.causal._rows import raw_columns
from holdfast.causal._scm import SCM, Grid, Node

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
