"""Parts of the check at the end: recourse as it is told, asked about again, and answers that cannot be."""

from collections.abc import Callable

import numpy as np

from holdtrue.batch import Predictor
from holdtrue.encoding import broken_limits, told
from holdtrue.errors import ContradictionError
from holdtrue.schema import Restrictions, Table
from holdtrue.search import Status

Columns = dict[str, np.ndarray]
FURTHER = (1, 2, 3, 5)  # digits beyond the usual ones, for a row that is refused when told shorter


def with_more_digits(
    predictor: Predictor,
    outcome: Callable[[Table, Table], tuple[Table, np.ndarray | None]],
    exact: Columns,
    table: Table,
    target: np.ndarray,
    restrictions: Restrictions,
) -> tuple[Columns, np.ndarray, np.ndarray]:
    """For people whose recourse is refused when shortened: as few digits more as are accepted, or all.

    `outcome` is what comes of actions (`AbstractMethod.outcome`).

    Returns the columns, the model's logits, and whether the row is valid and keeps every limit.
    """
    columns, accepted = dict(exact), np.zeros(table.n_rows, bool)
    logits = np.zeros((table.n_rows, len(predictor.classes)), np.float32)
    for further in (*FURTHER, None):
        rows = np.flatnonzero(~accepted)
        if len(rows) == 0:
            break
        part, own = table.take(rows), restrictions.take(rows)
        tried = {name: values[rows] for name, values in exact.items()}
        if further is not None:
            tried, _ = told(predictor.encoder, tried, part, own, further=further)
        recourse, consequences = outcome(part, Table(tried, len(rows)))
        answers = predictor.logits(recourse)
        broken = broken_limits(predictor.encoder, part, recourse, own, consequences)
        accepted[rows] = (predictor.decide_of(answers) == target[rows]) & np.array([not b for b in broken])
        logits = put(logits, rows, answers)
        columns = {name: put(values, rows, tried[name]) for name, values in columns.items()}
    return columns, logits, accepted


def check_statuses(where: str, status: np.ndarray, favourable: np.ndarray) -> None:
    """Stop where an answer contradicts what the model decided about the people themselves."""
    said = status == int(Status.ALREADY_FAVOURABLE)
    at_odds = (said != favourable) & (status != int(Status.NOT_REACHED))
    if at_odds.any():
        first = int(np.flatnonzero(at_odds)[0])
        raise ContradictionError(
            f"{where}: the search and the model disagree on who has a yes already; "
            f"got {Status(int(status[first])).name} for a person whom the model "
            f"{'accepts' if favourable[first] else 'refuses'}, {int(at_odds.sum())} of {len(status)} rows. A "
            "`search` must heed `problems.favourable`."
        )


def only(found: np.ndarray, proposed: Columns, own: Columns) -> Table:
    """The recourse where there is one; elsewhere the person as they are, to the last digit."""
    if not found.all():
        proposed = {name: _choose(found, values, own[name]) for name, values in proposed.items()}
    return Table(proposed, len(found))


def put(values: np.ndarray, rows: np.ndarray, new: np.ndarray) -> np.ndarray:
    """A copy with some rows replaced."""
    out = values.astype(object) if new.dtype == object else values.copy()
    out[rows] = new
    return out


def _choose(mask: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype == object or b.dtype == object:
        out = b.astype(object)
        out[mask] = a[mask].tolist()
        return out
    return np.where(mask, a, b)
