"""Retraining: what each kind varies, and that the ensemble answers as its members do."""

import jax
import numpy as np
import pytest

import holdtrue as ht
from holdtrue.errors import DataError
from holdtrue.models import MLP, model_digest
from holdtrue.retraining._retrain import trainings
from holdtrue.schema import as_table
from holdtrue.testing import _world as world
from holdtrue.training import StandardTraining


@pytest.fixture(scope="module")
def clf():
    table, y = world.people()
    regime = StandardTraining(n_epochs=5, step_size=0.01)
    return ht.RecourseClassifier(schema=world.SCHEMA, model=MLP(widths=(8,)), regime=regime, random_state=0).fit(
        table, y
    )


def test_same_seed_again_gives_the_same_model(clf):
    """A shift to the very table it learned from is no shift: the canonical order makes it so."""
    training = clf.training_
    again = ht.retrain(clf, n=1, vary="leave_one_out")
    assert len(again) == 1
    x = np.asarray(training.data.x)
    same, _ = clf.regime_.train(
        clf.architecture().build(x.shape[1], 2, ht.retraining.start_keys(training.seed)[0]),
        training.data,
        ht.retraining.start_keys(training.seed)[1],
        context=clf.context_,
    )
    assert all(
        (a == b).all()
        for a, b in zip(jax.tree.leaves(same), jax.tree.leaves(clf.predictor_.decision.model), strict=True)
    )


def test_leaving_a_row_out_by_weight_equals_a_spoiled_row_left_out(clf):
    """A zero weight hides the row completely: whatever stands there, the model is the same."""
    data = clf.training_.data
    rows = np.array(data.x)
    weight = np.array(data.weight)
    weight[7] = 0
    models = []
    for value in (0.0, 99.0):
        rows[7] = value
        spoiled = data._replace(x=jax.numpy.asarray(rows), weight=jax.numpy.asarray(weight))
        keys = ht.retraining.start_keys(3)
        model = clf.architecture().build(rows.shape[1], 2, keys[0])
        models.append(jax.tree.leaves(clf.regime_.train(model, spoiled, keys[1], context=clf.context_)[0])[0])
    np.testing.assert_array_equal(*models)


@pytest.mark.parametrize("vary", ["seed", "leave_one_out", "bootstrap"])
def test_members_differ_and_answer_together(clf, vary):
    table, _ = world.people()
    again = ht.retrain(clf, n=3, vary=vary)
    together = again.decide(table)
    assert together.shape == (3, len(table))
    for i in range(3):
        assert (together[i] == again.member(i).decide(as_table(table))).all()
    weights = np.asarray(jax.tree.leaves(again.ensemble.members)[0])
    assert (weights[0] != weights[1]).any()


def test_shift_trains_one_model_per_table(clf):
    table, y = world.people()
    later = [world.people(120, seed=5), world.people(80, seed=6)]
    again = ht.retrain(clf, vary="shift", tables=later)
    assert len(again) == 2
    # The table filled up to 120 rows gives what it gives alone.
    alone = ht.retrain(clf, vary="shift", tables=later[:1])
    assert (alone.decide(table)[0] == again.decide(table)[0]).all()
    assert y.shape == (len(table),)


@pytest.mark.parametrize("vary", ["shift", "finetune"])
def test_several_models_of_each_table_are_resamples_of_it(clf, vary):
    tables = [world.people(90, seed=3), world.people(60, seed=4)]
    kept = []
    models = ht.retrain(clf, n=3, vary=vary, tables=tables, on_model=kept.append)
    assert len(models) == len(kept) == len(set(models.digests())) == 6
    assert models.vary.endswith("bootstrap")
    drawn = trainings(
        clf, n=3, each=3, vary="shift", tables=tables, new_order=False, layers=None, n_epochs=None, random_state=0,
        strategy="auto",
    ).sets  # fmt: skip
    for places, n in ((slice(0, 3), 90), (slice(3, 6), 60)):
        times = [np.asarray(rows.weight) for rows in drawn[places]]
        assert [float(w.sum()) for w in times] == [n] * 3
        assert [int((w[n:] > 0).sum()) for w in times] == [0] * 3
        assert all((w == np.round(w)).all() for w in times)
    assert len(ht.retrain(clf, vary=vary, tables=tables)) == 2


def test_bootstrap_draws_as_many_rows_as_there_were(clf):
    from sklearn.utils import check_random_state

    from holdtrue.retraining._retrain import _varied

    sets, _ = _varied(clf.training_, 5, "bootstrap", check_random_state(0))
    for data in sets:
        np.testing.assert_allclose(np.sum(data.weight), np.sum(clf.training_.data.weight), rtol=1e-5)


def test_leave_one_out_leaves_out_distinct_rows(clf):
    from sklearn.utils import check_random_state

    from holdtrue.retraining._retrain import _varied

    sets, seeds = _varied(clf.training_, 20, "leave_one_out", check_random_state(0))
    out = [int(np.flatnonzero(np.asarray(d.weight) < np.asarray(clf.training_.data.weight))[0]) for d in sets]
    assert len(set(out)) == 20
    assert set(seeds) == {clf.training_.seed}


def test_early_stopping_is_part_of_what_is_repeated():
    """With the same seed and data, a retraining gives the very same early-stopped model."""
    table, y = world.people()
    regime = StandardTraining(n_epochs=60, step_size=0.02, patience=3, validation_fraction=0.3)
    clf = ht.RecourseClassifier(schema=world.SCHEMA, model=MLP(widths=(8,)), regime=regime, random_state=0).fit(
        table, y
    )
    assert int(clf.history_.n_epochs) < 60
    training = clf.training_
    train, held = regime.split(training.data, training.seed)
    keys = ht.retraining.start_keys(training.seed)
    model = clf.architecture().build(train.x.shape[1], 2, keys[0])
    from holdtrue.models import fit_many

    for strategy in ("sequential", "vmap"):
        options = {"n_epochs": 60, "batch_size": regime.batch_size, "patience": 3, "strategy": strategy}
        again = fit_many([model], regime.step(clf.context_), [train], [keys[1]], validation=[held], **options)[0]
        np.testing.assert_allclose(
            again.weights[0], clf.predictor_.decision.model.weights[0], rtol=1e-3, atol=1e-4
        )
    assert len(ht.retrain(clf, n=2, vary="leave_one_out")) == 2


def test_bad_requests(clf, tmp_path):
    with pytest.raises(DataError, match="`vary` is not known"):
        ht.retrain(clf, vary="sed")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="positive whole number"):
        ht.retrain(clf, n=0)
    with pytest.raises(DataError, match="needs `tables`"):
        ht.retrain(clf, vary="shift")
    clf.save(tmp_path / "m.holdtrue")
    loaded = ht.RecourseClassifier.load(tmp_path / "m.holdtrue")
    with pytest.raises(DataError, match="holds no training rows"):
        ht.retrain(loaded, n=2)
    assert len(ht.retrain(loaded, vary="shift", tables=[world.people(60, seed=2)])) == 1


def test_some_of_the_models_are_those_models(clf):
    many = ht.retrain(clf, n=4, random_state=3)
    some = many.take([2, 0])
    X = world.people()[0]
    np.testing.assert_array_equal(some.decide(X), many.decide(X)[[2, 0]])
    assert (len(some), some.vary, len(many.take(np.array([True, False, True, True])))) == (2, "seed", 3)


def test_models_trained_alike_have_one_digest(clf):
    """The seeds of a smaller draw begin a larger one, so the models do too: this is what digests are to find."""
    few, many, other = (
        ht.retrain(clf, n=n, random_state=s).ensemble.digests() for n, s in ((2, 3), (4, 3), (4, 4))
    )
    assert many[:2] == few
    assert len(set(many)) == 4
    assert not set(many) & set(other)
    member = ht.retrain(clf, n=2, random_state=3).member(1)
    assert model_digest(member.decision.model) == few[1]


def test_few_answers_are_kept_and_without_a_seed_none(clf):
    first = clf.retrain(1, random_state=1)
    assert clf.retrain(1, random_state=1) is first
    for seed in range(2, 7):
        clf.retrain(1, random_state=seed)
    assert len(clf._retrained) <= 4
    assert clf.retrain(1, random_state=1) is not first
    assert clf.retrain(1, random_state=None) is not clf.retrain(1, random_state=None)
