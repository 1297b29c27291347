"""What recourse heads are trained for is one object, which every regime with a head takes."""

import inspect

import equinox as eqx
import jax
import pytest
from sklearn.base import clone

import holdtrue as ht
from holdtrue.classifier._objects import describe, rebuild
from holdtrue.encoding import Encoder, Permits
from holdtrue.errors import DataError
from holdtrue.schema import Feature, Schema
from holdtrue.studies.tune._tune import shortened
from holdtrue.training import (
    VAECF,
    CFModel,
    CounterNetTraining,
    HeadSettings,
    Robust,
    RoCourseNet,
    TrainingContext,
)

HEADED = (CounterNetTraining, RoCourseNet, CFModel, VAECF)
# None of these is a default.
ALL = {
    "prediction_weight": 2.0, "validity_weight": 0.5, "cost_weight": 0.3, "loss": "squared", "cost": "squared",
    "margin": 4.0, "wanted": "favourable", "balance": False, "harden": False, "guard": 0.7, "average": 0.2,
    "hide": 0.25, "rare": 0.125, "proposals": 3, "strange_weight": 1.5,
}  # fmt: skip


@pytest.fixture
def context():
    schema = Schema([Feature(name="u", kind="numeric", bounds=(0, 1))])
    return TrainingContext(Permits.of(Encoder.fit(schema, {"u": [0.0, 1.0]})), 1, n_rows=256)


@pytest.mark.parametrize("kind", HEADED)
def test_every_setting_arrives_in_the_step_of_every_regime(kind, context):
    assert set(ALL) == set(HeadSettings().get_params())
    step = kind(head=HeadSettings(**ALL)).step(context)
    told = {name: getattr(step, name) for name in ALL}
    assert {name: float(v) if isinstance(v, jax.Array) else v for name, v in told.items()} == pytest.approx(ALL)
    plain = kind().step(context)
    assert eqx.tree_equal(plain, kind(head=HeadSettings()).step(context))
    assert (plain.hide, plain.rare, plain.strange_weight) == (None, None, None)


def test_regimes_repeat_no_setting_of_the_head():
    for kind in HEADED:
        assert not set(inspect.signature(kind).parameters) & set(ALL)
        assert len(inspect.signature(kind).parameters) <= 12


def test_parameters_reach_the_head_that_was_left_out():
    regime = CounterNetTraining()
    assert regime.get_params()["head__margin"] == 1.0
    assert "head__margin" not in regime.get_params(deep=False)
    copy = clone(regime).set_params(head__margin=2.0)
    assert repr(copy) == "CounterNetTraining(head=HeadSettings(margin=2.0))"
    assert regime.head is None
    again = clone(copy).set_params(head__margin=3.0)
    assert (copy.head.margin, again.head.margin) == (2.0, 3.0)
    clf = ht.RecourseClassifier(regime=Robust()).set_params(regime__regime__head__rare=0.1)
    assert repr(clf.regime) == "Robust(regime=CounterNetTraining(head=HeadSettings(rare=0.1)))"
    with pytest.raises(ValueError, match="HeadSettings: has no such parameter; got 'margins'"):
        regime.set_params(head__margins=2.0)
    # What makes no sense has no parameters, and is refused when it is used.
    wrong = CounterNetTraining(head="row")
    assert wrong.get_params()["head"] == "row"


def test_what_is_tried_is_the_heads_and_the_step_size():
    assert list(VAECF.search_space) == ["head__validity_weight", "head__cost_weight", "step_size"]
    assert set(VAECF.search_space) <= set(VAECF().get_params())


def test_a_regime_that_was_left_out_can_be_looked_at_early():
    short = shortened(Robust())
    assert (short.regime.n_epochs, short.regime.min_updates) == (12, 500)


def test_a_model_file_holds_the_head():
    regime = Robust(regime=VAECF(head=HeadSettings(**ALL), code_weight=0.5), attacker="guides")
    described = describe(regime)
    assert described["params"]["regime"]["params"]["head"] == {"$settings": "head", "params": ALL}
    again = rebuild(described)
    assert repr(again) == repr(regime)
    assert again.regime.head.get_params() == ALL
    assert rebuild(describe(VAECF())).head is None


def test_a_file_with_parameters_of_before_is_refused():
    former = {"$regime": "counternet", "params": {"margin": 1.0, "n_epochs": 50}}
    with pytest.raises(DataError, match=r"the regime 'counternet' does not take these parameters .*'margin'"):
        rebuild(former)
