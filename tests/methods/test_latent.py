"""Methods that search among codes, on data whose manifold is known: a line in the plane."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError
from holdtrue.methods import CCHVAE, REVISE, LatentSearch
from holdtrue.models import Decision, LinearModel
from holdtrue.search import LatentSpace, Problem
from holdtrue.testing import _world as world

SMALL = {"widths": (), "n_latent": 1, "random_state": 0}


@pytest.fixture(scope="module")
def line():
    """Rows (t, 2t) with a little noise; accepted where the first number is at least 1."""
    rng = np.random.default_rng(0)
    t = rng.uniform(-2, 2, 200)
    table = pd.DataFrame({"a": t, "b": 2 * t + 0.01 * rng.normal(size=200)})
    encoder = Encoder.fit(ht.Schema([ht.Feature(name=c, kind="numeric", bounds=(-9, 9)) for c in "ab"]), table)
    encoder = Encoder(encoder.schema, "minmax", encoder.layout, np.ones(2), np.zeros(2), np.ones(2), {})
    model = LinearModel(np.array([[0, 0], [1, 0]], np.float32), np.array([0, -1], np.float32))
    predictor = Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1]))
    return predictor, table, table[table["a"] < 1].head(40)


METHODS = {
    "cchvae": CCHVAE(n_epochs=500, **SMALL),
    "latent_search": LatentSearch(n_epochs=500, radius=3.0, **SMALL),
    "revise": REVISE(n_epochs=500, cost_weight=0.1, step_size=0.01, n_steps=2000, **SMALL),
}


@pytest.mark.parametrize("name", list(METHODS))
def test_recourse_lies_on_the_line_and_just_across(line, name):
    """The nearest accepted row is (1, b); the nearest on the manifold is (1, 2)."""
    predictor, table, X = line
    plan = METHODS[name].fit(predictor, table).recourse(X)
    assert plan.found.all()
    a, b = (np.asarray(plan.recourse.columns[c], float) for c in "ab")
    assert (a >= 1).all()
    np.testing.assert_allclose(b, 2 * a, atol=0.15)
    assert np.median(a) < 1.1


def test_shells_of_codes_are_what_they_say(line):
    """Each direction has unit length by itself, and the radius is uniform within the shell."""
    predictor, table, X = line
    fitted = CCHVAE(n_epochs=2, widths=(), n_latent=3, random_state=0).fit(predictor, table)
    vae = fitted.generator()
    x = jnp.asarray(predictor.encoder.encode(X)[0], jnp.float32)
    codes = []

    class Seen(type(vae)):
        def decode(self, z, x):
            return z

    seen = Seen(vae.encoder, vae.decoder, vae.rows, vae.given)
    for ball, order in (("l1", 1), ("l2", 2)):
        problem = Problem(x, jnp.asarray(1), None, jax.random.key(0), x)
        space = LatentSpace(seen, ball=ball)
        centre = space.centre(problem)
        codes = space.draw(problem, centre, jax.random.key(1), jnp.asarray(0.4), jnp.asarray(0.6), 4000)
        length = np.linalg.norm(np.asarray(codes - centre), ord=order, axis=1)
        assert 0.4 - 1e-5 <= length.min() < 0.41
        assert 0.59 < length.max() <= 0.6 + 1e-5
        assert np.mean(length) == pytest.approx(0.5, abs=0.01)


def test_what_cannot_change_is_given_to_the_decoder():
    fitted = CCHVAE(n_epochs=1, random_state=0).fit(world.classifier(), *world.people())
    layout = fitted.predictor_.encoder.layout
    expected = [layout.slot(n).start for n in ("age", "sex")] + [s.start for s in layout.indicators]
    assert list(fitted.generator().given) == expected


def test_a_file_keeps_the_autoencoder(tmp_path):
    table, y = world.people()
    method = REVISE(n_epochs=5, random_state=0)
    clf = ht.RecourseClassifier(schema=world.PLAIN, model=ht.Linear(), method=method, random_state=0).fit(table, y)
    X = table[clf.predict(table) == 0].head(8)
    clf.save(tmp_path / "model.ht")
    again = ht.RecourseClassifier.load(tmp_path / "model.ht")
    np.testing.assert_allclose(again.recourse(X).cost, clf.recourse(X).cost, rtol=1e-4)


def test_training_rows_are_needed(line):
    predictor, _, _ = line
    for method in METHODS.values():
        with pytest.raises(DataError, match="needs training rows"):
            method.fit(predictor)


def test_raw_radius_is_the_papers(line):
    predictor, table, _ = line
    raw = LatentSearch(n_epochs=2, raw_radius=True, **SMALL).fit(predictor, table)
    scaled = LatentSearch(n_epochs=2, **SMALL).fit(predictor, table)
    assert float(raw.solver().radius) == 1.0
    x = jnp.asarray(predictor.encoder.encode(table), jnp.float32)
    codes = np.asarray(jax.vmap(scaled.generator().encode)(x))
    rms = np.sqrt(np.mean(np.sum((codes - codes.mean(axis=0)) ** 2, axis=1)))
    assert float(scaled.solver().radius) == pytest.approx(rms, rel=1e-4)
