"""Whether recourse made with one subset's model is accepted by every other's, and what it costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from sklearn.metrics import roc_auc_score

from experiments._task import Task
from experiments.rocoursenet._data import Tasks
from holdtrue.encoding import broken_limits
from holdtrue.models import AbstractModel, EnsembleModel, stack
from holdtrue.schema import Table


@dataclass(frozen=True)
class Answer:
    """Recourse for the people of one subset: encoded hardened points, whether there is one, the class wanted."""

    x: np.ndarray
    found: np.ndarray
    wanted: np.ndarray


@eqx.filter_jit
def _gaps(ensemble: EnsembleModel, x: Float[Array, "n d"]) -> Float[Array, "m n"]:
    arrays, static = eqx.partition(ensemble.members, eqx.is_array)

    def one(member: Any) -> Array:
        model: AbstractModel = eqx.combine(member, static)
        logits = jax.vmap(model.logits)(x)
        return logits[:, 1] - logits[:, 0]

    # Member by member: XLA's batched product loses on small matrices on a CPU.
    return jax.lax.map(one, arrays)


def gaps(models: Sequence[AbstractModel], x: np.ndarray) -> np.ndarray:
    """Log-odds of class 1 under every model, shape (models, rows)."""
    return np.asarray(_gaps(stack(list(models)), jnp.asarray(x, jnp.float32)))


def decided(models: Sequence[AbstractModel], x: np.ndarray) -> np.ndarray:
    """Class that every model decides, shape (models, rows)."""
    return (gaps(models, x) >= 0).astype(np.int32)


def wishes(tasks: Tasks, models: Sequence[AbstractModel]) -> list[np.ndarray]:
    """The class that each person does not have under their own subset's model: everybody asks for the other."""
    return [1 - decided([model], s.asked.x)[0] for s, model in zip(tasks, models, strict=True)]


def judge(tasks: Tasks, models: Sequence[AbstractModel], answers: Sequence[Answer]) -> dict[str, Any]:
    """Figures of one method and one seed.

    Row `i`, column `j` of the matrix is the share of subset `i`'s people whose recourse model `j` decides as was
    wanted; who was given none counts as refused by all. Validity is its diagonal, robust validity the rest. What
    is said of deviations follows the paper's code: over subsets for validity and proximity, over ordered pairs
    for robust validity. `towards` and `later` are by the class wanted, under all other models and under those of
    later subsets.
    """
    k = len(tasks)
    yes = [
        (decided(models, a.x) == a.wanted[None]) & a.found[None] for a in answers
    ]  # per subset: (models, people)
    matrix = np.array([y.mean(axis=1) for y in yes])
    off = ~np.eye(k, dtype=bool)
    costs = [np.abs(a.x - s.asked.x).sum(axis=1)[a.found] for a, s in zip(answers, tasks, strict=True)]
    costs = [float(c.mean()) if len(c) else None for c in costs]
    there = [c for c in costs if c is not None]
    towards, later = {}, {}
    for label in (0, 1):
        shares = {
            (i, j): y[j, a.wanted == label].mean()
            for i, (y, a) in enumerate(zip(yes, answers, strict=True))
            for j in range(k)
            if i != j and (a.wanted == label).any()
        }
        forward = [share for (i, j), share in shares.items() if i < j]
        towards[str(label)] = float(np.mean(list(shares.values()))) if shares else None
        later[str(label)] = float(np.mean(forward)) if forward else None
    return {
        "validity": float(np.diag(matrix).mean()),
        "validity_std": float(np.diag(matrix).std(ddof=1)),
        "robust": float(matrix[off].mean()),
        "robust_std": float(matrix[off].std()),
        "proximity": float(np.mean(there)) if there else None,
        "proximity_std": float(np.std(there, ddof=1)) if len(there) > 1 else None,
        "found": float(np.mean([a.found.mean() for a in answers])),
        "towards": towards,
        "later": later,
        "patterns": patterns(tasks, answers),
        "inside": float(np.mean([_inside(s, a) for s, a in zip(tasks, answers, strict=True)])),
        "matrix": matrix.round(4).tolist(),
    }


def patterns(tasks: Tasks, answers: Sequence[Answer]) -> float | None:
    """Distinct combinations of categories among a subset's recourses, mean over subsets: 1 is one for all."""
    groups = tasks[0].encoder.layout.groups
    if not groups:
        return None
    columns = slice(groups[0].start, groups[-1].stop)
    counts = [len(np.unique(a.x[a.found][:, columns].round(3), axis=0)) for a in answers]
    return float(np.mean(counts))


def _inside(subset: Task, answer: Answer) -> float:
    """Share of recourses that keep every limit of the schema, checked on raw values."""
    if not answer.found.any():
        return 1.0
    rows = np.flatnonzero(answer.found)
    factual = subset.encoder.schema.check(subset.X.iloc[rows])
    points = Table(subset.encoder.decode(answer.x[rows].astype(np.float32), factual), len(rows))
    again = subset.encoder.encode(points)
    # A point that is not what its decoded row encodes to was no row at all: soft categories, for example.
    same = np.abs(again - answer.x[rows]).max(axis=1) < 1e-3
    kept = np.array([not broken for broken in broken_limits(subset.encoder, factual, points)])
    return float((same & kept).mean())


def performance(tasks: Tasks, models: Sequence[AbstractModel]) -> dict[str, Any]:
    """Accuracy and AUC of every subset's own model on all its test rows, and the share it predicts favourable."""
    accuracy, auc, favourable = [], [], []
    for subset, model in zip(tasks, models, strict=True):
        score, y = gaps([model], subset.tested.x)[0], subset.tested.y
        accuracy.append(float(((score >= 0) == y).mean()))
        favourable.append(float((score >= 0).mean()))
        auc.append(float(roc_auc_score(y, score)) if 0 < y.mean() < 1 else None)
    known = [a for a in auc if a is not None]
    return {
        "accuracy": float(np.mean(accuracy)),
        "auc": float(np.mean(known)) if known else None,
        "accuracies": accuracy,
        "favourable": favourable,
    }
