"""Training the models of the paper, and asking them."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from experiments._task import Rows
from experiments.actionable_recourse._settings import FAVOURABLE, RADIUS, SETTINGS, Split
from holdtrue.models import MLP, AbstractModel, Data, batch_logits, fit, n_cores
from holdtrue.search import AbstractAction, GradientAction, LatticeAction, LinearisedAction
from holdtrue.training import RecourseTraining

Recipe = Literal["relu", "tanh"]
RECIPES: dict[Recipe, MLP] = {
    "relu": MLP(widths=(100, 100), activation="relu", dropout=0.3),  # the published code
    "tanh": MLP(widths=(100, 100, 100), activation="tanh", dropout=0.3),  # the paper's text
}
FINE, COARSE = 21, 5  # values per number: in the search that reaches the ceiling, and in the quick one


@dataclass(frozen=True)
class Kind:
    """How a model is trained: lambda, the architecture, the inner search and its size.

    With `paper_epoch` the rows that the guarantee is calibrated on choose the epoch, as in the paper; else
    others do.
    """

    weight: float
    recipe: Recipe = "relu"
    action: Literal["linear", "lattice"] = "linear"
    direction: Literal["paper", "code"] = "paper"
    radius: float = RADIUS
    paper_epoch: bool = False

    @property
    def program(self) -> tuple[str, ...]:
        """What a compiled training run depends on; lambda and radius are numbers of it."""
        return (self.recipe, self.action, self.direction, str(self.paper_epoch))


def train_all(
    name: str, splits: Sequence[Split], kinds: Mapping[str, Kind], done: Callable[[str], None] = lambda _: None
) -> dict[str, list[AbstractModel]]:
    """One model of every kind for every split, side by side on all cores."""
    jobs = [(key, number) for key in kinds for number in range(len(splits))]
    programs = {kinds[key].program: (key, number) for key, number in reversed(jobs)}

    def one(job: tuple[str, int]) -> AbstractModel:
        model = train(name, splits[job[1]], kinds[job[0]], seed=job[1])
        done(f"{job[0]}, split {job[1]}")
        return model

    with ThreadPoolExecutor(n_cores()) as pool:
        first = list(programs.values())  # each compiles once, before the others that share it
        made = dict(zip(first, pool.map(one, first), strict=True))
        rest = [job for job in jobs if job not in made]
        made |= dict(zip(rest, pool.map(one, rest), strict=True))
    return {key: [made[key, number] for number in range(len(splits))] for key in kinds}


def train(name: str, split: Split, kind: Kind, seed: int = 0, began: AbstractModel | None = None) -> AbstractModel:
    """One model, of the epoch with the lowest watched loss; `began` in the place of fresh weights."""
    setting = SETTINGS[name]
    regime = RecourseTraining(
        recourse_weight=kind.weight, radius=kind.radius, action=kind.action, direction=kind.direction,
        n_points=COARSE, step_size=0.002,
    )  # fmt: skip
    learn, watch = (split.train, split.calibrate) if kind.paper_epoch else (split.learn, split.watch)
    start, key = jax.random.split(jax.random.key(seed))
    model, _ = fit(
        RECIPES[kind.recipe].build(learn.x.shape[1], 2, start) if began is None else began,
        regime.step(split.told), weighted(learn, learn.y), key, n_epochs=setting.n_epochs,
        batch_size=setting.batch_size, validation=weighted(watch, learn.y), patience=setting.n_epochs,
    )  # fmt: skip
    return model


def weighted(part: Rows, y: np.ndarray) -> Data:
    """Rows with the minority class weighted up to the majority."""
    n = np.bincount(y, minlength=2)
    weight = (n.max() / n)[part.y]
    return Data(jnp.asarray(part.x), jnp.asarray(part.y, jnp.int32), jnp.asarray(weight, jnp.float32))


def spread(one: Callable[[Any], Any], jobs: list[Any]) -> dict[Any, Any]:
    """Do all jobs, the first alone so that it compiles for the others."""
    first = one(jobs[0])
    with ThreadPoolExecutor(n_cores()) as pool:
        return dict(zip(jobs, [first, *pool.map(one, jobs[1:])], strict=True))


# ---- asking -----------------------------------------------------------------------------------------


def log_odds(model: AbstractModel, x: Float[Array, " d"]) -> Float[Array, ""]:
    """Of the favourable class, for one row."""
    logits = model.logits(x)
    return logits[FAVOURABLE] - logits[1 - FAVOURABLE]


def scores(model: AbstractModel, x: np.ndarray) -> np.ndarray:
    """Probability of the favourable class."""
    logits = np.asarray(batch_logits(model, jnp.asarray(x, jnp.float32)), np.float64)
    return 1 / (1 + np.exp(logits[:, 1 - FAVOURABLE] - logits[:, FAVOURABLE]))


@eqx.filter_jit
def _act(action: AbstractAction, model: AbstractModel, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return jax.lax.map(lambda row: action(lambda at: log_odds(model, at), row), x, batch_size=64)


def act(action: AbstractAction, model: AbstractModel, x: np.ndarray) -> np.ndarray:
    """Everybody's row after the best action of some search."""
    return np.asarray(_act(action, model, jnp.asarray(x, jnp.float32)))


@eqx.filter_jit
def _nearest(
    action: LatticeAction, model: AbstractModel, x: Float[Array, "n d"], least: Float[Array, ""]
) -> Float[Array, "n d"]:
    def one(row: Float[Array, " d"]) -> Float[Array, " d"]:
        def merit(at: Float[Array, " d"]) -> Float[Array, ""]:
            # Whatever is accepted stands above all that is not, and the nearer the higher.
            score = log_odds(model, at)
            return jnp.where(score >= least, 100.0 - jnp.sum(jnp.abs(at - row)), jnp.tanh(score))

        return action(merit, row)

    return jax.lax.map(one, x, batch_size=64)


def nearest(action: LatticeAction, model: AbstractModel, x: np.ndarray, threshold: float) -> np.ndarray:
    """Everybody's nearest accepted point of a lattice (l1); a point that is not accepted where there is none."""
    least = np.log(threshold) - np.log1p(-threshold) if 0 < threshold < 1 else np.inf * (2 * threshold - 1)
    return np.asarray(_nearest(action, model, jnp.asarray(x, jnp.float32), jnp.asarray(least, jnp.float32)))


def searches(split: Split, radius: float = RADIUS) -> dict[str, AbstractAction]:
    """The paper's linearised step, the same in its code's direction, several starts, and two lattices."""
    permits, size = split.told.permits, jnp.asarray(radius, jnp.float32)
    return {
        "linear": LinearisedAction(permits, size),
        "code": LinearisedAction(permits, size, "code"),
        "gradient": GradientAction(permits, size, 40, 3),
        "coarse": LatticeAction.of(permits, size, COARSE),
        "best": LatticeAction.of(permits, size, FINE),
    }
