"""SBA loans."""

import numpy as np
import pytest

from holdtrue import datasets

pytestmark = pytest.mark.usefixtures("data_dir")

# Rows of RoCourseNet's yearly files, 1994 to 2009.
YEARS = [
    *(16230, 23358, 20813, 19924, 19568, 20578, 20654, 20889),
    *(24834, 33173, 40312, 48329, 51124, 51025, 27332, 11009),
]


def test_rocoursenet_years_and_inputs() -> None:
    plain, paper = datasets.load("sba_loans"), datasets.load("sba_loans", variant="rocoursenet")
    assert paper.groups["Year"].value_counts().sort_index().tolist() == YEARS
    assert len(paper) == sum(YEARS) == 449152
    assert sum(len(f.levels) if f.kind == "categorical" else 1 for f in paper.schema) == 110
    rate = {year: paper.y[(paper.groups["Year"] == year).to_numpy()].mean() for year in (1994, 2007, 2009)}
    assert {k: round(float(v), 3) for k, v in rate.items()} == {1994: 0.957, 2007: 0.4, 2009: 0.669}
    kept = plain.groups["Year"].between(1994, 2009).to_numpy()
    assert np.allclose(np.exp(paper.X["GrAppv"]), plain.X["GrAppv"][kept])


def test_california_leaves_out_the_aftermath() -> None:
    data = datasets.load("sba_california")
    assert not {"ChgOffDate", "ChgOffPrinGr", "MIS_Status"} & set(data.X.columns)
    assert int(data.groups["Selected"].sum()) == 1051
