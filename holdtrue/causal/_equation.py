"""One structural equation as data: a sum of terms, a link, and noise that is added inside the link."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np

from holdtrue._types import Json, JsonObject, Tensor
from holdtrue.errors import SchemaError
from holdtrue.schema import did_you_mean, plain

Function = Literal["identity", "square", "positive", "log", "exp", "sigmoid"]
Link = Literal["identity", "log", "logit"]
LINKS: tuple[Link, ...] = get_args(Link)
Values = Mapping[str, Tensor]
"""Raw value of each column by name: a number, the position of a level, or 0/1 under ``"column=level"``."""


def namespace(*arrays: Tensor) -> ModuleType:
    """`jax.numpy` where any of the arrays is jax's own (or a tracer), else numpy in double precision."""
    return jnp if any(isinstance(a, jax.Array) for a in arrays) else np


def _sigmoid(xp: ModuleType, z: Tensor) -> Tensor:
    return 0.5 * (1.0 + xp.tanh(0.5 * z))  # does not overflow


_FUNCTIONS: dict[Function, Callable[[ModuleType, Tensor], Tensor]] = {
    "identity": lambda xp, z: z,
    "square": lambda xp, z: z * z,
    "positive": lambda xp, z: xp.maximum(z, 0.0),
    "log": lambda xp, z: xp.log(z),
    "exp": lambda xp, z: xp.exp(z),
    "sigmoid": _sigmoid,
}
FUNCTIONS: tuple[Function, ...] = tuple(_FUNCTIONS)


@dataclass(frozen=True, kw_only=True)
class Term:
    """``coefficient * function(scale * product of columns + shift)``.

    Parameters
    ----------
    of : str or sequence of str
        Columns whose product enters. A category enters by its levels, as ``"column=level"`` (1 if taken, else
        0); binary and ordinal features by the position of their level.
    coefficient : float, optional
        Learned by `SCM.fit` when omitted.
    function : {"identity", "square", "positive", "log", "exp", "sigmoid"}, default="identity"
        ``positive`` is max(z, 0).
    scale, shift : float, default=1 and 0
        Inside the function.
    """

    of: str | Sequence[str]
    coefficient: float | None = None
    function: Function = "identity"
    scale: float = 1.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        of = (self.of,) if isinstance(self.of, str) else self.of
        if not isinstance(of, Sequence) or not of or not all(isinstance(key, str) for key in of):
            raise SchemaError(
                f"SCM: `of` of a term must name columns; got {self.of!r}. Write for example 'income'."
            )
        object.__setattr__(self, "of", tuple(of))
        if self.function not in FUNCTIONS:
            raise SchemaError(
                f"SCM: `function` of a term is not known; got {self.function!r}. "
                f"{did_you_mean(self.function, FUNCTIONS)}"
            )
        for name in ("coefficient", "scale", "shift"):
            _set_number(self, name, "a term", optional=name == "coefficient")

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns and levels that enter."""
        return (self.of,) if isinstance(self.of, str) else tuple(self.of)

    def value(self, values: Values) -> Tensor:
        """The term without its coefficient."""
        first, *others = (values[key] for key in self.keys)
        xp, product = namespace(first, *others), first
        for factor in others:
            product = product * factor
        return _FUNCTIONS[self.function](xp, self.scale * product + self.shift)

    def to_dict(self) -> JsonObject:
        """Return plain types; what has its default is left out."""
        out: JsonObject = {"of": self.keys[0] if len(self.keys) == 1 else list(self.keys)}
        for name in ("coefficient", "function", "scale", "shift"):
            if getattr(self, name) != getattr(Term, name):
                out[name] = getattr(self, name)
        return out


@dataclass(frozen=True, kw_only=True)
class Equation:
    """``column = link^-1(intercept + sum of terms + noise)``: the noise is added, so abduction is exact.

    Parameters
    ----------
    terms : sequence of Term
    intercept : float or None, default=0
        None: learned by `SCM.fit`.
    link : {"identity", "log", "logit"}, default="identity"
        ``log`` keeps the column above `low` (column = low + exp(score)), ``logit`` between `low` and `high`.
    low, high : float, default=0 and 1
        Ends of the range that a link keeps.

    Examples
    --------
    >>> savings = Equation(terms=[Term(of="income", coefficient=0.5)], intercept=2.0)
    >>> float(savings.score({"income": 10.0}))
    7.0
    """

    terms: Sequence[Term] = ()
    intercept: float | None = 0.0
    link: Link = "identity"
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.terms, Sequence) or not all(isinstance(t, Term) for t in self.terms):
            raise SchemaError(f"SCM: `terms` must be a list of Term objects; got {self.terms!r}.")
        object.__setattr__(self, "terms", tuple(self.terms))
        if self.link not in LINKS:
            raise SchemaError(f"SCM: `link` is not known; got {self.link!r}. {did_you_mean(self.link, LINKS)}")
        for name in ("intercept", "low", "high"):
            _set_number(self, name, "an equation", optional=name == "intercept")
        if self.link == "logit" and not self.low < self.high:
            raise SchemaError(
                f"SCM: `low` and `high` of a logit link are reversed; got {(self.low, self.high)!r}. Swap them."
            )

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns and levels that enter, each once."""
        return tuple(dict.fromkeys(key for term in self.terms for key in term.keys))

    @property
    def complete(self) -> bool:
        """Whether every number is known, so that nothing is left to be fitted."""
        return self.intercept is not None and all(t.coefficient is not None for t in self.terms)

    def score(self, values: Values) -> Tensor:
        """What the parents contribute, on the scale on which the noise is added."""
        total = 0.0 if self.intercept is None else self.intercept
        for term in self.terms:
            total = total + (0.0 if term.coefficient is None else term.coefficient) * term.value(values)
        return total

    def to_score(self, value: Tensor) -> Tensor:
        """The scale on which the noise is added; not finite for a value outside the range of the link."""
        xp = namespace(value)
        if self.link == "log":
            return xp.log(value - self.low)
        if self.link == "logit":
            return xp.log(value - self.low) - xp.log(self.high - value)
        return value

    def from_score(self, score: Tensor) -> Tensor:
        """The inverse of `to_score`."""
        xp = namespace(score)
        if self.link == "log":
            return self.low + xp.exp(score)
        if self.link == "logit":
            return self.low + (self.high - self.low) * _sigmoid(xp, score)
        return score

    def to_dict(self) -> JsonObject:
        """Return plain types; what has its default is left out."""
        out: JsonObject = {"intercept": self.intercept}
        out |= {n: getattr(self, n) for n in ("link", "low", "high") if getattr(self, n) != getattr(Equation, n)}
        return out | {"terms": [t.to_dict() for t in self.terms]}

    @classmethod
    def from_dict(cls, raw: Json) -> "Equation":
        """Build an equation from the plain types of a YAML or JSON file."""
        raw = mapping(raw, ("intercept", "link", "low", "high", "terms"), "an equation")
        terms = raw.get("terms", ())
        if not isinstance(terms, Sequence) or isinstance(terms, str):
            raise SchemaError(f"SCM: `terms` must be a list; got {terms!r}. Start each entry with a dash in YAML.")
        known = ("of", "coefficient", "function", "scale", "shift")
        parts = [Term(**mapping(t, known, "a term", needed=("of",))) for t in terms]
        return cls(**{**raw, "terms": tuple(parts)})


def mapping(raw: Json, known: Sequence[str], what: str, needed: Sequence[str] = ()) -> JsonObject:
    """A section of a file as a dict, or what is wrong with it."""
    if not isinstance(raw, Mapping):
        raise SchemaError(f"SCM: {what} must be a mapping; got {raw!r}. Known keys are {list(known)!r}.")
    for key in raw:
        if key not in known:
            raise SchemaError(f"SCM: {what} has an unknown key; got {key!r}. {did_you_mean(key, known)}")
    for key in needed:
        if key not in raw:
            raise SchemaError(f"SCM: {what} needs `{key}`; got {dict(raw)!r}. Add it.")
    return dict(raw)


def _set_number(thing: object, name: str, what: str, *, optional: bool) -> None:
    value = plain(getattr(thing, name))
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise SchemaError(f"SCM: `{name}` of {what} must be a finite number; got {value!r}.")
    object.__setattr__(thing, name, float(value))
