"""The registry: what each dataset is, and the one way to load it."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from holdtrue._types import JsonObject, Keywords, Label, NativeFrame
from holdtrue.datasets._dataset import Dataset
from holdtrue.datasets._files import RawFile, store
from holdtrue.errors import DataError
from holdtrue.schema import Schema, did_you_mean

Raw: TypeAlias = NativeFrame
"""A raw table (or arrays). The checker infers a union for every pandas expression, so it is told nothing."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a builder returns; what it leaves out comes from the registry entry."""

    X: Raw
    y: ArrayLike
    schema: Schema | None
    groups: Raw | None = None
    target: str | None = None
    favourable: Any = ...


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One entry: facts that hold for ``load(name)`` without options, and the function that builds it.

    `protected` names columns, of any variant, that are who somebody is: never told as a reason. How a column may
    change is the schema's and a paper's matter, and stays as it is.
    """

    name: str
    rows: int
    features: int
    target: str
    favourable: Label
    source: str
    licence: str
    build: Callable[..., Parts]
    classes: int = 2
    protected: tuple[str, ...] = ()
    file: RawFile | None = None
    variants: Mapping[str, str] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """The builder's docstring, and a line for each variant."""
        text = inspect.cleandoc(self.build.__doc__ or "")
        lines = [f"variant={name!r}: {meaning}" for name, meaning in self.variants.items()]
        return "\n\n".join([text, *lines])

    @property
    def options(self) -> list[str]:
        """Keyword options of the builder."""
        parameters = inspect.signature(self.build).parameters.values()
        return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]

    def make(self, options: Keywords, path: Path | None = None) -> Dataset:
        """Read the raw file, if there is one, and build the dataset."""
        self._check(options)
        raw = ()
        if self.file is not None:
            raw = (self.file.read(path or self.file.locate(self.name)),)
        parts = self.build(*raw, **options)
        groups = None if parts.groups is None else parts.groups.reset_index(drop=True)
        return Dataset(
            name=self.name,
            X=parts.X.reset_index(drop=True),
            y=np.asarray(parts.y),
            schema=self._guarded(parts.schema),
            target=parts.target or self.target,
            favourable=self.favourable if parts.favourable is ... else parts.favourable,
            source=self.source,
            licence=self.licence,
            description=self.description,
            groups=groups,
        )

    def _guarded(self, schema: Schema | None) -> Schema | None:
        if schema is None:
            return None
        return schema.replace(**{name: {"protected": True} for name in self.protected if name in schema})

    def _check(self, options: Keywords) -> None:
        for key in options:
            if key not in self.options:
                hint = did_you_mean(key, self.options) if self.options else "It has no options."
                raise DataError(f"datasets.load: unknown option of {self.name!r}; got {key!r}. {hint}")
        variant = options.get("variant")
        if variant is not None and variant not in self.variants:
            raise DataError(
                f"datasets.load: unknown `variant` of {self.name!r}; got {variant!r}. "
                f"{did_you_mean(variant, list(self.variants))}"
            )


_SPECS: dict[str, Spec] = {}


def register(*names: str, **facts: Any) -> Callable[[Callable[..., Parts]], Callable[..., Parts]]:
    """Enter a builder under one or more names; its docstring is the dataset's description."""

    def enter(build: Callable[..., Parts]) -> Callable[..., Parts]:
        for name in names:
            _SPECS[name] = Spec(name=name, build=build, **facts)
        return build

    return enter


def names() -> list[str]:
    """Names of all datasets, sorted."""
    return sorted(_SPECS)


def spec(name: str) -> Spec:
    """Return the registry entry of a name; the name of its file without the ending will do too."""
    if not isinstance(name, str) or name not in _SPECS:
        for entry in _SPECS.values():
            if entry.file is not None and entry.file.name.split(".")[0] == name:
                return entry
        raise DataError(f"datasets: unknown dataset; got {name!r}. {did_you_mean(name, names())}")
    return _SPECS[name]


def load(name: str, **options: object) -> Dataset:
    """Load a dataset by name.

    Parameters
    ----------
    name : str
        One of `names`.
    **options
        What this dataset offers, for example ``n_samples`` and ``random_state`` of the simulated ones, or
        ``variant`` for a paper's own choice of rows, columns and label. `describe` lists them.

    Examples
    --------
    >>> load("loanapp").favourable
    1
    """
    return spec(name).make(options)


def describe(name: str | None = None) -> list[JsonObject]:
    """Return facts on one dataset, or on all, as rows of a table.

    Nothing is read: rows, features and classes are those of ``load(name)`` without options.
    """
    return [_row(spec(n)) for n in (names() if name is None else [name])]


def _row(entry: Spec) -> JsonObject:
    return {
        "name": entry.name,
        "rows": entry.rows,
        "features": entry.features,
        "classes": entry.classes,
        "protected": list(entry.protected),
        "target": entry.target,
        "favourable": entry.favourable,
        "source": entry.source,
        "licence": entry.licence,
        "kept_in": "embedded" if entry.file is None else entry.file.name,
        "available": entry.file is None or entry.file.find() is not None,
        "options": entry.options,
        "variants": list(entry.variants),
        "description": entry.description,
    }


def add(name: str, path: str | Path) -> Path:
    """Verify a data file by loading it, then copy it into the user's cache.

    Parameters
    ----------
    name : str
        The dataset that the file holds.
    path : str or Path
        Any place; the copy gets the name that `load` looks for.

    Returns
    -------
    Path
        The copy.
    """
    entry = spec(name)
    if entry.file is None:
        raise DataError(f"datasets.add: {name!r} is embedded and needs no file; got {str(path)!r}.")
    source = Path(path).expanduser()
    if not source.is_file():
        raise DataError(f"datasets.add: the file is not there; got {str(path)!r}. Check the path.")
    entry.make({}, source)
    return store(source, entry.file.name)
