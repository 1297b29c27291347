"""Experiments by the name of their paper."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from experiments._results import AbstractResult
from experiments._standing import Standing
from holdtrue.errors import DataError
from holdtrue.schema import did_you_mean


@dataclass(frozen=True)
class Experiment:
    """One paper's experiment.

    Attributes
    ----------
    title : str
    module : str
        Has the class ``Result``, ``run(name, *, quick, parts, say, **options) -> Result`` for one of `datasets`,
        ``markdown(results, parts) -> str``, where ``parts`` are those asked for, or none for all, and
        ``standing(results) -> Standing``, what is met of the paper, item by item; where there are further files,
        ``further(folder) -> str``, their tables; and, where the text has tables, ``short(results)``, these by
        name. Its ``pictures``
        has ``draw(results, folder)``, and its folder ``results`` what was committed.
    datasets : tuple of str
    parts : tuple of str
        Tables and figures of the paper that can be asked for alone: ``"table 1"``, ``"figure 3"``.
    options : dict
        What `run` understands beside those, with the defaults of a full run.
    """

    title: str
    module: str
    datasets: tuple[str, ...]
    parts: tuple[str, ...]
    options: dict[str, Any]

    def run(self, dataset: str, **options: Any) -> AbstractResult:
        """Run one dataset."""
        return self._part("run")(dataset, **options)

    def command(self, paper: str, dataset: str, options: Mapping[str, Any], out: str = "FOLDER") -> str:
        """The command that runs one dataset with some options; sizes of a full run are left out."""
        told = [f"holdtrue papers {paper} --dataset {dataset}"]
        told += ["--quick"] if options.get("quick") else []
        for part in options.get("parts", ()):
            kind, number = part.split()
            told.append(f"--{kind} {number}")
        for name, usual in self.options.items():
            if options.get(name, usual) != usual:
                told.append(f"--{name.removeprefix('n_')} {options[name]}")
        return " ".join([*told, f"--out {out}"])

    def result(self, kept: Mapping[str, Any]) -> AbstractResult:
        """A result from what its `to_dict` gave."""
        return self._part("Result").from_dict(kept)

    def markdown(self, results: Sequence[AbstractResult], parts: Collection[str] = ()) -> str:
        """Tables of the results of some datasets, ours beside the printed figures."""
        return self._part("markdown")(results, parts)

    def standing(self, results: Sequence[AbstractResult]) -> Standing:
        """What is met of the paper, item by item."""
        return self._part("standing")(results)

    def further(self) -> str:
        """Tables of the page that are of other files than its results; none where the paper has no such."""
        make = getattr(import_module(self.module), "further", None)
        return "" if make is None else f"\n{make(self.results)}"

    def short(self, results: Sequence[AbstractResult]) -> dict[str, str]:
        """Small tables within the page's text, by the names of their marks; none where the paper has no such."""
        make = getattr(import_module(self.module), "short", None)
        return {} if make is None else make(results)

    def draw(self, results: Sequence[AbstractResult], folder: Path) -> None:
        """Draw the pictures of the paper's page into a folder."""
        import_module(f"{self.module}.pictures").draw(results, folder)

    @property
    def results(self) -> Path:
        """The folder of committed results."""
        return Path(__file__).parent / self.module.rpartition(".")[2] / "results"

    def committed(self) -> list[AbstractResult]:
        """Committed results, in the order of `datasets`."""
        places = [self.results / f"{name}.json" for name in self.datasets]
        return [self.result(json.loads(place.read_text("utf-8"))) for place in places if place.exists()]

    def _part(self, name: str) -> Any:
        return getattr(import_module(self.module), name)


EXPERIMENTS = {
    "consistent-counterfactuals": Experiment(
        "Black, Wang, Datta, Fredrikson (2022), Consistent counterfactuals for deep models",
        "experiments.consistent_counterfactuals",
        ("german", "seizure", "ctg", "warfarin", "heloc", "taiwan", "taiwan-minmax"),
        ("table 1", "table 2", "table 3", "table 4"),
        {"n_models": 100, "n_people": None, "n_bases": 3},
    ),
    "actionable-recourse": Experiment(
        "Ross, Lakkaraju, Bastani (2021), Learning models for actionable recourse",
        "experiments.actionable_recourse",
        ("german", "compas", "bail", "bail-paper", "adult", "sst"),
        (*(f"table {i}" for i in range(1, 7)), *(f"figure {i}" for i in range(1, 6))),
        {"n_splits": 5},
    ),
    "rocoursenet": Experiment(
        "Guo, Jia, Chen, Squicciarini, Yadav (2023), RoCourseNet: robust training of a prediction aware recourse "
        "model",
        "experiments.rocoursenet",
        ("german", "student", "covariate", "label", "loan"),
        (
            *(f"table {n}" for n in (2, 3, 6, 7, 8, 9, 10, 11)),
            *(f"figure {n}" for n in (3, 4, 5, 6, 7, 10, 11, 12)),
        ),
        {"n_splits": 5, "n_people": 1000},
    ),
    "robustness-tradeoffs": Experiment(
        "Krishna, Agarwal, Lakkaraju (2024), On the trade-offs between adversarial robustness and actionable "
        "explanations",
        "experiments.robustness_tradeoffs",
        ("compas", "german", "adult"),
        tuple(f"figure {n}" for n in range(1, 17)),
        {"n_splits": 10, "n_people": 400},
    ),
    "counterfactual-training": Experiment(
        "Counterfactual training: teaching models plausible and actionable explanations",
        "experiments.counterfactual_training",
        ("ls", "circ", "moon", "ol", "adult", "ch", "cred", "gmsc", "heloc", "compas", "mnist"),
        ("table 1", "table 2", "table 3", "figure 1", *(f"figure {n}" for n in range(3, 7))),
        {"n_splits": 5, "n_people": 100, "protocol": "honest"},
    ),
}


def experiment(name: str) -> Experiment:
    """Experiment by the name of its paper."""
    if name not in EXPERIMENTS:
        raise DataError(f"papers: unknown paper; got {name!r}. {did_you_mean(name, list(EXPERIMENTS))}")
    return EXPERIMENTS[name]
