"""One column: what it holds and how a person may change it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, Literal, get_args

from holdfast.errors import SchemaError

Kind = Literal["numeric", "integer", "binary", "ordinal", "categorical"]
Direction = Literal["free", "fixed", "increase", "decrease"]
Level = str | int | float | bool

KINDS: tuple[Kind, ...] = get_args(Kind)
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

MISSING_LEVEL = "(missing)"
"""The level that stands for an absent value of a categorical feature."""


@dataclass(frozen=True, kw_only=True)
class Feature:
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
    label, unit : str, optional
        How the feature is called in sentences, and its unit.
    missing : str or number, optional
        None refuses missing values. ``"level"`` makes them a level of their own (categorical).
        ``"median"``, ``"mean"`` (numbers), ``"most_frequent"`` (ordinal, binary) or a value imputes them
        and adds an indicator. An imputed value is never changed by a recourse, since nobody knows it.

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
    label: str | None = None
    unit: str | None = None
    missing: str | float | None = None

    def __post_init__(self) -> None:
        _one_of(self.name, "kind", self.kind, KINDS)
        _one_of(self.name, "direction", self.direction, DIRECTIONS)
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"Schema: `name` of a feature must be a non-empty string; got {self.name!r}.")
        if self.bounds is not None:
            object.__setattr__(self, "bounds", self._checked_bounds())
        if self.levels is not None:
            object.__setattr__(self, "levels", self._checked_levels())
        self._check_step()
        self._check_direction()
        if self.transitions is not None:
            object.__setattr__(self, "transitions", self._checked_transitions())
        if not (_is_number(self.cost_weight) and self.cost_weight > 0):
            raise SchemaError(
                f"Schema: `cost_weight` of feature {self.name!r} must be a positive number; got "
                f"{self.cost_weight!r}. To forbid a change write direction='fixed'."
            )
        for field in ("label", "unit"):
            value = getattr(self, field)
            if value is not None and not isinstance(value, str):
                raise SchemaError(
                    f"Schema: `{field}` of feature {self.name!r} must be a string; got {value!r}."
                )
        self._check_missing()

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

    def replace(self, **changes: Any) -> "Feature":
        """Return a copy with some fields changed."""
        return replace(self, **changes)

    def to_dict(self, *, native: bool = False) -> dict[str, Any]:
        """Return the fields that differ from their defaults, in plain types."""
        out: dict[str, Any] = {}
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
    def from_dict(cls, raw: Any) -> "Feature":
        """Build a feature from the plain types of a YAML or JSON file."""
        if not isinstance(raw, Mapping):
            raise SchemaError(f"Schema: a feature must be a mapping with `name` and `kind`; got {raw!r}.")
        known = [f.name for f in fields(cls)]
        for key in raw:
            if key not in known:
                raise SchemaError(
                    f"Schema: unknown field of feature {raw.get('name')!r}; got {key!r}. "
                    f"{did_you_mean(key, known)}"
                )
        for key in ("name", "kind"):
            if key not in raw:
                raise SchemaError(f"Schema: a feature lacks `{key}`; got {dict(raw)!r}.")
        values = dict(raw)
        pairs = values.get("transitions")
        if isinstance(pairs, Sequence) and not isinstance(pairs, str):
            if not all(isinstance(p, Sequence) and not isinstance(p, str) and len(p) == 2 for p in pairs):
                raise SchemaError(
                    f"Schema: `transitions` of feature {raw.get('name')!r} must be pairs [level, [levels]]; "
                    f"got {pairs!r}."
                )
            try:
                values["transitions"] = {p[0]: p[1] for p in pairs}
            except TypeError as error:
                raise SchemaError(
                    f"Schema: `transitions` of feature {raw.get('name')!r} must start from a level; "
                    f"got {pairs!r}."
                ) from error
        return cls(**values)

    # ---- checks -------------------------------------------------------------------------------------

    def _checked_bounds(self) -> tuple[float, float]:
        if self.has_levels:
            raise SchemaError(
                f"Schema: `bounds` of feature {self.name!r} only fit numeric and integer features; got "
                f"kind {self.kind!r}. Use `levels`, `direction` or `transitions` instead."
            )
        pair = self.bounds
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise SchemaError(f"Schema: `bounds` of feature {self.name!r} must be a pair; got {pair!r}.")
        low, high = pair
        if not (_is_number(low) and _is_number(high)):
            raise SchemaError(
                f"Schema: `bounds` of feature {self.name!r} must be two finite numbers; got {pair!r}. "
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
        if isinstance(levels, str) or not isinstance(levels, Sequence):
            raise SchemaError(f"Schema: `levels` of feature {self.name!r} must be a list; got {levels!r}.")
        levels = tuple(plain(v) for v in levels)
        for level in levels:
            if not isinstance(level, (str, int, float, bool)) or level != level:
                raise SchemaError(
                    f"Schema: `levels` of feature {self.name!r} must be text, numbers or booleans; got "
                    f"{level!r}."
                )
        if len(set(levels)) != len(levels):
            raise SchemaError(f"Schema: `levels` of feature {self.name!r} repeat a value; got {levels!r}.")
        if self.kind == "binary" and len(levels) != 2:
            raise SchemaError(
                f"Schema: binary feature {self.name!r} needs two `levels`; got {levels!r}. Use kind "
                "'categorical' or 'ordinal'."
            )
        if len(levels) < 2:
            raise SchemaError(
                f"Schema: `levels` of feature {self.name!r} must be at least two; got {levels!r}. Drop a "
                "constant column."
            )
        return levels

    def _check_step(self) -> None:
        if self.step is None:
            return
        if self.has_levels:
            raise SchemaError(
                f"Schema: `step` of feature {self.name!r} only fits numeric and integer features; got "
                f"kind {self.kind!r}."
            )
        if not (_is_number(self.step) and self.step > 0):
            raise SchemaError(
                f"Schema: `step` of feature {self.name!r} must be a positive number; got {self.step!r}."
            )
        if self.kind == "integer" and self.step != int(self.step):
            raise SchemaError(
                f"Schema: `step` of integer feature {self.name!r} must be whole; got {self.step!r}. Use kind "
                "'numeric' for fractions."
            )

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
                f"{moves!r}."
            )
        out = {}
        for start, allowed in moves.items():
            if isinstance(allowed, str) or not isinstance(allowed, Sequence):
                raise SchemaError(
                    f"Schema: `transitions` of feature {self.name!r} must map a level to a list of levels; "
                    f"got {start!r}: {allowed!r}."
                )
            out[plain(start)] = tuple(plain(v) for v in allowed)
        if self.levels is not None:
            for level in [k for k in out] + [v for values in out.values() for v in values]:
                if level not in self.levels:
                    raise SchemaError(
                        f"Schema: `transitions` of feature {self.name!r} name an unknown level; got "
                        f"{level!r}. Levels are {list(self.levels)!r}."
                    )
        return out

    def _check_missing(self) -> None:
        value = self.missing
        if value is None:
            return
        where = f"Schema: `missing` of {self.kind} feature {self.name!r}"
        if self.kind == "categorical":
            if value != "level":
                raise SchemaError(f"{where} must be 'level' or omitted; got {value!r}.")
        elif self.has_levels:
            if value != "most_frequent" and self.levels is not None and value not in self.levels:
                raise SchemaError(f"{where} must be 'most_frequent' or a level; got {value!r}.")
        elif value not in ("median", "mean") and not _is_number(value):
            raise SchemaError(f"{where} must be 'median', 'mean' or a number; got {value!r}.")


def plain(value: Any) -> Any:
    """Turn a numpy scalar into the Python value it stands for."""
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value


def did_you_mean(name: Any, known: Sequence[str]) -> str:
    """End of an error text: the nearest known name, or all of them."""
    near = get_close_matches(str(name), known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"Known are {list(known)!r}."


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _one_of(name: Any, field: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        raise SchemaError(
            f"Schema: `{field}` of feature {name!r} is not known; got {value!r}. {did_you_mean(value, known)}"
        )
