"""What must hold across columns: linear constraints and implications between levels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from holdtrue._types import Json, JsonObject
from holdtrue.errors import SchemaError
from holdtrue.schema._checks import did_you_mean, is_level, is_list, is_number, plain, shown
from holdtrue.schema._feature import Level
from holdtrue.schema._keywords import HintedKeywords

LevelSets = Mapping[str, Sequence[Level]]


@dataclass(frozen=True, kw_only=True)
class LinearConstraint(HintedKeywords):
    """``sum of coefficient * feature <= bound``, on the recourse or on the change.

    Numbers enter in their own units, binary and ordinal features by the position of their level
    (0, 1, ...), a level of a categorical feature as ``"feature=level"`` (1 if taken, else 0).

    Parameters
    ----------
    coefficients : mapping of str to float
        Which features take part, and how much.
    bound : float
        Right-hand side.
    on : {"value", "change"}, default="value"
        Whether the sum is over the recourse itself or over recourse minus factual.
    name : str, optional
        How messages call it.
    """

    coefficients: Mapping[str, float]
    bound: float
    on: Literal["value", "change"] = "value"
    name: str | None = None

    def __post_init__(self) -> None:
        _check_name(self, self.name)
        where = f"Schema: constraint {self.name or shown(self.coefficients)}"
        if not isinstance(self.coefficients, Mapping) or not self.coefficients:
            raise SchemaError(
                f"{where}: `coefficients` must map features to numbers; got {shown(self.coefficients)}. Write for "
                "example {'debt': 1, 'income': -0.4}."
            )
        coefficients = {plain(k): plain(v) for k, v in self.coefficients.items()}
        for key, value in coefficients.items():
            if not isinstance(key, str) or not is_number(value):
                raise SchemaError(
                    f"{where}: each coefficient must be a finite number; got {shown(key)}: {shown(value)}. Write "
                    "the column's name and a number."
                )
        bound = plain(self.bound)
        if not is_number(bound):
            raise SchemaError(
                f"{where}: `bound` must be a finite number; got {shown(bound)}. Write the right-hand side of <=."
            )
        if not isinstance(self.on, str) or self.on not in ("value", "change"):
            raise SchemaError(
                f"{where}: `on` must be 'value' or 'change'; got {shown(self.on)}. Omit it for 'value'."
            )
        object.__setattr__(self, "coefficients", {str(k): float(v) for k, v in coefficients.items()})
        object.__setattr__(self, "bound", float(bound))
        object.__setattr__(self, "on", str(self.on))

    def to_dict(self) -> JsonObject:
        """Return plain types for YAML and JSON."""
        out: JsonObject = {"coefficients": dict(self.coefficients), "bound": self.bound}
        if self.on != "value":
            out["on"] = self.on
        if self.name is not None:
            out["name"] = self.name
        return out

    @classmethod
    def from_dict(cls, raw: Json) -> "LinearConstraint":
        """Build a constraint from the plain types of a YAML or JSON file."""
        return cls(**_known_fields(raw, ("coefficients", "bound", "on", "name"), ("coefficients", "bound")))


@dataclass(frozen=True, kw_only=True)
class Implication(HintedKeywords):
    """For people who *were* so: a recourse *when* it is so must *then* be so.

    Each part maps features with levels (binary, ordinal, categorical) to the levels that count; an empty
    part always holds. "Married cannot become never-married" is
    ``Implication(was={"status": ["married"]}, then={"status": ["married", "divorced", "widowed"]})``;
    "an owner is not homeless" is ``Implication(when={"housing": ["own"]}, then={"homeless": ["no"]})``.
    """

    then: LevelSets
    when: LevelSets = field(default_factory=dict)
    was: LevelSets = field(default_factory=dict)
    name: str | None = None

    def __post_init__(self) -> None:
        _check_name(self, self.name)
        for part in ("then", "when", "was"):
            object.__setattr__(self, part, _level_sets(part, getattr(self, part)))
        if not self.then:
            raise SchemaError(f"Schema: an implication needs `then`; got {shown(self.to_dict())}. Add it.")

    def to_dict(self) -> JsonObject:
        """Return plain types for YAML and JSON."""
        out: JsonObject = {}
        for part in ("was", "when", "then"):
            sets = getattr(self, part)
            if sets:
                out[part] = {k: list(v) for k, v in sets.items()}
        if self.name is not None:
            out["name"] = self.name
        return out

    @classmethod
    def from_dict(cls, raw: Json) -> "Implication":
        """Build an implication from the plain types of a YAML or JSON file."""
        return cls(**_known_fields(raw, ("then", "when", "was", "name"), ("then",)))


def _check_name(owner: LinearConstraint | Implication, name: object) -> None:
    if name is not None and not isinstance(name, str):
        raise SchemaError(f"Schema: `name` of a constraint must be text; got {shown(name)}. Put it in quotes.")
    object.__setattr__(owner, "name", None if name is None else str(name))


def _level_sets(part: str, raw: Json) -> dict[str, tuple[Level, ...]]:
    if not isinstance(raw, Mapping):
        raise SchemaError(
            f"Schema: `{part}` of an implication must map features to lists of levels; got {shown(raw)}. Write "
            "for example {'housing': ['own']}."
        )
    out = {}
    for name, levels in raw.items():
        values = tuple(plain(v) for v in levels) if is_list(levels) else (plain(levels),)
        if not isinstance(name, str) or not values or not all(is_level(v) for v in values):
            raise SchemaError(
                f"Schema: `{part}` of an implication must map a feature to at least one level; got "
                f"{shown(name)}: {shown(levels)}. Write for example {{'housing': ['own']}}."
            )
        out[str(name)] = tuple(str(v) if isinstance(v, str) else v for v in values)
    return out


def _known_fields(raw: Json, known: Sequence[str], needed: Sequence[str]) -> JsonObject:
    if not isinstance(raw, Mapping):
        raise SchemaError(
            f"Schema: a constraint must be a mapping; got {shown(raw)}. Write the fields {list(needed)!r}."
        )
    # YAML 1.1 reads the key `on` as the truth value.
    raw = {("on" if key is True else key): value for key, value in raw.items()}
    for key in raw:
        if key not in known:
            raise SchemaError(
                f"Schema: unknown field of a constraint; got {shown(key)}. {did_you_mean(key, known)}"
            )
    for key in needed:
        if key not in raw:
            raise SchemaError(f"Schema: a constraint lacks `{key}`; got {shown(dict(raw))}. Add it.")
    return dict(raw)
