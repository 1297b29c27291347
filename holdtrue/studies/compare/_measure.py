"""One method of a comparison: fitted, run twice, asked again."""

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from holdtrue._json import plain
from holdtrue._types import Estimator, JsonObject, Keywords
from holdtrue.errors import HoldtrueError
from holdtrue.methods import AbstractMethod, RecourseFrame
from holdtrue.metrics import neighbour_distance
from holdtrue.reports import Against, audit
from holdtrue.schema import Table
from holdtrue.studies.compare._result import Row


def measure(
    name: str,
    method: AbstractMethod,
    model: Estimator,
    people: Table,
    *,
    rows: Table,
    labels: np.ndarray,
    against: Against | None = None,
    k: int = 5,
    on_rows: Callable[[int], None] | None = None,
) -> Row:
    """Fit a method, find everyone's recourse twice, and measure the second answer.

    Parameters
    ----------
    name : str
        What the row is called.
    method : AbstractMethod
        Not fitted.
    model : classifier or Predictor
        To be asked; a method that wants models trained again needs a classifier that can be.
    people : Table
        Who needs recourse.
    rows, labels : Table, array
        Training rows: methods learn from them, and plausibility is the distance to those with the wanted label.
    against : Retrained or classifiers, optional
        Models to hold the recourse against; see `audit`.
    k : int, default=5
        Neighbours that plausibility looks at.
    on_rows : callable, optional
        Told how many more people are done, in both calls.
    """
    about: Keywords = {"name": name, "method": type(method).__name__, "settings": settings(method)}
    try:
        began = time.perf_counter()
        method.fit(model, rows, labels)
        learned = time.perf_counter()
        method.recourse(people, on_rows=on_rows)  # compiles; nothing of it is kept
        warm = time.perf_counter()
        plan = method.recourse(people, on_rows=on_rows)
        over = time.perf_counter()
    except HoldtrueError as error:
        return Row(**about, reason=str(error), n_people=people.n_rows)
    report = audit(plan, against)
    columns = {norm: report.people[f"cost_{norm}"] for norm in ("l0", "l1", "l2")}
    columns["plausibility"] = _plausibility(plan, rows, labels, k)
    if against is not None:
        columns["survival"] = report.people.get("survival", np.full(len(plan), np.nan))
    return Row(
        **about,
        n_people=len(plan),
        counts=plan.counts(),
        validity=report.validity,
        n_broken=report.n_broken,
        learn_seconds=learned - began,
        first_seconds=warm - learned,
        seconds=over - warm,
        people={key: np.where(plan.found, values, np.nan) for key, values in columns.items()},
    )


def settings(method: AbstractMethod) -> JsonObject:
    """Parameters of a method in plain types; what JSON does not know, as it prints."""
    return {name: _shown(value) for name, value in sorted(method.get_params(deep=False).items())}


def _shown(value: object) -> Any:
    value = plain(value)
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        return repr(value)


def _plausibility(plan: RecourseFrame, rows: Table, labels: np.ndarray, k: int) -> np.ndarray:
    out = np.full(len(plan), np.nan)
    encoder = plan.predictor.encoder
    for label in np.unique(plan.target[plan.found]):
        who = np.flatnonzero(plan.found & (plan.target == label))
        like = np.flatnonzero(labels == label)
        if len(like):
            points = encoder.encode(plan.recourse.take(who))
            out[who] = neighbour_distance(points, encoder.encode(rows.take(like)), k)
    return out
