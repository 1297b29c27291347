"""Fitted equations against the ones that made the rows."""

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.causal import SCM, Equation, Node, Term, named
from holdtrue.errors import DataError

N = 4000


def simulated(noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.choice(["x", "y", "z"], N)
    a = rng.normal(50, 10, N)
    b = 3 + 0.5 * a + 4 * (kind == "y") - 2 * (kind == "z") + noise * rng.normal(size=N)
    c = -1 + 0.02 * (a - 40) ** 2 + 0.3 * b + noise * rng.normal(size=N)
    d = np.exp(0.1 + 0.01 * b + 0.1 * noise * rng.normal(size=N))
    return pd.DataFrame({"kind": kind, "a": a, "b": b, "c": c, "d": d})


SCHEMA = ht.Schema(
    [
        ht.Feature(name="kind", kind="categorical", levels=("x", "y", "z")),
        *(ht.Feature(name=name, kind="numeric") for name in "abcd"),
    ]
)
GRAPH = SCM(
    [
        Node(name="kind"),
        Node(name="a"),
        Node(name="b", parents=["a", "kind"]),
        Node(
            name="c",
            parents=["a", "b"],
            equation=Equation(intercept=None, terms=[Term(of="a", function="square", shift=-40), Term(of="b")]),
        ),
        Node(name="d", parents=["b"], equation=Equation(intercept=None, terms=[Term(of="b")], link="log")),
    ]
)
TRUE = {"b": ([3.0], [0.5, 4.0, -2.0]), "c": ([-1.0], [0.02, 0.3]), "d": ([0.1], [0.01])}


def coefficients(scm, name):
    equation = scm[name].equation
    return [equation.intercept], [t.coefficient for t in equation.terms]


def test_without_noise_the_equations_come_back():
    scm = GRAPH.fit(simulated(noise=0.0), SCHEMA)
    assert scm.complete
    for name, truth in TRUE.items():
        for found, true in zip(coefficients(scm, name), truth, strict=True):
            np.testing.assert_allclose(found, true, rtol=1e-6, atol=1e-8)
    assert [t.of for t in scm["b"].equation.terms] == [("a",), ("kind=y",), ("kind=z",)]


def test_with_noise_they_lie_within_four_standard_errors():
    table = simulated()
    scm = GRAPH.fit(table, SCHEMA)
    design = np.stack([np.ones(N), table["a"], table["kind"] == "y", table["kind"] == "z"], axis=1).astype(float)
    error = np.sqrt(np.diag(np.linalg.inv(design.T @ design)))  # the noise has variance 1
    (intercept,), slopes = coefficients(scm, "b")
    gap = np.array([intercept, *slopes]) - [3.0, 0.5, 4.0, -2.0]
    assert (np.abs(gap) < 4 * error).all()
    assert (np.abs(gap) > 1e-9).all()  # it is an estimate, not the truth copied


def test_ridge_shrinks_by_the_known_factor():
    """One standardised column: the coefficient is n / (n + ridge) of the least-squares one."""
    scm = SCM([Node(name="a"), Node(name="b", parents=["a"])])
    plain = scm.fit(simulated(), SCHEMA)["b"].equation.terms[0].coefficient
    shrunk = scm.fit(simulated(), SCHEMA, ridge=1000.0)["b"].equation.terms[0].coefficient
    assert shrunk == pytest.approx(plain * N / (N + 1000.0), rel=1e-9)


def test_what_is_given_stays():
    graph = SCM(
        [
            Node(name="kind"),
            Node(name="a"),
            Node(
                name="b",
                parents=["a", "kind"],
                equation=Equation(
                    intercept=3.0,
                    terms=[Term(of="a", coefficient=0.5), Term(of="kind=y"), Term(of="kind=z")],
                ),
            ),
        ]
    )
    scm = graph.fit(simulated(noise=0.0), SCHEMA)
    (intercept,), slopes = coefficients(scm, "b")
    assert (intercept, slopes[0]) == (3.0, 0.5)
    np.testing.assert_allclose(slopes[1:], [4.0, -2.0], rtol=1e-6)
    assert scm.fit(simulated(seed=1), SCHEMA) == scm  # nothing is open any more
    only_intercept = SCM(
        [
            Node(name="a"),
            Node(
                name="b", parents=["a"], equation=Equation(intercept=None, terms=[Term(of="a", coefficient=2.0)])
            ),
        ]
    )
    table = simulated()
    found = only_intercept.fit(table, SCHEMA)["b"].equation.intercept
    assert found == pytest.approx(float((table["b"] - 2 * table["a"]).mean()))


def test_what_is_refused():
    with pytest.raises(DataError, match="too few rows"):
        GRAPH.fit(simulated().head(4), SCHEMA)
    with pytest.raises(DataError, match="`ridge`"):
        GRAPH.fit(simulated(), SCHEMA, ridge=-1.0)
    log = SCM(
        [
            Node(name="a"),
            Node(
                name="b",
                parents=["a"],
                equation=Equation(intercept=None, link="log", low=20, terms=[Term(of="a")]),
            ),
        ]
    )
    with pytest.raises(DataError, match="not finite"):
        log.fit(simulated(), SCHEMA)


def test_german_credit_is_least_squares_on_the_data():
    """Sex and age to amount, amount to duration: least squares, by the normal equations."""
    try:
        bank = ht.datasets.load("german_credit")
    except DataError as error:
        pytest.skip(f"the German Credit file is not here: {error}")
    X = bank.X
    scm = named("german_credit").fit(X, bank.schema)
    amount, duration = X["amount"].to_numpy(float), X["duration"].to_numpy(float)
    slope = np.cov(amount, duration)[0, 1] / amount.var(ddof=1)
    (intercept,), (found,) = coefficients(scm, "duration")
    assert found == pytest.approx(slope, rel=1e-8)
    assert intercept == pytest.approx(duration.mean() - slope * amount.mean(), rel=1e-8)
    levels = bank.schema["personal_status_sex"].levels[1:]
    design = [np.ones(len(X)), *((X["personal_status_sex"] == level) for level in levels), X["age"]]
    design = np.stack(design, axis=1).astype(float)
    true = np.linalg.solve(design.T @ design, design.T @ amount)
    (intercept,), slopes = coefficients(scm, "amount")
    np.testing.assert_allclose([intercept, *slopes], true, rtol=1e-7)


def test_german_credit_simulated_has_the_published_equations():
    """Forward simulation written out by hand, and abduction gives the noise back."""
    rng = np.random.default_rng(0)
    u = [rng.integers(0, 2, 50).astype(float), rng.gamma(10, 3.5, 50) - 35, *rng.normal(size=(5, 50))]
    scale = [1, 1, 0.5, 2, 3, 2, 5]
    g, a, *rest = (s * v for s, v in zip(scale, u, strict=True))
    ue, ul, ud, ui, us = rest

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    e = -0.5 + sigmoid(-1 + 0.5 * g + sigmoid(0.1 * a) + ue)
    loan = 1 + 0.01 * (a - 5) * (5 - a) + g + ul
    d = -1 + 0.1 * a + 2 * g + loan + ud
    i = -4 + 0.1 * (a + 35) + 2 * g + g * e + ui
    s = -4 + 1.5 * np.maximum(i, 0) + us
    scm = named("german_credit_simulated")
    names = ["gender", "age", "education", "loan_amount", "loan_duration", "income", "savings"]
    noise = dict(zip(names, [g, a, ue, ul, ud, ui, us], strict=True))
    x = scm.predict(noise)
    for name, truth in zip(names, [g, a, e, loan, d, i, s], strict=True):
        np.testing.assert_allclose(x[name], truth, rtol=1e-10, atol=1e-10)
    for name, truth in scm.noise(x).items():
        np.testing.assert_allclose(truth, noise[name], rtol=1e-8, atol=1e-8)
