"""A classifier as MLflow's python function: decisions, probabilities or recourse for a table."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from holdtrue._types import JsonObject, Keywords, NativeFrame
from holdtrue.classifier import AbstractClassifier
from holdtrue.classifier import load as load_model
from holdtrue.errors import DataError
from holdtrue.schema import Feature, Schema, TableLike, did_you_mean
from holdtrue.search import Status

LOADER = "holdtrue.tracking"
"""The module that MLflow imports to load a model."""
ANSWERS = ("decision", "probability", "recourse")
PREFIX = "holdtrue_"


class PyfuncClassifier:
    """What ``mlflow.pyfunc.load_model`` returns, behind MLflow's own class.

    Attributes
    ----------
    classifier : RecourseClassifier or Adopted
        Read from the model file: arrays and JSON, no pickle.
    """

    def __init__(self, classifier: AbstractClassifier) -> None:
        self.classifier = classifier

    def predict(self, model_input: NativeFrame, params: JsonObject | None = None) -> Any:
        """Answer about every row of a table.

        Parameters
        ----------
        model_input : DataFrame
        params : dict, optional
            ``answer``: "decision" (the default), "probability" or "recourse". For recourse also ``method`` (a
            registered name; the model's own when empty), ``n_recourses`` and ``deadline`` (seconds; none when 0).
        """
        asked = {"answer": "decision", "method": "", "n_recourses": 1, "deadline": 0.0} | (params or {})
        answer, clf = asked["answer"], self.classifier
        table = clf.schema_.check(model_input, where="pyfunc").native
        if answer == "decision":
            return pd.Series(clf.predict(table), index=getattr(table, "index", None), name="decision")
        if answer == "probability":
            names = [str(label) for label in clf.classes_.tolist()]
            return pd.DataFrame(clf.predict_proba(table), columns=names, index=getattr(table, "index", None))
        if answer == "recourse":
            return self._recourse(table, asked)
        raise DataError(f"pyfunc: no such answer; got {answer!r}. {did_you_mean(str(answer), list(ANSWERS))}")

    def _recourse(self, table: TableLike, asked: Keywords) -> pd.DataFrame:
        options: Keywords = {"n_recourses": int(asked["n_recourses"])}
        if asked["deadline"]:
            options["deadline"] = float(asked["deadline"])
        plan = self.classifier.recourse(table, method=asked["method"] or None, **options)
        told = {
            "row": plan.person,
            "status": np.array([Status(s).name for s in plan.status], object),
            "cost": plan.cost,
            "valid": plan.valid,
            "probability_before": plan.before,
            "probability_after": plan.after,
            "changes": list(plan.changes()),
        }
        columns = {name: plan.recourse.columns[name] for name in self.classifier.schema_.names}
        return pd.DataFrame(columns | {PREFIX + name: values for name, values in told.items()})


def load(path: str) -> PyfuncClassifier:
    """Read the model file that MLflow keeps; nothing in it is run."""
    place = Path(path)
    return PyfuncClassifier(load_model(next(place.iterdir()) if place.is_dir() else place))


def signature(schema: Schema) -> Any:
    """Columns and parameters of the python function, as MLflow writes them down.

    Of numbers MLflow is told no type: it refuses whole numbers where it expects others, and quotes people's rows
    as it does. The schema checks them.
    """
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, ParamSchema, ParamSpec
    from mlflow.types import Schema as Columns
    from mlflow.types.schema import AnyType

    columns = [ColSpec(_kind(f) or AnyType(), f.name, required=f.missing is None) for f in schema.features]
    params = [
        ParamSpec("answer", "string", "decision"),
        ParamSpec("method", "string", ""),
        ParamSpec("n_recourses", "long", 1),
        ParamSpec("deadline", "double", 0.0),
    ]
    return ModelSignature(inputs=Columns(columns), params=ParamSchema(params))  # type: ignore[arg-type]


def _kind(feature: Feature) -> str | None:
    kinds = {type(v) for v in feature.levels or ()} if feature.has_levels else {float}
    if kinds <= {bool}:
        return "boolean"
    return None if kinds <= {bool, int, float} else "string"
