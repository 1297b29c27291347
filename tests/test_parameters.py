"""Declared parameters: defaults pass, everything else is refused in one wording, over every registry."""

import copy
import pickle
import re
import typing
from dataclasses import field
from typing import Any, Literal

import numpy as np
import pytest
from sklearn.base import clone

import holdtrue as ht
from holdtrue.batch import RayExecutor
from holdtrue.cli._options import configure
from holdtrue.errors import DataError
from holdtrue.methods import METHODS
from holdtrue.models import ARCHITECTURES
from holdtrue.parameters import (
    AbstractConfigured,
    Count,
    Finite,
    Interval,
    NonNegative,
    Positive,
    PositiveShare,
    Probability,
    ProperShare,
    Radius,
    Seed,
    Share,
    Whole,
    configured,
    declared,
    parameters,
    require,
)
from holdtrue.testing import _world as world
from holdtrue.training import ATTACKERS, REGIMES

CLASSES: list[type[Any]] = [
    *METHODS.values(),
    *REGIMES.values(),
    *ARCHITECTURES.values(),
    *ATTACKERS.values(),
    ht.RecourseClassifier,
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_defaults_pass_their_own_check(cls):
    cls().check_parameters()
    assert list(cls().get_params(deep=False)) == sorted(parameters(cls))


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_what_is_not_declared_is_refused(cls):
    """A wrong type and, for numbers, what lies just outside: by use and by ``--set``, in the same words."""
    for parameter in parameters(cls).values():
        if parameter.name == "favourable":  # a label is anything
            continue
        wrong: list[Any] = [object(), *(edge for interval in parameter.intervals for edge in interval.outside)]
        if parameter.intervals:
            wrong += ["many", True, float("nan")]
        if parameter.whole:
            wrong.append(1.5)
        text = f"^{cls.__name__}: `{parameter.name}` must be {re.escape(parameter.words)}; got "
        for value in wrong:
            with pytest.raises(DataError, match=text) as used:
                cls(**{parameter.name: value}).check_parameters()
            with pytest.raises(DataError, match=text) as asked:
                configure(cls, {parameter.name: value})
            assert str(used.value) == str(asked.value)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_number_has_a_range(cls):
    def plain(wanted: Any) -> bool:
        if typing.get_origin(wanted) in (typing.Annotated, Literal):
            return False
        return wanted in (int, float) or any(plain(part) for part in typing.get_args(wanted))

    # Values of a mapping are not looked at.
    allowed = {"edits", "class_weight"}
    assert {p.name for p in parameters(cls).values() if plain(p.wanted)} <= allowed


@pytest.mark.parametrize(
    ("wanted", "good", "bad", "words"),
    [
        (Count, [1, np.int64(3)], [0, 1.0, True, np.float32(2), "1", None], "a whole number of at least 1"),
        (Whole, [0], [-1], "a whole number of at least 0"),
        (Finite, [-1.5, 0, np.float32(2)], [float("inf"), float("nan")], "a number that is finite"),
        (Positive, [1e-9, 1], [0, -1.0, float("inf")], "a number above 0"),
        (NonNegative, [0, 0.5], [-1e-9, float("inf")], "a number of at least 0"),
        (Radius, [0.1, float("inf")], [0.0], "a number above 0, or inf"),
        (Probability, [0.5], [0, 1], "a number above 0 and below 1"),
        (Share, [0, 1], [-0.1, 1.1], "a number from 0 to 1"),
        (ProperShare, [0], [1], "a number of at least 0 and below 1"),
        (PositiveShare, [1], [0], "a number above 0 and at most 1"),
        (Seed, [None, 0, 2**32 - 1], [-1, 2**32], "a whole number from 0 to 4294967295 or None"),
        (tuple[Count, ...], [(), (3, 4), [3]], [3, (0,), "34"], "a list, each a whole number of at least 1"),
        (tuple[float, float], [(0, 1.0)], [(0,), (0, 1, 2)], "a list of 2: a number, a number"),
        (Literal["a", "b", 3], ["a", 3], ["c", 3.0, [], None], "'a', 'b' or 3"),
        (bool, [True, np.bool_(False)], [1, "yes", None], "True or False"),
        (dict[str, float] | None, [None, {}], [3], "a mapping or None"),
        (Any, [None, object()], [], "anything"),
        (ht.Schema | None, [None], [3], "an instance of Schema or None"),
        (ht.Wachter | str, ["wachter", ht.Wachter()], ["wachtr", 3], "a method or the name of one"),
    ],
)
def test_what_an_annotation_accepts_and_how_it_reads(wanted, good, bad, words):
    parameter = declared("x", wanted)
    assert parameter.words == words
    assert all(parameter.accepts(value) for value in good)
    assert not any(parameter.accepts(value) for value in bad)


def test_one_number_in_an_interval():
    assert Interval(0, 1, "left").outside == [-1, 1]
    assert Interval(0).outside == [0, float("inf")]
    with pytest.raises(DataError, match=r"^somewhere: `n` must be a whole number of at least 1; got 0\.$"):
        require("somewhere", "n", 0, Count)


# ---- where it is checked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"method": ht.Wachter(n_steps=-1)}, "Wachter: `n_steps` must be a whole number of at least 1; got -1."),
        (
            {"method": ht.SNS(base=ht.Generic(step_size=0))},
            "Generic: `step_size` must be a number above 0; got 0.",
        ),
        ({"model": ht.Ensemble(member=ht.MLP(dropout=1))}, "MLP: `dropout` must be .*; got 1."),
        ({"regime": ht.Robust(attacker=ht.Guides(tail=0))}, "Guides: `tail` must be .*; got 0."),
        (
            {"model": "linaer"},
            "`model` is not a known model; got 'linaer'. Did you mean 'linear'",
        ),
        ({"regime": "standart"}, "`regime` is not a known regime; got 'standart'. Did you mean 'standard'"),
        ({"method": "wachtr"}, "`method` is not a known method; got 'wachtr'. Did you mean 'wachter'"),
        ({"scaling": "standrd"}, "`scaling` must be .*; got 'standrd'. Did you mean 'standard'"),
    ],
)
def test_fit_refuses_before_it_trains(change, text, monkeypatch):
    monkeypatch.setattr(ht.StandardTraining, "train", lambda *_, **__: pytest.fail("it trained"))
    with pytest.raises(DataError, match=text):
        ht.RecourseClassifier(schema=world.SCHEMA, **change).fit(*world.people())


def test_a_method_is_checked_again_when_it_is_asked():
    method = ht.Wachter().fit(world.classifier("linear"))
    method.n_steps = 0
    with pytest.raises(DataError, match="Wachter: `n_steps` must be a whole number of at least 1; got 0"):
        method.recourse(world.people()[0])


def test_an_executor_is_checked_too():
    with pytest.raises(DataError, match="RayExecutor: `cores` must be a whole number of at least 1; got 0"):
        RayExecutor(cores=0)


# ---- names ----------------------------------------------------------------------------------------------


def test_a_misspelt_parameter_is_guessed():
    with pytest.raises(
        DataError, match=r"^Wachter: has no such parameter; got 'n_step'. Did you mean 'n_steps'\?$"
    ):
        ht.Wachter(n_step=3)  # type: ignore[call-arg]
    with pytest.raises(DataError, match=r"Linear: has no such parameter; got 'widths'. It has no parameters\."):
        ht.Linear(widths=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="takes no arguments"):
        ht.Linear(3)  # type: ignore[call-arg]
    clf = ht.RecourseClassifier()
    with pytest.raises(ValueError, match=r"Classifier: has no such .*; got 'metod'. Did you mean 'method'"):
        clf.set_params(metod="wachter")
    with pytest.raises(DataError, match="Wachter: has no such parameter; got 'n_step'"):
        clf.set_params(method="wachter", method__n_step=3)
    with pytest.raises(DataError, match="`model` has no parameters of its own; got None"):
        clf.set_params(model__widths=(8,))


def test_parts_by_their_names():
    table, y = world.people()
    options: dict[str, Any] = {"schema": world.SCHEMA, "random_state": 0}
    named = ht.RecourseClassifier(model="linear", regime="standard", method="wachter", **options)
    made = ht.RecourseClassifier(model=ht.Linear(), regime=ht.StandardTraining(), method=ht.Wachter(), **options)
    assert named.get_params()["regime__n_epochs"] == 100
    for clf in (named, made):
        clf.set_params(regime__n_epochs=2).fit(table, y)
    assert (named.predict_proba(table) == made.predict_proba(table)).all()
    assert named.method == "wachter"
    assert isinstance(named.method_, ht.Wachter)
    assert repr(clone(named)) == repr(named)
    assert repr(ht.SNS(base="wachter")._fresh_base()) == "Wachter()"
    assert repr(ht.Robust(regime="vaecf").wrapped) == "VAECF()"


def test_a_model_file_keeps_names(tmp_path):
    clf = ht.RecourseClassifier(schema=world.SCHEMA, model="linear", regime="standard", random_state=0)
    clf.set_params(regime__n_epochs=1).fit(*world.people())
    clf.save(tmp_path / "model.ht")
    again = ht.RecourseClassifier.load(tmp_path / "model.ht")
    assert again.model == "linear"
    assert (again.predict(world.people()[0]) == clf.predict(world.people()[0])).all()


# ---- a class of somebody else's -------------------------------------------------------------------------


@configured
class Walk(AbstractConfigured):
    """Some steps.

    Parameters
    ----------
    n_steps : int, default=3
        Steps at most.
    pace : {"slow", "fast"}, default="slow"
        How fast.

    Notes
    -----
    Of a base.
    """

    n_steps: Count = 3
    pace: Literal["slow", "fast"] = "slow"
    walked: int = field(default=0, init=False)


@configured
class Hike(Walk):
    """Many steps.

    Parameters
    ----------
    height : float, default=1.0
        Up.

    Examples
    --------
    None.
    """

    height: Positive = 1.0
    n_steps: Count = 1000


def test_fields_are_parameters_and_told_where_they_are_declared():
    hike = clone(Hike(height=2.0))
    assert hike.get_params() == {"height": 2.0, "n_steps": 1000, "pace": "slow"}
    assert repr(hike) == "Hike(height=2.0)"
    assert Hike.__doc__ == (
        "Many steps.\n\nParameters\n----------\nheight : float, default=1.0\n    Up.\n"
        "n_steps : int, default=1000\n    Steps at most.\n"
        'pace : {"slow", "fast"}, default="slow"\n    How fast.\n\n'
        "Examples\n--------\nNone."
    )
    with pytest.raises(DataError, match=r"Hike: has no such parameter; got 'hight'\. Did you mean 'height'"):
        Hike(hight=1.0)  # pyright: ignore[reportCallIssue]
    with pytest.raises(DataError, match="Hike: `pace` must be 'slow' or 'fast'; got 'fats'"):
        Hike(pace="fats").check_parameters()  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_parameter_is_in_the_docstring(cls):
    told = re.findall(r"^ *(\w+(?:, \w+)*)(?: : .*)?$", cls.__doc__ or "", re.M)
    assert set(parameters(cls)) <= {name for names in told for name in names.split(", ")}


class Theirs(AbstractConfigured):
    n_steps: Count

    def __init__(self, *, n_steps: int = 3, free=None, later: "Nowhere" = None, **more: Any) -> None:  # type: ignore
        self.n_steps, self.free, self.later, self.more = n_steps, free, later, more


def test_a_base_bounds_what_a_signature_leaves_plain():
    """Also where the signature's own annotations cannot be read."""
    Theirs(free=object(), anything=3).check_parameters()
    with pytest.raises(DataError, match="Theirs: `n_steps` must be a whole number of at least 1; got 0"):
        Theirs(n_steps=0).check_parameters()


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, clone, lambda thing: pickle.loads(pickle.dumps(thing))]
)
def test_copies_are_what_they_were(again):
    assert repr(again(ht.Wachter(n_steps=7))) == "Wachter(n_steps=7)"
    assert repr(again(ht.Linear())) == "Linear()"
