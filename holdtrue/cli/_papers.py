"""`holdtrue papers`: a paper's experiment, ours beside the printed figures."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdtrue._cache import use_cache
from holdtrue._json import write_result
from holdtrue._types import JsonObject, Keywords
from holdtrue.cli._console import Interrupted, interruptible, print_json, results, say
from holdtrue.cli._options import json_option, ray_options, where
from holdtrue.errors import DataError, MissingDependencyError

if TYPE_CHECKING:
    from experiments import AbstractResult, Experiment

ROOT = Path(__file__).parents[2]
"""Of the source tree, where this is one: its `experiments` are not part of the package."""


@click.command("papers")
@click.argument("paper", metavar="PAPER", required=False)
@click.option("--dataset", "datasets", multiple=True, metavar="NAME",
              help="One of the paper's datasets; may be repeated. All by default.")  # fmt: skip
@click.option(
    "--table", "tables", multiple=True, metavar="N", help="Only this table of the paper; may be repeated."
)
@click.option("--figure", "figures", multiple=True, metavar="N",
              help="Only this figure of the paper; may be repeated.")  # fmt: skip
@click.option("--models", "n_models", type=click.IntRange(min=1), metavar="N",
              help="Retrained models of each kind.")  # fmt: skip
@click.option("--people", "n_people", type=click.IntRange(min=1), metavar="N",
              help="Only the first N test rows.")  # fmt: skip
@click.option("--bases", "n_bases", type=click.IntRange(min=1), metavar="N",
              help="Base models, of different seeds.")  # fmt: skip
@click.option("--splits", "n_splits", type=click.IntRange(min=1), metavar="N",
              help="Splits into training and test rows, or training seeds, drawn afresh.")  # fmt: skip
@click.option("--protocol", type=click.Choice(["honest", "paper", "both"]),
              help="How recourse is searched and counted: strictly, or the paper's way.")  # fmt: skip
@click.option("--quick", is_flag=True, help="One dataset and little of everything, in about a minute.")
@click.option("--out", metavar="FOLDER",
              help="Write NAME.json for every dataset as it is done, and tables.md; a dataset that is there "
              "already is not run again. Of one dataset it may be a file that ends in .json.")  # fmt: skip
@ray_options
@json_option
def command(
    paper: str | None, datasets: tuple[str, ...], tables: tuple[str, ...], figures: tuple[str, ...], quick: bool,
    out: str | None, as_json: bool, ray: str | None, ray_cores: int | None, ray_gpus: float | None,
    **sizes: object,
) -> None:  # fmt: skip
    """Run the experiment of PAPER and print its tables, ours beside the printed figures.

    Without PAPER, the papers are listed, with their datasets, tables, figures and sizes. The experiments are in
    the source tree, beside the package, so that this needs a clone of it. The datasets must have been added
    (`holdtrue datasets add`) or lie in the folder that HOLDTRUE_DATA names. With --ray every dataset is a task for
    a worker of a Ray cluster, which must have the clone and the datasets too.

    \b
    holdtrue papers consistent-counterfactuals --quick
    holdtrue papers consistent-counterfactuals --dataset german --out results
    """
    known = experiments()
    if paper is None:
        click.echo("\n".join(_about(name, chosen) for name, chosen in known.items()))
        return
    chosen = experiment(paper)
    names = list(datasets) or list(chosen.datasets[:1] if quick else chosen.datasets)
    unknown = [name for name in names if name not in chosen.datasets]
    if unknown:
        raise DataError(f"--dataset: is not in {paper}; got {unknown[0]!r}. It has {', '.join(chosen.datasets)}.")
    parts = [f"table {n}" for n in tables] + [f"figure {n}" for n in figures]
    for part in parts:
        if part not in chosen.parts:
            raise DataError(f"--{part.split()[0]}: {paper} has no {part}. It has {', '.join(chosen.parts)}.")
    given = {name: size for name, size in sizes.items() if size is not None}
    for name in given:
        if name not in chosen.options:
            raise DataError(f"--{_option(name)}: is not a size of {paper}. It has {_sizes(chosen)}.")
    places = _places(out, names)
    use_cache()
    options = chosen.options | given | {"quick": quick} | ({"parts": parts} if parts else {})
    executor = where(ray, ray_cores, ray_gpus)
    done: dict[int, AbstractResult] = {}

    def work() -> None:
        tasks = []
        for number, name in enumerate(names):
            kept = _read(chosen, places.get(name), name, options)
            if kept is None:
                tasks.append((number, name))
            else:
                done[number] = kept
        for number, found in executor.map(Dataset(paper, options, out), tasks):
            _write(places.get(names[number]), found)
            done[number] = chosen.result(found)

    try:
        interruptible(work)
    except KeyboardInterrupt as error:
        kept = f"{len(done)} of {len(names)} datasets are done" + ("" if out is None else f" and kept in {out}")
        raise Interrupted(f"Interrupted. {kept}.") from error
    found = [done[number] for number in range(len(names))]
    text = chosen.markdown(found, parts)
    if out is not None and not _is_file(out):
        (Path(out) / "tables.md").write_text(text, encoding="utf-8")
    if as_json:
        print_json({"paper": paper, "results": [result.to_dict() for result in found]})
    else:
        from rich.markdown import Markdown

        results().print(Markdown(text))


def experiments() -> dict[str, Experiment]:
    """The experiments of the source tree by the names of their papers."""
    return _tree().EXPERIMENTS


def experiment(paper: str) -> Experiment:
    """One of them."""
    return _tree().experiment(paper)


def _tree() -> Any:
    """The package `experiments` of the source tree.

    Looked up when it is asked for, since the package must not depend on what is not shipped with it; and by its
    place, since a reader's own folder of that name may come first on the path.
    """
    place = ROOT / "experiments" / "__init__.py"
    if not place.is_file():
        raise MissingDependencyError(
            f"papers: the experiments are not in the installed package; got no 'experiments' in {str(ROOT)!r}. "
            "They are in the folder 'experiments' of holdtrue's source tree: clone it, run "
            "`pip install --editable .` there, and this command again."
        )
    there = sys.modules.get("experiments")
    if there is not None and there.__file__ == str(place):
        return there
    spec = spec_from_file_location("experiments", place)
    assert spec is not None
    assert spec.loader is not None
    sys.modules["experiments"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["experiments"])
    return sys.modules["experiments"]


def _about(name: str, chosen: Experiment) -> str:
    return (
        f"{name}: {chosen.title}. Datasets: {', '.join(chosen.datasets)}. Parts: {', '.join(chosen.parts)}. "
        f"Sizes: {_sizes(chosen)}."
    )


def _sizes(chosen: Experiment) -> str:
    return ", ".join(f"--{_option(n)} ({'all' if v is None else v})" for n, v in chosen.options.items())


def _option(name: str) -> str:
    return name.removeprefix("n_")


def _is_file(out: str) -> bool:
    return out.endswith(".json")


def _places(out: str | None, names: Sequence[str]) -> dict[str, Path]:
    """Where every dataset's result is kept; folders are made."""
    if out is None:
        return {}
    if not _is_file(out):
        Path(out).mkdir(parents=True, exist_ok=True)
        return {name: Path(out) / f"{name}.json" for name in names}
    if len(names) > 1:
        raise DataError(
            f"--out: a file is for one dataset; got {out!r} and {len(names)} datasets. Name a folder, or one "
            "--dataset."
        )
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    return {names[0]: Path(out)}


def _read(chosen: Experiment, place: Path | None, name: str, options: Keywords) -> AbstractResult | None:
    """What an earlier run with the same options left of a dataset, or None."""
    if place is None or not place.exists():
        return None
    kept = json.loads(place.read_text(encoding="utf-8"))
    if kept.get("options") != options:
        raise DataError(
            f"--out: {str(place)!r} holds another run (options {kept.get('options')}). Give another folder, or "
            "delete it."
        )
    say(f"{name}: read from {place}")
    return chosen.result(kept)


def _write(place: Path | None, result: JsonObject) -> None:
    if place is not None:
        write_result(place, result)


@dataclass(frozen=True)
class Dataset:
    """Runs one dataset of a paper, here or by a worker elsewhere."""

    paper: str
    options: Keywords
    out: str | None = None

    def __call__(self, name: str) -> JsonObject:
        """A dataset's result as plain values, which travel from any worker, with what it was made by."""
        use_cache()
        chosen = experiment(self.paper)
        result = chosen.run(name, **self.options, say=lambda what: say(f"{name}: {what}"))
        out = self.out if self.out is not None and _is_file(self.out) else "FOLDER"
        return result.made_with(self.options, chosen.command(self.paper, name, self.options, out)).to_dict()
