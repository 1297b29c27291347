"""Proofs held against trying everything: random small schemas, linear models, every action on the grid.

python -m benchmarks.attack.brute [--worlds 300] [--first 0] [--print]

Counts claims that trying everything contradicts: an OPTIMAL with something cheaper, an INFEASIBLE with a way, a
recourse that breaks a limit or is refused; and, as misses, people with a way who were told NOT_FOUND. Results are
written world by world, so that a run that is stopped goes on where it was.
"""

from collections import Counter

import numpy as np
import pandas as pd

from benchmarks.attack._checker import actions, broken
from benchmarks.attack._tally import attacked, crashed, rows_of
from benchmarks.attack._worlds import World, world
from holdtrue.batch import Predictor
from holdtrue.encoding import distance, norm_weights
from holdtrue.methods import METHODS, AbstractMethod
from holdtrue.search import Status

CLEAR = 3e-4  # log-odds: proofs are about points that clear the threshold by half of this
CHEAPER = 1e-4  # of cost, beyond rounding in single precision


def attack(seed: int, names: list[str]) -> dict[str, Counter[str]]:
    """Hold every method's claims in one world against every action; counts per method."""
    place = world(seed)
    predictor = place.linear()
    out = {}
    for name in names:
        method, most = METHODS[name](), LISTED.get(name)
        if most is not None:
            method.set_params(max_changes=most)
        everything = [_ways(place, predictor, i, most) for i in range(len(place.table))]
        try:
            out[name] = _held_against(method, place, predictor, everything)
        except Exception as error:  # whatever it is, it should have been a status
            out[name] = crashed(seed, name, error)
    return out


def _held_against(
    method: AbstractMethod, place: World, predictor: Predictor, everything: list[tuple[float, bool, bool]]
) -> Counter[str]:
    method.set_params(random_state=0)
    plan = method.fit(predictor, place.table).recourse(place.table, restrictions=place.restrictions)
    schema = predictor.encoder.schema.to_dict()
    rows, proposed = (
        rows_of(place.table, place.schema),
        rows_of(pd.DataFrame(dict(plan.recourse.columns)), place.schema),
    )
    counts: Counter[str] = Counter(people=len(plan))
    for i, (least, exists, already) in enumerate(everything):
        status = Status(plan.status[i])
        counts[status.name] += 1
        if status in (Status.FOUND, Status.OPTIMAL):
            wrong = broken(schema, rows[i], proposed[i], place.restrictions[i])
            counts["breaks a limit"] += int(bool(wrong))
            counts["refused"] += int(not plan.valid[i])
        counts["cheaper exists"] += int(status == Status.OPTIMAL and least < plan.cost[i] - CHEAPER)
        counts["a way exists"] += int(status == Status.INFEASIBLE and exists)
        counts["missed"] += int(status == Status.NOT_FOUND and exists)
        counts["not favourable"] += int(status == Status.ALREADY_FAVOURABLE and not already)
    return counts


def _ways(place: World, predictor: Predictor, i: int, most: int | None) -> tuple[float, bool, bool]:
    """Least cost of every action that is clearly accepted, whether there is one, and whether the person is."""
    own = rows_of(place.table.iloc[[i]], place.schema)[0]
    tried = list(actions(predictor.encoder.schema.to_dict(), own, place.restrictions[i]))
    if most is not None:
        tried = [row for row in tried if sum(row[name] != own[name] for name in own) <= most]
    encoder = predictor.encoder
    now = predictor.logits(place.table.iloc[[i]])[0].astype(float)
    if not tried:
        return np.inf, False, now[1] >= now[0]
    frame = pd.DataFrame(tried, columns=list(place.table.columns)).astype(place.table.dtypes)
    logits = predictor.logits(frame).astype(float)
    yes = logits[:, 1] - logits[:, 0] >= CLEAR
    x, y = encoder.encode(place.table.iloc[[i]]), encoder.encode(frame)
    cost = np.asarray(distance(y, x, "l1", norm_weights(encoder, "l1")))
    return float(np.min(cost[yes], initial=np.inf)), bool(yes.any()), now[1] >= now[0]


NAMES = ["flipset", "sparse_search"]
"""Methods that say OPTIMAL or INFEASIBLE."""
LISTED = {"sparse_search": 2}
"""Changes up to which a method goes through everything, which is what its proofs are about."""
WRONG = ("crashed", "cheaper exists", "a way exists", "breaks a limit", "refused", "not favourable")


def main() -> None:
    """Run, printing what was found; the file of counts grows world by world."""
    attacked("brute", __doc__ or "", lambda seed: attack(seed, NAMES), WRONG, worlds=300)


if __name__ == "__main__":
    main()
