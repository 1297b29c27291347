"""Promises of a run: records of what was found, named so that none is made twice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from holdtrue.attribution import Reasoner
from holdtrue.methods import RecourseFrame
from holdtrue.runs._identity import promise_id
from holdtrue.runs._reasons import Grounds, of_plan

if TYPE_CHECKING:  # brings SQLAlchemy along, which only those who keep promises need
    from holdtrue.ledger import Record


@dataclass(frozen=True)
class Terms:
    """What is promised beside the recourse itself. Travels to workers elsewhere.

    Attributes
    ----------
    subject : str
        The column with the people's keys.
    promised : str
        Digest of all that a promise of the run depends on; see `Identity.promised`.
    valid_for : float or None
        Days.
    model_version : str or None
        The owner's own name for the model.
    reason : str or None
        Why what is known not to hold is promised all the same; without one it is not.
    grounds : Grounds or None
        What the reasons of refusals rest on, which promises then keep.
    """

    subject: str
    promised: str
    valid_for: float | None = None
    model_version: str | None = None
    reason: str | None = None
    grounds: Grounds | None = None

    def records(
        self, plan: RecourseFrame, keys: Sequence[str], rows: np.ndarray, reasoner: Reasoner | None
    ) -> "list[Record]":
        """Make a record of every recourse of a plan that may be promised.

        Parameters
        ----------
        plan : RecourseFrame
        keys : sequence of str
            Of the person of each row of the plan.
        rows : array of int
            Where in the table they stand.
        reasoner : Reasoner or None
            What gives reasons on the grounds of these terms.
        """
        from holdtrue.promises import promise

        some = np.flatnonzero(plan.found)  # nobody else is promised anything, so nobody else is given reasons
        if not len(some):
            return []
        plan, keys, rows = plan.take(some), [keys[i] for i in some.tolist()], rows[some]
        places = zip(rows.tolist(), plan.option.tolist(), strict=True)
        ids = [promise_id(self.promised, row, option) for row, option in places]
        return promise(
            plan, keys, ids=ids, valid_for=self.valid_for, model_version=self.model_version, reason=self.reason,
            only_holding=True, reasons=None if reasoner is None else of_plan(reasoner, plan),
        )  # fmt: skip
