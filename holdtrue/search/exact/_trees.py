"""The cheapest recourse under a tree ensemble, for many people: proved, or as far as the budget went."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from holdtrue._types import JsonObject
from holdtrue.encoding import Norm
from holdtrue.models import AbstractTrees, Boxes, Decision, Flat, boxes_of, n_cores, sums_at
from holdtrue.search._options import SAME, TINY, by_feature, column_factors
from holdtrue.search._problem import Problems, Solutions, Status
from holdtrue.search.exact._branch import BranchAndBound
from holdtrue.search.exact._cuts import Cuts
from holdtrue.search.exact._needs import needs_of
from holdtrue.search.exact._room import Corner, room_of, rows_at

CHUNK = 128  # people looked at together
FEWEST = 8  # people that a second core is worth


@dataclass(frozen=True)
class Ensemble:
    """The leaves of a tree ensemble, laid out once for all searches.

    Attributes
    ----------
    trees : AbstractTrees
    flat : Flat
    boxes : Boxes
    """

    trees: AbstractTrees
    flat: Flat
    boxes: Boxes

    @classmethod
    def of(cls, trees: AbstractTrees) -> "Ensemble":
        """Lay out the leaves."""
        return cls(trees, trees.flat(), boxes_of(trees))


def cheapest_in_trees(
    decision: Decision,
    ensemble: Ensemble,
    problems: Problems,
    weights: np.ndarray,
    norm: Norm,
    *,
    max_changes: int,
    n_boxes: int,
    seconds: float | None = None,
    deadline: float | None = None,
    on_rows: Callable[[int], None] | None = None,
    proofs: dict[int, list[JsonObject]] | None = None,
) -> Solutions:
    """Answer every person's problem by branch and bound.

    Statuses are proofs: OPTIMAL says that nothing cheaper is accepted, INFEASIBLE that nothing is; FOUND and
    NOT_FOUND that the search ended before that was known.

    Parameters
    ----------
    decision : Decision
        Of the ensemble's trees.
    ensemble : Ensemble
    problems : Problems
        Of people whom the decision refuses; the others are theirs to leave out who ask.
    weights, norm
        What a unit of each encoded column costs, and how costs add up.
    max_changes, n_boxes : int
        Features changed at most, and boxes looked at for one person.
    seconds : float, optional
        How long one person is searched for, at most; some are searched for together, so long for each.
    deadline, on_rows
        See `holdtrue.batch.solve`.
    proofs : dict, optional
        Where the boxes of everyone's proof are put, by row; see `Cuts.of`.
    """
    out = replace(Solutions.unreached(problems), bound=np.zeros(len(problems)))
    chunks = _chunks(problems, CHUNK if seconds is None else FEWEST)

    def answer(rows: np.ndarray) -> None:
        some = problems.take(rows)
        until = deadline
        if seconds is not None:
            until = min(time.monotonic() + seconds * len(rows), np.inf if deadline is None else deadline)
        cuts = None if proofs is None else Cuts()
        found = _answered(decision, ensemble, some, weights, norm, max_changes, n_boxes, until, on_rows, cuts)
        if proofs is not None and cuts is not None:
            names, n_numbers = _names(ensemble.trees, problems), len(ensemble.trees.slots.numbers)
            proofs.update({int(row): cuts.of(i, names, n_numbers) for i, row in enumerate(rows)})
        out.x[rows], out.status[rows] = found.x, found.status
        out.cost[rows], out.n_steps[rows] = found.cost, found.n_steps
        assert out.bound is not None
        assert found.bound is not None
        out.bound[rows] = found.bound

    lock = threading.Lock()
    failed: list[BaseException] = []

    def work() -> None:
        while not failed:
            with lock:
                rows = next(chunks, None)
            if rows is None:
                return
            try:
                answer(rows)
            except BaseException as error:  # raised again below, in the caller's thread
                failed.append(error)

    n_workers = min(n_cores(), -(-len(problems) // FEWEST))
    workers = [threading.Thread(target=work, daemon=True) for _ in range(n_workers)]
    if n_workers <= 1:
        work()
    else:
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                worker.join()
        except BaseException as error:  # interrupted: nobody takes further people
            failed.append(error)
            raise
    if failed:
        raise failed[0]
    return out


def _chunks(problems: Problems, most: int) -> Iterator[np.ndarray]:
    """People who want the same, some at a time, so that all cores have some."""
    for target in np.unique(problems.target):
        rows = np.flatnonzero(problems.target == target)
        size = max(FEWEST, min(most, -(-len(rows) // n_cores())))
        yield from (rows[i : i + size] for i in range(0, len(rows), size))


def _names(trees: AbstractTrees, problems: Problems) -> list[str]:
    """Features in the order in which trees see them."""
    starts = {slot.start: slot.name for slot in problems.feasible.layout.slots}
    slots = trees.slots
    at = [c for c, _ in slots.numbers] + [c for c, _, _ in slots.positions] + [c for c, _ in slots.groups]
    return [starts[column] for column in at]


def _answered(
    decision: Decision,
    ensemble: Ensemble,
    some: Problems,
    weights: np.ndarray,
    norm: Norm,
    max_changes: int,
    n_boxes: int,
    deadline: float | None,
    on_rows: Callable[[int], None] | None,
    cuts: Cuts | None,
) -> Solutions:
    """Answer people who want the same, together."""
    trees, boxes = ensemble.trees, ensemble.boxes
    factors = None
    if some.options is not None:
        layout = some.feasible.layout
        factors = np.stack([np.asarray(column_factors(layout, own)) for own in some.options])
    room = room_of(trees, some, weights, factors, norm)
    needs = needs_of(decision, boxes, int(some.target[0]))

    def sums(person: np.ndarray, corner: Corner) -> np.ndarray:
        codes = corner.level - room.spans[:-1]
        numbers = np.where(room.missing[person], np.float32(np.nan), corner.value)
        return sums_at(ensemble.flat, numbers, codes) @ needs.rows.T + needs.base - needs.rows @ boxes.base

    def differ(person: np.ndarray, corner: Corner) -> np.ndarray:
        """Which points are options of their own, beside those that a person has."""
        assert some.options is not None
        change = rows_at(trees, some, room, person, corner) - some.x[person]
        own = by_feature(some.feasible.layout, change)
        share = ((some.options[person] @ own[:, :, None]) ** 2).sum(axis=(1, 2))
        return share <= SAME * np.maximum((own**2).sum(axis=1), TINY)

    search = BranchAndBound(
        boxes, needs, room, sums, max_changes=max_changes, n_boxes=n_boxes,
        accepts=None if some.options is None else differ, cuts=cuts,
    )  # fmt: skip
    answers = search.run(deadline, on_rows)
    found = np.isfinite(answers.cost)
    proved = answers.bound >= np.where(found, answers.cost, np.inf)
    if some.options is not None:
        proved[:], answers.bound[:] = False, 0.0  # what differs enough from other options is not bounded
    status = np.where(found, np.where(proved, int(Status.OPTIMAL), int(Status.FOUND)), int(Status.NOT_FOUND))
    status = np.where(~found & proved, int(Status.INFEASIBLE), status)
    corner = Corner(answers.value, answers.level, answers.cost, answers.n_boxes)
    x = rows_at(trees, some, room, np.arange(len(some)), corner)
    return Solutions(
        x=np.where(found[:, None], x, some.x),
        status=status,
        cost=np.sqrt(answers.cost) if norm == "l2" else answers.cost,
        n_steps=answers.n_boxes,
        bound=np.sqrt(answers.bound) if norm == "l2" else answers.bound,
    )
