"""One column: what it holds and how a person may change it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal, get_args

from holdtrue._types import Json, JsonObject
from holdtrue.errors import SchemaError
from holdtrue.schema._checks import did_you_mean, is_level, is_list, is_number, plain, shown
from holdtrue.schema._keywords import HintedKeywords

Kind = Literal["numeric", "integer", "binary", "ordinal", "categorical"]
Direction = Literal["free", "fixed", "increase", "decrease"]
CostScale = Literal["range", "percentile"]
Level = str | int | float | bool

KINDS: tuple[Kind, ...] = get_args(Kind)
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
COST_SCALES: tuple[CostScale, ...] = get_args(CostScale)

MISSING_LEVEL = "(missing)"
"""The level that stands for an absent value of a categorical feature."""


@dataclass(frozen=True, kw_only=True)
class Feature(HintedKeywords):
    """What one column holds and how it may change.

    Parameters
    ----------
    name : str
        The column of the table.
    kind : {"numeric", "integer", "binary", "ordinal", "categorical"}
        ``numeric`` and ``integer`` are numbers; ``binary`` has two levels, ``ordinal`` ordered ones,
        ``categorical`` unordered ones.
    bounds : (float, float), optional
        Where a recourse may put a numeric or integer feature. Learned from the table when omitted.
        A person who already lies outside may stay where they are.
    step : float, optional
        A recourse uses whole multiples of ``step``. Integers have step 1.
    direction : {"free", "fixed", "increase", "decrease"}, default="free"
        Which way the feature may move. For ``ordinal`` and ``binary``, up means later in `levels`.
    levels : sequence, optional
        The values of a binary, ordinal (in order) or categorical feature. Learned when omitted, except
        for ``ordinal``, whose order cannot be guessed.
    transitions : mapping, optional
        For ``categorical``: from a level, the levels one may move to. A level without an entry may move
        anywhere; staying is always allowed.
    cost_weight : float, default=1.0
        How hard a change of this feature is, relative to the others.
    cost : {"range", "percentile"}, default="range"
        What a change of a numeric or integer feature is measured by: the range of the training rows, or the share
        of training rows that it passes (and at least what the distance is of that between their 1st and 99th
        percentile), for numbers of which a few lie far from the rest.
    label, unit : str, optional
        How the feature is called in sentences, and its unit.
    missing : str or number, optional
        None refuses missing values. ``"level"`` makes them a level of their own (categorical).
        ``"median"``, ``"mean"`` (numbers), ``"most_frequent"`` (ordinal, binary) or a value imputes them
        and adds an indicator. An imputed value is never changed by a recourse, since nobody knows it.
    group : str, optional
        Features of one group are told as one reason of a decision, by the group's name.
    protected : bool, default=False
        Never named as a reason of a decision, nor shown at the case officer's desk unless the owner says so. What
        it contributes is told to the model's owner.

    Examples
    --------
    >>> Feature(name="income", kind="numeric", bounds=(0, 500), direction="increase", unit="k$")
    Feature(name='income', kind='numeric', bounds=(0.0, 500.0), direction='increase', unit='k$')
    """

    name: str
    kind: Kind
    bounds: tuple[float, float] | None = None
    step: float | None = None
    direction: Direction = "free"
    levels: tuple[Level, ...] | None = None
    transitions: Mapping[Level, tuple[Level, ...]] | None = None
    cost_weight: float = 1.0
    cost: CostScale = "range"
    label: str | None = None
    unit: str | None = None
    missing: str | float | None = None
    group: str | None = None
    protected: bool = False

    def __post_init__(self) -> None:
        # Numpy scalars and subclasses of str (what a dataframe hands out) become plain: YAML writes those only.
        for field in (
            "name",
            "kind",
            "direction",
            "step",
            "cost_weight",
            "cost",
            "label",
            "unit",
            "missing",
            "group",
        ):
            value = plain(getattr(self, field))
            object.__setattr__(self, field, str(value) if isinstance(value, str) else value)
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(
                f"Schema: `name` of a feature must be a non-empty string; got {shown(self.name)}. Write the "
                "column's name."
            )
        _one_of(self.name, "kind", self.kind, KINDS)
        _one_of(self.name, "direction", self.direction, DIRECTIONS)
        _one_of(self.name, "cost", self.cost, COST_SCALES)
        if self.cost != "range" and self.has_levels:
            raise SchemaError(
                f"Schema: `cost` of feature {self.name!r} only fits numeric and integer features; got kind "
                f"{self.kind!r}. Leave it out, and use `cost_weight`."
            )
        if self.bounds is not None:
            object.__setattr__(self, "bounds", self._checked_bounds())
        if self.levels is not None:
            object.__setattr__(self, "levels", self._checked_levels())
        self._check_step()
        self._check_direction()
        if self.transitions is not None:
            object.__setattr__(self, "transitions", self._checked_transitions())
        if not (is_number(self.cost_weight) and self.cost_weight > 0):
            raise SchemaError(
                f"Schema: `cost_weight` of feature {self.name!r} must be a positive number; got "
                f"{shown(self.cost_weight)}. To forbid a change write direction='fixed'."
            )
        object.__setattr__(self, "cost_weight", float(self.cost_weight))
        for field in ("label", "unit", "group"):
            value = getattr(self, field)
            if value is not None and not isinstance(value, str):
                raise SchemaError(
                    f"Schema: `{field}` of feature {self.name!r} must be a string; got {shown(value)}. Put it in "
                    "quotes."
                )
        self._check_missing()
        if not isinstance(self.protected, bool):
            raise SchemaError(
                f"Schema: `protected` of feature {self.name!r} must be true or false; got {shown(self.protected)}."
            )

    def __repr__(self) -> str:
        shown = (f"{k}={v!r}" for k, v in self.to_dict(native=True).items())
        return f"Feature({', '.join(shown)})"

    def __hash__(self) -> int:
        return hash((self.name, self.kind))

    @property
    def has_levels(self) -> bool:
        """Whether values are levels rather than numbers."""
        return self.kind in ("binary", "ordinal", "categorical")

    @property
    def title(self) -> str:
        """How a sentence names the feature."""
        return self.label or self.name

    @property
    def grid(self) -> float | None:
        """Spacing of permitted numbers, or None for a continuum."""
        return self.step if self.step is not None else (1.0 if self.kind == "integer" else None)

    def knows(self, level: object) -> bool:
        """Whether a value is one of the levels; any is, while they are still to be learned."""
        if self.levels is None or (self.missing == "level" and level == MISSING_LEVEL):
            return True
        return level in self.levels

    def replace(self, **changes: object) -> "Feature":
        """Return a copy with some fields changed."""
        return replace(self, **changes)

    def to_dict(self, *, native: bool = False) -> JsonObject:
        """Return the fields that differ from their defaults, in plain types."""
        out: JsonObject = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in ("name", "kind") and value == field.default:
                continue
            if not native and field.name == "transitions":
                # Pairs rather than a mapping: a JSON key is always text, a level need not be.
                value = [[level, list(allowed)] for level, allowed in value.items()]
            elif not native and isinstance(value, tuple):
                value = list(value)
            out[field.name] = value
        return out

    @classmethod
    def from_dict(cls, raw: Json) -> "Feature":
        """Build a feature from the plain types of a YAML or JSON file."""
        if not isinstance(raw, Mapping):
            raise SchemaError(f"Schema: a feature must be a mapping with `name` and `kind`; got {shown(raw)}.")
        known = [f.name for f in fields(cls)]
        for key in raw:
            if key not in known:
                raise SchemaError(
                    f"Schema: unknown field of feature {shown(raw.get('name'))}; got {shown(key)}. "
                    f"{did_you_mean(key, known)}"
                )
        for key in ("name", "kind"):
            if key not in raw:
                raise SchemaError(f"Schema: a feature lacks `{key}`; got {shown(dict(raw))}. Add it.")
        values = dict(raw)
        pairs = values.get("transitions")
        if pairs is not None and is_list(pairs):
            if not all(is_list(p) and len(p) == 2 and is_level(p[0]) for p in pairs):
                raise SchemaError(
                    f"Schema: `transitions` of feature {shown(raw['name'])} must be pairs [level, [levels]]; "
                    f"got {shown(pairs)}. Write for example [[rent, [own]]]."
                )
            values["transitions"] = {p[0]: p[1] for p in pairs}
            if len(values["transitions"]) != len(pairs):
                raise SchemaError(
                    f"Schema: `transitions` of feature {shown(raw['name'])} start from a level twice; got "
                    f"{shown(pairs)}. Join the two lists."
                )
        return cls(**values)

    # ---- checks -------------------------------------------------------------------------------------

    def _checked_bounds(self) -> tuple[float, float]:
        if self.has_levels:
            raise SchemaError(
                f"Schema: `bounds` of feature {self.name!r} only fit numeric and integer features; got "
                f"kind {self.kind!r}. Use `levels`, `direction` or `transitions` instead."
            )
        pair = self.bounds
        if pair is None or not (is_list(pair) and len(pair) == 2):
            raise SchemaError(
                f"Schema: `bounds` of feature {self.name!r} must be a pair; got {shown(pair)}. Write (low, high)."
            )
        low, high = (plain(v) for v in pair)
        if not (is_number(low) and is_number(high)):
            raise SchemaError(
                f"Schema: `bounds` of feature {self.name!r} must be two finite numbers; got {shown(pair)}. "
                "Omit `bounds` to learn them in fit."
            )
        if low > high:
            raise SchemaError(
                f"Schema: `bounds` of feature {self.name!r} are reversed; got {(low, high)!r}. Write "
                f"{(high, low)!r}, or omit `bounds` to learn them in fit."
            )
        return float(low), float(high)

    def _checked_levels(self) -> tuple[Level, ...]:
        levels = self.levels
        if not self.has_levels:
            raise SchemaError(
                f"Schema: `levels` of feature {self.name!r} only fit binary, ordinal and categorical "
                f"features; got kind {self.kind!r}. Use `bounds` for numbers."
            )
        if not is_list(levels):
            raise SchemaError(
                f"Schema: `levels` of feature {self.name!r} must be a list; got {shown(levels)}. Write [a, b]."
            )
        levels = self._plain_levels("levels", levels or ())
        if MISSING_LEVEL in levels and self.missing != "level":
            raise SchemaError(
                f"Schema: `levels` of feature {self.name!r} use a reserved name; got {MISSING_LEVEL!r}. Set "
                "missing='level' to have missing values as a level, or call the level something else."
            )
        if len(set(levels)) != len(levels):
            raise SchemaError(
                f"Schema: `levels` of feature {self.name!r} repeat a value; got {shown(levels)}. Keep one of "
                "each (1, 1.0 and true are the same value)."
            )
        if self.kind == "binary" and len(levels) != 2:
            raise SchemaError(
                f"Schema: binary feature {self.name!r} needs two `levels`; got {shown(levels)}. Use kind "
                "'categorical' or 'ordinal'."
            )
        if len(levels) < 2:
            raise SchemaError(
                f"Schema: `levels` of feature {self.name!r} must be at least two; got {shown(levels)}. Drop a "
                "constant column."
            )
        return levels

    def _plain_levels(self, field: str, levels: Sequence[object]) -> tuple[Level, ...]:
        out = tuple(str(v) if isinstance(v, str) else plain(v) for v in levels)
        for level in out:
            if not is_level(level):
                raise SchemaError(
                    f"Schema: `{field}` of feature {self.name!r} must be text, finite numbers or booleans; got "
                    f"{shown(level)}. Turn it into text."
                )
        return out

    def _check_step(self) -> None:
        if self.step is None:
            return
        if self.has_levels:
            raise SchemaError(
                f"Schema: `step` of feature {self.name!r} only fits numeric and integer features; got "
                f"kind {self.kind!r}. Leave it out: a level is always taken whole."
            )
        if not (is_number(self.step) and self.step > 0):
            raise SchemaError(
                f"Schema: `step` of feature {self.name!r} must be a positive number; got {shown(self.step)}. Omit "
                "it to allow any number."
            )
        if self.kind == "integer" and self.step != int(self.step):
            raise SchemaError(
                f"Schema: `step` of integer feature {self.name!r} must be whole; got {self.step!r}. Use kind "
                "'numeric' for fractions."
            )
        object.__setattr__(self, "step", float(self.step))

    def _check_direction(self) -> None:
        if self.kind == "categorical" and self.direction not in ("free", "fixed"):
            raise SchemaError(
                f"Schema: `direction` of categorical feature {self.name!r} must be 'free' or 'fixed'; got "
                f"{self.direction!r}. Use kind 'ordinal', or `transitions`."
            )
        if self.kind == "ordinal" and self.levels is None:
            raise SchemaError(
                f"Schema: ordinal feature {self.name!r} needs `levels` in order; got None. List them from "
                "lowest to highest."
            )

    def _checked_transitions(self) -> dict[Level, tuple[Level, ...]]:
        moves = self.transitions
        if self.kind != "categorical":
            raise SchemaError(
                f"Schema: `transitions` of feature {self.name!r} only fit categorical features; got kind "
                f"{self.kind!r}. Use `direction` instead."
            )
        if not isinstance(moves, Mapping):
            raise SchemaError(
                f"Schema: `transitions` of feature {self.name!r} must map a level to a list of levels; got "
                f"{shown(moves)}. Write for example {{'rent': ['own']}}."
            )
        out = {}
        for start, allowed in moves.items():
            if not is_list(allowed):
                raise SchemaError(
                    f"Schema: `transitions` of feature {self.name!r} must map a level to a list of levels; "
                    f"got {shown(start)}: {shown(allowed)}. Write for example {{'rent': ['own']}}."
                )
            start, *allowed = self._plain_levels("transitions", [start, *allowed])
            out[start] = tuple(allowed)
        for level in [*out, *(v for values in out.values() for v in values)]:
            if not self.knows(level):
                raise SchemaError(
                    f"Schema: `transitions` of feature {self.name!r} name an unknown level; got "
                    f"{level!r}. Levels are {shown(list(self.levels or ()))}."
                )
        return out

    def _check_missing(self) -> None:
        value = self.missing
        if value is None:
            return
        where = f"Schema: `missing` of {self.kind} feature {self.name!r}"
        if self.kind == "categorical":
            if not (isinstance(value, str) and value == "level"):
                raise SchemaError(f"{where} must be 'level' or omitted; got {shown(value)}. Write 'level'.")
        elif self.has_levels:
            known = is_level(value) and (self.levels is None or value in (*self.levels, "most_frequent"))
            if not known:
                raise SchemaError(
                    f"{where} must be 'most_frequent' or a level; got {shown(value)}. Write 'most_frequent', or "
                    f"one of {shown(list(self.levels or ()))}."
                )
        elif is_number(value):
            object.__setattr__(self, "missing", float(value))
        elif not (isinstance(value, str) and value in ("median", "mean")):
            raise SchemaError(f"{where} must be 'median', 'mean' or a number; got {shown(value)}. Write 'median'.")


def _one_of(name: object, field: str, value: object, known: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise SchemaError(
            f"Schema: `{field}` of feature {name!r} is not known; got {shown(value)}. {did_you_mean(value, known)}"
        )
