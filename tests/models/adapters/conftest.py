"""Tables with every kind of column, and what a foreign library says about encoded rows."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler

from holdtrue.batch import Predictor, proba_of
from holdtrue.testing._world import people

CATEGORIES = ["sex", "insured", "education", "status", "housing", "job"]


def encode_all(*, sparse: bool = False) -> Any:
    """Every kind of step on `people`: scaled, imputed, one-hot with a dropped level, ordinal, left alone."""
    return make_column_transformer(
        (StandardScaler(), ["income", "debt"]),
        (make_pipeline(SimpleImputer(strategy="mean"), RobustScaler()), ["tenure"]),
        (OneHotEncoder(drop="first", sparse_output=sparse), ["status", "housing"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=sparse), ["job", "education"]),
        (OrdinalEncoder(), ["sex", "insured"]),
        remainder="passthrough",
        sparse_threshold=1.0 if sparse else 0.0,
    )


def ordinal() -> Any:
    """Codes for texts, in alphabetical order: not the order of the schema."""
    return make_column_transformer((OrdinalEncoder(), CATEGORIES), remainder="passthrough")


def mixed(table: pd.DataFrame, n: int, seed: int = 0) -> pd.DataFrame:
    """People put together from different people's columns."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({c: table[c].to_numpy()[rng.integers(0, len(table), n)] for c in table}).astype(
        table.dtypes
    )


def labels(k: int) -> np.ndarray:
    """Classes of `people`; more than two by income."""
    table, y = people()
    return y if k == 2 else y + (table["income"].to_numpy() > table["income"].quantile(0.7)) * y


def ours(predictor: Predictor, table: pd.DataFrame) -> np.ndarray:
    """Probabilities from the adapter, over encoded rows."""
    return proba_of(predictor.logits_of(predictor.encoder.encode(table)))


def decisions(predictor: Predictor, table: pd.DataFrame) -> np.ndarray:
    """Labels that the adapter decides, over encoded rows."""
    encoded = predictor.encoder.encode(table)
    return predictor.classes[predictor.decide_of(predictor.logits_of(encoded))]
