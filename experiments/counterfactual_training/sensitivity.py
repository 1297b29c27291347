"""RQ5, what this training depends on: ``python -m experiments.counterfactual_training.sensitivity DATASET``.

The paper's own regime with one number changed at a time: steps of a search (T), maturity (tau), searches an epoch
(n_CE), burn-in, the search itself (its three engines); and a grid of the three weights. Each is judged on the test
rows as the experiment judges its regimes, by both protocols: implausibility and cost against plain training,
validity, accuracy as it is and under attack. On MNIST in their place TRADES with a radius that grows, unless one
number is asked for (``--only``). Writes ``results/sensitivity-DATASET.json`` (of MNIST's numbers,
``sensitivity-mnist-only.json``), what is there after every group of trainings, and goes on from there.
"""

import argparse
import itertools
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments import experiment
from experiments._report import write
from experiments._results import made_with
from experiments.counterfactual_training._compare import gain
from experiments.counterfactual_training._judge import accuracies
from experiments.counterfactual_training._run import searched
from experiments.counterfactual_training._settings import PAPER, PGD, PLAIN, PROTOCOLS, SETTINGS, regimes
from experiments.counterfactual_training._task import read_task
from experiments.counterfactual_training._train import groups, trained
from holdtrue.models import fresh
from holdtrue.training import AbstractRegime

ONE_BY_ONE: dict[str, tuple[Any, ...]] = {
    "n_steps": (10, 50, 100), "maturity": (0.5, 0.75, 0.95), "n_recourses": (100, 5000), "burn_in": (0.25, 0.5),
    "search": ("generic", "revise"), "search_step_size": (0.5,),
}  # fmt: skip
WEIGHTS = {"divergence_weight": (0.1, 0.5, 1.0), "adversarial_weight": (0.1, 0.5), "ridge_weight": (0.01, 0.25)}
RAMPS = (0.0, 0.25, 0.5)
"""Of TRADES on images: share of the epochs over which its radius grows."""


def settings(name: str, base: AbstractRegime, only: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """What is tried: the regime as it is, one number at a time, then the weights together."""
    own = base.get_params()
    some = {key: values for key, values in ONE_BY_ONE.items() if not only or key in only}
    single = [{key: value} for key, values in some.items() for value in values if value != own[key]]
    grid = [] if only else [dict(zip(WEIGHTS, v, strict=True)) for v in itertools.product(*WEIGHTS.values())]
    return [{}, *single, *grid]


def chosen_of(name: str, n_epochs: int, only: tuple[str, ...]) -> dict[str, AbstractRegime]:
    """Every training by its label; plain and PGD training beside them."""
    setting = SETTINGS[name]
    known = regimes(setting, n_epochs)
    out = {PLAIN: known[PLAIN], PGD: known[PGD]}
    if setting.is_image and not only:
        return out | {f"TRADES, ramp {r:g}": fresh(known["TRADES"]).set_params(ramp=r) for r in RAMPS}
    tried = settings(name, known[PAPER], only)
    return out | {json.dumps(values): fresh(known[PAPER]).set_params(**values) for values in tried}


def run(name: str, n_seeds: int, n_people: int, n_epochs: int, only: tuple[str, ...], place: Path) -> None:
    """One dataset; what the file has already is not made again."""
    task = read_task(name)
    chosen = chosen_of(name, n_epochs, only)
    command = (
        f"python -m experiments.counterfactual_training.sensitivity {name} --seeds {n_seeds} --people {n_people} "
        f"--epochs {n_epochs}" + "".join(f" --only {key}" for key in only)
    )
    found: dict[str, Any] = json.loads(place.read_text("utf-8"))["kinds"] if place.exists() else {}
    began = time.process_time()
    plain = trained(task, [(PLAIN, chosen[PLAIN])], n_seeds)[0]
    base = {key: searched(task, {PLAIN: plain}, own, n_people)[PLAIN] for key, own in PROTOCOLS.items()}
    for group in groups(chosen, [kind for kind in chosen if kind not in found]):
        # Trained with the paper's domain, whatever their label is.
        kinds = [PAPER if kind.startswith("{") else kind for kind in group]
        models = trained(task, [(kind, chosen[label]) for kind, label in zip(kinds, group, strict=True)], n_seeds)
        for label, own in zip(group, models, strict=True):
            found[label] = _judged(task, label, own, base, n_people)
        kept: Mapping[str, Any] = {
            "dataset": name, "title": task.setting.title, "n_seeds": n_seeds, "n_people": n_people,
            "n_epochs": n_epochs, "paper": _numbers(chosen), "kinds": found, "command": command,
            "seconds": {"processor, this call": round(time.process_time() - began, 1)},
        }  # fmt: skip
        write(place, dict(kept) | made_with({}))


def _numbers(chosen: Mapping[str, AbstractRegime]) -> dict[str, Any]:
    """The paper's own values of what is varied."""
    if "{}" not in chosen:
        return {}
    own = chosen["{}"].get_params()
    return {key: own[key] for key in (*ONE_BY_ONE, *WEIGHTS)}


def _judged(task: Any, label: str, models: Any, base: Mapping[str, Any], n_people: int) -> dict[str, Any]:
    """Accuracy, and by each protocol validity and what is gained on plain training, in percent."""
    told = accuracies(task, models, whole=False)
    out: dict[str, Any] = {key: float(np.mean(told[key])) for key in ("accuracy", "pgd")}
    for name, protocol in PROTOCOLS.items():
        own = searched(task, {label: models}, protocol, n_people)[label]
        out[name] = {"validity": own.validity if np.isfinite(own.validity) else None}
        for key in ("implausibility", "cost"):
            below = gain(getattr(base[name], key), getattr(own, key), paired=protocol.paired) or {}
            out[name][key] = {part: below.get(part) for part in ("gain", "low", "high", "share")}
    return out


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dataset", choices=list(SETTINGS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--people", type=int, default=60)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--only", action="append", choices=list(ONE_BY_ONE), help="vary this, and no weights")
    parser.add_argument("--out", type=Path, default=experiment("counterfactual-training").results)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    only = tuple(given.only or ())
    ending = "-only" if only and SETTINGS[given.dataset].is_image else ""
    place = given.out / f"sensitivity-{given.dataset}{ending}.json"
    run(given.dataset, given.seeds, given.people, given.epochs, only, place)


if __name__ == "__main__":
    main()
