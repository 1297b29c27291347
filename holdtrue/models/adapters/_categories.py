"""Categories that a model itself keeps, for tables whose texts have no categorical dtype: those from CSV files."""

from typing import Any

import numpy as np
import pandas as pd

from holdtrue._types import Estimator, Label
from holdtrue.models.adapters._columns import is_missing

Known = dict[int, list[Label]]
"""Categories in the order of their codes, by the place of the column."""


def as_the_model_knows(estimator: Estimator, rows: Any, columns: list[str]) -> Any:
    """The same dataframe, its columns of the categorical dtype where the model learned from such.

    Libraries refuse texts where they were given categories, or read them with other codes.

    Parameters
    ----------
    estimator : object
    rows : dataframe
    columns : list of str
        What the estimator reads, in its order.
    """
    if not isinstance(rows, pd.DataFrame):
        return rows
    changed: dict[str, Any] = {}
    for place, known in known_categories(estimator).items():
        name = columns[place] if place < len(columns) else None
        if name is not None and name in rows and not isinstance(rows[name].dtype, pd.CategoricalDtype):
            changed[name] = pd.CategoricalDtype(known)
    return rows.astype(changed) if changed else rows


def known_categories(estimator: Estimator) -> Known:
    """What XGBoost (from 3.1 on), LightGBM and histogram boosting keep of the categories they learned from."""
    library, name = type(estimator).__module__.partition(".")[0], type(estimator).__name__
    if name == "HistGradientBoostingClassifier" and library == "sklearn":
        return _of_histograms(estimator)
    if library == "lightgbm" or name == "LightGBMBooster":
        return _of_lightgbm(estimator.booster_)
    if library == "xgboost" and name == "XGBClassifier":
        return _of_xgboost(estimator.get_booster())
    for inner in _members(estimator):
        known = known_categories(inner)
        if known:
            return known
    return {}


def _members(estimator: Estimator) -> list[Any]:
    """What is asked with the columns that the estimator itself is given."""
    if not type(estimator).__module__.startswith("sklearn."):
        return []
    name = type(estimator).__name__
    if name == "FrozenEstimator":
        return [estimator.estimator]
    if name == "Pipeline":
        steps = [step for _, step in estimator.steps if not (step is None or isinstance(step, str))]
        return steps if len(steps) == 1 else []
    if name == "CalibratedClassifierCV":
        return [part.estimator for part in estimator.calibrated_classifiers_]
    if name in ("VotingClassifier", "StackingClassifier"):
        return list(estimator.estimators_)
    inner = getattr(estimator, "best_estimator_", getattr(estimator, "estimator_", None))
    return [] if inner is None else [inner]


def _of_histograms(model: Estimator) -> Known:
    if model.is_categorical_ is None or not isinstance(model.categorical_features, str):
        return {}  # by name or place they are told to it, whatever their dtype
    encoder = model._preprocessor.named_transformers_["encoder"]
    return {
        int(place): [one for one in np.asarray(known, object).tolist() if not is_missing(one)]
        for place, known in zip(np.flatnonzero(model.is_categorical_), encoder.categories_, strict=True)
    }


def _of_lightgbm(booster: Estimator) -> Known:
    known = getattr(booster, "pandas_categorical", None)
    if not known:
        return {}
    said = booster.dump_model(num_iteration=1)
    # What never split may be left out there, and then nothing says which are meant.
    places = [
        i for i, name in enumerate(said["feature_names"]) if said["feature_infos"].get(name, {}).get("values")
    ]
    return dict(zip(places, map(list, known), strict=True)) if len(places) == len(known) else {}


def _of_xgboost(booster: Estimator) -> Known:
    if "c" not in (booster.feature_types or ()) or not hasattr(booster, "get_categories"):
        return {}
    try:
        kept = booster.get_categories(export_to_arrow=True).to_arrow()
    except (ImportError, ValueError):  # without pyarrow; or a file of a version that kept none
        return {}
    return {i: known.to_pylist() for i, (_, known) in enumerate(kept) if known is not None}
