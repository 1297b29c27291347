"""The committed replay of the SBA loans: what is printed follows from what was measured."""

import json

import pytest

from experiments.hold import sba
from holdtrue.hold import Backtest


def test_committed_results_are_what_follows_from_their_offers():
    raw = json.loads((sba.RESULTS / "sba.json").read_text("utf-8"))
    past = Backtest.from_dict(raw)
    assert past.terms == sba.TERMS
    assert past.slacks == sba.SLACKS
    for term, told in sba.against_goals(past).items():
        assert raw["goals"][term]["mean"] == pytest.approx(told["mean"])
        assert raw["goals"][term]["price"] == pytest.approx(told["price"])
        assert raw["goals"][term]["goal"] == told["goal"]
    assert raw["command"].startswith("python -m experiments.hold.sba")
