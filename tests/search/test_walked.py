"""Sums over trees in compiled code: by hand, and to the bit what the compiled program of a model makes of them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

import holdtrue as ht
from holdtrue.batch import _promise
from holdtrue.models import BlackBoxModel, ComposedModel, Decision, TreesModel
from holdtrue.search.exact import Walks
from holdtrue.search.exact._walked import _laid_out
from holdtrue.testing._world import SCHEMA, people

CATEGORIES = ["sex", "insured", "education", "status", "housing", "job"]


def forest(seed: int = 0) -> Any:
    return RandomForestClassifier(12, random_state=seed)


def boosted(**options: Any) -> Any:
    return HistGradientBoostingClassifier(max_iter=12, random_state=0, **options)


def xgboost() -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=30, max_depth=5, n_jobs=1)


def logistic() -> Any:
    return make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())


MODELS: dict[str, Any] = {
    "votes": lambda: VotingClassifier([("f", forest()), ("x", xgboost()), ("h", boosted())], voting="soft"),
    "sets of levels": lambda: VotingClassifier(
        [("f", forest()), ("h", boosted(categorical_features=[0, 2]))], voting="soft"
    ),
    "isotonic": lambda: CalibratedClassifierCV(xgboost(), cv=3, method="isotonic"),
    "stack": lambda: StackingClassifier(
        [("f", forest()), ("l", logistic()), ("c", CalibratedClassifierCV(forest(1), cv=2))], cv=2
    ),
}  # fmt: skip


def read(model: Any, n_classes: int = 2) -> tuple[Decision, np.ndarray]:
    """The decision of a model of everybody, and encoded rows: people, and their columns mixed."""
    table, y = people()
    y = np.asarray(y) if n_classes == 2 else np.arange(len(table)) % n_classes
    front = make_column_transformer((OrdinalEncoder(), CATEGORIES), remainder="passthrough")
    whole = make_pipeline(front, model).fit(table, y)
    predictor = ht.wrap(whole, SCHEMA, table, favourable=1)
    assert not isinstance(predictor.decision.model, BlackBoxModel), predictor.foreign
    rng = np.random.default_rng(0)
    mixed = pd.DataFrame({name: rng.permutation(table[name]) for name in table})
    both = pd.concat([table, mixed], ignore_index=True).astype(table.dtypes)
    return predictor.decision, predictor.encoder.encode(both).astype(np.float32)


def walked(model: Any) -> Walks:
    walks = Walks.of(model)
    assert walks is not None
    return walks


@pytest.mark.parametrize("name", MODELS)
def test_sums_are_those_of_the_compiled_program_to_the_bit(name: str) -> None:
    decision, rows = read(MODELS[name]())
    model = decision.model
    assert isinstance(model, ComposedModel)
    every = walked(model).sums(rows)
    assert len(every) == len(model.trees()) > 0
    for trees, sums in zip(model.trees(), every, strict=True):
        assert sums.dtype == np.float32
        np.testing.assert_array_equal(sums, jax.jit(jax.vmap(trees.sums))(rows))


@pytest.mark.parametrize("name", MODELS)
def test_margins_are_those_of_the_compiled_program_to_the_bit(name: str) -> None:
    decision, rows = read(MODELS[name]())
    targets = jnp.arange(len(rows)) % 2
    walks = walked(decision.model)
    sums = [jnp.asarray(own) for own in walks.sums(rows)]
    with_walks = _promise._margins_given(decision.of(walks.rest), jnp.asarray(rows), targets, *sums)
    np.testing.assert_array_equal(with_walks, _promise._margins(decision, jnp.asarray(rows), targets))


def test_several_classes() -> None:
    decision, rows = read(VotingClassifier([("f", forest()), ("h", boosted())], voting="soft"), n_classes=3)
    model = decision.model
    assert isinstance(model, ComposedModel)
    for trees, sums in zip(model.trees(), walked(model).sums(rows), strict=True):
        assert sums.shape == (len(rows), 3)
        np.testing.assert_array_equal(sums, jax.jit(jax.vmap(trees.sums))(rows))


def test_a_missing_number_goes_where_its_node_says() -> None:
    """By hand: below .5 or missing is a no for one node, and a yes for the other."""
    x = np.array([0.0, 0.2, 0.8, 1.0, np.nan] * 20)
    for missing_is in (0, 1):
        y = np.where(np.isnan(x), missing_is, x > 0.5).astype(int)
        table = pd.DataFrame({"x": x, "u": np.tile([0.0, 1.0], 50)})
        schema = ht.Schema(
            [ht.Feature(name="x", kind="numeric", missing="median"), ht.Feature(name="u", kind="numeric")]
        )
        model = VotingClassifier([("a", boosted(min_samples_leaf=1)), ("b", forest())], voting="soft")
        predictor = ht.wrap(model.fit(table, y), schema, table, favourable=1)
        rows = predictor.encoder.encode(table.head(5)).astype(np.float32)
        composed = predictor.decision.model
        sums = walked(composed).sums(rows)[0][:, 0]
        assert ((sums > 0) == y[:5].astype(bool)).all()


def test_what_has_no_trees_inside_is_not_walked() -> None:
    decision, _ = read(CalibratedClassifierCV(logistic(), cv=2))
    assert Walks.of(decision.model) is None


def test_deep_and_shallow_trees_end_in_their_own_leaves() -> None:
    """Leaves that all add another power of two: the sum says which they were."""
    decision, rows = read(RandomForestClassifier(2, random_state=0))
    trees = decision.model
    assert isinstance(trees, TreesModel)
    laid = _laid_out(trees)
    assert laid is not None
    assert laid.wood.arrays.depth.max() > 7, "the trees are to be deeper than what all rows go down together"
    leaves = np.asarray(jax.vmap(trees.leaves)(jnp.asarray(rows)))
    added = (np.asarray(trees.leaf.high, np.int64) << trees.leaf.bits) + np.asarray(trees.leaf.low)  # type: ignore[union-attr]
    expected = added[leaves].sum(axis=1)
    unit = float(trees.leaf.unit)  # type: ignore[union-attr]
    np.testing.assert_array_equal(laid.sums(rows), (expected * unit).astype(np.float32))
