"""Models by name: holdtrue's own, and a few of other libraries behind a plain preprocessing."""

from collections.abc import Callable

from holdtrue._optional import need
from holdtrue._types import Estimator
from holdtrue.errors import DataError
from holdtrue.models import ARCHITECTURES
from holdtrue.schema import Schema, did_you_mean


def _logistic_regression() -> Estimator:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _random_forest() -> Estimator:
    from sklearn.ensemble import RandomForestClassifier

    # A hundred trees grown to the last row make a search slow and are no better judges of a small table.
    return RandomForestClassifier(n_estimators=50, max_depth=8)


def _xgboost() -> Estimator:
    xgboost = need("xgboost", extra="xgboost", what="model: 'xgboost'")
    return xgboost.XGBClassifier(n_estimators=50, max_depth=4)


def _lightgbm() -> Estimator:
    lightgbm = need("lightgbm", extra="lightgbm", what="model: 'lightgbm'")
    return lightgbm.LGBMClassifier(n_estimators=50, max_depth=4, verbose=-1)


ESTIMATORS: dict[str, Callable[[], Estimator]] = {
    "logistic_regression": _logistic_regression,
    "random_forest": _random_forest,
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
}


def named_model(name: str) -> Callable[[], Estimator]:
    """What makes the model of a name, with its defaults: an architecture, or another library's estimator."""
    if name in ESTIMATORS:
        return ESTIMATORS[name]
    if name in ARCHITECTURES:
        return ARCHITECTURES.named(name)
    hint = did_you_mean(name, [*ARCHITECTURES, *ESTIMATORS])
    raise DataError(f"models: unknown model; got {name!r}. {hint}")


def pipeline(estimator: Estimator, schema: Schema) -> Estimator:
    """An estimator of numbers that reads the schema's columns: levels one-hot, numbers scaled.

    XGBoost takes no labels but 0, 1, ...: there a vote of one keeps the labels and hands on their codes.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    levels = [f.name for f in schema if f.has_levels]
    numbers = [f.name for f in schema if not f.has_levels]
    parts = [("levels", OneHotEncoder(handle_unknown="ignore"), levels), ("numbers", StandardScaler(), numbers)]
    if type(estimator).__module__.startswith("xgboost."):
        from sklearn.ensemble import VotingClassifier

        estimator = VotingClassifier([("xgboost", estimator)], voting="soft")
    return make_pipeline(ColumnTransformer([part for part in parts if part[2]]), estimator)
