import pytest

import holdtrue as ht
from holdtrue.cli._options import configure, parameter, parse_settings, pick_label
from holdtrue.errors import DataError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("0.5", 0.5),
        ("1e-3", 0.001),
        ("l1", "l1"),
        ("true", True),
        ("none", None),
        ("null", None),
        ("128,64", (128, 64)),
        ("128,", (128,)),
        ("[8, 4]", (8, 4)),
        ("'5'", 5.0),
    ],
)
def test_values_are_yaml(text, value):
    assert parse_settings([f"key={text}"]) == {"key": value}


@pytest.mark.parametrize("pair", ["n_steps", "=5", "", "a={"])
def test_a_setting_must_be_a_pair(pair):
    with pytest.raises(DataError, match=r"--set: .*; got"):
        parse_settings([pair])


def test_configure_sets_and_reaches_into_parts():
    method = configure(ht.Wachter, parse_settings(["n_steps=7", "norm=l2", "cost_weight=1"]))
    assert (method.n_steps, method.norm, method.cost_weight) == (7, "l2", 1)
    ensemble = configure(ht.Ensemble, parse_settings(["member.widths=8", "member=mlp", "n_members=2"]))
    assert ensemble.member.widths == (8,)


def test_configure_reaches_into_an_attacker_that_is_named():
    named = configure(ht.Robust, parse_settings(["attacker.tilt=4", "attacker=guides", "regime=vaecf"]))
    assert repr(named) == "Robust(attacker=Guides(tilt=4), regime=VAECF())"
    default = configure(ht.RoCourseNet, parse_settings(["attacker.bound=none"]))
    assert repr(default) == "RoCourseNet(attacker=VirtualShift(bound=None))"
    assert ht.RoCourseNet().attacker == "vds"


def test_configure_reaches_into_a_part_that_was_left_out():
    assert repr(configure(ht.VAECF, parse_settings(["head.margin=2"]))) == "VAECF(head=HeadSettings(margin=2))"
    deep = configure(ht.Robust, parse_settings(["regime.head.loss=squared"]))
    assert repr(deep) == "Robust(regime=CounterNetTraining(head=HeadSettings(loss='squared')))"
    assert parameter(ht.Robust(), "regime__head__proposals").accepts(3)
    assert not parameter(ht.Robust(), "regime__head__proposals").accepts(-1)


@pytest.mark.parametrize(
    ("make", "pair", "text"),
    [
        (ht.Wachter, "n_step=7", "Did you mean 'n_steps'"),
        (ht.Wachter, "n_steps=many", "must be a whole number of at least 1; got 'many'"),
        (ht.Wachter, "n_steps=0.5", "must be a whole number of at least 1; got 0.5"),
        (ht.Wachter, "norm=l3", "must be .*l1.* or .*; got 'l3'"),
        (ht.Wachter, "cost_weight=high", "must be a number of at least 0; got 'high'"),
        (ht.MLP, "widths=a,b", "each a whole number"),
        (ht.MLP, "widths.x=1", "has no parameters of its own"),
        (ht.Linear, "widths=1", "It has no parameters"),
        (ht.Ensemble, "member=mpl", "Did you mean 'mlp'"),
        (ht.RoCourseNet, "attacker=guide", "Did you mean 'guides'"),
        (ht.RoCourseNet, "attacker.tilt=4", "VirtualShift: has no such parameter; got 'tilt'"),
        (ht.RoCourseNet, "attacker.steps=0.5", "must be a whole number of at least 1; got 0.5"),
        (ht.RoCourseNet, "head.loss=hinge", "HeadSettings: `loss` must be"),
        (ht.RoCourseNet, "head.margins=2", "HeadSettings: has no such parameter; got 'margins'"),
        (ht.RoCourseNet, "margin=2", "RoCourseNet: has no such parameter; got 'margin'"),
    ],
)
def test_configure_refuses(make, pair, text):
    with pytest.raises(DataError, match=text):
        configure(make, parse_settings([pair]))


def test_labels_are_found_by_their_text():
    assert pick_label("1", [0, 1], "--target") == 1
    assert pick_label("1.0", [0, 1], "--target") == 1
    assert pick_label("yes", ["no", "yes"], "--target") == "yes"
    assert pick_label(None, [0, 1], "--target") is None
    with pytest.raises(DataError, match=r"--target: is not a class; got '2'. Classes are \[0, 1\]"):
        pick_label("2", [0, 1], "--target")
