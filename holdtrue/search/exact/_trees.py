"""The cheapest recourse under a tree ensemble, for many people: proved, or as far as the budget went."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from holdtrue._types import JsonObject
from holdtrue.encoding import Norm
from holdtrue.models import AbstractTrees, Boxes, Decision, TreesPanel, boxes_of
from holdtrue.search._options import by_feature, column_factors
from holdtrue.search._problem import Problems, Solutions, Status
from holdtrue.search.exact._arrays import Handed
from holdtrue.search.exact._cuts import told
from holdtrue.search.exact._grove import Grove, Timber, ground_of, grove_of, timber_of
from holdtrue.search.exact._needs import needs_of
from holdtrue.search.exact._room import Room, room_of, rows_at
from holdtrue.search.exact._workers import search_all

CHUNK = 1024  # people whose limits are laid out together


@dataclass(frozen=True)
class Ensemble:
    """The leaves of a tree ensemble, laid out once for all searches.

    Attributes
    ----------
    trees : AbstractTrees
    boxes : Boxes
    timber : Timber
    groves : what decisions need of the leaves, as far as they have been asked for.
    """

    trees: AbstractTrees
    boxes: Boxes
    timber: Timber
    groves: dict[tuple[float, ...], tuple[Handed[Grove], int]] = field(default_factory=dict)

    @classmethod
    def of(cls, trees: AbstractTrees) -> "Ensemble":
        """Lay out the leaves."""
        boxes = boxes_of(trees)
        return cls(trees, boxes, timber_of(trees.flat(), boxes))

    def grove(self, decision: Decision, target: int) -> tuple[Handed[Grove], int]:
        """The leaves and what they must add up to for a target, and how many members may refuse."""
        trees = decision.model
        slack, spared = (float(trees.slack), trees.spared) if isinstance(trees, TreesPanel) else (0.0, 0)
        key = (target, decision.favourable, float(decision.threshold), slack, spared)
        if key not in self.groves:
            needs = needs_of(decision, self.boxes, target)
            self.groves[key] = Handed(grove_of(self.timber, self.boxes, needs)), needs.spared
        return self.groves[key]


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
    for target in np.unique(problems.target):
        wanted = np.flatnonzero(problems.target == target)
        for i in range(0, len(wanted), CHUNK):
            rows = wanted[i : i + CHUNK]
            some = problems.take(rows)
            found = _answered(
                decision, ensemble, some, weights, norm, max_changes, n_boxes, seconds, deadline, on_rows,
                proofs=None if proofs is None else (proofs, rows),
            )  # fmt: skip
            out.x[rows], out.status[rows] = found.x, found.status
            out.cost[rows], out.n_steps[rows] = found.cost, found.n_steps
            assert out.bound is not None
            assert found.bound is not None
            out.bound[rows] = found.bound
    return out


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
    seconds: float | None,
    deadline: float | None,
    on_rows: Callable[[int], None] | None,
    proofs: tuple[dict[int, list[JsonObject]], np.ndarray] | None,
) -> Solutions:
    """Answer people who want the same."""
    trees, factors = ensemble.trees, None
    if some.options is not None:
        layout = some.feasible.layout
        factors = np.stack([np.asarray(column_factors(layout, own)) for own in some.options])
    room = room_of(trees, some, weights, factors, norm)
    grove, spared = ensemble.grove(decision, int(some.target[0]))
    ground = ground_of(
        room, max_changes=max_changes, n_boxes=n_boxes, spared=spared, options=_options(trees, some, room)
    )
    answers = search_all(
        grove, Handed(ground), seconds=seconds, deadline=deadline, on_people=on_rows, writes=proofs is not None
    )
    if proofs is not None:
        names, n_numbers = _names(trees, some), len(trees.slots.numbers)
        proofs[0].update({int(proofs[1][p]): told(*cuts, names, n_numbers) for p, cuts in answers.cuts.items()})
    found = np.isfinite(answers.cost)
    proved = answers.bound >= np.where(found, answers.cost, np.inf)
    if some.options is not None:
        proved[:], answers.bound[:] = False, 0.0  # what differs enough from other options is not bounded
    status = np.where(found, np.where(proved, int(Status.OPTIMAL), int(Status.FOUND)), int(Status.NOT_FOUND))
    status = np.where(~found & proved, int(Status.INFEASIBLE), status)
    x = rows_at(trees, some, room, answers.value, answers.level)
    return Solutions(
        x=np.where(found[:, None], x, some.x),
        status=np.where(answers.reached, status, int(Status.NOT_REACHED)),
        cost=np.sqrt(answers.cost) if norm == "l2" else answers.cost,
        n_steps=answers.n_boxes,
        bound=np.sqrt(answers.bound) if norm == "l2" else answers.bound,
    )


def _options(trees: AbstractTrees, some: Problems, room: Room) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """What people have been offered; and, as `by_feature` has it, what each level's change counts and where."""
    if some.options is None:
        return None
    layout, slots, n = some.feasible.layout, trees.slots, len(trees.slots.numbers)
    places = {slot.start: i for i, slot in enumerate(layout.slots)}
    at = [c for c, _ in slots.numbers] + [c for c, _, _ in slots.positions] + [c for c, _ in slots.groups]
    place = np.array([places[column] for column in at], int)
    change = np.zeros(room.price.shape)
    for j in range(room.n_levels):
        for i in range(room.spans[j], room.spans[j + 1]):
            level = room.level.copy()
            level[:, j] = i
            moved = by_feature(layout, rows_at(trees, some, room, room.own, level) - some.x)
            change[:, i] = moved[:, place[n + j]]
    return some.options, change, place
