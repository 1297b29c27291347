"""Options that several commands share, and `--set KEY=VALUE`."""

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from holdtrue._types import Cell, Json, JsonObject, Label
from holdtrue.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Made = TypeVar("Made")

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

keep_option = click.option(
    "--keep",
    metavar="FOLDER",
    help="Keep each guide and judge as it is trained; the same command then goes on where it was cut.",
)


def read_share(text: str, option: str) -> float:
    """A share as people write it: 1% or 0.01. A bare 1 could be either, and is refused."""
    share = _share(text)
    if not 0 <= share <= 1 or text.strip() == "1":
        raise DataError(f"{option}: must be a share of the promises; got {text!r}. Write 1% or 0.01.")
    return share


def _share(text: str) -> float:
    number = text.strip().removesuffix("%")
    try:  # in decimals, so that 0.7% is 0.007
        return float(Decimal(number) / (100 if number != text.strip() else 1))
    except InvalidOperation:
        return -1.0


def read_hold(text: str, *, files: bool = False) -> Any:
    """The wanted chance of holding: 95% or 0.95, none for the cheapest recourse, or a level file."""
    from holdtrue.methods import Level

    if text.strip().lower() == "none":
        return None
    if files and (text.endswith(".json") or Path(text).is_file()):
        return Level.load(text)
    share = _share(text)
    if not 0 < share < 1:
        others = ", none, or a level file" if files else " or none"
        raise DataError(f"--hold: must be a chance between 0 and 1; got {text!r}. Write 95%, 0.95{others}.")
    return share


def parse_settings(pairs: Sequence[str]) -> JsonObject:
    """Read ``key=value`` pairs; values are YAML scalars, or lists with commas."""
    out = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise DataError(f"--set: must be KEY=VALUE; got {pair!r}. Write for example `--set cost_weight=0.5`.")
        out[key.strip()] = _value(text.strip())
    return out


def _value(text: str) -> Cell:
    if "," in text and text[:1] not in "[{\"'":
        return tuple(_scalar(part.strip()) for part in text.split(",") if part.strip())
    return _scalar(text)


def _scalar(text: str) -> Cell:
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


def configure(make: Callable[[], Made], settings: Mapping[str, Json]) -> Made:
    """Build a configured object and set parameters, each checked against the class that takes it.

    Parameters
    ----------
    make : callable
        Returns the object with its defaults: a class, or a function that clones one.
    settings : mapping
        Parameter to value; ``member.widths`` reaches into a part.
    """
    thing = make()
    for key, value in sorted(settings.items()):  # `member` comes before `member.widths`
        _set(thing, key, value)
    return thing


def _set(thing: Any, key: str, value: Any) -> None:
    from holdtrue.parameters import unknown

    name, _, rest = key.partition(".")
    known = sorted(thing.get_params(deep=False))
    if name not in known:
        raise unknown(type(thing), name, known)
    wanted = parameter(thing, name)
    if rest:
        part = _part(thing, name, wanted)
        if not hasattr(part, "get_params"):
            raise DataError(
                f"{type(thing).__name__}: `{name}` has no parameters of its own; got {key!r}. Set it first, for "
                f"example `--set {name}=mlp`."
            )
        _set(part, rest, value)
        thing.set_params(**{name: part})
        return
    if not wanted.accepts(value) and wanted.accepts((value,)):
        value = (value,)  # a list of one has no comma
    if not wanted.accepts(value):
        raise wanted.refusal(type(thing).__name__, value)
    thing.set_params(**{name: wanted.made(value)})


def parameter(thing: object, name: str) -> Any:
    """What a parameter is declared to be, a part's too (``attacker__eps``); anything, where nobody says."""
    from holdtrue.parameters import declared, parameters

    name, _, rest = name.partition("__")
    own = parameters(type(thing)).get(name, declared(name, Any))
    return parameter(_part(thing, name, own), rest) if rest else own


def _part(thing: Any, name: str, wanted: Any) -> Any:
    """A part of an object, also one that was left out where the object knows its defaults."""
    if name in getattr(thing, "parts", {}):
        return thing.part(name)
    return wanted.made(getattr(thing, name, None))


def pick_label(text: str | None, labels: Sequence[Label], option: str) -> Cell:
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


schema_option = click.option(
    "--schema", "schema_file", metavar="FILE", help="What the columns are and how each may change (YAML or JSON)."
)
favourable_option = click.option(
    "--favourable", metavar="LABEL", help="The class people want; asked for where it is not plain from the labels."
)
drop_option = click.option(
    "--drop", multiple=True, metavar="COLUMN",
    help="A column to leave out of a guessed schema; may be repeated, or name several with commas.",
)  # fmt: skip


def dropped(names: Sequence[str]) -> list[str]:
    """The columns that `--drop` names."""
    return [name.strip() for text in names for name in text.split(",") if name.strip()]


def choose_favourable(
    text: str | None, labels: "ArrayLike", *, own: Label | None = None, name: str | None = None
) -> Cell:
    """The class people want: the one that was given, a dataset's own, or the plain one; else a person is asked.

    Parameters
    ----------
    text : str or None
        What `--favourable` says.
    labels : array
        What became of people.
    own : label or None
        What a dataset brings.
    name : str or None
        What the labels are called.
    """
    import numpy as np

    from holdtrue.schema import favourable_of, plainly_wanted, question

    classes = np.unique(np.asarray(labels)).tolist()
    if text is not None and text != "(last)":
        return pick_label(text, classes, "--favourable")
    given = own if text is None else text
    if given is None and plainly_wanted(classes, name) is None and _somebody_is_there():
        asked = question(labels, name)
        click.echo(asked[0].upper() + asked[1:], err=True)
        answer = click.prompt("The class people want", type=click.Choice([str(c) for c in classes]), err=True)
        return pick_label(answer, classes, "--favourable")
    return favourable_of(labels, given, name=name, where="--favourable", write="--favourable LABEL")


def _somebody_is_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


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
