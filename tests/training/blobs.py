"""Gaussian classes on a plane whose raw and encoded values are the same, and runs of counterfactual training."""

import equinox as eqx
import jax
import numpy as np

from holdtrue.encoding import Encoder, Permits
from holdtrue.models import MLP, Data, fit
from holdtrue.schema import Feature, Schema
from holdtrue.training import TrainingContext

UNIT = np.array([0.0, 1.0])  # raw and encoded values are then the same


def context(*directions, bounds=(-8, 8)):
    names = [f"x{i}" for i in range(len(directions))]
    schema = Schema(
        [
            Feature(name=n, kind="numeric", bounds=bounds, direction=d)
            for n, d in zip(names, directions, strict=True)
        ]
    )
    return TrainingContext(Permits.of(Encoder.fit(schema, dict.fromkeys(names, UNIT))), 1)


def blobs(centres, n=200, sd=0.5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(centres), n)
    x = np.asarray(centres)[y] + sd * rng.normal(size=(n, len(centres[0])))
    return jax.device_put(Data(x.astype(np.float32), y.astype(np.int32), np.ones(n, np.float32)))


TWO = [(-1.0, -1.0), (1.0, 1.0)]
FREE = context("free", "free")
OPTIONS = {"n_epochs": 4, "batch_size": 40, "step_size": 0.01, "n_recourses": 60}


def run(regime, data, where=FREE, start=None, seed=1):
    start = MLP(widths=(8,)).build(data.x.shape[1], 2, jax.random.key(0)) if start is None else start
    size = {"n_epochs": regime.n_epochs, "batch_size": regime.batch_size}
    return fit(start, regime.step(where), data, jax.random.key(seed), **size)


def same(a, b):
    return all(np.array_equal(p, q) for p, q in zip(*map(jax.tree.leaves, (a, b)), strict=True))


@eqx.filter_jit
def contrasts(step, model, data, n, key):
    return step.contrasts(model, data, n, key)


@eqx.filter_jit
def walk(sampler, decision, permits, x, target):
    return sampler(decision, permits(x), target, jax.random.key(0))
