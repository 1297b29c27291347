"""What a ledger's chain says, from its public part alone: what was promised, kept and broken, what gates found."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from holdtrue._types import JsonObject
from holdtrue.handover._counts import share
from holdtrue.ledger import STATE_AFTER, event_hash, genesis


def ledger_figures(tables: Mapping[str, pa.Table], given: JsonObject, confidence: float) -> JsonObject:
    """Promises by where they stand, kept and broken, by model; whether the hashes follow on one another."""
    events = tables["ledger"].to_pylist()
    states: dict[str, str] = {}
    issued: dict[str, JsonObject] = {}
    kept: dict[str, bool] = {}
    gates: JsonObject = {}
    for event in events:
        said = json.loads(event["public"])
        if event["kind"] == "forget":
            states.update(dict.fromkeys(said["ended"], "forgotten"))
        elif event["kind"] == "gate":
            of = {name: said[name] for name in ("model", "at", "unreadable", "max_broken", "ok")}
            gates[str(event["seq"])] = of | {"broken": share(said["broken"], said["live"], confidence)}
        elif event["kind"] in STATE_AFTER:
            states[event["promise"]] = STATE_AFTER[event["kind"]]
            if event["kind"] == "issue":
                issued[event["promise"]] = said
            elif event["kind"] == "fulfil":
                kept[event["promise"]] = bool(said["kept"])
    by_model: dict[str, Counter[str]] = {}
    for promise, said in issued.items():
        counts = by_model.setdefault(said["model"], Counter())
        counts["promised"] += 1
        if promise in kept:
            counts["kept" if kept[promise] else "broken"] += 1
    out: JsonObject = {
        "events": len(events),
        "chain_follows": _follows(events, given["name"]) and given["hash"] == _last(events, given["name"]),
        "promised": len(issued),
        "states": dict(sorted(Counter(states.values()).items())),
        "fulfilled_and_kept": share(sum(kept.values()), len(kept), confidence),
        "by_model": {
            model: {name: counts[name] for name in ("promised", "kept", "broken")}
            for model, counts in sorted(by_model.items())
        },
        "gates": gates,
        "gate": None,
    }
    if "broken" in tables:
        live = [p for p, state in states.items() if state == "live" and _binds(issued[p], given["at"])]
        out["gate"] = {
            "broken": share(tables["broken"].num_rows, len(live), confidence),
            "not_readable": sum(tables["broken"].column("unreadable").to_pylist()),
        }
    return out


def _binds(issued: JsonObject, at: str) -> bool:
    return issued["valid_until"] is None or issued["valid_until"] > at


def _follows(events: list[Any], name: str) -> bool:
    previous = genesis(name)
    for event in events:
        previous, before = event["hash"], previous
        if event_hash(before, event) != previous:
            return False
    return True


def _last(events: list[Any], name: str) -> str:
    return events[-1]["hash"] if events else genesis(name)
