"""What is drawn and not tabled: Figure 1 in the plane, digits and saliency of Figures 3 and 4."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments._task import Task
from experiments.counterfactual_training._judge import attributions
from experiments.counterfactual_training._search import each, search, walk
from experiments.counterfactual_training._settings import HELD, OURS, PAPER, PLAIN, PROTOCOLS, regimes
from experiments.counterfactual_training._task import permits_in_use
from experiments.counterfactual_training._train import trained
from holdtrue.models import AbstractModel, Linear, LinearModel

N_SHOWN, N_STARS = 150, 25


def plane(task: Task, n_epochs: int) -> dict[str, Any]:
    """Figure 1: a linear classifier by three regimes, everything free and the first feature held."""
    chosen = regimes(task.setting, n_epochs, step_size=0.01)
    x, y = task.tested
    out: dict[str, Any] = {"x": _rounded(x[:N_SHOWN]), "y": y[:N_SHOWN].tolist(), "panels": []}
    for held in (False, True):
        for kind in (PLAIN, PAPER, OURS):
            name = kind + HELD if held and kind != PLAIN else kind
            (model,) = trained(task, [(name, chosen[name])], 1, Linear())[0]
            assert isinstance(model, LinearModel)
            found = search(task, [model], PROTOCOLS["honest"], N_STARS, held=held)
            who = (found.target == 1) & found.valid[0, -1]
            weight, bias = model.weight[1] - model.weight[0], model.bias[1] - model.bias[0]
            out["panels"].append(
                {
                    "kind": kind,
                    "held": held,
                    "weight": _rounded(weight),
                    "bias": float(bias),
                    "recourse": _rounded(found.points[0, -1, who]),
                    "share": float(abs(weight[0]) / jnp.sum(jnp.abs(weight))),
                }
            )
    return out


def digits(task: Task, models: Mapping[str, Sequence[AbstractModel]]) -> dict[str, Any]:
    """Figure 3: a nought on its way to every other digit. Figure 4: what every class's score rests on."""
    x, y = task.tested
    own = next(i for i in range(len(y)) if y[i] == 0)
    aims = jnp.arange(1, 10)
    rows = jnp.broadcast_to(jnp.asarray(x[own]), (9, x.shape[1]))
    out: dict[str, Any] = {"factual": _grey(x[[own]])[0], "recourse": {}, "saliency": {}}
    for kind in (PLAIN, PAPER, OURS, "PGD"):
        if kind not in models:
            continue
        for name, protocol in PROTOCOLS.items():
            permits = permits_in_use(task, False, wide=not protocol.harden)
            points = each(models[kind][:1], walk, protocol.sampler(5.0), permits, rows, aims)[0][0]
            out["recourse"][f"{kind}, {name}"] = _grey(points)
    for kind in (PLAIN, PAPER + HELD, OURS + HELD):
        if kind in models:
            maps = []
            for k in range(10):
                some = jnp.asarray(x[y == k][:50])
                labels = jnp.full(len(some), k)
                found = each(models[kind][:1], attributions, some, labels, jax.random.key(0))[1][0]
                maps.append(np.abs(found).mean(axis=0))
            peak = float(np.max(maps))
            out["saliency"][kind] = _hex(255 * np.array(maps) / peak)
    return out


def _rounded(values: Any) -> list:
    return np.round(np.asarray(values, np.float64), 4).tolist()


def _grey(values: np.ndarray) -> list[str]:
    return _hex(127.5 * (np.clip(values, -1, 1) + 1))


def _hex(images: np.ndarray) -> list[str]:
    """Grey levels from 0 to 255, a byte each: a picture is one line of a JSON file."""
    return [row.tobytes().hex() for row in np.rint(images).astype(np.uint8)]
