"""Recourse under attack: the worst model that a small shift of the training rows leads to."""

from dataclasses import dataclass
from typing import get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from holdtrue.batch import Predictor, predictor_of
from holdtrue.errors import CapabilityError, DataError
from holdtrue.methods import RecourseFrame
from holdtrue.metrics import ATTACK_NORMS, AttackNorm
from holdtrue.models import AbstractModel, Data, Decision, weighted_mean
from holdtrue.reports._against import accepts, check_plan
from holdtrue.retraining import ClassifierWithRows, TrainingData
from holdtrue.schema import hinted
from holdtrue.training import Inner, cross_entropies, virtual_data_shift

BLOCK = 128  # a plan is filled up to a multiple of so many people


@dataclass(frozen=True)
class Attack:
    """What an attack on recourse came to.

    Attributes
    ----------
    predictor : Predictor
        The shifted classifier: encoder, threshold and labels are the old one's.
    broken : bool array, one per row of the plan
        Recourse that the old model accepts and the shifted one does not.
    found : bool array
        Who has a recourse.
    shift : array (rows, columns)
        How the training rows were moved, in encoded units.
    accuracy, accuracy_after : float
        Share of the training rows that the old and the shifted model decide rightly. A shifted model that has
        become much worse is not one that anybody would use.
    """

    predictor: Predictor
    broken: np.ndarray
    found: np.ndarray
    shift: np.ndarray
    accuracy: float
    accuracy_after: float

    @property
    def survival(self) -> float:
        """Share of the recourse found that the shifted model accepts; NaN where none was found."""
        n = int(self.found.sum())
        return 1.0 - float(self.broken.sum()) / n if n else float("nan")

    def __str__(self) -> str:
        return (
            f"{int(self.broken.sum())} of {int(self.found.sum())} recourses break under the shifted model, which "
            f"decides {self.accuracy_after:.1%} of the training rows rightly (before: {self.accuracy:.1%})."
        )


@hinted()
def attack(
    plan: RecourseFrame,
    clf: ClassifierWithRows,
    *,
    T: int = 7,
    eps: float = 0.1,
    K: int = 2,
    step_size: float = 0.01,
    inner: Inner = "adam",
    norm: AttackNorm = "linf",
    bound: float | None = None,
    n_rows: int = 4096,
    random_state: int = 0,
) -> Attack:
    """Look for a small shift of the training rows after which the model no longer accepts its recourse.

    Virtual data shift (Algorithm 1 of RoCourseNet) on the whole plan: the rows move by at most `eps`, the model
    follows for ``T * K`` steps, and the shift climbs on the loss of the recourse. What breaks was a way to a
    yes that slightly other data would have closed; what does not break is no proof.

    Parameters
    ----------
    plan : RecourseFrame
        What ``clf.recourse(X)`` returned.
    clf : RecourseClassifier
        Fitted in this process: a model file holds no training rows.
    T, K : int, default=7, 2
        Attack steps, and steps of the shifted model in each.
    eps : float, default=0.1
        Largest shift of a row, in encoded units.
    step_size : float, default=0.01
        Of the shifted model.
    inner : {"adam", "sgd"}, default="adam"
        How it learns. Plain gradient steps on many rows at once hardly move it.
    norm : {"linf", "l2"}, default="linf"
        Shape of a row's ball.
    bound : float, optional
        Largest change of a weight matrix, as a share of its length.
    n_rows : int, default=4096
        Training rows used, drawn at random where there are more.
    random_state : int, default=0
        Of the start and of that draw.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), random_state=0).fit(bank.X, bank.y)
    >>> found = ht.attack(clf.recourse(bank.X[clf.predict(bank.X) == 0][:20]), clf, eps=0.0)
    >>> found.broken.shape
    (20,)
    """
    check_plan(plan, "attack")
    predictor, training = _attacked(clf)
    if norm not in ATTACK_NORMS or inner not in get_args(Inner):
        raise DataError(
            f"attack: `norm` must be one of {list(ATTACK_NORMS)!r} and `inner` one of {list(get_args(Inner))!r}; "
            f"got {norm!r} and {inner!r}."
        )
    if min(T, K, n_rows) < 1 or not 0 <= eps < np.inf:
        raise DataError(
            f"attack: `T`, `K` and `n_rows` must be positive and `eps` at least 0; got {T!r}, {K!r}, {n_rows!r} "
            f"and {eps!r}."
        )
    data, found = _some(training.data, n_rows, random_state), plan.found
    index = {label: i for i, label in enumerate(predictor.classes.tolist())}
    target = np.array([index[label] for label in plan.target[found].tolist()], np.int32)
    recourse = predictor.encoder.encode(plan.take(found).recourse).astype(np.float32)
    # Plans of about one length share a compiled program: rows of weight 0 fill them up.
    filled = [(0, -len(target) % BLOCK)]
    weight = np.pad(np.ones(len(target), np.float32), filled)
    people = Data(*map(jnp.asarray, (np.pad(recourse, [*filled, (0, 0)]), np.pad(target, filled), weight)))
    model, shift = _shifted(
        predictor.decision, data, people, jax.random.key(random_state), jnp.asarray(eps, jnp.float32),
        jnp.asarray(step_size, jnp.float32), None if bound is None else jnp.asarray(bound, jnp.float32),
        int(T), int(K), inner, norm,
    )  # fmt: skip
    shifted = Predictor(
        predictor.encoder, eqx.tree_at(lambda d: d.model, predictor.decision, model), predictor.classes
    )
    broken = np.zeros(len(plan), bool)
    if found.any():
        broken[found] = ~accepts([shifted], plan.take(found), "attack")[0]
    rights = [_right(p, data) for p in (predictor, shifted)]
    return Attack(shifted, broken, found, np.asarray(shift), *rights)


def _attacked(clf: ClassifierWithRows) -> tuple[Predictor, TrainingData]:
    predictor, training = predictor_of(clf), getattr(clf, "training_", None)  # neither, where it is not fitted
    if predictor is None or training is None:
        raise DataError(
            "attack: `clf` must be a classifier that was fitted in this process; got one without training rows. "
            "Fit it again, or set clf.training_ = holdtrue.retraining.training_rows(clf, X, y)."
        )
    if "differentiable" not in predictor.capabilities:
        raise CapabilityError(
            f"attack: needs a differentiable model; got {type(predictor.decision.model).__name__}. Use "
            "holdtrue.audit(plan, against=...) with retrained models."
        )
    return predictor, training


def _some(data: Data, n_rows: int, seed: int) -> Data:
    n = len(data.x)
    rows = np.arange(n) if n <= n_rows else np.random.default_rng(seed).choice(n, n_rows, replace=False)
    return Data(data.x[rows], data.y[rows], data.weight[rows])


def _right(predictor: Predictor, data: Data) -> float:
    decided = predictor.decide_of(predictor.logits_of(np.asarray(data.x)))
    return float(np.average(decided == np.asarray(data.y), weights=np.asarray(data.weight)))


@eqx.filter_jit
def _shifted(
    decision: Decision, data: Data, people: Data, key: PRNGKeyArray, eps: Array, step_size: Array,
    bound: Array | None, n_steps: int, n_inner: int, inner: Inner, norm: AttackNorm,
) -> tuple[AbstractModel, Float[Array, "n d"]]:  # fmt: skip
    def learn(model: AbstractModel, x: Float[Array, "n d"]) -> Float[Array, ""]:
        return weighted_mean(cross_entropies(model, x, data.y, None), data.weight)

    def harm(model: AbstractModel) -> Float[Array, ""]:
        shifted = eqx.tree_at(lambda d: d.model, decision, model)
        return weighted_mean(jax.nn.softplus(-jax.vmap(shifted.margin)(people.x, people.y)), people.weight)

    return virtual_data_shift(
        decision.model, data.x, learn, harm, key, eps=eps, n_steps=n_steps, n_inner=n_inner, step_size=step_size,
        inner=inner, norm=norm, bound=bound,
    )  # fmt: skip
