"""Training a recourse head: what each part of the step may touch, and what keeps training from collapsing."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import holdfast as hf
from holdfast.encoding import Encoder, Permits
from holdfast.errors import CapabilityError, DataError
from holdfast.models import CounterNet, Data, fit, fit_many
from holdfast.schema import Feature, Schema
from holdfast.training import CFModel, CounterNetTraining, RoCourseNet, Robust, Setting, harshest

SMALL = CounterNet(encoder=(16, 8), predictor=(8,), generator=(16,), dropout=0.1)
FEW = {"n_epochs": 3, "batch_size": 32, "min_updates": 0, "step_size": 0.01}


def table(n=256, seed=0, rare=None, classes=2):
    """Two numbers and a category; the label follows the first number and the category."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 3, n)
    numbers = rng.uniform(size=(n, 2))
    score = 3 * numbers[:, 0] + 0.8 * (level == 2) + 0.3 * rng.normal(size=n)
    cuts = [np.quantile(score, rare)] if rare else np.quantile(score, np.arange(1, classes) / classes)
    y = np.searchsorted(np.sort(cuts), score).astype(np.int32)
    return {"a": numbers[:, 0], "b": numbers[:, 1], "c": np.array(["x", "y", "z"])[level]}, y


SCHEMA = Schema(
    [
        Feature(name="a", kind="numeric", bounds=(0, 1)),
        Feature(name="b", kind="numeric", bounds=(0, 1), direction="fixed"),
        Feature(name="c", kind="categorical", levels=("x", "y", "z")),
    ]
)


def task(**options):
    columns, y = table(**options)
    encoder = Encoder.fit(SCHEMA, columns)
    x = jnp.asarray(encoder.encode(columns), jnp.float32)
    return Data(x, jnp.asarray(y), jnp.ones(len(y))), Setting(Permits.of(encoder), 1, 0.5, len(y))


def trained(regime, model=SMALL, classes=2, **options):
    data, setting = task(classes=classes, **options)
    start = model.build(data.x.shape[1], classes, jax.random.key(0))
    return regime.train(start, data, jax.random.key(1), setting=setting)


def test_the_predictor_is_the_same_whatever_judges_the_recourse():
    """The generator's steps never reach it (section 3.1 of what the public code gives)."""
    plain, _ = trained(CounterNetTraining(**FEW))
    for options in ({}, {"inner": "adam", "recompute": True}, {"attacker": "random"}, {"attacker": "guides", "n_guides": 2}):
        other, _ = trained(RoCourseNet(**FEW, **options))
        assert eqx.tree_equal(plain.predictor, other.predictor)
        assert not eqx.tree_equal(plain.generator, other.generator)


def test_a_finished_predictor_is_left_as_it_is():
    """The first stage is that of joint training, and the second does not move the predictor."""
    joint, _ = trained(CounterNetTraining(**FEW))
    after, history = trained(CFModel(**FEW))
    assert eqx.tree_equal(joint.predictor, after.predictor)
    assert history.loss.shape == (6,)


def test_robust_counternet_is_rocoursenet():
    one, _ = trained(RoCourseNet(**FEW, eps=0.2, norm="l2"))
    other, _ = trained(Robust(regime=CounterNetTraining(**FEW), eps=0.2, norm="l2"))
    assert eqx.tree_equal(one, other)


def test_updates_are_counted_and_not_epochs():
    """200 rows make two minibatches: fifty epochs would be a hundred updates."""
    regime = CounterNetTraining(n_epochs=50, batch_size=128, min_updates=2000)
    assert regime.epochs(200) == 1000
    assert regime.epochs(100_000) == 50
    assert regime.epochs(50) == 2000
    assert CFModel(n_epochs=50, min_updates=0).epochs(200) == 100
    _, history = trained(CounterNetTraining(**(FEW | {"min_updates": 40})), n=64)
    assert int(history.n_epochs) == 20


def test_a_rare_class_does_not_vanish_from_the_decisions():
    """One in twenty is refused. A short training without the guard refuses nobody, so that no recourse towards a no
    is valid; with it some are, and more than those would be too many."""
    shares = {}
    for guard in (0.0, 0.2):
        regime = CounterNetTraining(n_epochs=6, batch_size=128, min_updates=0, step_size=0.003, guard=guard)
        model, history = trained(regime, n=512, rare=0.05)
        data, _ = task(n=512, rare=0.05)
        shares[guard] = float((jax.vmap(model.logits)(data.x).argmax(axis=1) == 0).mean())
        assert history.notes["favourable"].shape == (6,)
    assert shares[0.0] == 0
    assert 0.01 < shares[0.2] < 0.3


def test_recourse_differs_between_people():
    """A head that sees codes alone, as printed, writes about one recourse per class; one that writes the change of a
    row knows the person."""
    many = {}
    for head in ("codes", "residual"):
        model = CounterNet(encoder=(16, 8), predictor=(8,), generator=(16,), dropout=0.0, head=head)
        regime = CounterNetTraining(n_epochs=30, batch_size=32, min_updates=0, step_size=0.01)
        fitted, history = trained(regime, model)
        many[head] = float(history.notes["patterns"][-1])
        assert float(history.notes["validity"][-1]) > 0.9
    assert many["residual"] > 2 * many["codes"]
    assert many["residual"] > 20


def test_three_classes():
    """Eq. 6: towards any other class than the decided one."""
    model, history = trained(
        RoCourseNet(n_epochs=40, batch_size=32, min_updates=0, step_size=0.01, steps=3), classes=3
    )
    assert float(history.notes["validity"][-1]) > 0.85
    data, setting = task(classes=3)
    for wanted in range(3):
        rows = jax.vmap(lambda x, t=wanted: setting.permits(x).hard(model.generate(x, setting.permits(x), jnp.asarray(t)))[0])(data.x)
        assert float((jax.vmap(model.logits)(rows).argmax(axis=1) == wanted).mean()) > 0.85


def test_many_at_once_are_each_alone():
    """One program for several tables, as on an accelerator."""
    regime = RoCourseNet(**(FEW | {"n_epochs": 2}), steps=2, attacker="guides", n_guides=2, n_held=1)
    tasks = [task(seed=s) for s in (0, 1)]
    step = regime.step(tasks[0][1])
    start = SMALL.build(tasks[0][0].x.shape[1], 2, jax.random.key(0))
    keys = [jax.random.key(s) for s in (5, 6)]
    options = {"n_epochs": 2, "batch_size": 32}
    together = fit_many([start, start], step, [t[0] for t in tasks], keys, strategy="vmap", **options)
    for (data, _), key, model in zip(tasks, keys, together, strict=True):
        alone, _ = fit(start, step, data, key, **options)
        for a, b in zip(jax.tree.leaves(alone), jax.tree.leaves(model), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


def test_the_goal_moves_the_cost():
    """With a goal that is easily met recourse becomes cheaper than without one."""
    costs = []
    for goal in (None, 0.5):
        regime = RoCourseNet(
            n_epochs=40, batch_size=32, min_updates=0, step_size=0.01, attacker="guides", n_guides=3, n_held=2,
            goal=goal, cost_weight=0.02, margin=3.0,
        )  # fmt: skip
        costs.append(float(trained(regime)[1].notes["cost"][-5:].mean()))
    assert costs[1] < 0.9 * costs[0]


def test_the_harshest_judges_count():
    losses = jnp.asarray([[1.0, 5.0], [2.0, 1.0], [3.0, 0.0], [6.0, 2.0]])
    np.testing.assert_allclose(harshest(losses, 1.0), [3.0, 2.0])
    np.testing.assert_allclose(harshest(losses, 0.5), [4.5, 3.5])
    np.testing.assert_allclose(harshest(losses, 0.01), [6.0, 5.0])


def test_a_classifier_takes_what_its_regime_is_for(tmp_path):
    columns, y = table()
    clf = hf.RecourseClassifier(schema=SCHEMA, regime=Robust(regime=hf.VAECF(**FEW), steps=2), random_state=0)
    clf.fit(columns, y)
    assert clf.architecture().head == "vae"  # type: ignore[attr-defined]
    assert type(clf.method_).__name__ == "Generated"
    clf.save(tmp_path / "m.holdfast")
    again = hf.RecourseClassifier.load(tmp_path / "m.holdfast")
    assert (again.predict_proba(columns) == clf.predict_proba(columns)).all()
    assert again.regime_.wrapped.n_epochs == 3  # type: ignore[attr-defined]
    with pytest.raises(CapabilityError, match="needs a model with a generator; got MLPModel. Use CounterNet"):
        hf.RecourseClassifier(schema=SCHEMA, model=hf.MLP(), regime=RoCourseNet(**FEW)).fit(columns, y)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"attacker": "worst"}, "`attacker` is not known"),
        ({"eps": -1.0}, "`eps` must be at least 0"),
        ({"steps": 0}, "`steps` must be a positive"),
        ({"bound": 0.0}, "`bound` must be positive"),
        ({"guard": 1.0}, "`guard` is a share"),
        ({"goal": 1.0}, "`goal` is a share"),
        ({"loss": "hinge"}, "`loss` is not known"),
        ({"min_updates": -1}, "`min_updates`"),
    ],
)
def test_what_makes_no_sense_is_refused(options, what):
    with pytest.raises(DataError, match=what):
        RoCourseNet(**options).step(task()[1])
    if "guard" not in options and "loss" not in options and "min_updates" not in options:
        with pytest.raises(DataError, match=what):
            Robust(**options).step(task()[1])


def test_robust_wraps_generators_only():
    with pytest.raises(DataError, match="must train a generator"):
        Robust(regime=hf.StandardTraining()).step(task()[1])
