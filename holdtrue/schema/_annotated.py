"""A schema as a file to be corrected: what was guessed, and every field that could be written, as comments."""

from collections.abc import Mapping
from typing import Any

from holdtrue.schema._feature import DIRECTIONS, Feature
from holdtrue.schema._json_schema import FILE_NAME
from holdtrue.schema._schema import Schema

WIDTH = 110
_HEAD = """\
# yaml-language-server: $schema={name}
# What each column is and how a person may change it. Only you know what is true: read, correct, delete what does
# not apply. A line without # counts; lines with # are remarks, and fields at their defaults.
# Editors complete and check this file against the JSON Schema that `holdtrue schema --json-schema` prints.
"""
_TAIL = """\
# Rules between columns go here:
# constraints:
# - coefficients: {{{one}: 1}}  # the sum, weighted so, must not exceed the bound
#   bound: 100
#   on: value  # or change: recourse minus the person as they are
#   name: what it means, in words
# implications:
# - when: {{COLUMN: [LEVEL]}}  # who has one of these levels must have one of those
#   then: {{COLUMN: [LEVEL]}}
"""


def annotated(schema: Schema) -> str:
    """YAML of a schema with its notes, and with the fields that were left at their defaults, as comments."""
    by_name: dict[str, list[str]] = {}
    for note in schema.notes:
        name = _owner(note, schema)
        by_name.setdefault(name, []).append(note[len(name) + 2 :] if note.startswith(f"{name}: ") else note)
    parts = [_HEAD.format(name=FILE_NAME), "holdtrue_schema: 1\n", "features:\n"]
    for feature in schema:
        parts.append(_feature(feature, by_name.get(feature.name, [])))
    rules = {k: v for k, v in schema.to_dict().items() if k in ("constraints", "implications")}
    parts.append("\n" + (_rules(rules) if rules else _TAIL.format(one=_flow(schema.names[0]))))
    others = [(name, told) for name, told in by_name.items() if name not in schema]
    if others:
        parts.append("\n# Columns that are not described are carried along, and no model reads them:\n")
        parts += [_comment(f"{name}: {' '.join(told)}") for name, told in others]
    return "".join(parts)


def _rules(rules: Mapping[str, object]) -> str:
    import yaml

    return yaml.safe_dump(rules, sort_keys=False, allow_unicode=True)


def _owner(note: str, schema: Schema) -> str:
    """The column that a note is about: the longest known name that it begins with."""
    known = [name for name in schema.names if note.startswith(f"{name}: ")]
    return max(known, key=len) if known else note.partition(": ")[0]


def _feature(feature: Feature, told: list[str]) -> str:
    fields = feature.to_dict()
    fields.setdefault("direction", feature.direction)
    lines = ["\n"]
    lines += [_comment(text) for text in told]
    for i, (key, value) in enumerate(_ordered(fields).items()):
        text = f"{key}: {_flow(value)}"
        remark = f"  # {', '.join(_directions(feature))}" if key == "direction" else ""
        lines.append(("- " if i == 0 else "  ") + text + remark + "\n")
    lines += [f"  # {key}: {what}\n" for key, what in _unused(feature, fields).items()]
    return "".join(lines)


def _ordered(fields: Mapping[str, object]) -> dict[str, Any]:
    first = [k for k in ("name", "kind", "direction") if k in fields]
    return {key: fields[key] for key in [*first, *(k for k in fields if k not in first)]}


def _directions(feature: Feature) -> tuple[str, ...]:
    return ("free", "fixed") if feature.kind == "categorical" else DIRECTIONS


def _unused(feature: Feature, fields: Mapping[str, object]) -> dict[str, str]:
    """Fields at their defaults that this kind may have, with what they mean."""
    what = {
        "label": "how sentences call it", "cost_weight": "1.0  # twice as hard: 2.0",
        "group": "features of one group are told as one reason",
        "protected": "false  # true: never named as a reason",
    }  # fmt: skip
    if feature.has_levels:
        missing = "level" if feature.kind == "categorical" else "most_frequent"
        if feature.kind == "categorical":
            what["transitions"] = "[[from, [to, to]]]"
    else:
        missing = "median"
        what |= {
            "unit": "$",
            "step": "1  # whole multiples of it",
            "cost": "range  # or percentile: by the people passed",
        }
    what["missing"] = f"{missing}  # what stands in for an empty cell; refused without"
    return {key: text for key, text in what.items() if key not in fields}


def _comment(text: str) -> str:
    import textwrap

    lines = textwrap.wrap(" ".join(text.split()), WIDTH, break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines or [""])


def _flow(value: object) -> str:
    """A value on one line."""
    import yaml

    text = yaml.safe_dump(value, allow_unicode=True, default_flow_style=True, width=float("inf"))
    return text.removesuffix("\n").removesuffix("\n...")
