"""Plans whose every measure is known: one number, linear models with boundaries where we put them."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.methods import RecourseFrame
from holdtrue.models import Decision, stack
from holdtrue.models._linear import LinearModel
from holdtrue.retraining import Retrained
from holdtrue.schema import Feature, Schema, Table, as_table
from holdtrue.search import Status

SCHEMA = Schema(
    [
        Feature(
            name="income", kind="numeric", bounds=(0, 100), step=1, direction="increase", label="monthly income"
        ),
        Feature(name="town", kind="categorical", levels=("x", "y"), cost_weight=1.0),
    ]
)


def boundary(at: float) -> LinearModel:
    """Says yes from an income of `at` on (and a hair below, so that rounding cannot decide)."""
    weight = jnp.zeros((2, 3)).at[1, 0].set(100.0)
    return LinearModel(weight, jnp.asarray([0.0, -at + 1e-3], jnp.float32))


def predictor(at: float = 50.0, classes: Sequence[Any] = ("no", "yes")) -> Predictor:
    table = pd.DataFrame({"income": [0.0, 50.0, 100.0, 75.0], "town": ["x", "y", "x", "y"]})
    encoder = Encoder.fit(SCHEMA, table)
    return Predictor(encoder, Decision(boundary(at), jnp.asarray(0.5), 1), np.asarray(classes))


def retrained(*boundaries: float, vary: str = "seed", at: float = 50.0) -> Retrained:
    return Retrained(predictor(at), stack([boundary(b) for b in boundaries]), vary)


def plan_of(
    people: Sequence[tuple[float, float | None]],
    *,
    towns: Sequence[tuple[str, str]] | None = None,
    frame: Callable[[dict], Any] = pd.DataFrame,
    status: Sequence[Status] | None = None,
    seconds: float = 2.0,
) -> RecourseFrame:
    """One person per (income now, income proposed); None: nothing was proposed."""
    n = len(people)
    towns = [("x", "x")] * n if towns is None else towns
    now = np.array([p[0] for p in people], float)
    then = np.array([p[0] if p[1] is None else p[1] for p in people], float)
    if status is None:
        without = [Status.ALREADY_FAVOURABLE if p[0] >= 50 else Status.INFEASIBLE for p in people]
        status = [w if p[1] is None else Status.FOUND for p, w in zip(people, without, strict=True)]
    factual = as_table(frame({"income": now, "town": [t[0] for t in towns]}))
    recourse = Table({"income": then, "town": np.array([t[1] for t in towns], object)}, n, factual.native)
    found = np.array([s is Status.FOUND for s in status], bool)
    return RecourseFrame(
        factual=factual,
        recourse=recourse,
        status=np.array([int(s) for s in status], int),
        cost=np.where(found, np.abs(then - now) / 100, np.nan),
        valid=found | (now >= 50),
        before=np.zeros(n),
        after=np.ones(n),
        target=np.array(["yes"] * n),
        predictor=predictor(),
        method="Handmade",
        norm="l1",
        n_steps=np.zeros(n, int),
        seconds=seconds,
        person=np.arange(n),
    )


@pytest.fixture
def make_plan() -> Callable[..., RecourseFrame]:
    return plan_of


@pytest.fixture
def make_retrained() -> Callable[..., Retrained]:
    return retrained


@pytest.fixture
def make_predictor() -> Callable[..., Predictor]:
    return predictor


@pytest.fixture
def plan() -> RecourseFrame:
    """Two with a recourse, one favourable, one without."""
    return plan_of(
        [(20, 60), (40, 55), (80, None), (10, None)], towns=[("x", "x"), ("x", "y"), ("y", "y"), ("x", "x")]
    )
