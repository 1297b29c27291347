"""Kinds of configured objects by name: the package's own, those a program registers, those other packages bring.

Another package brings one by an entry point: in the group ``holdtrue.methods``, ``holdtrue.regimes``,
``holdtrue.models`` or ``holdtrue.attackers``, a name and where its class stands.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from holdtrue.errors import DataError, PluginError
from holdtrue.schema import did_you_mean

Kind = TypeVar("Kind")

_REGISTRIES: "dict[type, Registry[Any]]" = {}


class Registry(MutableMapping[str, type[Kind]]):
    """Classes of one kind by name.

    Entry points are looked for once, at the first name that is not known or the first listing, and a plugin is
    imported when it is asked for or listed. One that cannot be imported is left out of listings and says why where
    it is asked for. What the package or the program itself calls by a name is not replaced by a plugin.

    Parameters
    ----------
    word : str
        What one of them is called, such as ``method``; the group of entry points is ``holdtrue.methods``.
    base : type
        What every class must derive from.
    known : mapping of str to type
        The package's own.
    """

    def __init__(self, word: str, base: type[Kind], known: Mapping[str, type[Kind]]) -> None:
        self.word, self.base, self.group = word, base, f"holdtrue.{word}s"
        self._known = dict(known)
        self._plugins: dict[str, list[EntryPoint]] | None = None
        _REGISTRIES.setdefault(base, self)

    def named(self, name: Any, where: str | None = None) -> type[Kind]:
        """Class by its name.

        Parameters
        ----------
        name : str
        where : str, optional
            Who asks, for the error text.
        """
        found = self._known.get(name) if isinstance(name, str) else None
        if found is not None:
            return found
        if name in self.plugins():
            self._known[name] = self._load(name)
            return self._known[name]
        hint = did_you_mean(name, self.names())
        raise DataError(f"{where or self.group.partition('.')[2]}: unknown {self.word}; got {name!r}. {hint}")

    def names(self) -> list[str]:
        """Every name, also of plugins that may turn out broken: none of them is imported for it."""
        return [*self._known, *(name for name in self.plugins() if name not in self._known)]

    def plugins(self) -> dict[str, list[EntryPoint]]:
        """Entry points of other packages by name, not imported; more than one where packages disagree."""
        if self._plugins is None:
            found: dict[str, list[EntryPoint]] = {}
            for point in sorted(entry_points(group=self.group), key=_origin):
                places = found.setdefault(point.name, [])
                if all(point.value != place.value for place in places):  # a folder may be on the path twice
                    places.append(point)
            self._plugins = found
        return self._plugins

    def _load(self, name: str) -> type[Kind]:
        points = self.plugins()[name]
        origin = ", ".join(_origin(point)[1] for point in points)
        where = f"{self.group}: the plugin {name!r} of {origin}"
        if len(points) > 1:
            raise PluginError(f"{where} is offered by more than one package. Uninstall all but one.")
        try:
            cls = points[0].load()
        except Exception as error:  # whatever a foreign module raises when it is imported
            raise PluginError(
                f"{where} cannot be imported; got {points[0].value!r} ({type(error).__name__}: {error}). "
                "Update or uninstall it."
            ) from error
        if not (isinstance(cls, type) and issubclass(cls, self.base)):
            raise PluginError(f"{where} must be a class derived from {self.base.__name__}; got {cls!r}.")
        return cls

    # ---- a mapping, as a dictionary is ------------------------------------------------------------

    def __getitem__(self, name: str) -> type[Kind]:
        if name not in self:
            raise KeyError(name)
        return self.named(name)

    def __setitem__(self, name: str, cls: type[Kind]) -> None:
        self._known[name] = cls

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def clear(self) -> None:
        """Forget what was registered; plugins stay, as long as they are installed."""
        self._known.clear()

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self.plugins()

    def __iter__(self) -> Iterator[str]:
        yield from list(self._known)
        for name in self.plugins():
            if name not in self._known:
                try:
                    self.named(name)
                except PluginError:
                    continue
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<Registry of {self.word}s: {', '.join(self)}>"


def _origin(point: EntryPoint) -> tuple[str, str]:
    """Name of an entry point and of the package that it is from, in which order they are told."""
    return point.name, point.dist.name if point.dist else point.value


def registry_of(base: object) -> Registry[Any] | None:
    """The registry of a class's kind; None where it has none."""
    if not isinstance(base, type):
        return None
    return next((registry for kind, registry in _REGISTRIES.items() if issubclass(base, kind)), None)


def made(base: type[Kind], value: Kind | str, where: str | None = None) -> Kind:
    """A configured object as it was given, or the one that its registered name stands for, with its defaults."""
    if not isinstance(value, str):
        return value
    registry = registry_of(base)
    if registry is None:
        raise TypeError(f"{base.__name__} has no registry")
    return registry.named(value, where)()
