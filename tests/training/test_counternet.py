"""Training a recourse head: what each part of the step may touch, and what keeps training from collapsing."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import holdtrue as ht
from holdtrue.encoding import Encoder, Permits
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import CounterNet, Data, fit, fit_many
from holdtrue.schema import Feature, Schema
from holdtrue.training import (
    CFModel,
    CounterNetTraining,
    Guides,
    HeadSettings,
    Robust,
    RoCourseNet,
    TrainingContext,
    VirtualShift,
    harshest,
)
from holdtrue.training.heads._generator import Watch

SMALL = CounterNet(encoder=(16, 8), predictor=(8,), generator=(16,), dropout=0.1)
FEW = {"n_epochs": 3, "batch_size": 64, "min_updates": 0, "step_size": 0.01}
WATCHED = jax.jit(Watch.after)
SCHEMA = Schema(
    [
        Feature(name="a", kind="numeric", bounds=(0, 1)),
        Feature(name="b", kind="numeric", bounds=(0, 1), direction="fixed"),
        Feature(name="c", kind="categorical", levels=("x", "y", "z")),
    ]
)


def table(n=256, seed=0, classes=2, rare=None):
    """Two numbers and a category; the label follows the first number and the category."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 3, n)
    numbers = rng.uniform(size=(n, 2))
    score = 3 * numbers[:, 0] + 0.8 * (level == 2) + 0.3 * rng.normal(size=n)
    cuts = np.quantile(score, [rare] if rare else np.arange(1, classes) / classes)
    return (
        {"a": numbers[:, 0], "b": numbers[:, 1], "c": np.array(["x", "y", "z"])[level]},
        np.searchsorted(cuts, score).astype(np.int32),
    )


def task(**options):
    columns, y = table(**options)
    encoder = Encoder.fit(SCHEMA, columns)
    x = jnp.asarray(encoder.encode(columns), jnp.float32)
    return Data(x, jnp.asarray(y), jnp.ones(len(y))), TrainingContext(Permits.of(encoder), 1, 0.5, len(y))


def trained(regime, model=SMALL, **options):
    data, context = task(**options)
    start = model.build(data.x.shape[1], int(data.y.max()) + 1, jax.random.key(0))
    return regime.train(start, data, jax.random.key(1), context=context)


@pytest.fixture(scope="module")
def joint():
    return trained(CounterNetTraining(**FEW))[0]


@pytest.mark.parametrize(
    "attacker",
    [
        VirtualShift(steps=2, inner_steps=1, norm="l2"),
        VirtualShift(steps=2, inner_steps=1, inner="adam", recompute=True),
        Guides(n_guides=2, n_held=1),
    ],
)
def test_the_predictor_is_the_same_whatever_judges_the_recourse(joint, attacker):
    """The generator's steps never reach it. With the first attacker, `Robust` must give the very same model."""
    other, _ = trained(RoCourseNet(**FEW, attacker=attacker))
    assert eqx.tree_equal(joint.predictor, other.predictor)
    assert not eqx.tree_equal(joint.generator, other.generator)
    if getattr(attacker, "norm", None) == "l2":
        wrapped, _ = trained(Robust(regime=CounterNetTraining(**FEW), attacker=attacker))
        assert eqx.tree_equal(other, wrapped)


def test_a_finished_predictor_is_left_as_it_is(joint):
    """The first stage is that of joint training, and the second does not move the predictor."""
    after, history = trained(CFModel(**FEW))
    assert eqx.tree_equal(joint.predictor, after.predictor)
    assert history.loss.shape == (6,)
    assert history.notes["patterns"].shape == (6,)
    assert (np.asarray(history.notes["prediction_loss"]) > 0).all()


def test_updates_are_counted_and_not_epochs():
    """200 rows make two minibatches: fifty epochs would be a hundred updates."""
    regime = CounterNetTraining(n_epochs=50, batch_size=128, min_updates=2000)
    assert [regime.epochs(n) for n in (50, 200, 100_000, None)] == [2000, 1000, 50, 50]
    assert CFModel(n_epochs=50, min_updates=0).epochs(200) == 100
    data, context = task(n=64)
    start = SMALL.build(data.x.shape[1], 2, jax.random.key(0))
    few = CounterNetTraining(**(FEW | {"min_updates": 7}))
    _, history = few.train(start, data, jax.random.key(1), context=context)
    assert int(history.n_epochs) == 7


def test_a_rare_class_does_not_vanish_from_the_decisions():
    """One in twenty is refused. A strongly regularised predictor refuses nobody, so that no recourse towards a no
    is valid; with the guard it goes on to refuse some, in all of the last epochs not many more than there are."""
    refused = {}
    for guard in (0.0, 0.5):
        options = {"n_epochs": 60, "batch_size": 64, "min_updates": 0, "step_size": 0.003, "weight_decay": 2.0}
        _, history = trained(CounterNetTraining(head=HeadSettings(guard=guard), **options), n=1024, rare=0.05)
        refused[guard] = 1 - np.asarray(history.notes["favourable"])[-20:]
    assert (refused[0.0] < 1e-6).all()
    assert 0.01 < refused[0.5].mean() < 0.1
    assert refused[0.5].max() < 0.15


def test_a_guard_of_one_lets_a_class_be_as_rare_as_it_is():
    """Decisions that follow how rows are weighted, as a predictor's do: the watch settles where the rare class is
    decided as often as it is true, and not at equal weights."""
    y = jnp.asarray(np.repeat([0, 1], [20, 180]))
    batch = Data(jnp.zeros((200, 1)), y, jnp.ones(200))
    watch, shares = Watch.begin(2), []
    for _ in range(6000):
        refused = 10 + 40 * watch.evened  # of 200: half as many as there are, up to two and a half times as many
        watch = WATCHED(watch, (jnp.arange(200) >= refused).astype(int), batch, 1.0)
        shares.append(float(watch.given[0]))
    assert np.mean(shares[-1000:]) == pytest.approx(0.1, abs=0.005)
    # A frequent class that is decided too seldom is no reason to weigh the rare one more.
    assert float(WATCHED(watch, jnp.zeros(200, int), batch, 1.0).evened) <= float(watch.evened)


def test_the_predictor_is_the_running_mean_of_its_weights():
    """Its own steps are those of training without averaging; after n updates of which a tenth counts, the last has
    the share 1 / (1 + n / 10)."""
    data, context = task()
    start = SMALL.build(data.x.shape[1], 2, jax.random.key(0))
    found = {}
    for average in (0.0, 0.1):
        step = CounterNetTraining(**FEW, head=HeadSettings(guard=0.0, average=average)).step(context)
        model, state, latest = start, step.init(start), []
        update = eqx.filter_jit(step.update)
        for i in range(6):
            model, state, _ = update(model, state, data, jax.random.key(i), jnp.asarray(0))
            latest.append(state.latest)
        found[average] = model, latest
    plain, mean = found[0.0], found[0.1]
    assert eqx.tree_equal(plain[1], mean[1])
    assert eqx.tree_equal(eqx.filter(plain[0].predictor, eqx.is_inexact_array), plain[1][-1])
    expected = eqx.filter(start.predictor, eqx.is_inexact_array)
    for n, own in enumerate(plain[1], 1):
        expected = jax.tree.map(lambda m, w, n=n: m + (w - m) / (1 + 0.1 * n), expected, own)
    assert eqx.tree_equal(eqx.filter(mean[0].predictor, eqx.is_inexact_array), expected, rtol=1e-5, atol=1e-6)


def test_recourse_knows_the_person():
    """Valid for nearly everybody, different between people, and the same people are named as decided."""
    regime = CounterNetTraining(n_epochs=40, batch_size=64, min_updates=0, step_size=0.01)
    _, history = trained(regime, CounterNet(encoder=(16, 8), predictor=(8,), generator=(16,), dropout=0.0))
    assert float(history.notes["validity"][-1]) > 0.9
    assert float(history.notes["patterns"][-1]) > 20
    assert 0.4 < float(history.notes["favourable"][-1]) < 0.6


def test_three_classes():
    """Eq. 6: towards any class that is not the decided one."""
    attacker = VirtualShift(steps=2, inner_steps=1)
    model, _ = trained(RoCourseNet(**(FEW | {"n_epochs": 40}), attacker=attacker), classes=3)
    data, context = task(classes=3)

    @jax.jit
    def decided(wanted):
        def one(x):
            feasible = context.permits(x)
            return model.logits(feasible.hard(model.generate(x, feasible, wanted))[0]).argmax()

        return jax.vmap(one)(data.x)

    for wanted in range(3):
        assert float((decided(jnp.asarray(wanted)) == wanted).mean()) > 0.85


def test_many_at_once_are_each_alone_and_a_goal_moves_the_cost():
    """One program for several tables and settings, as on an accelerator; with a goal that is easily met recourse
    becomes cheaper."""
    options = {"n_epochs": 60, "batch_size": 64, "min_updates": 0, "step_size": 0.01,
               "attacker": Guides(n_guides=2, n_held=1)}  # fmt: skip
    data, context = task()
    steps = [RoCourseNet(**options, goal=goal).step(context) for goal in (0.2, 0.999)]
    start = CounterNet(encoder=(16, 8), predictor=(8,), generator=(16,), dropout=0.0).build(
        5, 2, jax.random.key(0)
    )
    key, how = jax.random.key(5), {"n_epochs": 60, "batch_size": 64}
    together = fit_many([start] * 2, steps, [data] * 2, [key] * 2, strategy="vmap", **how)

    @eqx.filter_jit
    def cost(model):
        return jnp.abs(steps[0].recourse(model, data.x, 1 - data.y, None)[0] - data.x).sum(axis=1).mean()

    costs = [float(cost(model)) for model in together]
    assert costs[0] < 0.9 * costs[1]
    alone, _ = fit(start, steps[0], data, key, **how)
    for a, b in zip(jax.tree.leaves(alone.predictor), jax.tree.leaves(together[0].predictor), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-2)


def test_the_harshest_judges_count():
    losses = jnp.asarray([[1.0, 5.0], [2.0, 1.0], [3.0, 0.0], [6.0, 2.0]])
    np.testing.assert_allclose(harshest(losses, 1.0), [3.0, 2.0])
    np.testing.assert_allclose(harshest(losses, 0.5), [4.5, 3.5])
    np.testing.assert_allclose(harshest(losses, 0.01), [6.0, 5.0])


def test_a_classifier_takes_what_its_regime_is_for(tmp_path):
    columns, y = table()
    regime = Robust(regime=ht.VAECF(**FEW), attacker=VirtualShift(steps=2, bound=None))
    clf = ht.RecourseClassifier(schema=SCHEMA, regime=regime, random_state=0).fit(columns, y)
    assert clf.architecture().head == "vae"  # type: ignore[attr-defined]
    assert type(clf.method_).__name__ == "Generated"
    clf.save(tmp_path / "m.holdtrue")
    again = ht.RecourseClassifier.load(tmp_path / "m.holdtrue")
    assert (again.predict_proba(columns) == clf.predict_proba(columns)).all()
    assert again.regime_.wrapped.n_epochs == 3  # type: ignore[attr-defined]
    assert repr(again.regime_) == repr(regime)
    with pytest.raises(CapabilityError, match="needs a model with a generator; got MLPModel"):
        ht.RecourseClassifier(schema=SCHEMA, model=ht.MLP(), regime=RoCourseNet(**FEW)).fit(columns, y)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"own_weight": -1.0}, "`own_weight` must be a number of at least 0"),
        ({"goal": 1.0}, "`goal` must be a number above 0 and below 1 or None"),
        ({"head__guard": 1.5}, "HeadSettings: `guard` must be a number from 0 to 1"),
        ({"head__hide": 1.0}, "`hide` must be a number of at least 0 and below 1"),
        ({"head__rare": -0.1}, "`rare` must be a number of at least 0 and below 1"),
        ({"head__proposals": 1.5}, "`proposals` must be a whole number"),
        ({"head__strange_weight": -1.0}, "`strange_weight` must be a number of at least 0"),
        ({"head__loss": "hinge"}, "HeadSettings: `loss` must be"),
        ({"min_updates": -1}, "`min_updates`"),
        ({"weight_decay": -1.0}, "RoCourseNet: `weight_decay` must be a number of at least 0"),
        ({"head": "row"}, "RoCourseNet: `head` must be"),
    ],
)
def test_what_makes_no_sense_is_refused(options, what):
    with pytest.raises(DataError, match=what):
        RoCourseNet().set_params(**options).step(task()[1])
    with pytest.raises(DataError, match="must train a generator"):
        Robust(regime=ht.StandardTraining()).step(task()[1])


def test_defaults_work_on_a_table():
    """Nothing tuned: recourse for nearly every refused person who was not seen, and no worse a classifier."""
    data = ht.datasets.load("breast_cancer")
    X, y = data.X, np.asarray(data.y)
    held = np.arange(len(y)) % 3 == 0
    scores = {}
    for regime in (CounterNetTraining(), ht.StandardTraining(n_epochs=100, batch_size=128, step_size=0.003)):
        clf = ht.RecourseClassifier(schema=data.schema, model=CounterNet(), regime=regime, random_state=0)
        scores[type(regime).__name__] = clf.fit(X[~held], y[~held]).score(X[held], y[held])
        if "generator" in regime.needs:
            plan = clf.recourse(X[held & (clf.predict(X) == 0)], method="generated")
            assert plan.found.mean() > 0.95
            assert int(clf.history_.n_epochs) == 667
    assert scores["CounterNetTraining"] > scores["StandardTraining"] - 0.02
