"""Proofs held against another solver and followed by a checker of their own, in two random worlds."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.attack import _replayer, replay


def test_another_solver_agrees() -> None:
    pytest.importorskip("ortools", reason="ortools, another solver, is not installed: it is part of the dev extra")
    from benchmarks.attack import cpsat

    for counts in (Counter(cpsat.attack(1, kind)[0]) for kind in cpsat.KINDS):
        assert counts["instances"] > 0
        assert counts["disagree"] == counts["crashed"] == 0
        assert counts["agree"] + counts["at the edge"] == counts["instances"]


def test_proofs_are_followed_and_spoilt_ones_rejected() -> None:
    """A world without steps, with restrictions and linear constraints, where a wrong INFEASIBLE was found once."""
    for counts in (Counter(replay.attack(13, kind)[0]) for kind in replay.KINDS):
        assert counts["replayed"] == counts["people"] == 6
        assert counts["rejected"] == counts["crashed"] == 0
        assert counts["spoilt"] > 0
        assert counts["spoilt, not rejected"] == 0


def test_the_checker_shares_no_code_with_the_search_and_is_short() -> None:
    text = Path(_replayer.__file__).read_text(encoding="utf-8")
    assert "holdtrue" not in text.replace("`ExactSearch`", "")
    assert len(text.splitlines()) < 200
