"""The gate by group: columns of the records, and what only their owner knows."""

from dataclasses import replace

import pandas as pd
import pytest
from scipy.stats import binomtest

from holdtrue.errors import DataError
from holdtrue.promises import _read

from .world import INCOMES, ask, promise


def test_groups(ledger, sixty):
    people = [("f", 30, 50), ("f", 30, 70), ("f", 50, 80), ("m", 50, 55), ("m", 60, 50)]
    ledger.issue([promise(i, income, sex=sex, age=age) for i, (sex, age, income) in enumerate(people)])
    report = ask(sixty, ledger, group="sex")
    assert [(g.label, g.n, g.broken) for g in report.groups] == [("f", 3, 1), ("m", 2, 2)]
    for group in report.groups:
        exact = binomtest(group.broken, group.n).proportion_ci(0.95, "exact")
        assert (group.lower, group.upper) == pytest.approx((exact.low, exact.high))
    by_age = ask(sixty, ledger, group="age", bins=[40, 50])
    assert [(g.label, g.n, g.broken) for g in by_age.groups] == [("below 40", 2, 1), ("50 or more", 3, 2)]
    assert [(g.label, g.n) for g in ask(sixty, ledger, group="age").groups] == [("30", 2), ("50", 2), ("60", 1)]
    with pytest.raises(DataError, match="not a column of the records"):
        ask(sixty, ledger, group="sexx")
    with pytest.raises(DataError, match="ascending"):
        ask(sixty, ledger, group="age", bins=[50, 40])
    with pytest.raises(DataError, match="column of numbers"):
        ask(sixty, ledger, group="sex", bins=[1])
    with pytest.raises(DataError, match="no `group`"):
        ask(sixty, ledger, bins=[1])
    ledger.issue([promise(f"y{i}", 60, before=20 + i / 10) for i in range(60)])
    with pytest.raises(DataError, match="more than 50 values"):
        ask(sixty, ledger, group="income")


def test_a_group_beyond_the_models_columns(ledger, sixty):
    with_town = [promise(i, income) for i, income in enumerate(INCOMES)]
    towns = ["a", "b", "a", None, "b"]
    ledger.issue(
        [
            replace(r, factual=r.factual | {"town": t}, recourse=r.recourse | {"town": t})
            for r, t in zip(with_town, towns, strict=True)
        ]
    )
    report = ask(sixty, ledger, group="town")
    assert [(g.label, g.n, g.broken) for g in report.groups] == [("(missing)", 1, 0), ("a", 2, 1), ("b", 2, 1)]


@pytest.mark.parametrize("careful", [False, True])
def test_a_group_that_only_its_owner_knows(ledger, sixty, careful, monkeypatch):
    ledger.issue([promise(f"00{i}", income) for i, income in enumerate(INCOMES)])
    if careful:
        monkeypatch.setattr(_read, "_quick", lambda *_: None)
    town = pd.Series(["a", "a", "b", None], index=["000", "002", "001", "003"], name="town")
    report = ask(sixty, ledger, group=town)
    assert report.group == "town"
    assert [(g.label, g.n, g.broken) for g in report.groups] == [("(missing)", 2, 0), ("a", 2, 1), ("b", 1, 1)]
    ages = {"000": "31", "001": 45, "002": "45", "003": float("nan")}
    by_age = ask(sixty, ledger, group=ages, bins=[45]).groups
    assert [(g.label, g.n, g.broken) for g in by_age] == [
        ("below 45", 1, 1),
        ("45 or more", 2, 1),
        ("(missing)", 2, 0),
    ]
    with pytest.raises(DataError, match="a column or a mapping"):
        ask(sixty, ledger, group=7)
