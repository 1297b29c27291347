"""Proofs held against trying everything: random small schemas, linear models and trees, every action on the grid.

python -m benchmarks.attack.brute [--worlds 100] [--seed 0] [--processes 1] [--seconds 600] [--print]

Every method that says OPTIMAL or INFEASIBLE is asked about sixty people of each world, under a linear model of the
package's own and under somebody else's trees and logistic regression that are read, if it can serve them. Counts
claims that trying everything contradicts: an OPTIMAL with something cheaper, an INFEASIBLE with a way, a recourse
that breaks a limit or is refused; and, as misses, people with a way who were told NOT_FOUND. Whether an action is
accepted, the model itself says. Results are written as they are made, so that a run that is stopped goes on where
it was; the command ends with 1 where something is wrong.
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logit

import holdtrue as ht
from benchmarks.attack._checker import actions, broken
from benchmarks.attack._models import Model, model
from benchmarks.attack._tally import Attack, Job, Line, crashed, rows_of
from benchmarks.attack._worlds import World, world
from holdtrue.encoding import Encoder, distance, norm_weights
from holdtrue.errors import CapabilityError
from holdtrue.methods import METHODS
from holdtrue.search import Status

CLEAR = 3e-4  # log-odds: proofs are about points that clear the threshold by two thirds of this
CHEAPER = 1e-4  # of cost, beyond rounding in single precision
ASKED = {
    "linear": ("flipset", "sparse_search", "exact_search"),
    "trees": ("sparse_search", "exact_search"),
    "logistic": ("flipset", "sparse_search", "exact_search"),
}
"""Methods that say OPTIMAL or INFEASIBLE, by kind of model."""
LISTED = {("sparse_search", "linear"): 2, ("sparse_search", "logistic"): 2}
"""Changes up to which a method goes through everything, which is what its proofs are about."""
WRONG = ("crashed", "cheaper exists", "a way exists", "breaks a limit", "refused", "not favourable")


class Everything:
    """All that each person of a world may do: what it costs, how many changes, whether a model accepts it."""

    def __init__(self, place: World, made: Model) -> None:
        encoder = Encoder.fit(place.schema, place.table)
        schema, weights = encoder.schema.to_dict(), norm_weights(encoder, "l1")
        self.rows, self.schema = rows_of(place.table, place.schema), schema
        self.already = _score(made, place.table) >= 0
        self.ways: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        encoded = encoder.encode(place.table)
        for i, own in enumerate(self.rows):
            tried = list(actions(schema, own, place.restrictions[i]))
            if not tried:
                self.ways.append((np.zeros(0), np.zeros(0), np.zeros(0, bool)))
                continue
            frame = pd.DataFrame(tried, columns=list(place.table.columns)).astype(place.table.dtypes)
            cost = np.asarray(distance(encoder.encode(frame), encoded[i : i + 1], "l1", weights))
            changes = np.array([sum(row[name] != own[name] for name in own) for row in tried])
            self.ways.append((cost, changes, _score(made, frame) >= CLEAR))

    def least(self, i: int, most: int | None) -> float:
        """What the cheapest action costs that is clearly accepted; infinite where none is."""
        cost, changes, yes = self.ways[i]
        if most is not None:
            yes = yes & (changes <= most)
        return float(np.min(cost[yes], initial=np.inf))


def _score(made: Model, frame: pd.DataFrame) -> np.ndarray:
    """Log-odds of a yes, from the model itself."""
    if made.kind == "linear":
        logits = made.model.logits(frame).astype(float)
        return logits[:, 1] - logits[:, 0]
    with np.errstate(divide="ignore"):
        return logit(made.model.predict_proba(frame)[:, 1])


@lru_cache(maxsize=1)
def _known(seed: int, kind: str) -> tuple[World, Model, Everything]:
    place = world(seed)
    made = model(place, kind)
    return place, made, Everything(place, made)


def attack(seed: int, asked: str) -> list[Line]:
    """Hold one method's claims about one model of a world against every action."""
    name, kind = asked.split(", ")
    place, made, everything = _known(seed, kind)
    if made.kind != kind:  # gaps, which it cannot take
        return []
    most = LISTED.get((name, kind))
    method = METHODS[name](random_state=0)
    if most is not None:
        method.set_params(max_changes=most)
    try:
        plan = _plan(method, place, made)
        return [{"method": asked, **_held_against(plan, place, everything, most)}]
    except CapabilityError:
        return []
    except Exception as error:  # whatever it is, it should have been a status
        return [crashed(asked, error)]


def _plan(method: Any, place: World, made: Model) -> ht.RecourseFrame:
    if made.own:
        return method.fit(made.model, place.table).recourse(place.table, restrictions=place.restrictions)
    return ht.recourse(
        made.model, place.table, place.schema, reference=place.table, method=method,
        restrictions=place.restrictions,
    )  # fmt: skip


def _held_against(plan: ht.RecourseFrame, place: World, everything: Everything, most: int | None) -> Counter[str]:
    proposed = rows_of(pd.DataFrame(dict(plan.recourse.columns)), place.schema)
    counts: Counter[str] = Counter(people=len(plan))
    for i, own in enumerate(everything.rows):
        status, least = Status(plan.status[i]), everything.least(i, most)
        exists = bool(np.isfinite(least))
        counts[status.name] += 1
        if status in (Status.FOUND, Status.OPTIMAL):
            wrong = broken(everything.schema, own, proposed[i], place.restrictions[i])
            counts["breaks a limit"] += int(bool(wrong))
            counts["refused"] += int(not plan.valid[i])
        counts["cheaper exists"] += int(status == Status.OPTIMAL and least < plan.cost[i] - CHEAPER)
        counts["a way exists"] += int(status == Status.INFEASIBLE and exists)
        counts["missed"] += int(status == Status.NOT_FOUND and exists)
        counts["not favourable"] += int(status == Status.ALREADY_FAVOURABLE and not everything.already[i])
    return counts


def tasks(first: int, worlds: int) -> Iterator[list[Job]]:
    """World after world, and in it one model after another."""
    for seed in range(first, first + worlds):
        yield [(seed, f"{name}, {kind}") for kind, names in ASKED.items() for name in names]


ATTACK = Attack("brute", __doc__ or "", attack, WRONG, tasks, worlds=100)

if __name__ == "__main__":
    ATTACK.main()
