"""Training settings side by side: who dominates whom, what is said of constant models, the page, a real run."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import holdtrue as ht
from holdtrue.errors import DataError
from holdtrue.studies.tradeoff import Choice, Tradeoff
from holdtrue.studies.tradeoff._result import GOALS, dominates


def choice(name="a", value=None, **figures):
    given = {"accuracy": 0.8, "robust_accuracy": 0.5, "favourable": 0.6, "n_refused": 40, "n_asked": 40,
             "validity": 1.0, "cost": 0.3, "shelf_life": 0.7} | figures  # fmt: skip
    return Choice(name, None if value is None else "radius", value, **given)


def test_dominance_is_being_no_worse_in_everything_and_better_in_something():
    base = choice()
    assert not dominates(base, choice())
    for key, sign in GOALS.items():
        better = choice(**{key: getattr(base, key) + 0.01 * sign})
        assert dominates(better, base)
        assert not dominates(base, better)
    mixed = choice(accuracy=0.9, cost=0.5)
    assert not dominates(mixed, base)
    assert not dominates(base, mixed)
    # The share accepted is told, but it is not a goal.
    assert not dominates(choice(favourable=0.9), base)


def test_whoever_finds_no_recourse_does_not_win_by_having_no_cost():
    without = choice(validity=0.0, cost=None, shelf_life=None, accuracy=0.9)
    assert not dominates(without, choice(validity=0.0))
    assert dominates(choice(), choice(validity=0.0, cost=None, shelf_life=None))


def test_the_front_is_that_of_a_brute_force_and_leaves_constant_models_out():
    rng = np.random.default_rng(0)
    choices = [choice(f"s{i}", **{k: float(rng.integers(0, 4)) / 4 for k in GOALS}) for i in range(40)]
    constant = choice("all", favourable=1.0, n_refused=0, n_asked=0, validity=None, cost=None, shelf_life=None,
                      accuracy=1.0, robust_accuracy=1.0)  # fmt: skip
    trade = Tradeoff((*choices, constant))
    signs = np.array([*GOALS.values()])
    values = np.array([[getattr(c, k) for k in GOALS] for c in choices]) * signs
    truth = [not any((o >= v).all() and (o > v).any() for o in values) for v in values]
    np.testing.assert_array_equal(trade.front, [*truth, False])
    assert constant.constant == "accepts everybody: none refused"
    assert choice(favourable=0.0).constant == "refuses everybody"


class Tags(HTMLParser):
    """Counts tags, and sees to it that they are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], {}

    def handle_starttag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_needs_nothing_else_and_escapes_names():
    trade = Tradeoff(
        (
            choice("standard"),
            choice("adversarial", 0.0, accuracy=0.85, robust_accuracy=0.2),
            choice("adversarial", 0.1, cost=1.2),
            choice("adversarial", 0.3, favourable=0.0, validity=0.0, cost=None, shelf_life=None),
            choice("<b>mine</b>", accuracy=0.9),
        ),
        {"attack": "radius 0.05"},
        collapse=0.2,
    )
    text = trade.html()
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.seen["svg"] == 6
    assert tags.seen["tr"] == 6
    assert not re.search(r"https?://|<script|<link|<img", text)
    assert "&lt;b&gt;mine" in text
    assert "<b>mine" not in text
    assert "refuses everybody" in text
    assert "from a radius of 0.200 on" in text
    assert text.count("<polyline") == 6
    assert "<path" in text  # the cross of a constant model


def test_a_page_without_anybody_to_measure():
    alone = choice(favourable=1.0, n_refused=0, n_asked=0, validity=None, cost=None, shelf_life=None)
    text = Tradeoff((alone,)).html()
    assert "nobody to measure it on" in text
    assert "No setting is left to choose from" in text


@pytest.fixture(scope="module")
def found():
    bank = ht.datasets.load("loanapp")
    regimes = {
        "standard": ht.StandardTraining(n_epochs=30, step_size=0.02, class_weight="balanced"),
        "adversarial": ht.AdversarialTraining(n_epochs=30, step_size=0.02, class_weight="balanced"),
    }
    return ht.tradeoff(
        bank.X, bank.y, schema=bank.schema, regimes=regimes, radii=(0.0, 0.05, 0.5), model=ht.Linear(),
        method=ht.Wachter(n_steps=60, patience=20), people=20, retrainings=2, favourable=bank.favourable,
    )  # fmt: skip


def test_a_sweep_over_a_real_table(found):
    assert [c.name for c in found.choices] == [
        "standard", "adversarial, radius = 0", "adversarial, radius = 0.05", "adversarial, radius = 0.5",
    ]  # fmt: skip
    standard, plain, robust, collapsed = found.choices
    assert abs(standard.accuracy - plain.accuracy) < 0.05
    assert robust.robust_accuracy > plain.robust_accuracy
    assert collapsed.constant is not None
    assert found.collapse < 0.5
    assert not found.front[3]
    assert found.front.any()
    for c in (standard, plain, robust):
        assert 0 < c.validity <= 1
        assert c.cost > 0
        assert 0 <= c.shelf_life <= 1
    frame = found.to_frame()
    assert frame["not_dominated"].tolist() == found.front.tolist()
    assert "not dominated" in str(found)


def test_files(found, tmp_path):
    for name in ("page.html", "numbers.json"):
        found.write(tmp_path / name)
    assert (tmp_path / "page.html").read_text("utf-8") == found.html()
    again = json.loads((tmp_path / "numbers.json").read_text("utf-8"))
    assert again["format"] == "holdtrue-tradeoff"
    assert [c["accuracy"] for c in again["choices"]] == [c.accuracy for c in found.choices]


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"norm": "l7"}, "`norm` is not known; got 'l7'"),
        ({"attack": -1.0}, "`attack` must be a radius of at least 0; got -1.0"),
        ({"regimes": {}}, "`regimes` names nothing to train"),
        ({"sweeps": {"standard.magic": [1.0]}}, "`sweeps` names no parameter of a regime; got 'standard.magic'"),
        ({"y": np.arange(3)}, "needs two classes; got 3"),
    ],
)
def test_what_makes_no_sense_is_answered(options, answer):
    y = options.pop("y", np.array([0, 1, 0]))
    with pytest.raises(DataError, match=answer):
        ht.tradeoff(np.zeros((3, 1)), y, **options)
