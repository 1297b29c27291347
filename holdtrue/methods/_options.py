"""Several recourses for one person: each is searched for away from those before it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import equinox as eqx
import numpy as np

from holdtrue.encoding import Encoder
from holdtrue.methods._dominated import dominated
from holdtrue.methods._frame import RecourseFrame, concat
from holdtrue.schema import Restrictions, Table
from holdtrue.search import Problems, add_option, by_feature


class Answer(Protocol):
    """Searches for one recourse of each person, and checks it."""

    def __call__(
        self,
        problems: Problems,
        table: Table,
        target: np.ndarray,
        restrictions: Restrictions,
        until: float | None,
        on_rows: Callable[[int], None] | None,
        /,
    ) -> RecourseFrame:
        """One row for each person."""
        ...


def several(
    answer: Answer,
    encoder: Encoder,
    problems: Problems,
    table: Table,
    target: np.ndarray,
    restrictions: Restrictions,
    n_recourses: int,
    times: tuple[float, float | None],
    on_rows: Callable[[int], None] | None,
) -> RecourseFrame:
    """Up to `n_recourses` options of everyone: those that hold first, of these the cheapest first.

    `times` are when it began, and until when it may take: each option has the same share.
    """
    began, until = times
    people, frames, whole = np.arange(table.n_rows), [], table
    options = np.zeros((table.n_rows, n_recourses - 1, len(encoder.layout.slots)), np.float32)
    for option in range(n_recourses):
        problems = eqx.tree_at(lambda p: p.options, problems, options, is_leaf=lambda leaf: leaf is None)
        by = None if until is None else began + (until - began) * (option + 1) / n_recourses
        frame = answer(problems, table, target, restrictions, by, on_rows if option == 0 else None)
        kept = np.flatnonzero(frame.found)
        shown = people if option == 0 else kept  # who has no recourse at all still has a row that says why
        frames.append(replace(frame.take(shown), person=people[shown]))
        if len(kept) == 0 or option == n_recourses - 1:
            break
        people, target, table = people[kept], target[kept], table.take(kept)
        restrictions = restrictions.take(kept)
        problems = problems.take(kept)
        changes = encoder.encode(frame.action.take(kept)).astype(np.float32) - problems.x
        options = add_option(options[kept], option, np.asarray(by_feature(encoder.layout, changes)))
    joined = concat(frames, whole)
    shaky = np.zeros(len(joined), bool) if joined.held is None else ~joined.held.holds
    order = np.lexsort((joined.cost, shaky, joined.person))
    return joined.take(order[~dominated(joined)[order]])
