"""Trying actions on people: whom each serves, and what that costs them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import logit

from holdtrue.batch import Predictor, distances
from holdtrue.encoding import Norm, broken_limits
from holdtrue.schema import Table
from holdtrue.studies.group_actions._actions import Action, taken, ways

ROWS = 8192  # asked of the model at once, whichever actions they come from


@dataclass
class Trial:
    """People on whom actions are tried, each action once.

    Parameters
    ----------
    predictor : Predictor
    people : Table
        Refused people, checked.
    target : int array
        The wanted class of each.
    norm : str
        What costs are counted in.
    max_cost : float or None
        What nobody is asked to exceed.
    slack : float
        How far inside the wanted class, in logits, an action must bring whom it serves.
    """

    predictor: Predictor
    people: Table
    target: np.ndarray
    norm: Norm
    max_cost: float | None = None
    slack: float = 0.0
    known: dict[Action, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def sterner(self, slack: float) -> "Trial":
        """The same people, served only by what brings them further inside; what was tried is not tried again."""
        return replace(self, slack=slack)

    def lacking(self) -> np.ndarray:
        """How far everybody is outside the wanted class as they are, in logits."""
        return -self._inside(self.people, self.target)

    def costs(self, action: Action) -> np.ndarray:
        """What the action costs whom it serves; infinite for others: still refused, or a limit broken.

        Whom it asks nothing of is not served, since they are refused as they are. Along a direction everybody goes
        as far as is cheapest.
        """
        return self.matrix([action])[0]

    def matrix(self, actions: Sequence[Action]) -> np.ndarray:
        """Costs of shape (actions, people)."""
        if not actions:
            return np.zeros((0, len(self.target)))
        parts = {action: ways(action, self.predictor.encoder.schema) for action in actions}
        new = dict.fromkeys(way for some in parts.values() for way in some if way not in self.known)
        step = max(1, ROWS // max(1, self.people.n_rows))
        left = list(new)
        for start in range(0, len(left), step):
            self._try(left[start : start + step])
        found = np.stack([np.min([self._cost(way) for way in parts[action]], axis=0) for action in actions])
        return found if self.max_cost is None else np.where(found <= self.max_cost, found, np.inf)

    def way(self, action: Action) -> np.ndarray:
        """Which of its ways each person takes, as an index; the cheapest that serves them."""
        self.matrix([action])
        some = ways(action, self.predictor.encoder.schema)
        return np.argmin([self._cost(way) for way in some], axis=0)

    def _cost(self, way: Action) -> np.ndarray:
        cost, inside = self.known[way]
        return cost if self.slack <= 0 else np.where(inside >= self.slack, cost, np.inf)

    def _inside(self, people: Table, target: np.ndarray) -> np.ndarray:
        return _margins(self.predictor, np.asarray(self.predictor.logits(people), np.float64), target)

    def _try(self, actions: list[Action]) -> None:
        """All at once: most of the time of a few rows is that of the call."""
        encoder, names = self.predictor.encoder, self.predictor.encoder.schema.names
        rows, which, columns = [], [], []
        for at, action in enumerate(actions):
            after, able = taken(action, self.people, encoder.schema)
            mine = np.flatnonzero(able & _whole(after, action))
            rows.append(mine)
            which.append(np.full(len(mine), at))
            columns.append([after.columns[name][mine] for name in names])
        row, number = np.concatenate(rows), np.concatenate(which)
        out = np.full((len(actions), self.people.n_rows), np.inf)
        inside = np.full(out.shape, -np.inf)
        if len(row):
            people = self.people.take(row)
            joined = dict(zip(names, (np.concatenate(part) for part in zip(*columns, strict=True)), strict=True))
            after = Table(joined, len(row), people.native)
            cost = np.asarray(distances(encoder, encoder.encode(people), encoder.encode(after), self.norm))
            logits = self.predictor.logits(after)
            inside[number, row] = _margins(self.predictor, np.asarray(logits, np.float64), self.target[row])
            kept = np.flatnonzero(self.predictor.decide_of(logits) == self.target[row])
            if len(kept):
                broken = broken_limits(encoder, people.take(kept), after.take(kept))
                kept = kept[[not texts for texts in broken]]
            out[number[kept], row[kept]] = cost[kept]
        self.known |= dict(zip(actions, zip(out, inside, strict=True), strict=True))


def _margins(predictor: Predictor, logits: np.ndarray, target: np.ndarray) -> np.ndarray:
    """How far, in logits, every row is inside its target; `Decision.margin_of` many rows."""
    decision, rows = predictor.decision, np.arange(len(logits))
    if decision.n_classes == 2:
        gap = logits[:, decision.favourable] - logits[:, 1 - decision.favourable]
        score = gap - logit(np.float64(decision.threshold))
        return np.where(target == decision.favourable, score, -score)
    others = logits.copy()
    others[rows, target] = -np.inf
    return logits[rows, target] - others.max(axis=1)


def _whole(after: Table, action: Action) -> np.ndarray:
    """Who has a value in every column that the action speaks of."""
    out = np.ones(after.n_rows, bool)
    for change in action:
        out &= ~after.missing(change.feature)
    return out
