"""Influence against linear models, integrals, finite differences; Theorem 2 and Proposition 1 put to the test."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

import holdtrue as ht
from holdtrue import metrics
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import MLP, LinearModel, MLPModel, stack
from holdtrue.testing import _world as world
from holdtrue.training import StandardTraining

D = 5


def network(rng, widths=(D, 7, 4, 2), scale=1.0, activation="relu") -> MLPModel:
    weights = [jnp.asarray(rng.normal(0, scale, (o, i)), jnp.float32) for i, o in itertools.pairwise(widths)]
    biases = [jnp.asarray(rng.normal(0, scale, o), jnp.float32) for o in widths[1:]]
    return MLPModel(tuple(weights), tuple(biases), activation, 0.0)


def moved(model: MLPModel, rng, radius: float, n: int) -> list[MLPModel]:
    """Top layers whose one logit lies in the ball about the model's, half of them at its surface."""
    out = []
    width = model.weights[-1].shape[1]
    for i in range(n):
        step = rng.normal(size=width + 1)
        step *= 0.999 * radius / np.linalg.norm(step) * (1 if i % 2 else rng.random())
        # Half of the step to each class, turned for one: the difference makes the whole.
        weight = np.array(model.weights[-1]) + np.outer([-0.5, 0.5], step[:-1])
        bias = np.array(model.biases[-1]) + np.array([-0.5, 0.5]) * step[-1]
        top = (jnp.asarray(weight, jnp.float32), jnp.asarray(bias, jnp.float32))
        out.append(eqx.tree_at(lambda m: m.top, model, top))
    return out


# ---- influence -----------------------------------------------------------------------------------------


def test_influence_of_a_linear_model_is_its_weight() -> None:
    rng = np.random.default_rng(0)
    two = LinearModel(jnp.asarray(rng.normal(size=(2, D)), jnp.float32), jnp.asarray([0.3, -0.1]))
    three = LinearModel(jnp.asarray(rng.normal(size=(3, D)), jnp.float32), jnp.zeros(3))
    x = rng.normal(size=(4, D))
    for distribution in ("path", "ball"):
        ours = metrics.distributional_influence(two, x, output="logit", distribution=distribution)
        np.testing.assert_allclose(ours, np.tile(two.weight[1] - two.weight[0], (4, 1)), rtol=1e-5)
        ours = metrics.distributional_influence(three, x, target=2, output="logit", distribution=distribution)
        np.testing.assert_allclose(ours, np.tile(three.weight[2], (4, 1)), rtol=1e-5)


def test_influence_on_the_path_adds_up_to_the_difference() -> None:
    """The fundamental theorem: the influence times the row is the answer there minus the answer at zero."""
    rng = np.random.default_rng(1)
    model = network(rng, (D, 7, 4, 3))
    x = rng.normal(size=(6, D)).astype(np.float32)
    ours = metrics.distributional_influence(model, x, target=2, n_points=2000)
    p = jax.nn.softmax(jax.vmap(model.logits)(jnp.asarray(np.vstack([x, np.zeros((1, D))]), jnp.float32)))[:, 2]
    np.testing.assert_allclose((ours * x).sum(axis=1), p[:-1] - p[-1], atol=2e-3)


def test_influence_in_the_ball_by_an_integral() -> None:
    """For a logistic model the mean gradient is the weight times an integral over one normal number."""
    weight, bias, spread = np.array([1.5, -2.0, 0.5]), 0.4, 0.7
    model = LinearModel(jnp.asarray(np.stack([np.zeros(3), weight]), jnp.float32), jnp.asarray([0.0, bias]))
    x = np.array([[0.3, 0.1, -0.4]])
    ours = metrics.distributional_influence(model, x, distribution="ball", spread=spread, n_points=40_000)[0]
    centre, width = x[0] @ weight + bias, spread * np.linalg.norm(weight)
    mean = quad(lambda f: expit(f) * expit(-f) * norm.pdf(f, centre, width), -30, 30)[0]
    np.testing.assert_allclose(ours, mean * weight, rtol=0.02)


@pytest.mark.parametrize("output", ["probability", "logit"])
def test_influence_by_finite_differences(output: str) -> None:
    rng = np.random.default_rng(2)
    model = network(rng, activation="tanh")
    weights, biases = ([np.asarray(a, np.float64) for a in part] for part in (model.weights, model.biases))

    def answer(z: np.ndarray) -> float:
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            z = np.tanh(weight @ z + bias)
        logits = weights[-1] @ z + biases[-1]
        return expit(logits[1] - logits[0]) if output == "probability" else logits[1] - logits[0]

    x = rng.normal(size=D)
    n, step = 20, 1e-6
    slopes = [
        [(answer(t * x + e) - answer(t * x - e)) / (2 * step) for e in step * np.eye(D)]
        for t in (np.arange(n) + 0.5) / n
    ]
    ours = metrics.distributional_influence(model, [x], output=output, n_points=n)[0]
    np.testing.assert_allclose(ours, np.mean(slopes, axis=0), rtol=1e-3, atol=1e-5)


# ---- Theorem 2 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("distribution", ["path", "ball"])
def test_corrected_bound_is_never_broken(distribution: str) -> None:
    """8,000 instances: networks flat and steep, unsure and sure, top layers moved a little and a lot."""
    rng = np.random.default_rng(3)
    n_held = 0
    for _ in range(40):
        model = network(rng, scale=float(np.exp(rng.uniform(-1.5, 1))))
        size = float(np.linalg.norm(model.weights[-1][1] - model.weights[-1][0]))
        radius = size * float(10 ** rng.uniform(-3, 1))
        tuned = stack(moved(model, rng, radius, 10))
        x = rng.normal(size=(10, D)) * np.exp(rng.uniform(-2, 2))
        options = {"distribution": distribution, "n_points": 12, "spread": 0.5}
        for given in (radius, None):
            sides = metrics.influence_bound(model, tuned, x, radius=given, **options)
            assert sides.held().all()
            assert sides.held("triangle").all()
            assert sides.held("printed").all()
            assert (sides.corrected <= sides.printed * (1 + 1e-9)).all()
            # Where no hidden unit is alive, all right sides are 0.
            assert (sides.triangle < sides.printed)[:, sides.lipschitz > 0].all()
            near = sides.radius <= sides.weight_norm
            assert (sides.corrected <= sides.triangle * (1 + 1e-9))[near].all()
            n_held += sides.change.size
            assert (sides.change > 0).mean() > 0.5
    assert n_held == 8000


def test_both_sides_by_their_definition() -> None:
    rng = np.random.default_rng(4)
    model = network(rng)
    members = moved(model, rng, 0.5, 3)
    x = rng.normal(size=(4, D))
    sides = metrics.influence_bound(model, stack(members), x, n_points=30)
    before = metrics.distributional_influence(model, x, n_points=30)
    for i, member in enumerate(members):
        after = metrics.distributional_influence(member, x, n_points=30)
        np.testing.assert_allclose(sides.change[i], np.linalg.norm(after - before, axis=1), rtol=1e-3, atol=1e-6)
        # The logit's influence moves by no more than K times the radius.
        a, b = (metrics.distributional_influence(m, x, output="logit", n_points=30) for m in (model, member))
        assert (np.linalg.norm(a - b, axis=1) <= sides.lipschitz * sides.radius[i] * (1 + 1e-4)).all()
    # K, by looking for the steepest direction instead of a singular value.
    z = jnp.asarray(((np.arange(30) + 0.5) / 30)[:, None] * x[0], jnp.float32)
    jacobians = np.asarray(jax.vmap(jax.jacfwd(model.hidden))(z))
    directions = rng.normal(size=(20_000, D))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    steepest = np.linalg.norm(np.einsum("zpd,nd->znp", jacobians, directions), axis=2).max()
    assert 0.95 * sides.lipschitz[0] <= steepest <= sides.lipschitz[0] * (1 + 1e-5)
    # The constants of A.2, by hand.
    w, delta = sides.weight_norm, sides.radius[:, None]
    logits = np.asarray(jax.vmap(model.logits)(jnp.asarray(x, jnp.float32)), np.float64)
    slope = expit(logits[:, 1] - logits[:, 0]) * expit(logits[:, 0] - logits[:, 1])
    inside = (slope * w + 3 / 4 * w + delta / 2) ** 2 + (5 / 2 * w + 5 / 4 * delta) ** 2 / 4
    np.testing.assert_allclose(sides.printed, sides.lipschitz * np.sqrt(inside), rtol=1e-5)


def test_theorem_as_stated_can_fail() -> None:
    """A hidden unit that is constant on the way to the row has Lipschitz constant 0 there, and still a slope."""
    first, second = jnp.array([[0.0, 1.0]]), jnp.array([[0.0], [1.0]])
    model = MLPModel((first, second), (jnp.ones(1), jnp.zeros(2)), "relu", 0.0)
    tuned = eqx.tree_at(lambda m: m.weights[-1], model, jnp.array([[0.0], [3.0]]))
    sides = metrics.influence_bound(model, stack([tuned]), [[1.0, 0.0]])
    expected = abs(expit(1) * expit(-1) - 3 * expit(3) * expit(-3))
    np.testing.assert_allclose(sides.change, [[expected]], rtol=1e-6)
    assert sides.lipschitz_along[0] == sides.along[0, 0] == 0
    assert not sides.held("along").any()
    assert sides.held().all()


def test_corrected_bound_vanishes_with_the_radius_and_can_be_tight() -> None:
    """Where the logit is 0 the slope does not turn to first order, and the bound is the change."""
    model = LinearModel(jnp.array([[0.0, 0.0], [1.0, 0.0]]), jnp.zeros(2))
    right = []
    for radius in (1e-1, 1e-2, 1e-3):
        tuned = LinearModel(jnp.array([[0.0, 0.0], [1.0, radius]]), jnp.zeros(2))
        sides = metrics.influence_bound(model, stack([tuned]), [[0.0, 1.0]])
        right.append(float(sides.corrected[0, 0]))
        assert sides.printed[0, 0] > 1.2
    assert sides.tightness()[0, 0] > 0.99
    np.testing.assert_allclose(right[2], 1e-3 / 4, rtol=0.01)
    assert right[0] < 0.05


def test_the_model_itself_has_not_changed() -> None:
    model = network(np.random.default_rng(5))
    sides = metrics.influence_bound(model, stack([model, model]), np.ones((3, D)))
    assert (sides.change == 0).all()
    assert (sides.corrected == 0).all()
    assert sides.held().all()
    assert np.isnan(sides.tightness()).all()


def test_bound_on_a_trained_network() -> None:
    table, y = world.people()
    clf = ht.RecourseClassifier(
        schema=world.SCHEMA,
        model=MLP(widths=(8, 4)),
        regime=StandardTraining(n_epochs=10, step_size=0.01),
        random_state=0,
    ).fit(table, y)
    tuned = ht.retrain(clf, n=10, vary="finetune")
    rows = clf.predictor_.encoder.encode(table)[:30]
    sides = metrics.influence_bound(clf.predictor_.decision.model, tuned.ensemble, rows)
    assert sides.change.shape == (10, 30)
    assert (sides.change > 0).all()
    assert sides.held().all()
    # Tighter than the print by an order of magnitude.
    assert np.median(sides.tightness()) > 10 * np.median(sides.tightness("printed"))
    everything = ht.retrain(clf, n=2, vary="finetune", layers="all", n_epochs=1)
    with pytest.raises(DataError, match="below the top layer"):
        metrics.influence_bound(clf.predictor_.decision.model, everything.ensemble, rows)
    with pytest.raises(DataError, match="beyond `radius`"):
        metrics.influence_bound(clf.predictor_.decision.model, tuned.ensemble, rows, radius=1e-6)


# ---- Theorem 1 (no function of the package, but the documentation states the condition) ---------------------


def test_theorem_1_for_boundaries_at_an_angle() -> None:
    """The proof's point on H2 is no nearer to H1 than the person exactly where eta sin^2 >= cos * d(x, H2)."""
    rng = np.random.default_rng(8)
    outcomes = set()
    for _ in range(2000):
        x, n1, n2 = rng.normal(size=(3, 4))
        n1, n2 = (n * np.sign(n @ x) / np.linalg.norm(n) for n in (n1, n2))  # of length 1, to the person
        eta, cosine = rng.exponential(), n1 @ n2
        beyond = x + eta * n1  # eq. 9
        y = beyond - (n2 @ beyond) * n2  # eq. 8
        assert abs(n2 @ y) < 1e-12
        if n1 @ y > 0:  # on the person's side of the first boundary
            farther = n1 @ y >= n1 @ x
            assert farther == (eta * (1 - cosine**2) >= cosine * (n2 @ x))
            outcomes.add(bool(farther))
    assert outcomes == {True, False}


# ---- Proposition 1 -------------------------------------------------------------------------------------


def test_proposition_1_on_random_smooth_functions() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(5, D)) * 3
    for _ in range(20):
        a, b, c = rng.normal(size=(3, 6, D))
        curve = jnp.asarray(rng.normal(size=(D, D)), jnp.float32)

        def function(z, a=a, b=b, c=c, curve=curve):
            return jnp.sum(jnp.sin(a @ z) * jnp.cos(b @ z)) + jnp.tanh(c[0] @ z) + z @ curve @ z

        sides = metrics.radial_slope(function, x, n_points=20)
        assert sides.norm.shape == (5, 20)
        assert (sides.norm * (1 + 1e-4) >= sides.sharper).all()
        assert (sides.sharper >= sides.printed).all()
        # Independent of automatic differentiation: the slope on the way by central differences.
        z, r = jnp.asarray(x[0] / 2, jnp.float32), 1e-2
        secant = abs(float(function((1 + r) * z) - function((1 - r) * z))) / (2 * r) / np.linalg.norm(x[0])
        np.testing.assert_allclose(sides.printed[0, 9], secant, rtol=0.05, atol=0.05)


def test_proposition_1_is_sharp_where_the_gradient_points_home() -> None:
    x = np.array([[3.0, 4.0]])
    sides = metrics.radial_slope(lambda z: jnp.sum(z**2), x, n_points=4)
    shares = np.array([[0.25, 0.5, 0.75, 1.0]])
    np.testing.assert_allclose(sides.norm, 10 * shares, rtol=1e-6)
    np.testing.assert_allclose(sides.sharper, sides.norm, rtol=1e-6)
    np.testing.assert_allclose(sides.printed, sides.norm * shares, rtol=1e-6)
    assert (metrics.radial_slope(lambda z: jnp.sum(z**2), np.zeros((1, 2))).printed == 0).all()


def test_bad_requests() -> None:
    rng = np.random.default_rng(7)
    model = network(rng)
    with pytest.raises(DataError, match="shape"):
        metrics.distributional_influence(model, np.zeros(D))
    with pytest.raises(DataError, match="`target`"):
        metrics.distributional_influence(model, np.zeros((1, D)), target=2)
    with pytest.raises(DataError, match="`output`"):
        metrics.distributional_influence(model, np.zeros((1, D)), output="odds")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="`distribution`"):
        metrics.distributional_influence(model, np.zeros((1, D)), distribution="box")  # type: ignore[arg-type]
    three = network(rng, (D, 4, 3))
    with pytest.raises(CapabilityError, match="two classes"):
        metrics.influence_bound(three, stack([three]), np.zeros((1, D)))
