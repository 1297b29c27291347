"""Trained models kept in a folder: a run that was cut short goes on, and processes can share the training."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax

from experiments._task import Task
from experiments.counterfactual_training._settings import architecture
from holdtrue.models import AbstractModel
from holdtrue.training import AbstractRegime


class Kept(NamedTuple):
    """Models of a regime, one per seed, with what training them took and what they were trained beside."""

    models: Sequence[AbstractModel]
    group: str
    seconds: float
    device: str


def read(folder: Path, name: str, task: Task, kind: str, regime: AbstractRegime, n_seeds: int) -> Kept | None:
    """What an earlier run left of a regime; None where there is nothing, or it was made otherwise."""
    told = _place(folder, name, kind, "json")
    if not told.exists():
        return None
    found = json.loads(told.read_text(encoding="utf-8"))
    if found["made"] != _made(task, regime, n_seeds):
        return None
    blank = [architecture().build(task.encoder.n_columns, task.n_classes, jax.random.key(0))] * n_seeds
    models = eqx.tree_deserialise_leaves(_place(folder, name, kind, "eqx"), blank)
    return Kept(models, found["group"], found["seconds"], found["device"])


def write(
    folder: Path, name: str, task: Task, regimes: Mapping[str, AbstractRegime], found: Mapping[str, Kept]
) -> None:
    """Keep models; what is told of them is written last, so that it stands for the whole."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, kept in found.items():
        eqx.tree_serialise_leaves(_place(folder, name, kind, "eqx"), list(kept.models))
        place = _place(folder, name, kind, "json")
        told = {"made": _made(task, regimes[kind], len(kept.models))} | kept._asdict()
        del told["models"]
        beside = place.with_suffix(f".{os.getpid()}.part")
        beside.write_text(json.dumps(told), encoding="utf-8")
        os.replace(beside, place)


def is_there(folder: Path, name: str, kind: str) -> bool:
    """Whether the store has a regime, however it was made."""
    return _place(folder, name, kind, "json").exists()


def _made(task: Task, regime: AbstractRegime, n_seeds: int) -> dict[str, Any]:
    made = {"regime": type(regime).__name__, "rows": len(task.learned.x), "seeds": n_seeds} | regime.get_params()
    return json.loads(json.dumps(made, default=str))


def _place(folder: Path, name: str, kind: str, ending: str) -> Path:
    return folder / f"{name}-{re.sub('[^a-z]+', '-', kind.lower())}.{ending}"
