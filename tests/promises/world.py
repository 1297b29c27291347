"""A world that can be computed by hand: income decides, and the boundary is where the test puts it."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.ledger import Record
from holdtrue.models import Decision, LinearModel
from holdtrue.promises import gate
from holdtrue.schema import Feature, Schema
from holdtrue.testing._ledger import START, promise_to

SCHEMA = Schema(
    [
        Feature(name="income", kind="numeric", bounds=(0, 100), direction="increase"),
        Feature(name="age", kind="integer", bounds=(20, 60), direction="fixed"),
        Feature(name="sex", kind="binary", levels=("f", "m"), direction="fixed"),
    ]
)
INCOMES = [50, 55, 60, 70, 80]  # under a boundary of 60 the first two break
TABLE = {"income": [0.0, 100.0], "age": [20, 60], "sex": ["f", "m"]}


def model(
    boundary: float, *, slope: float = 10.0, threshold: float = 0.5, sex: float = 0.0, **parts: Any
) -> Predictor:
    """Log-odds ``slope * (income - boundary) / 100``, less `sex` for men."""
    schema, table = parts.get("schema", SCHEMA), parts.get("table", TABLE)
    encoder = Encoder.fit(schema, table)
    weight = np.zeros((2, encoder.n_columns), np.float32)
    names = [slot.name for slot in encoder.layout.numbers]
    weight[1, names.index("income")] = slope
    weight[1, names.index("sex")] = -sex
    bias = jnp.asarray([0.0, -slope * boundary / 100], jnp.float32)
    decision = Decision(LinearModel(jnp.asarray(weight), bias), jnp.asarray(threshold, jnp.float32), 1)
    return Predictor(encoder, decision, parts.get("classes", np.array([0, 1])))


def promise(
    who: Any, income: float, *, before: float = 30.0, age: int = 40, sex: str = "f", **changes: Any
) -> Record:
    """A promise that this income is enough."""
    factual = {"income": before, "age": age, "sex": sex}
    words = f"Raise income from {before:g} to {income:g}."
    parts = {"factual": factual, "recourse": factual | {"income": float(income)}, "changes": words} | changes
    return promise_to(str(who), **parts)


def sigmoid(x: float) -> float:
    """The probability of these log-odds."""
    return 1 / (1 + math.exp(-x))


def ask(model: Any, ledger: Any, **options: Any) -> Any:
    """Gate at the time when the made-up promises are issued."""
    return gate(model, ledger, at=START, **options)
