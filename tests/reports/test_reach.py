"""Whom a model leaves no way: proved, and counted by group."""

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.models import Decision, LinearModel


@pytest.fixture(scope="module")
def plan():
    """Savings of 8 or more are a yes; half of the people may save up to 5 only, by a restriction."""
    table = pd.DataFrame({"savings": np.arange(40) % 10 * 1.0, "home": ["rent", "own"] * 20})
    schema = ht.Schema(
        [
            ht.Feature(name="savings", kind="integer", bounds=(0, 10)),
            ht.Feature(name="home", kind="categorical", levels=("rent", "own"), direction="fixed"),
        ]
    )
    encoder = Encoder.fit(schema, table)
    weight = np.array([[0, 0, 0], [encoder.scale[0], 0, 0]], np.float32)
    bias = np.array([0, encoder.offset[0] - 7.9], np.float32)
    predictor = Predictor(encoder, Decision(LinearModel(weight, bias), np.float32(0.5), 1), np.arange(2))
    stuck = {i: {"savings": {"bounds": (0, 5)}} for i in range(40) if table.home[i] == "own"}
    return ht.Flipset().fit(predictor).recourse(table, restrictions=stuck)


def test_who_has_recourse_and_who_is_proved_to_have_none(plan):
    report = ht.audit(plan, prove=True, group="home")
    assert report.reach is not None
    assert report.reach.column == "home"
    rent, own = report.reach.groups["rent"], report.reach.groups["own"]
    assert (rent.n_refused, rent.n_with, rent.n_without, rent.n_undecided) == (16, 16, 0, 0)
    assert (own.n_refused, own.n_with, own.n_without, own.n_undecided) == (16, 0, 16, 0)
    assert report.reach.everybody.n_without == 16
    assert own.without_lower == pytest.approx(0.025 ** (1 / 16))  # Clopper-Pearson, 16 of 16
    assert rent.with_upper == 1.0
    assert "home = own: proved without" in str(report)
    assert report.to_dict()["reach"]["groups"]["own"]["n_without"] == 16
    assert (report.per_person()["reach"] == "proved without").sum() == 16


def test_the_undecided_widen_both_intervals(plan):
    from holdtrue.reports._reach import UNDECIDED, WITH, WITHOUT, _counted

    counted = _counted(np.array([WITH] * 5 + [WITHOUT] * 3 + [UNDECIDED] * 2, object), 0.95)
    lower = ht.metrics.clopper_pearson(5, 10, 0.95, side="both")[0]
    upper = ht.metrics.clopper_pearson(7, 10, 0.95, side="both")[1]
    assert (counted.with_lower, counted.with_upper) == (pytest.approx(float(lower)), pytest.approx(float(upper)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"group": "home"}, "`group` is for prove=True"),
        ({"prove": True, "group": "hmoe"}, "Did you mean 'home'"),
        ({"prove": True, "group": ["a"]}, "must have a label per row"),
    ],
)
def test_what_cannot_be_counted_is_refused(plan, options, words):
    with pytest.raises(ht.errors.DataError, match=words):
        ht.audit(plan, **options)
