"""Schemas at random: every limit and every sentence of methods' answers, held against an independent checker.

python -m benchmarks.attack.schemas [--worlds 60] [--seed 0] [--processes 1] [--seconds 600] [--print]

Twelve worlds in a row share columns of the same kinds, so that few programs are compiled, and every registered
method is asked in each that has a model it can serve: linear ones and networks of the package's own, somebody
else's of which trees or weights are read, and one that knows only `predict_proba`. Methods that need retrained
models or a generator are asked with classifiers that have them. In one world of twelve, a part of the methods is
also asked for answers that hold.

Of everyone who is told a recourse: it breaks no limit as `docs/reference/schema.md` has them, the model itself
accepts it, and who does exactly what the sentence says ends at the row that was checked. Who is told that
nothing needs to change is accepted already. Whatever else happens must be a status, or an error that says what
the method cannot do. Results are written as they are made, so that a run that is stopped goes on where it was;
the command ends with 1 where something is wrong.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import holdtrue as ht
import holdtrue.hold  # registers Holding
from benchmarks.attack._checker import NUMBERS, Row, broken
from benchmarks.attack._models import KINDS, Model, model
from benchmarks.attack._tally import Attack, Job, Line, crashed, rows_of
from benchmarks.attack._worlds import World, world
from holdtrue.errors import CapabilityError, DataError
from holdtrue.methods import METHODS
from holdtrue.search import Status

PEOPLE, PER_MOULD = 200, len(KINDS)
HELD = ", held"
HELD_EVERY = (
    4  # of the methods, one in so many is also asked to hold in a mould; the next mould takes the next ones
)
HELD_KINDS = ("trained", "trees", "black box")
NEEDS = {"generated": "generator", "stable_search": "trained", "beta_rce": "trained", "holding": "trained"}
"""Methods that need retrained models or a generator, and the kind of model that has them: one world a mould."""
SAID = re.compile(r"(f\d) from (\S+) to (\S+?)(?=, | and |\. |\.$)")
WRONG = ("crashed", "breaks a limit", "refused", "told otherwise", "not favourable")


def attack(
    seed: int, asked: str, *, people: int = PEOPLE, mould: int | None = None, kind: str | None = None
) -> list[Line]:
    """Hold one method's answers in one world against the checker; mould and kind of model as its turn has them."""
    mould = seed // PER_MOULD if mould is None else mould
    place = world(seed, small=False, mould=mould, rows=people)
    name, held = asked.removesuffix(HELD), asked.endswith(HELD)
    turn = HELD_KINDS[mould % len(HELD_KINDS)] if held else KINDS[seed % PER_MOULD]
    kind = NEEDS.get(name, turn) if kind is None else kind
    try:
        made = model(place, kind)
        plan = _answered(METHODS[name](random_state=0), place, made, 0.9 if held else None)
    except CapabilityError:
        return []
    except DataError as error:
        # It says that it cannot promise so much.
        said = "no margin was measured" in str(error)
        return [{"method": asked, "no level": 1}] if said else [crashed(asked, error)]
    except Exception as error:  # whatever it is, it should have been a status
        return [crashed(asked, error)]
    return [{"method": asked, "model": made.kind, **_counted(place, made.model, plan)}]


def tasks(first: int, worlds: int) -> Iterator[list[Job]]:
    """A method's worlds of one mould after another: they share compiled programs."""
    last = first + worlds
    for mould in range(first // PER_MOULD, -(-last // PER_MOULD)):
        begin = mould * PER_MOULD
        seeds = [seed for seed in range(begin, begin + PER_MOULD) if first <= seed < last]
        for i, name in enumerate(METHODS):
            yield [(seed, name) for seed in seeds if name not in NEEDS or seed == begin]
            if (i + mould) % HELD_EVERY == 0 and name not in NEEDS and begin in seeds:
                yield [(begin, name + HELD)]


def _answered(method: Any, place: World, made: Model, hold: float | None) -> ht.RecourseFrame:
    X, restrictions = place.table, place.restrictions
    if not made.own:
        known: dict[str, Any] = {} if hold is None else {"hold": hold, "labels": made.labels}
        return ht.recourse(
            made.model, X, place.schema, reference=X, method=method, restrictions=restrictions, **known
        )
    if isinstance(made.model, ht.RecourseClassifier) and hold is not None:
        method = ht.Holding(base=method, hold=hold, n_guides=10, n_judges=10, random_state=0)
    return method.fit(made.model, X, made.labels).recourse(X, restrictions=restrictions)


def _counted(place: World, decider: Any, plan: ht.RecourseFrame) -> Counter[str]:
    schema = plan.schema.to_dict()
    frame = plan.to_frame()[list(place.table.columns)]
    accepts = decider.predict if hasattr(decider, "predict") else decider.decide
    yes, now = (accepts(t.astype(place.table.dtypes)) == 1 for t in (frame, place.table))
    rows, proposed = rows_of(place.table, place.schema), rows_of(frame, place.schema)
    counts: Counter[str] = Counter(people=len(plan))
    for i, sentence in enumerate(plan.changes()):
        status = Status(plan.status[i])
        counts[status.name] += 1
        if plan.found[i]:
            counts["breaks a limit"] += int(bool(broken(schema, rows[i], proposed[i], place.restrictions[i])))
            counts["refused"] += int(not yes[i])
            followed = sentence.startswith("Nothing") or _followed(schema, rows[i], sentence) == proposed[i]
            counts["told otherwise"] += int(not followed)
        counts["not favourable"] += int(status == Status.ALREADY_FAVOURABLE and not now[i])
    return counts


def _followed(schema: Any, row: Row, sentence: str) -> Row:
    """A person after they have done what a sentence says, to the letter."""
    out = dict(row)
    for name, _, text in SAID.findall(sentence.split(" As a consequence")[0]):
        feature = next(f for f in schema["features"] if f["name"] == name)
        if feature["kind"] in NUMBERS:
            out[name] = float(text.replace(",", ""))
        else:
            said = (
                {"yes": 1, "no": 0} if set(feature["levels"]) == {0, 1} else {str(v): v for v in feature["levels"]}
            )
            out[name] = said[text]
    return out


ATTACK = Attack("schemas", __doc__ or "", attack, WRONG, tasks, worlds=60)

if __name__ == "__main__":
    ATTACK.main()
