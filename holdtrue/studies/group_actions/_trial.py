"""Trying actions on people: whom each serves, and what that costs them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from holdtrue.batch import Predictor, distances
from holdtrue.encoding import Norm, broken_limits
from holdtrue.schema import Table
from holdtrue.studies.group_actions._actions import Action, taken, ways

MADE, OF_ANOTHER = 4, 0.5  # rows mixed for each that is wanted; share of their columns that are another's
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
    """

    predictor: Predictor
    people: Table
    target: np.ndarray
    norm: Norm
    max_cost: float | None = None
    known: dict[Action, np.ndarray] = field(default_factory=dict)

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
        found = np.stack([np.min([self.known[way] for way in parts[action]], axis=0) for action in actions])
        return found if self.max_cost is None else np.where(found <= self.max_cost, found, np.inf)

    def way(self, action: Action) -> np.ndarray:
        """Which of its ways each person takes, as an index; the cheapest that serves them."""
        self.matrix([action])
        some = ways(action, self.predictor.encoder.schema)
        return np.argmin([self.known[way] for way in some], axis=0)

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
        if len(row):
            people = self.people.take(row)
            joined = dict(zip(names, (np.concatenate(part) for part in zip(*columns, strict=True)), strict=True))
            after = Table(joined, len(row), people.native)
            cost = np.asarray(distances(encoder, encoder.encode(people), encoder.encode(after), self.norm))
            logits = self.predictor.logits(after)
            kept = np.flatnonzero(self.predictor.decide_of(logits) == self.target[row])
            if len(kept):
                broken = broken_limits(encoder, people.take(kept), after.take(kept))
                kept = kept[[not texts for texts in broken]]
            out[number[kept], row[kept]] = cost[kept]
        self.known |= dict(zip(actions, out, strict=True))


def alike(trial: Trial, n: int, seed: int = 0) -> Trial | None:
    """People like those of a trial: each of them with some columns of another; refused ones alone, at most `n`.

    They stand for people who are not there: whoever has no part in a choice lacks other things than who has, and
    may take other changes. None where nobody was made whom the model refuses.
    """
    rng, people, encoder = np.random.default_rng(seed), trial.people, trial.predictor.encoder
    row = rng.integers(people.n_rows, size=MADE * n)
    columns = {
        name: values[np.where(rng.random(len(row)) < OF_ANOTHER, rng.integers(people.n_rows, size=len(row)), row)]
        for name, values in people.columns.items()
    }
    made, target = Table(columns, len(row), people.take(row).native), trial.target[row]
    refused = np.flatnonzero(trial.predictor.decide(made) != target)
    kept = np.array([not texts for texts in broken_limits(encoder, made.take(refused), made.take(refused))], bool)
    able = refused[kept] if len(refused) else refused
    # Whom the model is furthest from accepting: who is served by what serves them is not missed elsewhere.
    far = np.asarray(trial.predictor.proba(made.take(able)))[np.arange(len(able)), target[able]]
    chosen = able[np.sort(np.argsort(far, kind="stable")[:n])]
    if not len(chosen):
        return None
    return Trial(trial.predictor, made.take(chosen), target[chosen], trial.norm, trial.max_cost)


def _whole(after: Table, action: Action) -> np.ndarray:
    """Who has a value in every column that the action speaks of."""
    out = np.ones(after.n_rows, bool)
    for change in action:
        out &= ~after.missing(change.feature)
    return out
