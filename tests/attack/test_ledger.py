"""One ledger attacked behind its back; `benchmarks.attack.ledger` takes hundreds."""

import pytest

from benchmarks.attack.ledger import KINDS, WRONG, attack


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "server"])  # which tests/ledger restarts
def test_everything_is_seen_and_nothing_is_lost(kind: str) -> None:
    counts = attack(1, kind)[0]
    assert {what: counts[what] for what in WRONG} == dict.fromkeys(WRONG, 0), counts.get("error")
    assert counts["cases"] >= 3
