"""What is drawn for holding: who guides and who judges, rows that they learn from, people to measure by."""

from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state, resample

from holdtrue.batch import Predictor
from holdtrue.errors import DataError
from holdtrue.hold._calibrate import Point, people_for
from holdtrue.methods import Level
from holdtrue.retraining import AbstractRetrained, ClassifierWithRows
from holdtrue.schema import Table, TableLike, as_table

PEOPLE = 200  # refused people, at least, by whom a slack is measured
MOST = 0.5  # share of people who are brought to a margin, below which that is said


def refused_people(
    predictor: Predictor, model: object, X: TableLike | None, hold: float, confidence: float, seed: int | None
) -> Table | None:
    """Refused rows of a table, or of the one that the model learned from; drawn by the seed."""
    if X is not None:
        table = as_table(X, where="Holding")
    elif isinstance(model, ClassifierWithRows) and model.training_ is not None:
        columns = predictor.encoder.decode(np.asarray(model.training_.data.x, np.float64))
        table = Table(columns, len(model.training_.data.x))
    else:
        return None
    table = predictor.encoder.schema.check(table, where="Holding")
    refused = np.flatnonzero(predictor.decide(table) != predictor.decision.favourable)
    n = people_for(hold, confidence, PEOPLE)
    if len(refused) > n:
        refused = np.sort(check_random_state(seed).choice(refused, n, replace=False))
    return table.take(refused)


def spared_for(hold: float, n_guides: int) -> int:
    """How many guides may refuse: as many of a hundred as of the models to come, but one in twenty in any case.

    Where not one may, the oddest of them decides: the same survival is then dearer than with one spared and a
    larger slack, and fewer people are brought there.
    """
    return max(int((1 - hold) * n_guides + 1e-9), n_guides // 20)


def sparing(hold: float, n_guides: int, predictor: Predictor) -> tuple[int, ...]:
    """Numbers of guides that may refuse, as they are tried for a level.

    On trees a larger slack with a fifth of the guides spared is often cheaper. Where the model has a gradient it
    is not, and every number is a program of its own to compile. As few as the level itself leaves, which of twenty
    guides is none from 96% on, comes last: see `cheapest_slack`.
    """
    few = spared_for(hold, n_guides)
    more = max(few, n_guides // 5) if "trees" in predictor.capabilities else few
    return tuple(dict.fromkeys((few, more, int((1 - hold) * n_guides + 1e-9))))


def dealt(models: AbstractRetrained, n_guides: int) -> tuple[AbstractRetrained, AbstractRetrained]:
    """Share models out between guides and judges, so that every kind among them is on both sides."""
    n = len(models)
    if n < 2:
        raise DataError(f"Holding: needs two retrained models at least, a guide and a judge; got {n}.")
    n_guides = min(n_guides, n - 1)
    guide = np.zeros(n, bool)
    if models.kinds:  # recipes take turns: every second model would be of the same
        guide[np.argsort(models.kinds, kind="stable")[np.arange(n_guides) * n // n_guides]] = True
    else:
        guide[np.linspace(0, n - 1e-9, n_guides, endpoint=False).astype(int)] = True
    return models.take(guide), models.take(~guide)


def resampled(
    tables: Sequence[tuple[TableLike, ArrayLike]],
    n: int,
    rng: np.random.RandomState,
    predictor: Predictor | None = None,
) -> list[tuple[Table, np.ndarray]]:
    """`n` resamples, of each table in turn; with a predictor held against what it reads and decides."""
    read = [_period(i, pair, predictor) for i, pair in enumerate(tables, start=1)]
    out = []
    for i in range(n):
        table, labels = read[i % len(read)]
        rows = np.asarray(resample(np.arange(table.n_rows), stratify=labels, random_state=rng))
        out.append((table.take(np.sort(rows)), labels[np.sort(rows)]))
    return out


def _period(number: int, pair: object, predictor: Predictor | None) -> tuple[Table, np.ndarray]:
    """Rows and labels of a past period, of which a model can be made."""
    where = f"Holding, period {number}"
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise DataError(f"{where}: must be rows and labels; got {type(pair).__name__}. Write (X, y).")
    table, labels = as_table(pair[0], where=where), np.asarray(pair[1])
    if labels.shape != (table.n_rows,):
        raise DataError(f"{where}: has {table.n_rows} rows but {labels.size} labels. Give one for each row.")
    if table.n_rows == 0:
        raise DataError(f"{where}: is empty; got 0 rows. Leave it out.")
    if predictor is not None:
        predictor.encoder.schema.check(pair[0], where=where)
        known = predictor.classes.tolist()
        odd = [label for label in labels.tolist() if label not in known]
        if odd:
            raise DataError(f"{where}: has a class unseen at fit; got {odd[0]!r}. Known are {known!r}.")
    seen = np.unique(labels).tolist()
    if len(seen) < 2:
        raise DataError(f"{where}: has one class, of which no model can be made; got {seen[0]!r}. Leave it out.")
    return table, labels


def level_at(level: Level, point: Point) -> Level:
    measured = asdict(point)
    return replace(level, **{name: None if value != value else value for name, value in measured.items()})


def brought(found: float | None) -> str:
    """What should be known of a margin that keeps its level, by the share of people who are brought there."""
    if found is None or found >= MOST:
        return ""
    return f"{found:.0%} of the people were brought there; the others go as far as there is a way."
