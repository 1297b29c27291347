"""Options that several commands share, and `--set KEY=VALUE`."""

import functools
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from holdtrue._types import JsonObject
from holdtrue.errors import DataError

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter; may be repeated. Lists are written with commas.",
)
out_option = click.option(
    "--out", default="-", show_default=True, metavar="FILE", help="Where to write; - is standard output."
)
format_option = click.option(
    "--format", "format_", type=click.Choice(["csv", "parquet", "jsonl"]), help="By default what FILE ends in."
)
seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), metavar="INTEGER", default=0, help="Seed of everything random."
)


def parse_settings(pairs: Sequence[str]) -> JsonObject:
    """Read ``key=value`` pairs; values are YAML scalars, or lists with commas."""
    out = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise DataError(f"--set: must be KEY=VALUE; got {pair!r}. Write for example `--set cost_weight=0.5`.")
        out[key.strip()] = _value(text.strip())
    return out


def _value(text: str) -> Any:
    if "," in text and text[:1] not in "[{\"'":
        return tuple(_scalar(part.strip()) for part in text.split(",") if part.strip())
    return _scalar(text)


def _scalar(text: str) -> Any:
    import yaml

    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise DataError(f"--set: the value cannot be read; got {text!r}. Put text in quotes.") from error
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, str):
        if value.lower() == "none":
            return None
        try:
            return float(value)  # YAML reads 1e-3 as text
        except ValueError:
            return value
    return value


def configure(make: Callable[[], Any], settings: Mapping[str, Any], prefix: str = "") -> Any:
    """Build a configured object and set parameters, each checked against the class that takes it.

    Parameters
    ----------
    make : callable
        Returns the object with its defaults: a class, or a function that clones one.
    settings : mapping
        Parameter to value; ``member.widths`` reaches into a part.
    prefix : str
        What a user wrote before the parameter, for the error text.
    """
    thing = make()
    for key, value in sorted(settings.items()):  # `member` comes before `member.widths`
        _set(thing, key, value, prefix)
    return thing


def _set(thing: Any, key: str, value: Any, prefix: str) -> None:
    from holdtrue.schema import did_you_mean

    name, _, rest = key.partition(".")
    known = sorted(thing.get_params(deep=False))
    if name not in known:
        hint = did_you_mean(name, known) if known else "It has no parameters."
        raise DataError(f"--set: {type(thing).__name__} has no such parameter; got {prefix + name!r}. {hint}")
    wanted = type_of(thing, name)
    if rest:
        part = _named_part(wanted, getattr(thing, name))
        if not hasattr(part, "get_params"):
            raise DataError(
                f"--set: `{prefix}{name}` has no parameters of its own; got {prefix + key!r}. Set it first, for "
                f"example `--set {prefix}{name}=mlp`."
            )
        _set(part, rest, value, f"{prefix}{name}.")
        thing.set_params(**{name: part})
        return
    value = _named_part(wanted, value)
    if not fits(wanted, value) and fits(wanted, (value,)):
        value = (value,)  # a list of one has no comma
    if not fits(wanted, value):
        raise DataError(
            f"--set: `{prefix}{name}` of {type(thing).__name__} must be {describe_type(wanted)}; got {value!r}."
        )
    thing.set_params(**{name: value})


def _named_part(wanted: Any, value: Any) -> Any:
    """A model, a regime or an attacker inside another may be given by its name."""
    from holdtrue.models import AbstractArchitecture, architecture
    from holdtrue.training import AbstractAttacker, AbstractRegime, attacker, regime

    if not isinstance(value, str):
        return value
    parts = ((AbstractArchitecture, architecture), (AbstractRegime, regime), (AbstractAttacker, attacker))
    for kind, by_name in parts:
        if kind in (wanted, *typing.get_args(wanted)):
            return by_name(value)()
    return value


def type_of(thing: Any, name: str) -> Any:
    """Annotated type of a parameter, of a part's too (``attacker__eps``); Any where there is none."""
    name, _, rest = name.partition("__")
    wanted = typing.get_type_hints(type(thing).__init__).get(name, Any)
    return type_of(_named_part(wanted, getattr(thing, name, None)), rest) if rest else wanted


def fits(wanted: Any, value: Any) -> bool:
    """Whether a value is of an annotated type; types this does not know pass."""
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is Any:
        return True
    if wanted is None or wanted is type(None):
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(fits(part, value) for part in inner)
    if origin is typing.Literal:
        return any(value == choice and type(value) is type(choice) for choice in inner)
    if wanted is bool:
        return isinstance(value, bool)
    if wanted in (int, float):
        allowed = (int,) if wanted is int else (int, float)
        return isinstance(value, allowed) and not isinstance(value, bool)
    if wanted is str:
        return isinstance(value, str)
    kind = origin or wanted
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return isinstance(value, Mapping)
    if isinstance(kind, type) and issubclass(kind, Sequence):
        element = inner[0] if inner else Any
        return isinstance(value, tuple) and all(fits(element, v) for v in value)
    return not isinstance(wanted, type) or wanted is object or isinstance(value, wanted)


def describe_type(wanted: Any) -> str:
    """A type in words."""
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    words = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", type(None): "none"}
    if wanted in words:
        return words[wanted]
    if origin in (typing.Union, types.UnionType):
        return " or ".join(describe_type(part) for part in inner)
    if origin is typing.Literal:
        return " or ".join(str(choice) for choice in inner)
    kind = origin or wanted
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return "a mapping"
    if isinstance(kind, type) and issubclass(kind, Sequence):
        return f"a list with commas, each {describe_type(inner[0])}" if inner else "a list with commas"
    return getattr(wanted, "__name__", str(wanted))


def pick_label(text: str | None, labels: Sequence[Any], option: str) -> Any:
    """Return the class label that a user's text names."""
    if text is None:
        return None
    for label in labels:
        if str(label) == text:
            return label
    for label in labels:
        try:
            if not isinstance(label, (str, bool)) and float(text) == float(label):
                return label
        except (TypeError, ValueError):
            continue
    raise DataError(f"{option}: is not a class; got {text!r}. Classes are {list(labels)!r}.")


_RAY = (
    click.option("--ray", metavar="ADDRESS",
                 help="Work on a Ray cluster: host:port, ray://host:port, auto, or local."),
    click.option("--ray-cores", type=click.IntRange(min=1), metavar="N",
                 help="With --ray: cores of every worker.  [default: 1]"),
    click.option("--ray-gpus", type=click.FloatRange(min=0, min_open=True), metavar="N",
                 help="With --ray: accelerators of every worker.  [default: none]"),
)  # fmt: skip


def ray_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the arguments of `where`."""
    return functools.reduce(lambda made, option: option(made), reversed(_RAY), command)


def where(ray: str | None, ray_cores: int | None, ray_gpus: float | None) -> Any:
    """Return the executor that was asked for: this process, or a cluster, which is left when the command ends."""
    from holdtrue.batch import EmbeddedExecutor, RayExecutor

    if ray is None:
        given = "--ray-cores" if ray_cores is not None else "--ray-gpus" if ray_gpus is not None else None
        if given is not None:
            raise DataError(f"{given}: is for workers of a cluster; got no --ray. Write --ray ADDRESS.")
        return EmbeddedExecutor()
    executor = RayExecutor(ray, cores=ray_cores or 1, gpus=ray_gpus or 0.0)
    executor.hush()
    click.get_current_context().call_on_close(executor.close)
    return executor
