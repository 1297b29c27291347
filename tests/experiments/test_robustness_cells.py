"""Figures by dataset and split, put together."""

import json

import pytest

from experiments.robustness_tradeoffs import _cells
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
