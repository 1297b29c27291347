"""How a raw booster was trained, read back from it."""

from typing import Any

import numpy as np
import pytest

from holdtrue.errors import DataError
from holdtrue.models.adapters import (
    as_classifier,
    can_train_again,
    check_recipe,
    has_words,
    recipe_of,
    words_of_codes,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1500, 6))
Y = (X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=1500) > 0.8).astype(int)


def boosted(rounds: int = 30, labels: np.ndarray = Y, **params: Any) -> Any:
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.train(
        {"objective": "binary:logistic", "nthread": 1} | params, xgboost.DMatrix(X, labels), rounds
    )
    again = xgboost.Booster()
    again.load_model(bytearray(booster.save_raw("ubj")))  # what was told to the first is not in the file
    return as_classifier(again)


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"learning_rate": 0.17, "max_depth": 4, "reg_lambda": 2.5},
        {"learning_rate": 0.05, "max_depth": 1, "reg_lambda": 0.0},
        {"learning_rate": 0.1, "max_depth": 3, "gamma": 2.0, "min_child_weight": 7.0},
        {"learning_rate": 0.1, "max_depth": 0, "max_leaves": 9, "grow_policy": "lossguide"},
        {"learning_rate": 0.1, "scale_pos_weight": 3.0},
        {"objective": "multi:softprob", "num_class": 2, "learning_rate": 0.2},
    ],
)
def test_xgboost_is_worked_out_from_its_trees(told: dict[str, Any]) -> None:
    model = boosted(**told)
    recipe = recipe_of(model, len(X))
    assert recipe is not None
    found = recipe.estimator.get_params()
    expected = {"learning_rate": 0.3, "reg_lambda": 1.0, "max_depth": 6, "n_estimators": 30} | told
    assert {name: found[name] for name in expected} == expected
    again = recipe.estimator.fit(X, Y)
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-5)


def test_shares_of_rows_and_columns_are_worked_out() -> None:
    model = boosted(60, eta=0.05, subsample=0.5, colsample_bytree=0.5)
    recipe = recipe_of(model, len(X))
    assert recipe is not None
    assert recipe.estimator.subsample == pytest.approx(0.5, abs=0.05)
    assert recipe.estimator.colsample_bytree == 0.5
    assert "apart on average" in check_recipe(recipe, model, X, Y)
    unknown = recipe_of(model)
    assert unknown is not None
    assert unknown.estimator.subsample is None


@pytest.mark.parametrize("told", [{"alpha": 3.0}, {"max_delta_step": 0.1}, {"booster": "dart"}])
def test_what_the_trees_do_not_tell_is_not_guessed(told: dict[str, Any]) -> None:
    model = boosted(**told)
    assert recipe_of(model, len(X)) is None
    assert not can_train_again(model)


def test_lightgbm_is_read_from_its_text() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    told = {"learning_rate": 0.07, "num_leaves": 11, "lambda_l2": 2.0, "min_data_in_leaf": 9, "max_bin": 63}
    fixed = {"objective": "binary", "verbose": -1, "num_threads": 1, "seed": 0}
    booster = lightgbm.train(told | fixed, lightgbm.Dataset(X, Y), 25)
    model = as_classifier(lightgbm.Booster(model_str=booster.model_to_string()))
    recipe = recipe_of(model)
    assert recipe is not None
    found = recipe.estimator.get_params()
    expected = {
        "learning_rate": 0.07, "num_leaves": 11, "reg_lambda": 2.0, "min_child_samples": 9, "max_bin": 63,
        "n_estimators": 25,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    np.testing.assert_allclose(recipe.estimator.fit(X, Y).predict_proba(X), model.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("ending", ["cbm", "json"])
def test_catboost_is_read_from_its_file(ending: str, tmp_path: Any) -> None:
    catboost = pytest.importorskip("catboost", reason="needs pip install 'holdtrue[catboost]'")
    from holdtrue.models.adapters import from_path

    first = catboost.CatBoostClassifier(
        iterations=20, depth=4, l2_leaf_reg=5, verbose=0, allow_writing_files=False, thread_count=1, random_seed=0
    )
    first.fit(X, Y).save_model(str(tmp_path / f"m.{ending}"), format=ending)
    model = from_path(tmp_path / f"m.{ending}")
    recipe = recipe_of(model)
    assert recipe is not None
    found = recipe.estimator.get_params()
    assert {name: found[name] for name in ("iterations", "depth", "l2_leaf_reg")} == {
        "iterations": 20, "depth": 4, "l2_leaf_reg": 5,
    }  # fmt: skip
    assert found["learning_rate"] == pytest.approx(first.get_all_params()["learning_rate"], rel=1e-6)
    again = recipe.estimator.set_params(random_state=0).fit(X, Y)
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-6)


def test_labels_that_the_model_was_not_trained_on_are_refused() -> None:
    model = boosted()
    recipe = recipe_of(model, len(X))
    assert recipe is not None
    with pytest.raises(DataError, match="gives another model on these rows"):
        check_recipe(recipe, model, X, 1 - Y)


def test_words_are_told_from_labels_that_the_model_knows() -> None:
    classes = np.arange(2)
    assert has_words(np.array(["no", "yes", "no"]), classes)
    assert not has_words(np.array([0, 1, 0]), classes)
    assert not has_words(np.array(["no", "yes"]), np.array(["no", "yes"]))
    assert not has_words(np.array(["no", "yes", "later"]), classes)  # more words than classes


def test_which_word_is_1_is_told_by_the_model_and_of_several_by_their_order() -> None:
    labels, ones = np.array(["yes", "no", "yes", "no"]), np.array([0.9, 0.2, 0.4, 0.3])
    assert words_of_codes(labels, np.stack([1 - ones, ones], axis=1)) == ["no", "yes"]
    assert words_of_codes(labels, np.stack([ones, 1 - ones], axis=1)) == ["yes", "no"]
    with pytest.raises(DataError, match=r"mean chances of 0\.500 and 0\.500 for 'no' and 'yes'"):
        words_of_codes(labels, np.full((4, 2), 0.5))
    assert words_of_codes(np.array(["c", "a", "b"]), np.eye(3)) == ["a", "b", "c"]
