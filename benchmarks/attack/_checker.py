"""What a person may do, from `docs/reference/schema.md` alone: plain Python over raw values, no package code.

A schema is what `Schema.to_dict` writes, a row a dictionary of plain values, None where one is missing.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

Row = dict[str, Any]
NOISE = 1e-9  # of doubles that are added up

NUMBERS = ("numeric", "integer")


def broken(schema: Mapping[str, Any], factual: Row, recourse: Row, restriction: Mapping[str, Any]) -> list[str]:
    """Every limit that a recourse breaks, in words; none is a recourse that the person may take."""
    out = []
    for feature in schema["features"]:
        before, after = factual[feature["name"]], recourse[feature["name"]]
        if after != before and not allowed(feature, before, after, limit_of(restriction, feature)):
            out.append(f"{feature['name']} may not go from {before!r} to {after!r}")
    out += [
        f"constraint {c} is broken"
        for c in schema.get("constraints", [])
        if not keeps(schema, c, factual, recourse)
    ]
    out += [
        f"implication {i} is broken"
        for i in schema.get("implications", [])
        if not follows(schema, i, factual, recourse)
    ]
    return out


def limit_of(restriction: Mapping[str, Any], feature: Mapping[str, Any]) -> Mapping[str, Any]:
    """What one person's restriction says about a feature; a bare word is a direction."""
    given = restriction.get(feature["name"], {})
    return {"direction": given} if isinstance(given, str) else given


def allowed(feature: Mapping[str, Any], before: Any, after: Any, limit: Mapping[str, Any]) -> bool:
    """Whether a person may change one feature from a value to another."""
    kind = feature["kind"]
    if after is None or (before is None and feature.get("missing") != "level"):
        return False  # nobody becomes missing, and an imputed value is never changed
    ways = {feature.get("direction", "free"), limit.get("direction", "free")} - {"free"}
    if "fixed" in ways or len(ways) == 2:
        return False
    way = ways.pop() if ways else "free"
    if kind == "categorical":
        moves = dict(feature.get("transitions", []))
        named = "(missing)" if before is None else before
        if way != "free" or (named in moves and after not in moves[named]):
            return False
        return (
            after in feature["levels"] and after != "(missing)" and after in limit.get("levels", feature["levels"])
        )
    if kind in NUMBERS:
        low, high = feature["bounds"]
        if "bounds" in limit:
            low, high = max(low, limit["bounds"][0]), min(high, limit["bounds"][1])
        step = feature.get("step", 1.0 if kind == "integer" else None)
        slack = NOISE * (1 + abs(after))
        on_grid = step is None or abs(after / step - round(after / step)) <= 1e-6
        inside = low - slack <= after <= high + slack and on_grid
        rises = after > before
    else:
        levels = list(feature["levels"])
        inside = after in levels and after in limit.get("levels", levels)
        rises = inside and levels.index(after) > levels.index(before)
    return inside and not (way == "increase" and not rises) and not (way == "decrease" and rises)


def keeps(schema: Mapping[str, Any], constraint: Mapping[str, Any], factual: Row, recourse: Row) -> bool:
    """Whether a recourse keeps a linear constraint."""
    terms = []
    for key, coefficient in constraint["coefficients"].items():
        new = coefficient * term(schema, key, recourse)
        terms.append(new)
        if constraint.get("on", "value") == "change":
            terms.append(-coefficient * term(schema, key, factual))
    bound = constraint["bound"]
    return math.fsum(terms) <= bound + NOISE * (sum(map(abs, terms)) + abs(bound))


def term(schema: Mapping[str, Any], key: str, row: Row) -> float:
    """What a key of a linear constraint counts in a row."""
    for feature in schema["features"]:
        name, value = feature["name"], row[feature["name"]]
        if key == name:
            if feature["kind"] in NUMBERS:
                return float(feature["missing"] if value is None else value)
            return float(list(feature["levels"]).index(feature["missing"] if value is None else value))
        if key.startswith(f"{name}="):
            named = "(missing)" if value is None else value
            return float(str(named) == key[len(name) + 1 :])
    raise KeyError(key)


def follows(schema: Mapping[str, Any], implication: Mapping[str, Any], factual: Row, recourse: Row) -> bool:
    """Whether a recourse keeps an implication."""

    def so(part: str, row: Row) -> bool:
        return all(_level(schema, name, row) in levels for name, levels in implication.get(part, {}).items())

    return not (so("was", factual) and so("when", recourse)) or so("then", recourse)


def _level(schema: Mapping[str, Any], name: str, row: Row) -> Any:
    feature = next(f for f in schema["features"] if f["name"] == name)
    if row[name] is not None:
        return row[name]
    return "(missing)" if feature["missing"] == "level" else feature["missing"]


def actions(schema: Mapping[str, Any], factual: Row, restriction: Mapping[str, Any]) -> Iterator[Row]:
    """Every row on the schema's grid that a person may take, their own among them."""
    choices = []
    for feature in schema["features"]:
        own, limit = factual[feature["name"]], limit_of(restriction, feature)
        values = [v for v in grid(feature) if v != own and allowed(feature, own, v, limit)]
        choices.append([own, *values])
    names = [f["name"] for f in schema["features"]]
    for values in itertools.product(*choices):
        row = dict(zip(names, values, strict=True))
        if all(keeps(schema, c, factual, row) for c in schema.get("constraints", [])) and all(
            follows(schema, i, factual, row) for i in schema.get("implications", [])
        ):
            yield row


def grid(feature: Mapping[str, Any]) -> list[Any]:
    """The values of a feature that has only some."""
    if feature["kind"] not in NUMBERS:
        return [level for level in feature["levels"] if level != "(missing)"]
    low, high = feature["bounds"]
    step = feature.get("step", 1.0)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 10) for k in range(first, last + 1)]
