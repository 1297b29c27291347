"""A case's form and the path of an option, on columns of every kind."""

import math
from itertools import pairwise

import pytest

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError
from holdtrue.schema import normalise_restrictions
from holdtrue.server import Quotas, Service
from holdtrue.server._bodies import Bodies
from holdtrue.server.pages._case import Case, choices
from holdtrue.server.pages._chart import _way
from holdtrue.server.pages._pages import Form

SCHEMA = ht.Schema(
    [
        ht.Feature(name="x", kind="numeric", bounds=(0, 10), unit="km"),
        ht.Feature(name="n", kind="integer", bounds=(0, 9), direction="increase"),
        ht.Feature(name="c", kind="categorical", levels=("a", "b", "c"), transitions={"c": ("a",)}),
        ht.Feature(name="o", kind="ordinal", levels=("low", "mid", "high")),
        ht.Feature(name="f", kind="binary", levels=(0, 1), direction="fixed"),
        ht.Feature(name="m", kind="numeric", bounds=(0, 1), missing="median"),
    ]
)
PERSON = {"x": 1.5, "n": 3.0, "c": "a", "o": "mid", "f": 1, "m": None}


def sent(*pairs):
    """The person's form with some more fields."""
    own = Case.of(PERSON, "somebody", SCHEMA)
    fields = [(f"c{i}", text) for i, text in enumerate(own.texts)]
    return Case.sent(Form(None, [*fields, ("subject", " somebody "), ("days", "30"), *pairs]), SCHEMA)


def test_what_is_shown_is_what_is_read():
    case = sent()
    assert case.read(Bodies(SCHEMA, Quotas())) == (PERSON, case)
    assert case.offer() == ("somebody", 30.0)
    assert case.restrictions() is None


@pytest.mark.parametrize(
    ("pairs", "restrictions"),
    [
        ([("fix", "0")], {"x": "fixed"}),
        ([("bar", "0:up")], {"x": "decrease"}),
        ([("bar", "0:down")], {"x": "increase"}),
        ([("bar", "1:up")], {"n": "fixed"}),  # it may only rise, and now may not
        ([("bar", "2:1")], {"c": {"levels": ["a", "c"]}}),
        ([("x2", "1"), ("x2", "2")], {"c": {"levels": ["a"]}}),
        ([("x2", "0"), ("x2", "1"), ("x2", "2")], {"c": "fixed"}),
        ([("m2", "fixed"), ("x2", "1")], {"c": "fixed"}),
        ([("m3", "increase")], {"o": "increase"}),
        ([("m1", "decrease")], None),  # the schema is not loosened
        ([("m4", "increase")], None),
        ([("m0", "sideways"), ("x2", "7"), ("x0", "1")], None),
        ([("m0", "fixed"), ("free", "0")], None),
    ],
    ids=str,
)
def test_restrictions(pairs, restrictions):
    assert sent(*pairs).restrictions() == restrictions
    if restrictions is not None:
        normalise_restrictions([restrictions], SCHEMA, 1)  # the search takes it


def test_choices_never_loosen():
    assert list(choices(SCHEMA["x"])) == ["", "fixed", "increase", "decrease"]
    assert list(choices(SCHEMA["n"])) == ["", "fixed"]
    assert list(choices(SCHEMA["c"])) == ["", "fixed"]
    assert choices(SCHEMA["f"]) == {}


def test_a_yes_does_not_rise_or_fall():
    """Of two levels neither is higher: the form names the one that may be taken."""
    verified = ht.Feature(name="v", kind="binary", levels=(0, 1), direction="decrease")
    cosigner = ht.Feature(name="s", kind="binary", levels=("alone", "with"), direction="increase")
    either = ht.Feature(name="e", kind="binary", levels=(0, 1))
    assert choices(verified)[""] == "may become no"
    assert choices(cosigner)[""] == "may become with"
    assert list(choices(either).values()) == [
        "may change", "stays as it is", "may only become yes", "may only become no"
    ]  # fmt: skip
    assert choices(SCHEMA["n"])[""] == "may rise"


def test_only_levels_that_can_be_reached_can_be_barred():
    def reachable(level):
        fields = Case.of(PERSON | {"c": level}, "s", SCHEMA).fields()[2]["levels"]
        return [one["text"] for one in fields if one["reachable"]]

    assert reachable("a") == ["b", "c"]
    assert reachable("c") == ["a"]


def test_a_path_goes_one_change_at_a_time():
    after = {"x": 4.0, "n": 8.0, "c": "b", "o": "high", "f": 1, "m": None}
    rows, places, ends = _way(SCHEMA, PERSON, after, 8)
    assert (rows[0], rows[-1]) == (PERSON, after)
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0.0, 1.0)
    assert len(ends) == 5
    for a, b in pairwise(rows):
        assert sum(a[name] != b[name] for name in a) <= 1
    assert all(row["n"] == math.floor(row["n"]) for row in rows)
    assert _way(SCHEMA, PERSON, PERSON, 8) == ([PERSON], [0.0], [0])


def test_models_that_guide_the_search_are_not_asked(clf, monkeypatch):
    again = ht.retrain(clf, n=3)
    known = again.ensemble.digests()
    monkeypatch.setattr(type(clf.method_), "consulted", lambda _: known[:1])
    assert Service(clf, retrained=again).retrained.ensemble.digests() == known[1:]
    monkeypatch.setattr(type(clf.method_), "consulted", lambda _: known)
    with pytest.raises(DataError, match="asks all"):
        Service(clf, retrained=again)


def test_a_model_made_elsewhere_is_to_be_adopted_first():
    """It has no schema, and no rows to compare people with: an AttributeError said nothing of that."""
    from xgboost import XGBClassifier

    with pytest.raises(CapabilityError, match=r"Service: .* got XGBClassifier\. .*adopt"):
        Service(XGBClassifier())  # type: ignore[arg-type]
