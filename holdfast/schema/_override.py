"""What one person, unlike the schema, may not change."""

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.errors import SchemaError
from holdfast.schema._feature import DIRECTIONS, Feature, did_you_mean
from holdfast.schema._schema import Schema

Override = Mapping[str, Any]
"""Feature name to ``"fixed"``, or to a mapping with any of `direction`, `bounds` and `levels`."""


def normalise_overrides(overrides: Any, schema: Schema, n_rows: int) -> dict[int, dict[str, dict[str, Any]]]:
    """Check individual overrides and index them by row position.

    Parameters
    ----------
    overrides : None, mapping, or sequence
        A mapping from row position to an override, or one override (or None) per row.
    schema : Schema
        Overrides narrow it; they never loosen it.
    n_rows : int
        Rows of the table they speak of.
    """
    if overrides is None:
        return {}
    if isinstance(overrides, Mapping):
        pairs = list(overrides.items())
    elif isinstance(overrides, Sequence) and not isinstance(overrides, str):
        if len(overrides) != n_rows:
            raise SchemaError(
                f"recourse: `overrides` must have one entry per row; got {len(overrides)} for {n_rows} rows."
            )
        pairs = [(i, o) for i, o in enumerate(overrides) if o]
    else:
        raise SchemaError(f"recourse: `overrides` must be a mapping or a list; got {overrides!r}.")
    out = {}
    for row, override in pairs:
        if not isinstance(row, int) or not 0 <= row < n_rows:
            raise SchemaError(f"recourse: `overrides` name a row that is not there; got {row!r} of {n_rows}.")
        if not isinstance(override, Mapping):
            raise SchemaError(f"recourse: an override must map features to limits; got {override!r}.")
        out[row] = {name: _limits(schema[name], limit) for name, limit in override.items()}
    return out


def _limits(feature: Feature, limit: Any) -> dict[str, Any]:
    if isinstance(limit, str):
        limit = {"direction": limit}
    if not isinstance(limit, Mapping):
        raise SchemaError(
            f"recourse: an override of {feature.name!r} must be a direction or a mapping; got {limit!r}."
        )
    known = ("direction", "bounds", "levels")
    for key, value in limit.items():
        if key not in known:
            raise SchemaError(
                f"recourse: unknown limit of {feature.name!r} in an override; got {key!r}. "
                f"{did_you_mean(key, known)}"
            )
        if key == "direction" and value not in DIRECTIONS:
            raise SchemaError(
                f"recourse: `direction` of {feature.name!r} in an override is not known; got {value!r}. "
                f"{did_you_mean(value, DIRECTIONS)}"
            )
        if key == "levels":
            if not feature.has_levels:
                raise SchemaError(
                    f"recourse: `levels` in an override of {feature.name!r} need a feature with levels; got "
                    f"kind {feature.kind!r}. Use `bounds`."
                )
            if isinstance(value, str) or not isinstance(value, Sequence) or not value:
                raise SchemaError(
                    f"recourse: `levels` in an override of {feature.name!r} must be a list; got {value!r}."
                )
            for level in value:
                if level not in (feature.levels or ()):
                    raise SchemaError(
                        f"recourse: an override names an unknown level of {feature.name!r}; got {level!r}."
                    )
            codes = sorted((feature.levels or ()).index(level) for level in value)
            if feature.kind == "ordinal" and codes != list(range(codes[0], codes[0] + len(codes))):
                raise SchemaError(
                    f"recourse: `levels` of ordinal {feature.name!r} in an override must be neighbours; got "
                    f"{list(value)!r}. Fill the gap."
                )
        if key == "bounds":
            feature.replace(bounds=tuple(value))  # raises in the template
    return dict(limit)
