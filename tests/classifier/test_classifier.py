"""The one estimator."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError, SchemaError
from holdtrue.testing import _world as world


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([ht.RecourseClassifier(favourable="(last)")])  # of "one", "two", "three" none is wanted
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def quick():
    return {"model": ht.Linear(), "regime": ht.StandardTraining(n_epochs=3)}


def test_row_order_and_repeats_do_not_matter(quick):
    table, y = world.people()
    clf = ht.RecourseClassifier(schema=world.SCHEMA, random_state=0, **quick)
    order = np.random.default_rng(0).permutation(len(table))
    a = clf.fit(table, y).predict_proba(table)
    b = clf.fit(table.iloc[order], y[order]).predict_proba(table)
    c = clf.fit(pd.concat([table, table]), np.concatenate([y, y])).predict_proba(table)
    assert (a == b).all()
    np.testing.assert_allclose(a, c, atol=1e-6)


def test_threshold_and_favourable_class_decide(quick):
    table, y = world.people()
    words = np.where(y == 1, "no default", "default")
    clf = ht.RecourseClassifier(schema=world.SCHEMA, favourable="default", threshold=0.7, random_state=0, **quick)
    clf.fit(table, words)
    p = clf.predict_proba(table)[:, list(clf.classes_).index("default")]
    assert (clf.predict(table) == np.where(p >= 0.7, "default", "no default")).all()
    assert clf.predictor_.favourable == "default"


def test_schema_is_guessed_when_omitted(quick):
    table, y = world.people()
    clf = ht.RecourseClassifier(random_state=0, **quick).fit(table, y)
    assert clf.schema_["age"].direction == "fixed"
    assert clf.schema_["job"].kind == "categorical"


def test_polars_in_polars_out(quick):
    table, y = world.people()
    clf = ht.RecourseClassifier(schema=world.PLAIN, random_state=0, **quick).fit(pl.from_pandas(table), y)
    plan = clf.recourse(pl.from_pandas(table).head(5))
    assert isinstance(plan.to_frame(), pl.DataFrame)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"threshold": 1.5}, "`threshold` must be a number above 0 and below 1"),
        ({"favourable": "maybe"}, "`favourable` is not a class"),
        ({"scaling": "log"}, "`scaling` must be"),
        ({"regime": ht.StandardTraining(n_epochs=0)}, "`n_epochs` must be a whole number of at least 1"),
        ({"regime": ht.StandardTraining(class_weight="even")}, "`class_weight` must be"),
        ({"model": ht.MLP(activation="sin")}, "`activation` must be"),  # type: ignore[arg-type]
        ({"model": ht.MLP(widths=(0,))}, "`widths` must be a list, each a whole number of at least 1"),
        ({"method": ht.Wachter(norm="l3")}, "`norm` must be"),  # type: ignore[arg-type]
    ],
)
def test_bad_settings_are_explained(change, text):
    table, y = world.people()
    settings = {"schema": world.SCHEMA, "model": ht.Linear(), "regime": ht.StandardTraining(n_epochs=1)} | change
    with pytest.raises((DataError, SchemaError), match=text):
        ht.RecourseClassifier(**settings).fit(table, y)


def test_bad_tables_are_explained(quick):
    table, y = world.people()
    clf = ht.RecourseClassifier(schema=world.SCHEMA, random_state=0, **quick)
    with pytest.raises(DataError, match="the target has one class"):
        clf.fit(table, np.ones(len(table)))
    with pytest.raises(DataError, match="inconsistent numbers of samples"):
        clf.fit(table, y[:-1])
    with pytest.raises(DataError, match="columns of the schema are absent"):
        clf.fit(table.drop(columns="debt"), y)
    clf.fit(table, y)
    with pytest.raises(DataError, match="levels unseen at fit"):
        clf.predict(table.assign(housing="castle"))
    with pytest.raises(DataError, match="`target` is not a class"):
        clf.recourse(table.head(3), target="yes")
    with pytest.raises(DataError, match="the table is empty"):
        clf.recourse(table.head(0))
    with pytest.raises(DataError, match="`deadline` must be a positive"):
        clf.recourse(table.head(3), deadline=-1)


def test_other_models_need_predict_proba():
    table, y = world.people()
    with pytest.raises(CapabilityError, match="needs `predict_proba`"):
        ht.recourse(object(), table, world.SCHEMA)
    numbers = table[["income", "debt", "accounts"]]
    model = GaussianNB().fit(numbers, y)
    with pytest.raises(
        CapabilityError, match=r"needs a differentiable model; got GaussianNB. Use NearestNeighbour"
    ):
        ht.recourse(model, numbers, method="wachter")


def test_a_foreign_pipeline_is_asked_in_its_own_columns():
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    table, y = world.people()
    columns = ["income", "debt", "housing", "education"]
    encode = make_column_transformer((OneHotEncoder(), ["housing", "education"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(max_iter=2000)).fit(table[columns], y)
    schema = ht.Schema([f for f in world.SCHEMA if f.name in columns])
    refused = table[columns][model.predict(table[columns]) == 0]
    plan = ht.recourse(model, refused, schema, reference=table[columns])
    assert plan.found.all()
    assert (model.predict(plan.to_frame()[columns]) == 1).all()


def test_deadline_holds_even_while_compiling(quick):
    """A shape never seen before must be compiled, which takes longer than this deadline."""
    import time

    table, y = world.people()
    clf = ht.RecourseClassifier(
        schema=world.SCHEMA, model=ht.MLP(widths=(7, 5, 3)), regime=quick["regime"], random_state=0
    )
    clf.fit(table, y)
    clf.predict(table)
    began = time.monotonic()
    plan = clf.recourse(table, deadline=0.2)
    assert time.monotonic() - began < 1.5
    assert len(plan) == len(table)
