"""Who a score is shared out between: features, groups of them, and protected columns each by itself."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdtrue.encoding import Layout
from holdtrue.errors import DataError
from holdtrue.schema import Schema


@dataclass(frozen=True)
class Players:
    """What gets a share of the gap: one name each, for one feature or a declared group of features.

    Attributes
    ----------
    schema : Schema
        Which says groups and protected columns.
    layout : Layout
        Where the features are in an encoded row.
    """

    schema: Schema
    layout: Layout

    @cached_property
    def members(self) -> dict[str, tuple[str, ...]]:
        """Name to features. A group's place is that of its first feature."""
        out: dict[str, tuple[str, ...]] = {}
        for feature in self.schema:
            # A protected column is never part of what may be named.
            name = feature.group if feature.group is not None and not feature.protected else feature.name
            out[name] = (*out.get(name, ()), feature.name)
        return out

    @property
    def names(self) -> list[str]:
        """Of features and groups, in the schema's order."""
        return list(self.members)

    @property
    def titles(self) -> list[str]:
        """How a sentence calls each."""
        return [
            self.schema[name].title if features == (name,) else name for name, features in self.members.items()
        ]

    @property
    def protected(self) -> np.ndarray:
        """Which must not be named as a reason."""
        return np.array([self.schema[features[0]].protected for features in self.members.values()])

    @cached_property
    def of_feature(self) -> dict[str, int]:
        """Place of the player that each feature belongs to."""
        return {feature: i for i, features in enumerate(self.members.values()) for feature in features}

    @cached_property
    def owner(self) -> np.ndarray:
        """Player of each encoded column; a mark of a missing value goes with its feature."""
        out = np.zeros(self.layout.n_columns, int)
        for slot in (*self.layout.slots, *self.layout.indicators):
            out[slot.start : slot.stop] = self.of_feature[slot.name]
        return out


def players_of(own: Schema, layout: Layout, schema: Schema | None) -> Players:
    """Players as a schema names them: the model's own, or another of the same columns."""
    if schema is not None and set(schema.names) != set(own.names):
        odd = sorted(set(schema.names) ^ set(own.names))
        raise DataError(
            f"reasons: `schema` must describe the columns that the model reads; got {odd[:5]!r} in one of the two."
        )
    if schema is None:
        return Players(own, layout)
    # Bounds and levels are the model's own; how reasons are told, the caller's.
    told = {f.name: {"group": f.group, "protected": f.protected, "label": f.label} for f in schema}
    players = Players(own.replace(**told), layout)
    clash = [name for name, features in players.members.items() if features != (name,) and name in own]
    if clash:
        raise DataError(f"reasons: a group has the name of a feature; got {clash[0]!r}. Call it something else.")
    return players
