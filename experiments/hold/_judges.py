"""Judges outside the recipe that guides were drawn by, and recourse that is followed closely but not exactly."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import resample

from holdtrue.methods import RecourseFrame
from holdtrue.schema import Table

OUTSIDE = 20  # judges of other hyper-parameters, and as many of other kinds
CLOSE, DRAWS = 0.05, 10
"""By how much of its length a change may be missed, and how often it is drawn."""


@dataclass(frozen=True)
class Judges:
    """Models that answer about tables with columns of these kinds, each by itself."""

    models: list[Any]
    kinds: dict[str, Any]

    def accepts(self, X: Table, target: np.ndarray) -> np.ndarray:
        """Whether each says what is wanted: (models, people)."""
        frame = pd.DataFrame({name: X.columns[name] for name in self.kinds}).astype(self.kinds)
        return np.stack([np.asarray(model.predict(frame)) == target for model in self.models])


def recipe(kind: str, X: Any, seed: int, **other: Any) -> Any:
    """A kind of model, not fitted, with some of its hyper-parameters set otherwise."""
    from lightgbm import LGBMClassifier
    from xgboost import XGBClassifier

    words = [name for name in X if X[name].dtype.kind not in "biuf"]
    scaled = kind in ("logistic", "mlp")
    rest: Any = make_pipeline(SimpleImputer(strategy="median"), StandardScaler()) if scaled else "passthrough"
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
        remainder=rest, verbose_feature_names_out=False,
    )  # fmt: skip
    boosted = {
        "n_estimators": 150, "learning_rate": 0.1, "subsample": 0.8, "colsample_bytree": 0.8, "random_state": seed,
        "n_jobs": 1,
    }  # fmt: skip
    made: dict[str, Callable[[], Any]] = {
        "logistic": lambda: LogisticRegression(max_iter=500),
        "mlp": lambda: MLPClassifier((32, 32), alpha=1e-3, early_stopping=True, random_state=seed),
        "forest": lambda: RandomForestClassifier(50, max_depth=8, random_state=seed, n_jobs=1),
        "xgboost": lambda: XGBClassifier(**boosted, max_depth=5),
        "lightgbm": lambda: LGBMClassifier(**boosted, num_leaves=31, subsample_freq=1, verbose=-1),
    }
    model = made[kind]().set_params(**other)
    return make_pipeline(columns, model) if words or scaled else model


OTHERWISE: dict[str, list[dict[str, Any]]] = {
    "logistic": [{"C": 0.01}, {"C": 0.1}, {"C": 10.0}, {"class_weight": "balanced", "C": 0.3}],
    "mlp": [
        {"hidden_layer_sizes": (100,)}, {"hidden_layer_sizes": (16,)}, {"hidden_layer_sizes": (64, 64, 32)},
        {"alpha": 0.1, "activation": "tanh"},
    ],
    "forest": [
        {"n_estimators": 100, "max_depth": None, "min_samples_leaf": 5}, {"max_depth": 5},
        {"max_depth": 12, "max_features": 0.5}, {"max_depth": 8, "criterion": "entropy", "min_samples_leaf": 3},
    ],
    "xgboost": [
        {"max_depth": 3, "n_estimators": 300, "learning_rate": 0.05}, {"max_depth": 7, "n_estimators": 100},
        {"reg_lambda": 10.0, "learning_rate": 0.05},
        {"max_depth": 4, "min_child_weight": 10, "learning_rate": 0.2},
    ],
    "lightgbm": [
        {"num_leaves": 8, "n_estimators": 300, "learning_rate": 0.05}, {"num_leaves": 63, "n_estimators": 100},
        {"reg_lambda": 10.0, "learning_rate": 0.05}, {"num_leaves": 15, "min_child_samples": 50},
    ],
}  # fmt: skip
"""What a bank may choose next: hyper-parameters that guides do not have."""


def judges_of(kind: str, X: Any, y: np.ndarray, seed: int) -> dict[str, Judges]:
    """Models of other hyper-parameters and of other kinds, each trained on a resample of the same rows."""
    rng = np.random.default_rng(seed)
    kinds = [other for other in OTHERWISE if other != kind]
    some = {
        "other hyper-parameters": [recipe(kind, X, seed, **other) for other in OTHERWISE[kind]],
        "other kinds": [recipe(other, X, seed) for other in kinds],
    }
    out = {}
    for name, recipes in some.items():
        models = []
        for i in range(OUTSIDE):
            rows = np.asarray(resample(np.arange(len(y)), stratify=y, random_state=int(rng.integers(2**31))))
            model: Any = clone(recipes[i % len(recipes)])
            models.append(model.fit(X.iloc[rows], y[rows]))
        out[name] = Judges(models, X.dtypes.to_dict())
    return out


def closely(plan: RecourseFrame) -> tuple[Table, np.ndarray]:
    """Recourse followed to within 5% of each change of a number, drawn several times, and what is wanted of it.

    Categories are followed, and whole numbers stay whole, so that a change by a few steps is followed exactly.
    """
    schema, n = plan.predictor.encoder.schema, len(plan)
    rng = np.random.default_rng(0)
    columns = {}
    for feature in schema:
        name = feature.name
        before, after = (np.tile(np.asarray(t.columns[name]), DRAWS) for t in (plan.factual, plan.recourse))
        if not feature.has_levels:
            low, high = feature.bounds or (-np.inf, np.inf)
            missed = rng.uniform(-CLOSE, CLOSE, n * DRAWS) * (after.astype(float) - before.astype(float))
            values = after.astype(float) + np.where(np.isfinite(missed), missed, 0.0)
            if feature.grid is not None:
                values = np.round(values / feature.grid) * feature.grid
            moved = after != before
            after = np.where(moved, np.clip(values, low, high), after.astype(float))
        columns[name] = after
    table = schema.check(pd.DataFrame(columns))
    return table, np.tile(np.asarray(plan.target), DRAWS)
