"""One dataset: every regime trained and judged, recourse under one protocol or both."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from experiments._report import Clock
from experiments._task import Task
from experiments.counterfactual_training._compare import discrepancy_gain, gain
from experiments.counterfactual_training._examples import digits, plane
from experiments.counterfactual_training._judge import accuracies, sensitivities, transferred, unfaithfulness
from experiments.counterfactual_training._result import Result
from experiments.counterfactual_training._search import Found, search
from experiments.counterfactual_training._settings import (
    HELD,
    OURS,
    PAPER,
    PGD,
    PLAIN,
    PROTOCOLS,
    SCALES,
    SETTINGS,
    Protocol,
    regimes,
)
from experiments.counterfactual_training._store import Kept, read, write
from experiments.counterfactual_training._task import read_task
from experiments.counterfactual_training._train import ensembles, groups, largest_logit, matured, trained
from holdtrue.errors import DataError
from holdtrue.models import AbstractModel
from holdtrue.training import AbstractRegime

PARTS = {
    "recourse": ("table 1", "table 3", "figure 6"),
    "protected": ("table 1", "table 2", "table 3"),
    "attacks": ("figure 5",),
    "pictures": ("figure 1", "figure 3", "figure 4"),
}
"""Tables and figures of the paper by what has to be run for them."""
ENSEMBLE = "BL, ensemble"
GENERATORS = ("CT, generic", "CT, REVISE")
WITH_GENERATORS = ("ls", "circ", "moon", "ol", "ch")
"""Datasets on which the paper's other two searches are run in training."""
QUICK_KINDS = (PLAIN, PAPER, OURS, PGD, PAPER + HELD)
Models = Mapping[str, Sequence[AbstractModel]]


def run(
    name: str,
    *,
    n_splits: int = 5,
    n_people: int = 100,
    protocol: str = "honest",
    quick: bool = False,
    parts: Collection[str] = (),
    kinds: Collection[str] = (),
    store: Path | None = None,
    keep: Callable[[dict[str, Any]], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> Result:
    """Run one dataset and return its figures.

    Parameters
    ----------
    name : str
        One of `SETTINGS`.
    n_splits : int, default=5
        Training seeds. The split into training and test rows is one.
    n_people : int, default=100
        Test rows that are asked about in every direction.
    protocol : {"honest", "paper", "both"}, default="honest"
        How recourse is searched and counted.
    quick : bool, default=False
        Two seeds, few epochs, a few people and regimes.
    parts : collection of str, optional
        Tables and figures of the paper; all when left out.
    kinds : collection of str, optional
        Regimes beside the plain one; all when left out.
    store : path, optional
        Folder of trained models: those of an earlier run are taken from it, others are put there as they are done.
    keep : callable, optional
        Given the figures so far, after every stage.
    say : callable, optional
        Told what is being done.
    """
    if name not in SETTINGS:
        raise DataError(f"papers: unknown dataset; got {name!r}. Known are {list(SETTINGS)!r}.")
    if protocol not in (*PROTOCOLS, "both"):
        known = [*PROTOCOLS, "both"]
        raise DataError(f"papers: unknown protocol; got {protocol!r}. Known are {known!r}.")
    wanted = {stage for stage, of in PARTS.items() if not parts or set(of) & set(parts)}
    n_epochs, step_size = (10, 0.01) if quick else (100, 0.001)
    if quick:
        n_splits, n_people = 2, min(n_people, 25)
    clock = Clock(say)
    clock("data")
    task = read_task(name, 1000 if quick else None)
    chosen = regimes(task.setting, n_epochs, step_size)
    names = [k for k in chosen if k in (QUICK_KINDS if quick else kinds or chosen) or k == PLAIN]
    if not kinds and name not in WITH_GENERATORS:
        names = [k for k in names if k not in GENERATORS]
    if "protected" not in wanted and "pictures" not in wanted:
        names = [k for k in names if not k.endswith(HELD)]
    result: dict[str, Any] = {
        "dataset": name,
        "title": task.setting.title,
        "n_seeds": n_splits,
        "n_people": n_people,
        "n_train": len(task.learned.x),
        "n_test": len(task.tested.x),
        "n_columns": int(task.encoder.n_columns),
        "n_classes": task.n_classes,
        "protected": list(task.setting.protected) or ["five rows of pixels at either end"],
        "ours": {k: v for k, v in chosen[OURS].get_params().items() if isinstance(v, (int, float, str, bool))},
        "trained": {},
        "kinds": {},
        "protocols": {},
    }
    models: dict[str, Sequence[AbstractModel]] = {}
    for group in groups(chosen, names):
        clock(f"training {'; '.join(group)}")
        for kind, found in fitted(name, task, chosen, group, n_splits, store).items():
            models[kind] = found.models
            result["trained"][kind] = {"with": found.group, "seconds": found.seconds, "device": found.device}
    if n_splits > 2 and not task.setting.is_image:
        models[ENSEMBLE] = ensembles(models[PLAIN])
    clock("accuracy and attacks")
    result["kinds"] = _judged(task, models, "attacks" in wanted and not quick, "protected" in wanted)
    for kind in names:
        if kind not in GENERATORS:
            result["kinds"][kind]["mature"] = matured(task, kind, chosen[kind], models[kind])
    if "attacks" in wanted and not quick:
        others = {kind: models[kind] for kind in names if kind != PLAIN}
        for kind, told in transferred(task, models[PLAIN], others).items():
            result["kinds"][kind]["transfer"] = told
    keep(result)
    if "pictures" in wanted and name in ("ls", "mnist"):
        clock("pictures")
        result["pictures"] = plane(task, n_epochs) if name == "ls" else digits(task, models)
        keep(result)
    for chosen_protocol in PROTOCOLS.values():
        if protocol in (chosen_protocol.name, "both") and wanted & {"recourse", "protected"}:
            clock(f"recourse, {chosen_protocol.name} protocol")
            result["protocols"][chosen_protocol.name] = _recourse(task, models, chosen_protocol, n_people, wanted)
            keep(result)
    clock.stop()
    return Result.from_dict(result | {"seconds": clock.seconds})


def fitted(
    name: str,
    task: Task,
    chosen: Mapping[str, AbstractRegime],
    group: Sequence[str],
    n_seeds: int,
    store: Path | None = None,
) -> dict[str, Kept]:
    """Models of a group of regimes: from the store, or trained together."""
    found: dict[str, Kept] = {}
    if store is not None:
        there = {kind: read(store, name, task, kind, chosen[kind], n_seeds) for kind in group}
        found = {kind: kept for kind, kept in there.items() if kept is not None}
    missing = [kind for kind in group if kind not in found]
    if missing:
        began = time.monotonic()
        models = trained(task, [(kind, chosen[kind]) for kind in missing], n_seeds)
        seconds, device = round(time.monotonic() - began, 2), jax.devices()[0].device_kind
        new = {k: Kept(m, "; ".join(missing), seconds, device) for k, m in zip(missing, models, strict=True)}
        if store is not None:
            write(store, name, task, chosen, new)
        found |= new
    return found


def _judged(task: Task, models: Models, whole: bool, protected: bool) -> dict[str, Any]:
    """Accuracies, attacks, sensitivities: models of one shape together."""
    out: dict[str, Any] = {}
    for alike in _alike(models):
        flat = [model for kind in alike for model in models[kind]]
        found = accuracies(task, flat, whole=whole and ENSEMBLE not in alike)
        found["largest_logit"] = largest_logit(flat, task.tested.x[:1000])
        if protected:
            found["sensitivity"] = sensitivities(task, flat)
        n = len(models[alike[0]])
        for i, kind in enumerate(alike):
            out[kind] = {name: _slice(values, slice(i * n, i * n + n)) for name, values in found.items()}
    return out


def _alike(models: Models) -> list[list[str]]:
    """Kinds whose models can be run together: all but the ensembles."""
    return [part for part in ([k for k in models if k != ENSEMBLE], [k for k in models if k == ENSEMBLE]) if part]


def _slice(values: Any, which: slice) -> Any:
    """A regime's own of lists over all models; curves have a list per radius, sensitivities one per measure."""
    if isinstance(values, dict):
        return {name: part[which] for name, part in values.items()}
    return [part[which] for part in values] if isinstance(values[0], list) else values[which]


def searched(
    task: Task,
    models: Models,
    protocol: Protocol,
    n_people: int,
    *,
    held: bool = False,
    maturity: float | None = None,
) -> dict[str, Found]:
    """Recourse under every regime, models of one shape together."""
    out: dict[str, Found] = {}
    for alike in _alike(models):
        flat = [model for kind in alike for model in models[kind]]
        found = search(task, flat, protocol, n_people, held=held, maturity=maturity)
        n = len(models[alike[0]])
        out |= {kind: found.part(slice(i * n, i * n + n)) for i, kind in enumerate(alike)}
    return out


def _recourse(
    task: Task, models: Models, protocol: Protocol, n_people: int, wanted: Collection[str]
) -> dict[str, Any]:
    out: dict[str, Any] = {"free": {}, "held": {}}
    if "recourse" in wanted:
        free = searched(task, {k: m for k, m in models.items() if not k.endswith(HELD)}, protocol, n_people)
        for kind, found in free.items():
            out["free"][kind] = _told(found) | {
                f"against {other}": _against(task, free[other], found, protocol)
                for other in (PLAIN, PGD)
                if other in free and other != kind
            }
            if not task.setting.is_image and kind != ENSEMBLE:
                out["free"][kind]["unfaithful"] = unfaithfulness(task, models[kind], found)
    if "protected" in wanted:
        # Trained with and without the protection: which of the two lowers the cost is to be told apart.
        own = {k: m for k, m in models.items() if k.endswith(HELD) or k in (PLAIN, PAPER, OURS, PGD)}
        held = searched(task, own, protocol, n_people, held=True, maturity=0.5)
        for kind, found in held.items():
            out["held"][kind] = _told(found)
            if kind != PLAIN:
                cost = gain(held[PLAIN].cost, found.cost, paired=protocol.paired)
                out["held"][kind]["against BL"] = {"cost": cost}
    return out


def _told(found: Found) -> dict[str, Any]:
    asked = np.broadcast_to(found.asked[:, None], found.valid.shape)
    per_seed = [float(v[a].mean()) if a.any() else None for v, a in zip(found.valid, asked, strict=True)]
    return {
        "validity": found.validity,
        "validity_seeds": per_seed,
        "implausibility": _nanmean(found.implausibility),
        "cost": _nanmean(found.cost),
    }


def _nanmean(values: np.ndarray) -> float | None:
    return float(np.nanmean(values)) if np.isfinite(values).any() else None


def _against(task: Task, base: Found, other: Found, protocol: Protocol) -> dict[str, Any]:
    scales = (protocol.length_scale,) if protocol.length_scale == "median" else SCALES
    return {
        "ip": gain(base.implausibility, other.implausibility, paired=protocol.paired),
        "ip_by_weight": [
            gain(base.implausibility[:, [i]], other.implausibility[:, [i]], paired=protocol.paired)
            for i in range(base.implausibility.shape[1])
        ],
        "ip_star": {
            str(scale): discrepancy_gain(task, base, other, paired=protocol.paired, length_scale=scale)
            for scale in scales
        },
        "cost": gain(base.cost, other.cost, paired=protocol.paired),
    }
