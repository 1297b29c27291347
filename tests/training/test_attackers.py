"""Attackers as objects: by name, by parameter, in files, and what they refuse."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import clone

import holdtrue as ht
from holdtrue.classifier._objects import describe, rebuild
from holdtrue.encoding import Encoder, Permits
from holdtrue.errors import DataError
from holdtrue.schema import Feature, Schema
from holdtrue.training import (
    ATTACKERS,
    AbstractAttacker,
    CFModel,
    CounterNetTraining,
    Guides,
    HeadSettings,
    OwnPanel,
    RandomShift,
    Robust,
    RoCourseNet,
    TrainingContext,
    VirtualShift,
    register_attacker,
)

SCHEMA = Schema([
    Feature(name="u", kind="numeric", bounds=(0.0, 1.0)),
    Feature(name="c", kind="categorical", levels=("a", "b")),
])  # fmt: skip


@pytest.fixture(scope="module")
def context():
    return TrainingContext(Permits.of(Encoder.fit(SCHEMA, {"u": [0.0, 1.0], "c": ["a", "b"]})), 1, n_rows=2)


@pytest.mark.parametrize("name", list(ATTACKERS))
def test_a_name_is_the_attacker_with_its_defaults(context, name):
    step = RoCourseNet(attacker=name).step(context)
    assert eqx.tree_equal(step, RoCourseNet(attacker=ATTACKERS[name]()).step(context))
    assert eqx.tree_equal(step, Robust(attacker=name).step(context))
    assert not eqx.tree_equal(step, CounterNetTraining().step(context))


def test_the_default_is_the_printed_attack(context):
    """Algorithm 1 with the numbers of appendix A, but for the bound and the model as it is among the judges."""
    step = RoCourseNet().step(context)
    panel: Any = step.panel
    assert (panel.n_steps, panel.n_inner, panel.inner, panel.norm, panel.schedule) == (
        7,
        2,
        "sgd",
        "linf",
        "linear",
    )
    numbers = [panel.eps, panel.step_size, panel.bound, step.own_weight]
    np.testing.assert_array_equal(numbers, np.float32([0.1, 0.03, 0.2, 1.0]))
    assert (panel.redraw, panel.recompute, panel.tail, step.goal) == (False, False, 1.0, None)
    drawn: Any = RoCourseNet(attacker=RandomShift(columns="numeric")).step(context).panel
    assert drawn.redraw
    np.testing.assert_array_equal(drawn.movable, [1, 0, 0])


def test_every_number_of_guides_arrives(context):
    own = {"n_guides": 3, "n_held": 2, "tail": 0.5}
    numbers = {"drop": 0.1, "blind": 0.2, "renumber": 0.3}
    guides = Guides(**own, **numbers, tilt=4.0, row_tilt=0.6, concept_tilt=0.7, weight_decay=2.0)
    wrapped = CFModel(step_size=0.01, weight_decay=0.3, head=HeadSettings(average=0.1))
    panel: Any = Robust(regime=wrapped, attacker=guides, goal=0.8).step(context).panel
    assert {name: getattr(panel, name) for name in own} == own
    expected = numbers | {"prior": 4.0, "rows": 0.6, "concept": 0.7, "weight_decay": 2.0}
    for name, value in (expected | {"step_size": 0.01, "average": 0.1}).items():
        assert getattr(panel, name) == jnp.float32(value), name


def test_parameters_reach_the_attacker():
    regime = RoCourseNet(attacker="guides")
    assert regime.get_params()["attacker__tilt"] == 3.0  # what may be set, though there is no object yet
    assert "attacker__tilt" not in regime.get_params(deep=False)
    copy = clone(regime).set_params(attacker__tilt=4.0, head__margin=2.0)
    assert repr(copy) == "RoCourseNet(attacker=Guides(tilt=4.0), head=HeadSettings(margin=2.0))"
    assert regime.attacker == "guides"
    again = clone(copy).set_params(attacker__tilt=5.0)
    assert (copy.attacker.tilt, again.attacker.tilt) == (4.0, 5.0)
    other = again.set_params(attacker="vds", attacker__eps=0.2)
    assert repr(other.attacker) == "VirtualShift(eps=0.2)"
    clf = ht.RecourseClassifier(regime=Robust()).set_params(regime__attacker__steps=3)
    assert clf.get_params()["regime__attacker__steps"] == 3
    with pytest.raises(ValueError, match="VirtualShift: has no such parameter; got 'tilt'"):
        Robust().set_params(attacker__tilt=1.0)


def test_what_is_tried_of_robust_is_the_attackers():
    assert list(Robust().search_space) == ["attacker__eps"]
    assert list(Robust(attacker=Guides()).search_space) == ["attacker__tilt"]


class Nobody(AbstractAttacker):
    """A third party's attacker."""

    def __init__(self, *, strength: float = 1.0) -> None:
        self.strength = strength

    def panel(self, context, trained):
        return OwnPanel()


def test_a_third_party_adds_its_own(context):
    regime = RoCourseNet(attacker=Nobody(strength=2.0), own_weight=0.0)
    assert eqx.tree_equal(regime.step(context), CounterNetTraining().step(context))
    with pytest.raises(DataError, match="Nobody is not registered"):
        describe(regime)
    register_attacker("nobody", Nobody)
    try:
        assert repr(rebuild(describe(regime))) == repr(regime)
        assert isinstance(RoCourseNet(attacker="nobody").attacked_by, Nobody)
    finally:
        del ATTACKERS["nobody"]


@pytest.mark.parametrize(
    ("attacker", "what"),
    [
        ("worst", "RoCourseNet: `attacker` is not a known attacker; got 'worst'"),
        (None, "RoCourseNet: `attacker` must be an attacker or the name of one; got None"),
        (VirtualShift(eps=-1.0), "VirtualShift: `eps` must be a number of at least 0; got -1.0"),
        (VirtualShift(steps=0), "VirtualShift: `steps` must be a whole number of at least 1"),
        (RandomShift(bound=0.0), "RandomShift: `bound` must be a number above 0"),
        (RandomShift(inner="lbfgs"), "RandomShift: `inner` must be .*; got 'lbfgs'"),  # type: ignore[arg-type]
        (Guides(n_guides=0), "Guides: `n_guides` must be a whole number of at least 1"),
        (Guides(n_held=-1), "Guides: `n_held` must be a whole number of at least 0; got -1"),
        (Guides(weight_decay=-1), "Guides: `weight_decay` must be a number of at least 0 or None; got -1"),
        (Guides(drop=1.0), "Guides: `drop` must be a number of at least 0 and below 1"),
        (Guides(blind=1.5), r"Guides: `blind` must be a number from 0 to 1; got 1\.5"),
        (Guides(renumber=1.5), r"Guides: `renumber` must be a number from 0 to 1; got 1\.5"),
        (Guides(tail=0.0), "Guides: `tail` must be a number above 0 and at most 1"),
    ],
)
def test_what_makes_no_sense_is_refused(context, attacker, what):
    with pytest.raises(DataError, match=what):
        RoCourseNet(attacker=attacker).step(context)
