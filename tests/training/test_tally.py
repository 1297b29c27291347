"""What rows were like so far: levels that are rare, and numbers that hardly anybody has."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import mahalanobis

from holdtrue.encoding import Encoder, Permits
from holdtrue.models import MLP, CounterNet, Data, fit_many
from holdtrue.retraining import start_keys
from holdtrue.schema import Feature, Schema
from holdtrue.training import CounterNetTraining, Guides, HeadSettings, RoCourseNet, TrainingContext
from holdtrue.training.heads._tally import USUAL, Tally

SCHEMA = Schema([
    Feature(name="u", kind="numeric", bounds=(-5.0, 5.0)),
    Feature(name="v", kind="numeric", bounds=(-5.0, 5.0)),
    Feature(name="c", kind="categorical", levels=("a", "b", "z")),
])  # fmt: skip


def world(n: int = 400, scaling: str = "minmax") -> tuple[Permits, np.ndarray]:
    """Two numbers that go together, and a category of which 3 people in 100 have the last level."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=n).clip(-4, 4)
    level = np.where(np.arange(n) % 100 < 3, "z", np.where(np.arange(n) % 2 == 0, "a", "b"))
    table = pd.DataFrame({"u": u, "v": (u + 0.1 * rng.normal(size=n)).clip(-5, 5), "c": level})
    encoder = Encoder.fit(SCHEMA, table, scaling=scaling)  # type: ignore[arg-type]
    return Permits.of(encoder), np.asarray(encoder.encode(table), np.float32)


def tally_of(permits: Permits, x: np.ndarray, size: int = 100) -> Tally:
    tally = Tally.begin(permits)
    for part in np.split(x, range(size, len(x), size)):
        tally = tally.after(Data(jnp.asarray(part), jnp.zeros(len(part), int), jnp.ones(len(part))))
    return tally


@pytest.mark.parametrize("scaling", ["minmax", "standard-all"])
def test_a_rare_level_is_unknown_to_the_more_models_the_rarer_it_is(scaling):
    permits, x = world(scaling=scaling)
    tally, n = tally_of(permits, x), 200
    ranks = jnp.asarray(np.tile((np.arange(n)[:, None] + 0.5) / n, x.shape[1]), jnp.float32)
    known = np.asarray(tally.known(permits, jnp.asarray(0.03), ranks)).mean(axis=0)
    raw = np.asarray(x * permits.scale + permits.offset).mean(axis=0)
    np.testing.assert_allclose(known[:2], 1.0)  # numbers always are
    np.testing.assert_allclose(known[2:], raw[2:] / (raw[2:] + 0.03), atol=1.0 / n)
    half = jnp.full(x.shape[1], 0.5)
    for rare, seen in ((0.0, 1.0), (0.029, 1.0), (0.031, 0.0)):
        assert np.asarray(tally.known(permits, jnp.asarray(rare), half))[4] == seen


def test_weights_count_and_nobody_is_nobody():
    permits, x = world()
    nobody = Data(jnp.asarray(x), jnp.zeros(len(x), int), jnp.zeros(len(x)))
    some = tally_of(permits, x)
    for before, after in zip(some, some.after(nobody), strict=True):
        np.testing.assert_array_equal(before, after)
    assert float(some.weight) == len(x)


def test_strangeness_is_the_mahalanobis_distance_beyond_what_is_usual():
    permits, x = world()
    tally = tally_of(permits, x)
    numbers = x[:, :2].astype(np.float64)
    inverse = np.linalg.inv(np.cov(numbers.T, bias=True))
    rows = x[:5].copy()
    rows[:, 0] = [0.0, 0.2, 0.5, 0.8, 1.0]  # without the other number, that is where nobody is
    got = np.asarray(tally.strangeness(jnp.asarray(rows), jnp.asarray(x[:5])))

    def squared(row: np.ndarray) -> float:
        return mahalanobis(row[:2], numbers.mean(axis=0), inverse) ** 2

    free = [max(squared(own), 2 + USUAL * 2.0) for own in x[:5]]
    want = [np.log1p(max(squared(row) - limit, 0.0) / 2.0) for row, limit in zip(rows, free, strict=True)]
    np.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-4)
    assert max(want) > 3.0
    assert not np.asarray(tally.strangeness(jnp.asarray(x[:5]), jnp.asarray(x[:5]))).any()  # people as they are
    together = x[:5].copy()
    together[:, :2] = numbers.mean(axis=0) + 0.2  # both at once is nothing strange
    assert not np.asarray(tally.strangeness(jnp.asarray(together), jnp.asarray(x[:5]))).any()


def test_guides_differ_in_the_rare_levels_that_they_know():
    permits, x = world()
    guides = Guides(n_guides=8, n_held=0, rare=0.03).panel(TrainingContext(permits, 1), RoCourseNet())
    predictor = MLP(widths=(8,)).build(x.shape[1], 2, jax.random.key(0))
    scene: Any = SimpleNamespace(predictor=predictor, tally=tally_of(permits, x))
    judges = jax.jit(guides.judges(guides.init(predictor), scene, jax.random.key(1)))
    person, other, rare = (jnp.asarray([0.5, 0.5, *levels]) for levels in ((1, 0, 0), (0, 1, 0), (0, 0, 1.0)))
    nothing = jnp.asarray([0.5, 0.5, 0, 0, 0.0])
    apart = np.abs(np.asarray(judges(rare) - judges(nothing))).max(axis=1) > 1e-6
    assert apart.sum() == 4  # half of them, as the level is as rare as `rare` says
    assert (np.abs(np.asarray(judges(other) - judges(person))).max(axis=1) > 1e-6).all()


def test_rare_levels_are_one_to_the_predictor():
    """Two rare levels, one always refused and one never: a predictor that does not know them cannot say which."""
    schema = Schema([SCHEMA["u"], Feature(name="c", kind="categorical", levels=("a", "b", "y", "z"))])
    rng = np.random.default_rng(0)
    level = np.resize(["a", "b"] * 23 + ["y", "y", "z", "z"], 400)
    table = pd.DataFrame({"u": rng.uniform(-5, 5, 400), "c": level})
    encoder = Encoder.fit(schema, table)
    permits, x = Permits.of(encoder), np.asarray(encoder.encode(table), np.float32)
    y = np.where(level == "y", 0, np.where(level == "z", 1, table["u"] > 0)).astype(int)
    rows = Data(jnp.asarray(x), jnp.asarray(y), jnp.ones(len(x)))
    network = CounterNet(encoder=(8,), predictor=(), generator=(8,), dropout=0.0)
    build_key, fit_key = start_keys(0)
    context, right = TrainingContext(permits, 1, n_rows=len(y)), {}
    people = x[np.isin(level, ["y", "z"])]
    exchanged = people[:, [0, 1, 2, 4, 3]]
    for rare in (0.0, 0.1):
        regime = CounterNetTraining(
            min_updates=300,
            n_epochs=1,
            batch_size=64,
            step_size=0.02,
            head=HeadSettings(rare=rare, average=0.2),
        )
        start = network.build(x.shape[1], 2, build_key)
        (model,) = fit_many(
            [start], [regime.step(context)], [rows], [fit_key], n_epochs=regime.epochs(len(y)), batch_size=64
        )
        own, other = (np.asarray(jax.vmap(model.logits)(jnp.asarray(a))) for a in (people, exchanged))
        assert np.array_equal(own, other) == (rare > 0)
        right[rare] = np.mean(own.argmax(axis=1) == y[np.isin(level, ["y", "z"])])
    assert right[0.0] == 1.0
    assert right[0.1] < 0.8
