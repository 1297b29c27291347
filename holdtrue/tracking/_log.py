"""A run that holds a classifier and what is known of it."""

import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from holdtrue import __version__
from holdtrue._json import to_json
from holdtrue._optional import need
from holdtrue._types import Json, JsonObject
from holdtrue.classifier import AbstractClassifier, RecourseClassifier
from holdtrue.reports import Report, ShelfLife
from holdtrue.schema import hinted
from holdtrue.tracking._pyfunc import LOADER, signature

FILE = "model.holdtrue"
LONGEST = 500  # characters of a parameter that MLflow keeps
CURVE = range(0, 101, 5)
"""Percent of retrained models, at which the shelf-life curve is logged."""


@hinted()
def log(
    clf: AbstractClassifier,
    *,
    report: Report | None = None,
    life: ShelfLife | None = None,
    metrics: Mapping[str, float] | None = None,
    name: str = "model",
    register: str | None = None,
    run_name: str | None = None,
) -> Any:
    """Log a classifier, its audit, its certificate and its shelf life to MLflow, and register it where asked.

    Everything goes to the run that is active, or to one of its own, wherever ``mlflow.set_tracking_uri`` says.

    Parameters
    ----------
    clf : RecourseClassifier
        Fitted. Its model file is the artifact, and its certificate, if it has one, is logged beside.
    report : Report, optional
        From `holdtrue.audit`: its figures become metrics, the whole of it ``audit.json``.
    life : ShelfLife, optional
        From `holdtrue.shelf_life`: figures, ``shelf_life.json``, and the curve as the metric
        ``shelf_life.at_least``, whose step is a percentage of the retrained models: the share of the recourse that
        at least so many of them accept.
    metrics : mapping, optional
        Further numbers.
    name : str, default="model"
        Of the model within the run.
    register : str, optional
        Name in the model registry, where this becomes the next version.
    run_name : str, optional
        Of a run of its own.

    Returns
    -------
    mlflow.models.model.ModelInfo
        ``mlflow.pyfunc.load_model(info.model_uri)`` answers decisions, and with ``params={"answer": "recourse"}``
        recourse.
    """
    mlflow = _mlflow()
    own = mlflow.active_run() is None
    with mlflow.start_run(run_name=run_name) if own else nullcontext():
        mlflow.log_params({key: str(value)[:LONGEST] for key, value in flat(_parameters(clf))})
        told: JsonObject = {}
        if report is not None:
            told["audit"] = report.to_dict()
        if clf.certificate_ is not None:
            told["certificate"] = clf.certificate_.to_dict()
        if life is not None:
            told["shelf_life"] = life.to_dict()
        for key, value in told.items():
            mlflow.log_text(to_json(value) + "\n", f"{key}.json")
        numbers = {key: float(value) for key, value in flat(told) if _is_number(value)}
        mlflow.log_metrics(numbers | dict(metrics or {}))
        if life is not None:
            _log_curve(mlflow, life)
        mlflow.set_tags({"holdtrue.version": __version__, "holdtrue.model": str(clf.predictor_.digest())})
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / FILE
            clf.save(path)
            return mlflow.pyfunc.log_model(
                name=name,
                loader_module=LOADER,
                data_path=str(path),
                signature=signature(clf.schema_),
                pip_requirements=[f"holdtrue=={__version__}"],
                registered_model_name=register,
            )


def flat(value: object, before: str = "") -> Iterator[tuple[str, Json]]:
    """Numbers and texts of nested mappings, each under the path to it; lists are left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flat(inner, f"{before}.{_key(key)}" if before else _key(key))
    elif value is not None and not isinstance(value, (list, tuple, set, np.ndarray)):
        yield before, value


def _key(key: PRNGKeyArray) -> str:
    """A name that MLflow takes: letters, digits, and a few signs."""
    return "".join(c if c.isalnum() or c in "_-. /" else "_" for c in str(key))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _parameters(clf: AbstractClassifier) -> JsonObject:
    """Name and parameters of every part, and of the classifier itself."""
    parts: dict[str, Any] = {"method": clf.method_}
    if isinstance(clf, RecourseClassifier):
        parts |= {"model": clf.architecture(), "regime": clf.regime_}
    told: JsonObject = {
        key: {"name": type(part).__name__, **{k: _text(v) for k, v in part.get_params(deep=False).items()}}
        for key, part in parts.items()
    }
    return told | {
        "threshold": clf.threshold, "favourable": str(clf.predictor_.favourable),
        "scaling": clf.predictor_.encoder.scaling, "random_state": clf.get_params(deep=False)["random_state"],
        "features": len(clf.schema_), "schema": clf.schema_.digest(),
    }  # fmt: skip


def _text(value: object) -> Json:
    return value if isinstance(value, (int, float, str)) or value is None else repr(value)


def _log_curve(mlflow: ModuleType, life: ShelfLife) -> None:
    share = life.survival[life.plan.found]
    if len(share) == 0:
        return
    for percent in CURVE:
        mlflow.log_metric("shelf_life.at_least", float((share >= percent / 100 - 1e-9).mean()), step=percent)


def _mlflow() -> Any:
    need("mlflow.pyfunc", extra="mlflow", what="tracking:")
    return need("mlflow", extra="mlflow", what="tracking:")
