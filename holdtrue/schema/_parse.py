"""YAML and JSON that people write: plain types, and no key twice, of which all but the last would be lost."""

import json
from typing import Any

from holdtrue._types import Json


def parse_json(text: str) -> Json:
    """What a JSON text says; a ValueError where a key stands twice."""
    return json.loads(text, object_pairs_hook=_once)


def parse_yaml(text: str) -> Json:
    """What a YAML text says; a ValueError where a key stands twice. Tags that would run code are refused."""
    import yaml

    class Loader(yaml.SafeLoader):
        """The safe one, which would take the last of equal keys."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Json:
            # Keys that are merged in (`<<`) may be overridden: only what is written here counts.
            own = [key for key, _ in getattr(node, "value", []) if key.tag != "tag:yaml.org,2002:merge"]
            _once([(self.construct_object(key, deep=True), None) for key in own])
            return super().construct_mapping(node, deep)

    return yaml.load(text, Loader)


def _once(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    out: dict[Any, Any] = {}
    for key, value in pairs:
        if key in out:
            raise ValueError(f"the key {key!r} stands twice")
        out[key] = value
    return out
