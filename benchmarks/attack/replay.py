"""Proofs under trees replayed by a checker that shares no code with the search, in random worlds.

python -m benchmarks.attack.replay [--worlds 40] [--seed 0] [--processes 1] [--print]

Every refused person's proof (`ExactSearch.proofs`) is followed by `_replayer`, from the schema's text and the
trees as their libraries write them down. Each is then spoilt: an OPTIMAL is claimed to be INFEASIBLE, or at a
tenth more than it costs; such a proof must be rejected.
"""

from collections import Counter
from typing import Any

import numpy as np
from xgboost import XGBClassifier

import holdtrue as ht
from benchmarks.attack._replayer import Replayer
from benchmarks.attack._tally import Attack, Line, crashed, rows_of, world_by_world
from benchmarks.attack._worlds import World, world
from benchmarks.attack.cpsat import CLEAR, _boosted, _forest, _leads, _learned

KINDS = ("forest", "boosting")
PEOPLE = 6  # of one world under one model


def attack(seed: int, kind: str) -> list[Line]:
    """Replay every proof of one world under one kind of model; every second world has numbers without steps."""
    try:
        return [{"method": kind, **_replayed(world(seed, small=seed % 2 == 0), kind)}]
    except Exception as error:  # whatever it is, it should have been a proof
        return [crashed(kind, error)]


def _replayed(place: World, kind: str) -> Counter[str]:
    model = _learned(place, kind)
    predictor = ht.wrap(model, place.schema, place.table)
    if "trees" not in predictor.capabilities:
        return Counter(unread=1)
    schema = predictor.encoder.schema
    refused = np.flatnonzero(predictor.decide(schema.check(place.table)) != predictor.decision.favourable)[:PEOPLE]
    people = place.table.iloc[refused].reset_index(drop=True)
    restrictions = [place.restrictions[i] for i in refused]
    counts: Counter[str] = Counter(people=len(refused))
    if not len(refused):
        return counts
    _, proofs = ht.ExactSearch(time_limit=60).fit(predictor).proofs(people, restrictions=restrictions)
    number, trees, base = read(model, people)
    encoder, slots = predictor.encoder, predictor.encoder.layout.slots
    scale = {s.name: (float(encoder.scale[s.start]), float(encoder.offset[s.start])) for s in slots}
    need = CLEAR - base if kind == "boosting" else 1.0 / (1.0 + np.exp(-CLEAR))
    for i, (row, proof) in enumerate(zip(rows_of(people, place.schema), proofs, strict=True)):
        if proof is None or proof["status"] not in ("OPTIMAL", "INFEASIBLE"):
            counts["without a proof"] += 1
            continue
        replayer = Replayer(schema.to_dict(), row, restrictions[i], scale, number, trees, need)
        # What was told may be rounded up: the proof is about what the search found.
        claimed = proof | {"cost": min(proof["cost"], proof["bound"])} if proof["status"] == "OPTIMAL" else proof
        wrong = replayer.replay(claimed)
        counts["boxes"] += len(proof["boxes"])
        counts["replayed"] += int(wrong is None)
        counts["rejected"] += int(wrong is not None)
        if proof["status"] == "OPTIMAL":
            for false in ({"status": "INFEASIBLE"}, {"cost": 1.1 * proof["cost"] + 1e-3}):
                counts["spoilt"] += 1
                counts["spoilt, not rejected"] += int(replayer.replay(proof | false) is None)
    return counts


def read(model: Any, people: Any) -> tuple[Any, Any, float]:
    """What a model reads of a value, its trees by the names of features, and what it adds before them."""
    codes, trees = model[:-1], model[-1]
    words, coder = codes[0].transformers_[0][2], codes[0].transformers_[0][1]
    levels = {n: list(c) for n, c in zip(words, coder.categories_, strict=True)} if len(words) else {}
    names = [name.split("__", 1)[1] for name in codes[0].get_feature_names_out()]

    def number(name: str, value: Any) -> float:
        if value is None:  # to the encoder a category of its own, where it learned from None and not from NaN
            known = [level is None for level in levels.get(name, ())]
            return float(known.index(True)) if any(known) else np.nan
        return float(levels[name].index(value)) if name in levels else float(value)

    plain = _boosted(trees) if isinstance(trees, XGBClassifier) else _forest(trees)
    base = 0.0
    if isinstance(trees, XGBClassifier):
        row = np.asarray(codes.transform(people.iloc[:1]), float)
        own = sum(value for tree in plain for path, value in tree if _leads(path, row[0]))
        base = float(trees.predict(row, output_margin=True)[0]) - own
    return number, [[({names[c]: p for c, p in path.items()}, v) for path, v in tree] for tree in plain], base


WRONG = ("crashed", "rejected", "spoilt, not rejected")


ATTACK = Attack("replay", __doc__ or "", attack, WRONG, world_by_world(KINDS), worlds=40)

if __name__ == "__main__":
    ATTACK.main()
