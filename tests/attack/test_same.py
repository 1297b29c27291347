"""One answer in every way of asking, for a few methods; `benchmarks.attack.same` takes all of them."""

import pytest

from benchmarks.attack.same import WAYS, attack


@pytest.mark.parametrize("name", ["sparse_search", "growing_spheres"])
def test_one_answer(name: str) -> None:
    counts = attack(4, name, people=16)[0]
    assert counts.get("crashed", 0) == 0, counts.get("error")
    assert counts["differs"] == 0, counts.get("error")
    assert counts["FOUND"] > 0
    assert counts["answers"] > 16 * (len(WAYS) - 3)
