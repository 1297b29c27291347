"""Experiments by the name of their paper."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from holdfast.errors import DataError
from holdfast.schema import did_you_mean


@dataclass(frozen=True)
class Experiment:
    """One paper's experiment.

    Attributes
    ----------
    title : str
    module : str
        Has ``run(name, *, quick, n_models, n_people, say) -> dict`` for one of its `datasets`, and
        ``markdown(results) -> str``.
    datasets : tuple of str
    """

    title: str
    module: str
    datasets: tuple[str, ...]

    def run(self, dataset: str, **options: Any) -> dict[str, Any]:
        """Run one dataset; plain numbers that JSON can hold."""
        return self._part("run")(dataset, **options)

    def markdown(self, results: Sequence[dict[str, Any]]) -> str:
        """Tables of the results of some datasets, ours beside the printed figures."""
        return self._part("markdown")(results)

    def _part(self, name: str) -> Callable[..., Any]:
        return getattr(import_module(self.module), name)


EXPERIMENTS = {
    "consistent-counterfactuals": Experiment(
        "Black, Wang, Datta, Fredrikson (2022), Consistent counterfactuals for deep models",
        "holdfast.papers.consistent_counterfactuals",
        ("german", "seizure", "ctg", "warfarin", "heloc", "taiwan", "taiwan-minmax"),
    ),
}


def experiment(name: str) -> Experiment:
    """Experiment by the name of its paper."""
    if name not in EXPERIMENTS:
        raise DataError(f"papers: unknown paper; got {name!r}. {did_you_mean(name, list(EXPERIMENTS))}")
    return EXPERIMENTS[name]
