"""What every parameter may be, read from where it is declared, and one error text for what it may not.

A class that is `configured` declares its parameters as fields: ``n_steps: Count = 500``, ``norm: Norm = "l1"``,
``radius: Positive | None = None``. Its keyword-only ``__init__`` is made from them and from those of its bases; it
only assigns, as scikit-learn wants it. A class may also write it out. Values are checked where the object is used,
by `check`, and by the command line's ``--set``.
"""

import functools
import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Self, TypeVar, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator

from holdtrue._docstrings import completed
from holdtrue._registry import Registry, registry_of
from holdtrue.errors import DataError
from holdtrue.schema import did_you_mean, shown

__all__ = [
    "AbstractConfigured",
    "Count",
    "Finite",
    "Interval",
    "NonNegative",
    "OneOf",
    "Parameter",
    "Positive",
    "PositiveShare",
    "Probability",
    "ProperShare",
    "Radius",
    "Seed",
    "Share",
    "Whole",
    "check",
    "configured",
    "declared",
    "describe",
    "parameters",
    "require",
    "unknown",
]

INF = math.inf
Configured = TypeVar("Configured", bound="AbstractConfigured")


@dataclass(frozen=True)
class Interval:
    """Numbers from `low` to `high`; `closed` says which of the two are among them."""

    low: float = -INF
    high: float = INF
    closed: Literal["both", "left", "right", "neither"] = "neither"

    @functools.cached_property
    def holds(self) -> Callable[[Any], bool]:
        """Whether a number lies in it; one comparison, since methods are checked at every question."""
        low, high = self.low, self.high
        return {
            "both": lambda value: low <= value <= high,
            "left": lambda value: low <= value < high,
            "right": lambda value: low < value <= high,
            "neither": lambda value: low < value < high,
        }[self.closed]

    def __str__(self) -> str:
        """What follows "a number"."""
        left, right = self.closed in ("both", "left"), self.closed in ("both", "right")
        if self.low == -INF and self.high == INF:
            return " that is finite"
        if self.high == INF:
            return f" {'of at least' if left else 'above'} {self.low}{', or inf' if right else ''}"
        if left and right:
            return f" from {self.low} to {self.high}"
        return (
            f" {'of at least' if left else 'above'} {self.low} and {'at most' if right else 'below'} {self.high}"
        )

    @property
    def outside(self) -> list[float]:
        """Numbers that just are not in it, for tests."""
        low = [] if self.low == -INF else [self.low - 1 if self.closed in ("both", "left") else self.low]
        if self.high < INF:
            return [*low, self.high + 1 if self.closed in ("both", "right") else self.high]
        return low if self.closed in ("both", "right") else [*low, INF]


@dataclass(frozen=True)
class OneOf:
    """One of a few texts, where the annotation itself must stay ``str``."""

    values: tuple[str, ...]

    def holds(self, value: object) -> bool:
        """Whether a text is one of them."""
        return value in self.values


Count = Annotated[int, Interval(1, closed="left")]
"""A whole number of at least 1."""
Whole = Annotated[int, Interval(0, closed="left")]
"""A whole number of at least 0."""
Finite = Annotated[float, Interval()]
"""A finite number."""
Positive = Annotated[float, Interval(0)]
"""A finite number above 0."""
NonNegative = Annotated[float, Interval(0, closed="left")]
"""A finite number of at least 0."""
Radius = Annotated[float, Interval(0, closed="right")]
"""A number above 0; infinity is no limit."""
Probability = Annotated[float, Interval(0, 1)]
"""A number above 0 and below 1."""
Share = Annotated[float, Interval(0, 1, "both")]
"""A number from 0 to 1."""
ProperShare = Annotated[float, Interval(0, 1, "left")]
"""A number of at least 0 and below 1."""
PositiveShare = Annotated[float, Interval(0, 1, "right")]
"""A number above 0 and at most 1."""
Seed = Annotated[int, Interval(0, 2**32 - 1, "both")] | None
"""A seed as numpy takes one, or None."""


class AbstractConfigured(BaseEstimator):
    """A scikit-learn object whose parameters are declared in its signature.

    A name that is not a parameter is refused with the nearest that is. A part (a model, a regime, a method, an
    attacker) may be given by its registered name, and ``set_params(part__name=...)`` reaches into it all the same.
    """

    def __new__(cls, *args: object, **params: object) -> Self:
        """Refuse unknown names before `__init__` would, with a hint; nothing else is done here."""
        table = parameters(cls)
        if not (params.keys() <= table.keys() or _takes_anything(cls)):
            raise unknown(cls, next(name for name in params if name not in table), list(table))
        if args and cls.__init__ is object.__init__:  # which would let them pass, because of this very method
            raise TypeError(f"{cls.__name__}() takes no arguments")
        return super().__new__(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; `deep`, those of its parts too, also where a part is given by its name."""
        out = super().get_params(deep)
        if deep:
            for parameter in parameters(type(self)).values():
                value = getattr(self, parameter.name)
                if parameter.registry is not None and isinstance(value, str) and value in parameter.registry:
                    part = parameter.registry.named(value)().get_params()
                    out |= {f"{parameter.name}__{name}": own for name, own in part.items()}
        return out

    def set_params(self, **params: object) -> Self:
        """Set parameters; ``part__name`` is a part's own, which is made first where it is given by its name."""
        table, parts = parameters(type(self)), {}
        for key in params:
            name, inner, _ = key.partition("__")
            if name not in table:
                raise unknown(type(self), name, list(table))
            if inner:
                part = table[name].made(parts.get(name, params.get(name, getattr(self, name))))
                if not hasattr(part, "set_params"):
                    raise DataError(
                        f"{type(self).__name__}: `{name}` has no parameters of its own; got {shown(part)}. Set it "
                        "first."
                    )
                parts[name] = part
        return super().set_params(**(params | parts))

    def check_parameters(self) -> None:
        """Refuse values that are not what was declared, also those of parts."""
        check(self)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def configured(cls: type[Configured]) -> type[Configured]:
    """Give a class the keyword-only ``__init__`` that its fields declare, and a docstring that tells of them all.

    A field that a base declares is told of in the base's docstring; it may be declared again for another default.
    What is no parameter is ``field(default=..., init=False)``.
    """
    made = dataclass(kw_only=True, eq=False, repr=False)(cls)
    _, *names = inspect.signature(made.__init__).parameters
    made.__doc__ = completed(made, names)
    return made


@dataclass(frozen=True)
class Parameter:
    """One parameter: what it is declared to be, and what follows from that."""

    name: str
    wanted: Any
    accepts: Callable[[Any], bool]
    registry: Registry[Any] | None
    has_parts: bool

    @property
    def words(self) -> str:
        """What it must be, in words."""
        return describe(self.wanted)

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """Intervals of its numbers."""
        return tuple(
            bound for part in _parts(self.wanted) for bound in _bounds(part) if isinstance(bound, Interval)
        )

    @property
    def whole(self) -> bool:
        """Whether its numbers are whole."""
        kinds = {_plain(part) for part in _parts(self.wanted)}
        return int in kinds and float not in kinds

    def made(self, value: object) -> Any:
        """The object that a registered name stands for; any other value as it is."""
        if self.registry is None or not isinstance(value, str):
            return value
        return self.registry.named(value)()

    def refusal(self, where: str, value: object) -> DataError:
        """The error for a value that is not accepted."""
        if isinstance(value, str):
            if self.registry is not None:
                hint = did_you_mean(value, self.registry.names())
                text = f"is not a known {self.registry.word}; got {shown(value)}. {hint}"
                return DataError(f"{where}: `{self.name}` {text}")
            near = get_close_matches(value, [c for c in _choices(self.wanted) if isinstance(c, str)], n=1)
            if near:
                return DataError(
                    f"{where}: `{self.name}` must be {self.words}; got {shown(value)}. Did you mean {near[0]!r}?"
                )
        return DataError(f"{where}: `{self.name}` must be {self.words}; got {shown(value)}.")


def check(thing: object) -> None:
    """Hold an object's parameters, and those of its parts, against what its class declares."""
    for name, accepts, has_parts in _checks(type(thing)):
        value = getattr(thing, name)
        if not accepts(value):
            raise parameters(type(thing))[name].refusal(type(thing).__name__, value)
        if has_parts and isinstance(value, AbstractConfigured):
            check(value)


def require(where: str, name: str, value: object, wanted: object) -> None:
    """Hold one argument of a function against what it is declared to be."""
    parameter = declared(name, wanted)
    if not parameter.accepts(value):
        raise parameter.refusal(where, value)


def unknown(cls: type, name: str, known: Sequence[str]) -> DataError:
    """The error for a name that is not a parameter."""
    hint = did_you_mean(name, list(known)) if known else "It has no parameters."
    return DataError(f"{cls.__name__}: has no such parameter; got {name!r}. {hint}")


# ---- tables ---------------------------------------------------------------------------------------------


@functools.cache
def parameters(cls: type) -> Mapping[str, Parameter]:
    """A class's parameters by name, from its signature and the bounded attributes of its bases."""
    init: Any = cls.__init__
    if init is object.__init__:
        return {}
    try:
        hints = typing.get_type_hints(init, include_extras=True)
    except (NameError, TypeError):  # annotations that cannot be read here: another package's own names
        hints = {}
    names = [
        p.name
        for p in inspect.signature(init).parameters.values()
        if p.name != "self" and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    return {name: declared(name, _bounded(cls, name) or hints.get(name, Any)) for name in names}


@functools.cache
def _checks(cls: type) -> tuple[tuple[str, Callable[[Any], bool], bool], ...]:
    return tuple((p.name, p.accepts, p.has_parts) for p in parameters(cls).values() if p.wanted is not Any)


@functools.cache
def _takes_anything(cls: type) -> bool:
    init: Any = cls.__init__
    if init is object.__init__:  # whose signature takes anything; itself does not
        return False
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(init).parameters.values())


def _bounded(cls: type, name: str) -> Any:
    """Annotation of an attribute, of the class or the nearest base, where it says more than a plain type."""
    for base in cls.__mro__:
        wanted = inspect.get_annotations(base).get(name)
        if wanted is not None and any(_bounds(part) for part in _parts(wanted)):
            return wanted
    return None


def declared(name: str, wanted: object) -> Parameter:
    """One parameter, from its annotation."""
    kinds = [kind for part in _parts(wanted) if isinstance(kind := _plain(part), type)]
    registry = next((found for kind in kinds if (found := registry_of(kind)) is not None), None)
    if str not in kinds:  # a name must be declared as well
        registry = None
    has_parts = any(issubclass(kind, AbstractConfigured) for kind in kinds)
    return Parameter(name, wanted, _acceptor(wanted, registry), registry, has_parts)


# ---- annotations ----------------------------------------------------------------------------------------


def _parts(wanted: object) -> tuple[Any, ...]:
    """Alternatives of a union; one where it is none."""
    if typing.get_origin(wanted) in (typing.Union, types.UnionType):
        return typing.get_args(wanted)
    return (wanted,)


def _bounds(part: object) -> tuple[Any, ...]:
    if typing.get_origin(part) is not Annotated:
        return ()
    return tuple(bound for bound in typing.get_args(part)[1:] if isinstance(bound, (Interval, OneOf)))


def _plain(part: object) -> Any:
    return typing.get_args(part)[0] if typing.get_origin(part) is Annotated else part


def _choices(wanted: object) -> list[Any]:
    out = []
    for part in _parts(wanted):
        if typing.get_origin(part) is Literal:
            out += typing.get_args(part)
        out += [value for bound in _bounds(part) if isinstance(bound, OneOf) for value in bound.values]
    return out


def _is_whole(value: object) -> bool:
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int, float))


def _is_number(value: object) -> bool:
    return type(value) is float or (isinstance(value, Real) and not isinstance(value, bool))


def _acceptor(wanted: object, registry: Registry[Any] | None = None) -> Callable[[Any], bool]:
    """Whether a value is of an annotated type; types this does not know pass."""
    parts = _parts(wanted)
    if len(parts) > 1:
        *first, last = (_acceptor(part, registry if part is str else None) for part in parts)
        return functools.reduce(lambda rest, accepts: _either(accepts, rest), reversed(first), last)
    accepts = _acceptor_of_one(_plain(wanted), registry)
    return functools.reduce(lambda inner, bound: _both(inner, bound.holds), _bounds(wanted), accepts)


# Written out in place of `any` and `all` over generators, which take longer than the comparisons themselves.
def _either(one: Callable[[Any], bool], other: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: one(value) or other(value)


def _both(one: Callable[[Any], bool], other: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: one(value) and other(value)


def _acceptor_of_one(wanted: object, registry: Registry[Any] | None) -> Callable[[Any], bool]:
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is None or wanted is type(None):
        return lambda value: value is None
    if origin is Literal:
        texts = frozenset(choice for choice in inner if type(choice) is str)
        others = {(type(choice), choice) for choice in inner if type(choice) is not str}
        return lambda value: (
            value in texts if type(value) is str else _is_plain(value) and (type(value), value) in others
        )
    if wanted is int:
        return _is_whole
    if wanted is float:
        return lambda value: _is_number(value) and value == value  # what is not equal to itself is no number
    if wanted is bool:
        return lambda value: isinstance(value, (bool, np.bool_))
    if registry is not None:  # a text that names a part
        return lambda value: isinstance(value, str) and value in registry
    kind = origin or wanted
    if not isinstance(kind, type) or kind is object or kind is Any:
        return lambda value: True
    if kind is not str and issubclass(kind, Sequence):
        return _acceptor_of_sequence(inner)
    return lambda value: isinstance(value, kind)


def _acceptor_of_sequence(inner: tuple[object, ...]) -> Callable[[Any], bool]:
    if len(inner) > 1 and inner[-1] is not Ellipsis:
        each = tuple(_acceptor(part) for part in inner)
        return lambda value: (
            _is_sequence(value) and len(value) == len(each) and all(a(v) for a, v in zip(each, value, strict=True))
        )
    accepts = _acceptor(inner[0]) if inner else lambda value: True
    return lambda value: _is_sequence(value) and all(accepts(v) for v in value)


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


# ---- words ----------------------------------------------------------------------------------------------

_WORDS = {
    Any: "anything",
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "True or False",
    type(None): "None",
}


def describe(wanted: object) -> str:
    """What a value must be, in words."""
    out: list[str] = []
    parts = _parts(wanted)
    named = str in parts and any(registry_of(part) is not None for part in parts)
    for part in parts:
        out += [] if part is str and named else _words(part, named)
    return out[0] if len(out) == 1 else f"{', '.join(out[:-1])} or {out[-1]}"


def _words(part: object, named: bool) -> list[str]:
    plain, choices = _plain(part), _choices(part)
    origin, inner = typing.get_origin(plain), typing.get_args(plain)
    if choices:
        return [repr(choice) for choice in choices]
    if plain in _WORDS:
        return [_WORDS[plain] + "".join(str(bound) for bound in _bounds(part))]
    registry = registry_of(plain)
    if registry is not None:
        article = "an" if registry.word[0] in "aeiou" else "a"
        return [f"{article} {registry.word}", *(["the name of one"] if named else [])]
    kind = origin or plain
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return ["a mapping"]
    if isinstance(kind, type) and issubclass(kind, Sequence):
        if len(inner) > 1 and inner[-1] is not Ellipsis:
            return [f"a list of {len(inner)}: {', '.join(describe(part) for part in inner)}"]
        return [f"a list, each {describe(inner[0])}" if inner else "a list"]
    return [f"an instance of {getattr(plain, '__name__', plain)}"]
