"""Figures by dataset and split, put together."""

import json

import pytest

from experiments.robustness_tradeoffs import _cells, _further
from holdtrue.errors import DataError


def test_cells_of_splits_become_lists_and_must_be_alike(tmp_path):
    def cell(dataset: str, split: int, value: float) -> None:
        figures = {"width 128": {"rms": value}} | ({"2000 landmarks": {"rms": value}} if split else {})
        told = {"dataset": dataset, "split": split, "device": "d", "figures": figures, "command": "c"}
        (tmp_path / f"ntk-{dataset}-{split}.json").write_text(json.dumps(told), "utf-8")

    for dataset in ("adult", "compas"):
        for split in (10, 2, 0):
            cell(dataset, split, 0.5 + split)
    _cells.merge("ntk", tmp_path, tmp_path / "out")
    found = json.loads((tmp_path / "out" / "ntk.json").read_text("utf-8"))
    assert found["splits"] == [0, 2, 10]
    assert found["compas"] == {
        "width 128": {"rms": [0.5, 2.5, 10.5]},
        "2000 landmarks": {"rms": [None, 2.5, 10.5]},
    }
    assert list(found).index("compas") < list(found).index("adult")  # as the page has them
    assert found["command"] == "c && python -m experiments.robustness_tradeoffs.ntk merge FOLDER"
    cell("adult", 3, 1.0)
    with pytest.raises(DataError, match="the same splits"):
        _cells.merge("ntk", tmp_path)
    with pytest.raises(DataError, match="the same splits"):
        _cells.merge("robust_kernel", tmp_path)


def test_theorems_of_splits_are_told_with_what_they_range_over(tmp_path):
    five = {"cases": [10, 10], "violations": [5, 3], "applies": [1.0, 1.0]}
    pair = {"cases": [4, None], "violations": [0, None], "filled (median)": [0.01, None],
            "filled (largest)": [0.25, None]}  # fmt: skip
    forms = {
        "Theorem 5, own distance": {"printed": five, "corrected": five | {"violations": [0, 0]}},
        "Theorem 3, radius 0.01": {"printed": pair, "sharper": pair},
    }
    (tmp_path / "theorems.json").write_text(json.dumps({"compas": forms}), "utf-8")
    text = _further.further(tmp_path)
    assert "| COMPAS | printed | 2 | 20 | 1.00 ± 0.00 | 0.40 ± 0.14 | 0.30 to 0.50 |" in text
    assert "| COMPAS | corrected | 2 | 20 | 1.00 ± 0.00 | 0.00 ± 0.00 | 0.00 to 0.00 |" in text
    assert "| COMPAS | 0.01 | printed | 1 | 4 | 0 | 1.00% to 1.00% | 25.0% |" in text
