"""Learn what a causal model leaves open: least squares, or ridge, on the terms that it names."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from holdtrue.causal._equation import Equation, Term, Values
from holdtrue.causal._rows import raw_columns
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError
from holdtrue.parameters import NonNegative, require
from holdtrue.schema import Schema, TableLike

if TYPE_CHECKING:
    from holdtrue.causal._scm import SCM, Node


def fit_table(scm: "SCM", X: TableLike, schema: Schema, ridge: float = 0.0) -> "SCM":
    """`fit_equations` on a table; a missing number counts as what the schema fills in."""
    scm.check(schema)
    encoder = Encoder.fit(schema, X)
    return fit_equations(scm, encoder.schema, raw_columns(encoder, encoder.schema.check(X)), ridge)


def fit_equations(scm: "SCM", schema: Schema, x: Values, ridge: float = 0.0) -> "SCM":
    """Return the model with every gap filled by regression.

    A node without an equation becomes linear in its parents: numbers and positions of levels by themselves,
    categories by an indicator of each level but the first. A nonlinear equation is learned by naming its terms
    and leaving their coefficients open. Linear is the default on purpose: an intervention takes people to where
    few rows lie, and a straight line leaves the data more predictably than a flexible curve.

    Parameters
    ----------
    scm : SCM
    schema : Schema
        Resolved: with its levels.
    x : mapping of str to array
        Raw columns; see `SCM.counterfactual`.
    ridge : float, default=0
        Weight of the squared coefficients, each of a standardised term, against the sum of squared errors.
    """
    require("SCM", "ridge", ridge, NonNegative)
    scm.check(schema)
    learned = {}
    for node in scm.followers:
        equation = node.equation or Equation(terms=_linear_terms(node, schema), intercept=None)
        if not equation.complete:
            learned[node.name] = _fit_one(node.name, equation, x, ridge)
    return scm.with_equations(learned)


def _linear_terms(node: "Node", schema: Schema) -> tuple[Term, ...]:
    keys = []
    for parent in node.parents:
        feature = schema[parent]
        categorical = feature.kind == "categorical"
        keys += [f"{parent}={level}" for level in (feature.levels or ())[1:]] if categorical else [parent]
    return tuple(Term(of=(key,)) for key in keys)


@np.errstate(all="ignore")  # what is not finite is reported below
def _fit_one(name: str, equation: Equation, x: Values, ridge: float) -> Equation:
    score = np.asarray(equation.to_score(np.asarray(x[name], np.float64)))
    terms = [np.broadcast_to(t.value(x), score.shape) for t in equation.terms]
    open_ = [i for i, t in enumerate(equation.terms) if t.coefficient is None]
    design = np.stack([terms[i] for i in open_], axis=1) if open_ else np.zeros((len(score), 0))
    rest = score - equation.score(x)  # open coefficients count as 0
    if not (np.isfinite(rest).all() and np.isfinite(design).all()):
        raise DataError(
            f"SCM: the equation of {name!r} is not finite on some rows; got link {equation.link!r}. Check the "
            "range of the link, and the logarithms."
        )
    n_open = len(open_) + (equation.intercept is None)
    if len(score) <= n_open:
        raise DataError(
            f"SCM: too few rows to fit {name!r}; got {len(score)} for {n_open} numbers. Give more rows."
        )
    with_intercept = equation.intercept is None
    if not open_:
        return replace(equation, intercept=float(rest.mean()))
    spread = design.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)  # a level that nobody has
    from sklearn.linear_model import LinearRegression, Ridge  # here, not above: it takes time to load

    model = (
        Ridge(alpha=ridge, fit_intercept=with_intercept)
        if ridge
        else LinearRegression(fit_intercept=with_intercept)
    )
    model.fit(design / spread, rest)
    found = dict(zip(open_, (model.coef_ / spread).tolist(), strict=True))
    filled = tuple(replace(t, coefficient=found[i]) if i in found else t for i, t in enumerate(equation.terms))
    intercept = float(model.intercept_) if with_intercept else equation.intercept
    return replace(equation, terms=filled, intercept=intercept)
