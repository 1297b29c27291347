"""Guides: what each of them sees."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from holdfast.encoding import Encoder, Permits
from holdfast.errors import DataError
from holdfast.models import MLP
from holdfast.schema import Feature, Schema
from holdfast.training import RoCourseNet, Setting


def setting() -> Setting:
    schema = Schema([
        Feature(name="u", kind="numeric", bounds=(0.0, 1.0)),
        Feature(name="c", kind="categorical", levels=("a", "b", "c")),
        Feature(name="d", kind="categorical", levels=("p", "q")),
    ])  # fmt: skip
    table = pd.DataFrame({"u": [0.0, 1.0], "c": ["a", "c"], "d": ["p", "q"]})
    return Setting(Permits.of(Encoder.fit(schema, table)), 1)


@pytest.mark.parametrize(("blind", "told_c", "told_d"), [(0.0, 4, 4), (0.5, 2, 2), (1.0, 0, 0)])
def test_a_share_of_the_guides_never_sees_a_category(blind, told_c, told_d):
    guides: Any = RoCourseNet(attacker="guides", n_guides=4, n_held=0, blind=blind).step(setting()).attacker
    predictor = MLP(widths=(8,)).build(6, 2, jax.random.key(0))
    judges = guides.judges(guides.init(predictor), SimpleNamespace(predictor=predictor), jax.random.key(1))
    person = jnp.asarray([0.3, 1, 0, 0, 1, 0.0])
    other_c, other_d = jnp.asarray([0.3, 0, 1, 0, 1, 0.0]), jnp.asarray([0.3, 1, 0, 0, 0, 1.0])
    other_u = jnp.asarray([0.9, 1, 0, 0, 1, 0.0])

    def differing(row):
        return int(np.sum(np.abs(np.asarray(judges(row) - judges(person))).max(axis=1) > 1e-6))

    assert (differing(other_c), differing(other_d), differing(other_u)) == (told_c, told_d, 4)


def test_a_share_is_a_share():
    with pytest.raises(DataError, match=r"`blind` is a share from 0 to 1; got 1\.5"):
        RoCourseNet(attacker="guides", blind=1.5).step(setting())
