"""Parts of a configured object: objects with parameters of their own, which may be left out or given by a name."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from holdtrue.errors import DataError
from holdtrue.parameters import AbstractConfigured

MakePart = Callable[[Any, str], BaseEstimator]
"""Of what was given for a part (an object, a name, None) and whose part it is: the object, or a `DataError`."""


class AbstractWithParts(AbstractConfigured):
    """A scikit-learn object whose parts have defaults.

    `get_params` and `set_params` reach into a part also where it was left out or only named:
    ``set_params(head__margin=2.0)`` makes the object first. What was given stays as it is until then, so that a
    clone and a file hold what the user wrote.
    """

    parts: ClassVar[Mapping[str, MakePart]] = {}
    """What makes each part, by the parameter it is given in."""

    def part(self, name: str) -> Any:
        """A part as an object, also where it was left out or named; one that was left out is made anew."""
        return self.parts[name](getattr(self, name), type(self).__name__)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; `deep`, those of the parts too."""
        params = super().get_params(deep)
        if not deep:
            return params
        for name in self.parts:
            if hasattr(params[name], "get_params"):
                continue  # an object: scikit-learn has looked into it
            try:
                part = self.part(name)
            except DataError:
                continue  # said when it is used, as of every other parameter
            params |= {f"{name}__{inner}": value for inner, value in part.get_params().items()}
        return params

    def set_params(self, **params: object) -> Self:
        """Set parameters; ``PART__NAME`` are a part's."""
        for name, make in self.parts.items():
            given = params.get(name, getattr(self, name))
            if not hasattr(given, "get_params") and any(key.startswith(f"{name}__") for key in params):
                params[name] = make(given, type(self).__name__)
        return super().set_params(**params)
