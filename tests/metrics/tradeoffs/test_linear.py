"""Closed forms against a minimiser; Lemma 1 and Theorems 1, 2 and 4 on random instances and at counterexamples."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from holdtrue.errors import CapabilityError, DataError
from holdtrue.metrics import tradeoffs as t
from holdtrue.models import MLP, Linear, LinearModel, double_precision

N = 4000


def instances(d: int, seed: int = 0, n: int = N):
    """Two models, a person, a target and a cost weight, over several orders of magnitude."""
    rng = np.random.default_rng(seed)
    scale = lambda low, high: 10 ** rng.uniform(low, high, n)  # noqa: E731
    w = rng.normal(size=(n, d)) * scale(-2, 2)[:, None]
    near = rng.random(n) < 0.5  # half of the robust models near the other, half anywhere
    v = np.where(near[:, None], w + 0.3 * np.linalg.norm(w, axis=1)[:, None] * rng.normal(size=(n, d)), 0)
    v = np.where(near[:, None], v, rng.normal(size=(n, d)) * scale(-2, 2)[:, None])
    x = rng.normal(size=(n, d)) * scale(-1, 1)[:, None]
    biases = rng.normal(size=(2, n)) * (rng.random(n) < 0.5)
    how = {"score": rng.normal(size=n) * scale(-1, 1), "cost_weight": scale(-4, 2)}
    return t.affine(w, x, biases[0]), t.affine(v, x, biases[1]), x, how


# ---- SCFE ----------------------------------------------------------------------------------------------


def test_scfe_is_the_minimiser() -> None:
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(2, 4))
    scores = t.affine(w, x, 0.3)

    def loss(change: np.ndarray) -> float:
        return (scores.at(change) - 0.7) ** 2 + 0.2 * change @ change

    found = minimize(loss, np.zeros(4), tol=1e-12)
    ours = t.scfe(scores, score=0.7, cost_weight=0.2)
    np.testing.assert_allclose(ours, found.x, atol=1e-6)
    assert t.scfe_score(scores, score=0.7, cost_weight=0.2) == pytest.approx(scores.at(ours), abs=1e-12)
    printed = 0.2 * ours  # Definition 1
    assert loss(printed) > loss(ours) + 0.05


def test_scores_of_a_model_are_its_log_odds_and_slopes() -> None:
    x = np.random.default_rng(0).normal(size=(5, 3))
    linear = LinearModel(jnp.asarray([[0.1, 0.2, 0.3], [1.0, -1.0, 2.0]]), jnp.asarray([0.5, -0.5]))
    ours = t.scores_of(linear, x)
    weight = np.asarray(linear.weight[1] - linear.weight[0], np.float64)
    np.testing.assert_allclose(ours.slope, np.tile(weight, (5, 1)), rtol=1e-6)
    np.testing.assert_allclose(ours.value, x @ weight - 1, rtol=1e-5, atol=1e-6)
    other = t.scores_of(linear, x, favourable=0)
    np.testing.assert_allclose(other.value, -ours.value)
    with pytest.raises(CapabilityError, match="two classes"):
        t.scores_of(Linear().build(3, 4, jax.random.key(0)), x)


# ---- Lemma 1 -------------------------------------------------------------------------------------------


def test_descent_is_gradient_descent() -> None:
    """Against autodiff of the loss of eq. 16."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(9, 3)), np.where(rng.random(9) < 0.5, 1.0, -1.0)
    for norm, order in (("linf", 1), ("l2", 2)):
        with double_precision():
            loss = lambda w: jnp.mean(  # noqa: E731
                jax.nn.softplus(0.1 * jnp.linalg.norm(w, ord=order) - y * (x @ w))  # noqa: B023
            )
            w = jnp.asarray([0.3, -0.2, 0.1])
            for _ in range(5):
                w = w - 0.5 * jax.grad(loss)(w)
        ours = t.descend(x, y, radius=0.1, step_size=0.5, n_epochs=5, start=[0.3, -0.2, 0.1], norm=norm)
        np.testing.assert_allclose(ours, w, atol=1e-10)


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("n_epochs", [1, 12])
def test_lemma_1_corrected_is_never_violated(norm, n_epochs) -> None:
    rng = np.random.default_rng(2)
    n, m, d = 2000, 6, 3
    x = rng.normal(size=(n, m, d)) * 10 ** rng.uniform(-1, 1, (n, 1, 1))
    y = np.where(rng.random((n, m)) < 0.5, 1.0, -1.0)
    radius, step = 10 ** rng.uniform(-3, 0.5, n), 10 ** rng.uniform(-2, 1, n)
    start = rng.normal(size=(n, d)) * (rng.random((n, 1)) < 0.5)
    how = {"step_size": step, "n_epochs": n_epochs, "start": start, "norm": norm}
    w, v = t.descend(x, y, **how), t.descend(x, y, radius=radius, **how)
    sides = t.lemma_1(w, v, x, y, radius=radius, **how)
    assert not sides.violated("corrected").any()
    assert not sides.violated("stable").any()
    assert 0.1 < sides.applies("stable").mean() < 1
    assert (sides.right("stable") <= sides.right("corrected") * (1 + 1e-9))[sides.applies("stable")].all()
    assert sides.violated("printed")[y == -1].mean() > 0.1  # its sign
    assert np.nanmax(sides.tightness("stable")) > 0.5


def test_lemma_1_stable_vanishes_with_the_radius() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(20, 3)), np.where(rng.random(20) < 0.5, 1.0, -1.0)
    w = t.descend(x, y, step_size=0.5, n_epochs=10)
    sides = t.lemma_1(w, w, x, y, radius=0.0, step_size=0.5, n_epochs=10)
    assert (sides.right("stable") == 0).all()
    assert (sides.right("corrected") > 1).all()


def test_theorem_1_cannot_apply_with_the_lemmas_gap_from_zero() -> None:
    """From weights of zero, |w| <= N eta R < Delta: nothing is left of ``|w| - Delta``."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(30, 4)), np.where(rng.random(30) < 0.7, 1.0, -1.0)
    how = {"step_size": 0.3, "n_epochs": 40}
    w, v = t.descend(x, y, **how), t.descend(x, y, radius=0.05, **how)
    gap = t.lemma_1(w, v, x, y, radius=0.05, **how).right("corrected")[0]
    sides = t.theorem_1(t.affine(w, x), t.affine(v, x), x, score=1.0, cost_weight=0.1, gap=gap)
    assert not sides.applies("corrected").any()
    assert sides.applies("interval").all()
    assert not sides.violated("interval").any()


# ---- Theorem 1 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 7])
@pytest.mark.parametrize("costs", ["minimiser", "definition"])
def test_theorem_1_corrected_is_never_violated(d, costs) -> None:
    a, b, x, how = instances(d)
    sides = t.theorem_1(a, b, x, costs=costs, **how)
    truth = [np.linalg.norm(t.scfe(s, **how), axis=1) for s in (a, b)]
    factor = how["cost_weight"] if costs == "definition" else 1.0
    np.testing.assert_allclose(sides.difference, factor * (truth[0] - truth[1]), rtol=1e-9, atol=1e-12)
    for form in ("corrected", "sharper", "interval"):
        assert not sides.violated(form).any(), form
    assert sides.violated("printed").mean() > (0.05 if costs == "minimiser" else 0.001)
    assert (sides.right("sharper") <= sides.right("corrected") * (1 + 1e-9)).all()
    assert 0.2 < sides.applies("corrected").mean() < 0.8
    assert np.nanmax(sides.tightness("interval")) > 0.9
    wider = t.theorem_1(a, b, x, gap=1.5 * _distance(a, b, x), costs=costs, **how)
    for form in ("corrected", "interval"):
        assert not wider.violated(form).any()
        assert (wider.right(form) >= sides.right(form) * (1 - 1e-9)).all()


def _distance(a, b, x):
    bias = [s.value - np.sum(s.slope * x, axis=1) for s in (a, b)]
    return np.hypot(np.linalg.norm(a.slope - b.slope, axis=1), bias[0] - bias[1])


def test_theorem_1_interval_vanishes_with_the_gap() -> None:
    a, _, x, how = instances(3)
    sides = t.theorem_1(a, a, x, **how)
    np.testing.assert_allclose(sides.right("interval"), 0, atol=1e-9)
    assert np.median(sides.right("corrected")) > 0.1
    assert np.median(sides.right("printed")) > 0.001


def test_theorem_1_printed_has_a_counterexample_within_its_own_terms() -> None:
    """One column, weights of 1 and 1/2: the costs differ by .90, and the printed bound allows .05."""
    a, b = t.affine([1.0], [-1.0]), t.affine([0.5], [-1.0])
    sides = t.theorem_1(a, b, [-1.0], score=1.0, cost_weight=0.01)
    assert sides.left == pytest.approx(1.5 * 0.5 / 0.26 - 2 / 1.01, abs=1e-12)
    assert sides.right("printed") == pytest.approx(0.01 * 2.5 / 0.5)
    assert sides.right("corrected") == pytest.approx(2 * 2.5 / 0.5)
    assert sides.violated("printed")
    assert not sides.violated("corrected")


# ---- Theorem 2 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 5])
def test_theorem_2_corrected_is_never_violated(d) -> None:
    a, b, _, how = instances(d, seed=5)
    sides = t.theorem_2(a, b, **how)
    for form in ("corrected", "sharper", "any"):
        assert not sides.violated(form).any(), form
    assert (sides.right("sharper") <= sides.right("corrected") * (1 + 1e-9)).all()
    assert sides.violated("printed").mean() > 0.05
    assert np.nanmax(sides.tightness("sharper")) > 0.99


def test_theorem_2_any_holds_for_the_true_minimiser_of_a_network() -> None:
    x = np.random.default_rng(6).normal(size=(6, 4))
    models = [MLP(widths=(8,)).build(4, 2, jax.random.key(i)) for i in (0, 1)]
    changes = [np.array([true_change(m, row, 1.5, 0.05) for row in x]) for m in models]
    a, b = (t.scores_of(m, x) for m in models)
    sides = t.theorem_2(a, b, score=1.5, cost_weight=0.05, changes=(changes[0], changes[1]))
    assert not sides.violated("any").any()
    lengths = [np.linalg.norm(c, axis=1) for c in changes]
    assert (lengths[0] <= np.abs(1.5 - a.value) / np.sqrt(0.05)).all()
    np.testing.assert_allclose(sides.difference, lengths[0] - lengths[1])


def true_change(model, row, aim, cost_weight):
    def loss(change):
        scores = t.scores_of(model, (row + change)[None])
        value = (scores.value[0] - aim) ** 2 + cost_weight * change @ change
        return value, 2 * (scores.value[0] - aim) * scores.slope[0] + 2 * cost_weight * change

    return minimize(loss, np.zeros_like(row), jac=True, options={"maxiter": 25}).x


# ---- Theorem 4 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 7])
def test_theorem_4_corrected_is_never_violated(d) -> None:
    a, b, x, how = instances(d, seed=7)
    rng = np.random.default_rng(8)
    anywhere = [x + rng.normal(size=x.shape) * 10 ** rng.uniform(-1, 1, (N, 1)) for _ in range(2)]
    for points in ([x + t.scfe(s, **how) for s in (a, b)], anywhere):
        sides = t.theorem_4(a, b, x, *points)
        assert not sides.violated("corrected").any()
        assert sides.applies("corrected").any()
        assert sides.violated("printed").mean() > 0.05


def test_theorem_4_of_scfe_is_decided_by_its_scores() -> None:
    """For SCFE the conclusion has an exact test: ``m_N / (lambda + |w_N|^2) <= m_R / (lambda + |w_R|^2)``."""
    a, b, x, how = instances(3, seed=9)
    sides = t.theorem_4(a, b, x, *(x + t.scfe(s, **how) for s in (a, b)))
    short = [(how["score"] - s.value) / (how["cost_weight"] + s.steepness**2) for s in (a, b)]
    clear = np.abs(sides.non_robust - sides.robust) > 1e-6 * (np.abs(sides.non_robust) + np.abs(sides.robust))
    assert clear.mean() > 0.5
    assert (sides.concluded == (short[0] <= short[1]))[clear].all()
    np.testing.assert_allclose(sides.robust, t.scfe_score(b, **how), rtol=1e-6, atol=1e-8)


def test_theorem_4_printed_has_a_counterexample() -> None:
    """The condition holds with room, and the robust model's recourse is the more valid one."""
    x = np.array([-1.0, 0.0])
    a, b = t.affine([1.0, 0.0], x), t.affine([0.1, 0.9], x)
    points = [x + t.scfe(s, score=1.0, cost_weight=1.0) for s in (a, b)]
    np.testing.assert_allclose(points[0], [0, 0], atol=1e-12)
    np.testing.assert_allclose(points[1], [-0.9396, 0.5440], atol=1e-4)
    sides = t.theorem_4(a, b, x, *points)
    gap = np.hypot(0.9, 0.9) * np.linalg.norm(points[1])
    assert abs(a.at(points[1] - x) - a.at(points[0] - x)) < 0.7 * gap
    assert sides.applies("printed")
    assert sides.non_robust == pytest.approx(0.0, abs=1e-12)
    assert sides.robust == pytest.approx(0.3956, abs=1e-4)
    assert sides.violated("printed")
    assert not sides.applies("corrected")


def test_rounding_is_no_violation_and_more_is() -> None:
    """Costs of 444 that differ by .00002 are known to about 1e-13, not to nine digits of the difference."""
    right = 1.591466997297175e-05
    assert t.Bound(np.array(right + 5.7e-14), {"f": np.array(right)}).violated("f")
    assert not t.Bound(np.array(right + 5.7e-14), {"f": np.array(right)}, 888.0).violated("f")
    assert t.Bound(np.array(right + 1e-10), {"f": np.array(right)}, 888.0).violated("f")


def test_summaries_count() -> None:
    sides = t.Bound(np.array([1.0, -2.0, 0.5]), {"f": np.array([2.0, 1.0, np.inf])})
    assert sides.summary()["f"] == {
        "cases": 3,
        "applies": pytest.approx(2 / 3),
        "violations": 1,
        "tightness (median)": 1.25,
        "tightness (largest)": 2.0,
    }
    told = t.Condition(np.array([1.0, 0.0]), np.array([0.0, 1.0]), {"f": np.array([True, True])})
    assert told.summary()["f"] == {"cases": 2, "applies": 1.0, "violations": 1, "conclusion true": 0.5}


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(DataError, match="-1 and 1"):
        t.descend(np.ones((2, 2)), [0, 1], step_size=0.1, n_epochs=1)
    with pytest.raises(DataError, match="`norm`"):
        t.descend(np.ones((2, 2)), [-1, 1], step_size=0.1, n_epochs=1, norm="l1")
    a = t.affine([1.0], [0.0])
    with pytest.raises(DataError, match="`costs`"):
        t.theorem_1(a, a, [0.0], score=1.0, cost_weight=1.0, costs="x")
