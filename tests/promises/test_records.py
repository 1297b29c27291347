"""Records of a plan say what the plan says, and come out the same when they are computed again."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError
from holdtrue.methods import METHODS
from holdtrue.testing import _world as world

ISSUED = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def clf():
    table, y = world.people()
    regime = ht.StandardTraining(n_epochs=60, step_size=0.02)
    method = ht.Wachter(n_steps=100, random_state=0)
    return ht.RecourseClassifier(
        schema=world.SCHEMA, model=ht.Linear(), regime=regime, method=method, threshold=0.6, random_state=0
    ).fit(table, y)


@pytest.fixture(scope="module")
def refused(clf):
    table, _ = world.people()
    return table[clf.predict(table) == 0].head(12)


@pytest.fixture(scope="module")
def plan(clf, refused):
    return clf.recourse(refused)


@pytest.fixture(scope="module")
def promised(plan):
    return ht.records(
        plan, [f"no. {i}" for i in range(len(plan))], valid_for=30, model_version="v1", issued=ISSUED
    )


def test_say_what_the_plan_says(clf, plan, promised):
    found = np.flatnonzero(plan.found)
    assert len(found) == len(promised) > 6
    for i, record in zip(found, promised, strict=True):
        assert record.subject == f"no. {i}"
        assert record.changes == plan.changes()[i]
        assert (record.decision_before, record.decision_after, record.target) == (0, 1, 1)
        assert record.probability_after == plan.after[i] >= record.threshold == 0.6
        assert record.model == {"hash": clf.predictor_.digest(), "version": "v1"}
        assert record.schema == clf.schema_.digest()
        assert record.method["name"] == "wachter"
        assert record.method["params"]["n_steps"] == 100
        assert record.method["seed"] == 0
        assert record.valid_until - record.issued == timedelta(days=30)
        for name in clf.schema_.names:
            value = plan.recourse.columns[name][i]
            assert record.recourse[name] == value or (record.recourse[name] is None and value != value)
        assert ht.Record.from_json(record.to_json()) == record
    assert len({record.id for record in promised}) == len(promised)


def test_come_out_the_same(clf, promised, tmp_path):
    clf.save(tmp_path / "m")
    loaded = ht.RecourseClassifier.load(tmp_path / "m")
    for record in promised[::3]:
        again = ht.replay(ht.Record.from_json(record.to_json()), loaded)
        assert again.same, str(again)
        assert again.notes == []
        assert "the same" in str(again)


def test_what_was_changed_is_named(clf, promised):
    record = promised[0]
    name = next(n for n in record.factual if record.factual[n] != record.recourse[n])
    forged = replace(record, recourse=record.recourse | {name: record.factual[name]}, cost=record.cost + 1)
    assert set(ht.replay(forged, clf).differences) == {"recourse", "cost"}


def test_another_model_is_named(promised, clf):
    table, y = world.people()
    other = (
        ht.RecourseClassifier(**clf.get_params(deep=False)).set_params(random_state=1, threshold=0.7).fit(table, y)
    )
    found = ht.replay(promised[0], other)
    assert {"model hash", "threshold"} <= set(found.differences)
    assert "model hash: recorded" in str(found)


def test_restrictions_options_and_other_methods(clf, refused, plan):
    moved = plan.schema.names[int(np.argmax(plan.changed().sum(axis=0)))]
    limited = clf.recourse(refused, restrictions={i: {moved: "fixed"} for i in range(len(refused))})
    for record in ht.records(limited, ["x"] * len(limited))[:2]:
        assert record.restrictions[moved]["direction"] == "fixed"
        assert ht.replay(record, clf).same
    several = clf.recourse(refused, n_recourses=2)
    second = [r for r in ht.records(several, several.person.astype(str)) if r.method["option"] == 1]
    assert second
    assert ht.replay(second[0], clf).same
    table, _ = world.people()
    near = ht.NearestNeighbour(n_rows=50, random_state=0).fit(clf, table)
    record = ht.records(clf.recourse(refused, method=near), ["x"] * len(refused))[0]
    with pytest.raises(DataError, match="learns from training rows"):
        ht.replay(record, clf)
    assert ht.replay(record, clf, reference=table).same


def test_a_model_made_elsewhere_has_no_hash():
    table, y = world.people()
    columns = [f.name for f in world.SCHEMA if f.kind == "numeric" and not table[f.name].isna().any()][:2]
    schema = ht.Schema([world.SCHEMA[name] for name in columns])
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(table[columns].to_numpy(), y)
    refused = table[columns][tree.predict(table[columns].to_numpy()) == 0][:20]
    plan = ht.recourse(tree, refused, schema, reference=table[columns])
    made = ht.records(plan, ["x"] * len(plan))
    assert made
    assert made[0].model == {"hash": None, "version": None}


def test_survival_and_certificates(clf, plan):
    life = ht.shelf_life(plan, clf, n=3)
    proofs = [{"radius": 0.1}] * len(plan)
    record = ht.records(plan, ["x"] * len(plan), life=life, certificates=proofs)[0]
    i = int(np.flatnonzero(plan.found)[0])
    assert record.survival == {
        "estimate": life.survival[i], "lower": life.lower[i], "upper": life.upper[i], "confidence": 0.95,
        "n_models": 3, "vary": "seed",
    }  # fmt: skip
    assert record.certificate == {"radius": 0.1}
    with pytest.raises(DataError, match="another plan"):
        ht.records(plan.take([0]), ["x"], life=life)
    with pytest.raises(DataError, match="certificates"):
        ht.records(plan, ["x"] * len(plan), certificates=[])


def test_subjects_are_one_per_row(plan):
    with pytest.raises(DataError, match="one key per row"):
        ht.records(plan, ["x"])


def test_a_record_of_another_schema_or_method_is_refused(clf, promised):
    record = promised[0]
    with pytest.raises(DataError, match="columns are not the model's"):
        ht.replay(replace(record, factual={"a": 1}, recourse={"a": 1}), clf)
    with pytest.raises(DataError, match="not a class"):
        ht.replay(replace(record, target="maybe"), clf)
    with pytest.raises(DataError, match="unknown method"):
        ht.replay(replace(record, method=record.method | {"name": "os.system"}), clf)
    with pytest.raises(DataError, match="does not take"):
        ht.replay(replace(record, method=record.method | {"params": {"command": "rm"}}), clf)
    unwritten = record.method | {"params": {"guides": {"$text": "<Retrained>"}}}
    with pytest.raises(DataError, match="could not be recorded"):
        ht.replay(replace(record, method=unwritten), clf)
    assert "os.system" not in METHODS


def test_a_search_without_a_seed_says_so(clf, refused):
    plan = clf.recourse(refused, method=ht.Wachter(n_steps=100))
    record = ht.records(plan, ["x"] * len(plan))[0]
    older = replace(record, software={"jax": "0.0.1"})
    notes = ht.replay(older, clf).notes
    assert any("0.0.1" in note for note in notes)
    assert any("without a seed" in note for note in notes) == (record.method["seed"] is None)


SMALL: dict[str, dict[str, object]] = {
    "beta_rce": {"n_guides": 4, "aim": 0.5}, "stable_search": {"n_guides": 3}, "eccco": {"n_steps": 60},
    "vanilla_random": {}, "wachter": {"n_steps": 60}, "growing_spheres": {"n_candidates": 100},
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("holding", "model", "guided")])
def test_every_method_comes_out_the_same_without_a_seed(name):
    """The seed that was drawn stands in the record; an infinite radius is no null."""
    clf = world.classifier("linear", limits=False)  # which are most of what a search compiles, and no part of this
    (table, y), refused = world.people(), world.refused(clf.predictor_, 3)
    method = METHODS[name](**SMALL.get(name, {}))
    try:
        method.fit(clf, table, y)
    except (CapabilityError, DataError) as error:
        pytest.skip(str(error))
    plan = method.recourse(refused)
    if not plan.found.any():
        pytest.skip("nobody has a recourse by it")
    record = ht.records(plan, ["x"] * len(plan))[0]
    assert isinstance(record.method["seed"], int)
    read = ht.Record.from_json(record.to_json())
    again = ht.replay(read, clf, reference=table)
    assert again.same, str(again)


@pytest.fixture(scope="module")
def adopted(tmp_path_factory):
    """Boosted trees from a file, with guides."""
    from xgboost import XGBClassifier

    bank = ht.datasets.load("loanapp").subset(range(500))
    X = bank.X[["loanprc", "hrat", "obrat", "cons", "pubrec"]]
    schema = ht.Schema([bank.schema[name] for name in X.columns])
    made = XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1, random_state=0).fit(X, bank.y)
    model = ht.adopt(made, schema, reference=X, labels=bank.y, hold=0.8, n_guides=10)
    place = tmp_path_factory.mktemp("adopted") / "m"
    model.save(place)
    return ht.load(place), X, X[model.predict(X) == 0].head(6)


def test_a_promise_at_another_level_is_searched_for_as_it_was(adopted):
    """Of guides that may refuse, as many as then; a record that does not say how many asks the model file."""
    model, X, refused = adopted
    sparing = replace(model.method_.level_, hold=0.6, slack=0.125, spared=4)
    strict = replace(sparing, spared=0)
    plans = [model.recourse(refused, hold=level) for level in (sparing, strict)]
    assert (plans[0].cost < plans[1].cost).any()
    for plan in plans:
        for record in ht.records(plan, ["x"] * len(plan), reason="they asked for it"):
            assert ht.replay(record, model).same
            assert ht.replay(record, model, reference=X).same


def test_a_record_without_the_number_spared_is_replayed(adopted):
    model, _, refused = adopted
    plan = model.recourse(refused)
    for record in ht.records(plan, ["x"] * len(plan), reason="they asked for it"):
        level = {key: value for key, value in record.survival["level"].items() if key != "spared"}
        assert ht.replay(replace(record, survival=record.survival | {"level": level}), model).same


def test_an_older_record_with_an_infinite_radius_is_replayed(clf, refused):
    """It was written as null."""
    plan = clf.recourse(refused, method=ht.HighestScore())
    record = ht.records(plan, ["x"] * len(plan))[0]
    assert record.method["params"]["radius"] == {"$float": "inf"}
    older = record.method | {"params": record.method["params"] | {"radius": None}}
    assert ht.replay(replace(record, method=older), clf).same
