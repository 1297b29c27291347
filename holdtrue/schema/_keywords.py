"""Keywords that a function or a class does not have, refused with the nearest that it has."""

import functools
import inspect
import typing
from collections.abc import Callable, Iterable
from typing import Any, Self, TypeVar

from holdtrue.errors import ArgumentError
from holdtrue.schema._checks import did_you_mean

Function = TypeVar("Function", bound=Callable[..., Any])
KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def hinted(*further: Callable[..., object]) -> Callable[[Function], Function]:
    """Decorator: a keyword that a function does not have is refused with the nearest that it has.

    Parameters
    ----------
    further : callables
        Functions that what it does not know itself is handed on to, or a TypedDict of it.
    """

    def decorate(function: Function) -> Function:
        parameters = inspect.signature(function).parameters.values()
        if not further and any(p.kind is p.VAR_KEYWORD for p in parameters):
            raise TypeError(f"{function.__name__} hands keywords on: say to whom")
        known = frozenset(name for part in (function, *further) for name in _keywords(part))

        @functools.wraps(function)
        def checked(*args: object, **kwargs: object) -> Any:
            if not kwargs.keys() <= known:
                raise _unknown(function.__name__, kwargs, known)
            return function(*args, **kwargs)

        return typing.cast(Function, checked)

    return decorate


class HintedKeywords:
    """A class whose constructor refuses unknown keywords so; for dataclasses."""

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Look at the names; `__init__` does the rest."""
        if kwargs:
            known = _keywords(cls.__init__)
            if not kwargs.keys() <= set(known):
                raise _unknown(cls.__name__, kwargs, known)
        return super().__new__(cls)


def _keywords(function: Callable[..., object]) -> list[str]:
    if typing.is_typeddict(function):
        return list(typing.get_type_hints(function))
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind in KINDS and p.name != "self"]


def _unknown(where: str, given: Iterable[str], known: Iterable[str]) -> ArgumentError:
    name = next(name for name in given if name not in known)
    return ArgumentError(f"{where}: has no such argument; got {name!r}. {did_you_mean(name, sorted(known))}")
