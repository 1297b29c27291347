"""Trees: every row ends in the library's own leaf, so decisions are the library's to the last row."""

import itertools
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import holdtrue as ht
from holdtrue.errors import CapabilityError
from holdtrue.methods import METHODS
from holdtrue.models.adapters import TreesModel
from holdtrue.schema import as_table
from holdtrue.testing._world import SCHEMA, people

from .conftest import CATEGORIES, decisions, encode_all, labels, mixed, ordinal, ours

DATA = Path(__file__).parents[4] / "shared" / "data"
NEEDS = "pip install 'holdtrue[xgboost,lightgbm]' to run it"

SKLEARN = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(20, random_state=0),
    "extra": ExtraTreesClassifier(10, max_depth=8, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
    "exponential": GradientBoostingClassifier(n_estimators=15, loss="exponential", random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=15, random_state=0),
}


def xgboost(**options: Any) -> Any:
    options = {"n_estimators": 25, "max_depth": 4, "n_jobs": 1} | options
    return pytest.importorskip("xgboost", reason=f"xgboost is not installed; {NEEDS}").XGBClassifier(**options)


def lightgbm(**options: Any) -> Any:
    options = {"n_estimators": 25, "verbose": -1, "n_jobs": 1} | options
    return pytest.importorskip("lightgbm", reason=f"lightgbm is not installed; {NEEDS}").LGBMClassifier(**options)


def check(model: Any, schema: ht.Schema, table: pd.DataFrame, tol: float = 1e-6) -> TreesModel:
    """Same decisions and probabilities on the table and on people mixed from it."""
    predictor = ht.wrap(model, schema, table, favourable="(last)")
    assert predictor.foreign is not None
    assert isinstance(predictor.decision.model, TreesModel), predictor.foreign.note
    for rows in (table, mixed(table, 700, seed=3)):
        expected = model.predict_proba(rows)
        np.testing.assert_allclose(ours(predictor, rows), expected, atol=tol)
        decided, own = decisions(predictor, rows), predictor.classes[predictor.decide(as_table(rows))]
        assert (own == model.predict(rows)).all()
        # Between equal votes the library goes by the last bit of a float64, which a search does not see.
        clear = np.diff(np.sort(expected, axis=1)[:, -2:], axis=1)[:, 0] > 1e-14
        assert (decided == own)[clear].all()
        assert (decided == predictor.classes[np.argmax(expected, axis=1)])[clear].all()
    return predictor.decision.model


# ---- every library, on every kind of column ----------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", SKLEARN)
def test_scikit_learn(name: str, k: int) -> None:
    if name == "exponential" and k == 3:
        pytest.skip("exponential loss knows two classes")
    table, _ = people()
    front = encode_all() if name in ("forest", "boosting", "exponential") else ordinal()
    check(make_pipeline(front, SKLEARN[name]).fit(table, labels(k)), SCHEMA, table)


@pytest.mark.parametrize("k", [2, 3])
def test_xgboost(k: int) -> None:
    table, _ = people()
    check(make_pipeline(ordinal(), xgboost()).fit(table, labels(k)), SCHEMA, table)


@pytest.mark.parametrize("k", [2, 3])
def test_lightgbm(k: int) -> None:
    table, _ = people()
    front = ordinal().set_output(transform="pandas")
    check(make_pipeline(front, lightgbm()).fit(table, labels(k)), SCHEMA, table)


@pytest.mark.parametrize("make", [xgboost, lightgbm])
def test_categories_of_their_own(make: Any) -> None:
    """Columns of pandas' categorical dtype, split by sets of categories, missing ones among them."""
    table, _ = people()
    table = table.astype(dict.fromkeys(CATEGORIES, "category"))
    options = {"enable_categorical": True, "max_cat_to_onehot": 1} if make is xgboost else {"cat_smooth": 1.0}
    model = make(**options).fit(table, labels(2))
    check(model, SCHEMA, table)


def test_none_in_an_object_column() -> None:
    """As pandas before 3 has missing texts: a category like others, where NaN has a code of its own."""
    table, _ = people()
    jobs = [None if v != v else v for v in table["job"].astype(object)]
    table = table.assign(job=pd.Series(jobs, index=table.index, dtype=object))
    assert table["job"].isna().any()
    model = make_pipeline(ordinal(), SKLEARN["tree"]).fit(table, labels(2))
    predictor = ht.wrap(model, SCHEMA, table, favourable="(last)")
    assert isinstance(predictor.decision.model, TreesModel), predictor.foreign
    np.testing.assert_allclose(ours(predictor, table), model.predict_proba(table), atol=1e-6)


def test_xgboost_behind_a_sparse_matrix_takes_zeros_for_missing() -> None:
    table, _ = people()
    table = table.drop(columns=["age", "accounts"])
    schema = ht.Schema([f for f in SCHEMA if f.name in table.columns])
    front = make_column_transformer(
        (OneHotEncoder(), CATEGORIES), (StandardScaler(), ["income", "debt", "tenure"]), sparse_threshold=1.0
    )
    model = make_pipeline(front, xgboost()).fit(table, labels(2))
    assert hasattr(model[:-1].transform(table.head(2)), "tocsr")
    check(model, schema, table)


def test_early_stopping_leaves_later_trees_out() -> None:
    bank = ht.datasets.load("loanapp")
    X = bank.X[bank.schema.names]
    model = xgboost(n_estimators=60, early_stopping_rounds=3, learning_rate=0.9)
    model.fit(X[:1000], bank.y[:1000], eval_set=[(X[1000:], bank.y[1000:])], verbose=False)
    assert model.best_iteration < 55
    found = check(model, bank.schema, X)
    assert found.roots.shape == (model.best_iteration + 1,)


# ---- real data ---------------------------------------------------------------------------------------


REAL = {
    "forest": lambda: RandomForestClassifier(30, random_state=0),
    "leaves of three": lambda: RandomForestClassifier(20, min_samples_leaf=3, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=40, random_state=0),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=40, random_state=0),
    "xgboost": lambda: xgboost(n_estimators=60),
    "lightgbm": lambda: lightgbm(n_estimators=60),
}


def raw(model: Any, X: pd.DataFrame) -> np.ndarray:
    """What the library has before its last function, in its own precision: log-odds, or shares of votes."""
    last, rows = (model[-1], model[:-1].transform(X)) if hasattr(model, "steps") else (model, X)
    kind = type(last).__name__
    if kind == "XGBClassifier":
        return last.predict(rows, output_margin=True)
    if kind == "LGBMClassifier":
        return last.predict(rows, raw_score=True)
    return last.decision_function(rows) if "Boosting" in kind else last.predict_proba(rows)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("loanapp", "forest"),
        ("loanapp", "boosting"),
        ("loanapp", "histogram"),
        *itertools.product(["german_credit", "adult", "heloc"], ["leaves of three", "xgboost", "lightgbm"]),
    ],
)
def test_real_data(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's own scores, to the last bit of float32, and its own leaves."""
    if name != "loanapp":
        if not DATA.is_dir():
            pytest.skip("needs the data files in ../shared/data beside the repository")
        monkeypatch.setenv("HOLDTRUE_DATA", str(DATA))
    bank = ht.datasets.load(name)
    X, y = bank.X[bank.schema.names].head(4000), np.asarray(bank.y)[:4000]
    texts = [c for c in X if X[c].dtype.kind not in "iufb"]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    front = make_column_transformer((codes, texts), remainder="passthrough")
    model = REAL[kind]() if not texts else make_pipeline(front.set_output(transform="pandas"), REAL[kind]())
    model.fit(X[::2], y[::2])
    found = check(model, bank.schema, X, tol=2e-6)
    encoded = ht.wrap(model, bank.schema, X).encoder.encode(X).astype(np.float32)
    sums = np.asarray(jax.jit(jax.vmap(found.sums))(encoded))
    np.testing.assert_array_equal(sums, raw(model, X).astype(np.float32).reshape(sums.shape))
    if isinstance(model, RandomForestClassifier):
        leaves = np.asarray(jax.jit(jax.vmap(found.leaves))(encoded)) - np.asarray(found.roots)
        assert (leaves == model.apply(X)).all()


def test_votes_that_equal_the_threshold() -> None:
    """18 of 30 trees are 0.6, for the forest, for the adapter, and for whoever asks `p >= 0.6`."""
    bank = ht.datasets.load("loanapp")
    X = bank.X[bank.schema.names]
    forest = RandomForestClassifier(30, random_state=0).fit(X[::2], bank.y[::2])
    p = forest.predict_proba(X)[:, 1]
    equal = 0
    for level in (0.3, 0.6, 0.7, 0.8, 0.9):
        predictor = ht.wrap(forest, bank.schema, X, threshold=level)
        assert isinstance(predictor.decision.model, TreesModel), predictor.foreign
        reached = p >= level - 1e-12
        equal += int((reached & (p < level + 1e-12)).sum())
        assert (decisions(predictor, X) == reached).all()
        assert (predictor.decide(as_table(X)) == reached).all()
    assert equal > 20


# ---- where it splits ---------------------------------------------------------------------------------


def test_splits_are_where_the_library_changes_its_mind() -> None:
    # Numbers on no grid, so that any raw value may be asked.
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300) * 1e4 + 5e4, "b": rng.random(300).round(2)})
    y = ((X["a"] > 5e4) ^ (X["b"] > 0.5)).astype(int)
    schema = ht.Schema([ht.Feature(name="a", kind="numeric"), ht.Feature(name="b", kind="numeric", step=0.01)])
    for model in (DecisionTreeClassifier(max_depth=4, random_state=0), xgboost(n_estimators=3), lightgbm()):
        model.fit(X, y)
        splits = ht.wrap(model, schema, X).foreign.splits  # type: ignore[union-attr]
        changes = []
        for at in splits["a"]:
            row = X.head(20).assign(a=at)
            beyond = row.assign(a=np.nextafter(at, np.inf))
            changes.append((model.predict_proba(row) != model.predict_proba(beyond)).any())
        assert np.mean(changes) > 0.8  # the rest are splits that those twenty people do not reach


def test_values_beside_a_threshold() -> None:
    """XGBoost splits at values of the data; a tie must go the library's way, and so must its neighbours."""
    rng = np.random.default_rng(1)
    values = np.round(rng.random(400), 3)
    X = pd.DataFrame({"a": values, "b": rng.random(400)})
    schema = ht.Schema([ht.Feature(name="a", kind="numeric"), ht.Feature(name="b", kind="numeric")])
    y = (np.sin(20 * values) + X["b"] > 0.7).astype(int)
    model = xgboost(max_depth=6).fit(X, y)
    found = check(model, schema, X)
    assert len(np.unique(np.asarray(found.nodes)[:, 1])) > 20


def test_people_a_hair_off_the_grid() -> None:
    """A split between them and the grid's point, nearer than a search can tell, is theirs all the same."""
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 100, 400).astype(float)
    X = pd.DataFrame({"a": np.where(rng.random(400) < 0.5, whole, whole - 2e-5), "b": rng.random(400)})
    schema = ht.Schema([ht.Feature(name="a", kind="numeric", step=1), ht.Feature(name="b", kind="numeric")])
    y = ((X["a"] == whole) ^ (X["b"] > 0.6)).astype(int)
    check(RandomForestClassifier(20, random_state=0).fit(X, y), schema, X, tol=1e-6)


def test_people_between_the_points_of_a_fine_grid() -> None:
    """A debt ratio: bounds so wide, for a few, that a step is hardly more than what float32 may miss it by."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.append(rng.uniform(0, 2, 2000), [0.0, 5000.0]), "b": rng.random(2002)})
    schema = ht.Schema(
        [
            ht.Feature(name="a", kind="numeric", bounds=(0, 5115), step=0.01),
            ht.Feature(name="b", kind="numeric", bounds=(0, 1)),
        ]
    )
    y = (np.sin(40 * X["a"]) + X["b"] > 0.5).astype(int)
    check(xgboost(n_estimators=60, max_depth=6).fit(X, y), schema, X)


def test_sums_do_not_round() -> None:
    # Fifty pure trees for and fifty against is a tie, which goes to the first class, however it is added up.
    X = pd.DataFrame({"a": np.arange(40.0)})
    schema = ht.Schema([ht.Feature(name="a", kind="numeric")])
    model = RandomForestClassifier(100, max_depth=1, random_state=0).fit(X, np.arange(40) % 2)
    check(model, schema, X, tol=1e-7)


# ---- methods -----------------------------------------------------------------------------------------


def test_a_method_that_needs_a_gradient_names_two_that_do_not() -> None:
    table, _ = people()
    model = make_pipeline(ordinal(), RandomForestClassifier(5, random_state=0)).fit(table, labels(2))
    with pytest.raises(
        CapabilityError, match=r"Wachter: needs a differentiable model; got Pipeline\. Use"
    ) as error:
        ht.recourse(model, table.head(3), SCHEMA, "wachter", reference=table)
    named = [cls for cls in METHODS.values() if cls.__name__ in str(error.value).partition("Use")[2]]
    assert len(named) == 2
    assert all(cls.needs <= {"trees"} for cls in named)


def test_recourse_on_a_forest_is_accepted_by_the_forest() -> None:
    table, _ = people()
    model = make_pipeline(encode_all(), RandomForestClassifier(20, random_state=0)).fit(table, labels(2))
    refused = table[model.predict(table) == 0].head(12)
    plan = ht.recourse(model, refused, ht.Schema(list(SCHEMA)), "nearest_neighbour", reference=table)
    assert plan.found.mean() > 0.8
    advised = pd.DataFrame({name: plan.recourse.columns[name] for name in table.columns}).astype(table.dtypes)
    assert (model.predict(advised[plan.found]) == 1).all()
