"""Rows of a comparison against answers known by hand; files, frames and pictures of it."""

import dataclasses
import json
import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.errors import DataError
from holdtrue.methods import AbstractMethod
from holdtrue.schema import Table, as_table
from holdtrue.search import Solutions, Status
from holdtrue.studies.compare import Comparison, Row, measure

PEOPLE = (20.0, 40.0, 44.0)


class Raise(AbstractMethod):
    """Raises the income of the first `n` people to `to`, and finds nothing for the others."""

    def __init__(self, *, to: float = 50.0, n: int = 9, norm: Any = "l1", random_state: int | None = None) -> None:
        self.to, self.n, self.norm, self.random_state = to, n, norm, random_state

    def search(self, problems: Any, deadline: Any, on_rows: Any) -> Solutions:
        x = np.array(problems.x, np.float32)
        who = np.arange(len(x)) < self.n
        x[who, 0] = self.to / 100
        status = np.where(who, int(Status.FOUND), int(Status.NOT_FOUND)).astype(np.int32)
        return Solutions(x, status, np.zeros(len(x)), np.ones(len(x), np.int32))


class Needy(Raise):
    needs: ClassVar[frozenset[str]] = frozenset({"trees"})


def table(incomes: Any, town: str = "x") -> Table:
    return as_table(pd.DataFrame({"income": np.asarray(incomes, float), "town": [town] * len(incomes)}))


@pytest.fixture
def row(make_predictor: Callable, make_retrained: Callable) -> Callable[..., Row]:
    def make(method: AbstractMethod, name: str = "raise", **options: Any) -> Row:
        rows, labels = table([30, 50, 60, 90]), np.array(["no", "yes", "yes", "yes"])
        against = make_retrained(45, 50, 55, 70)
        return measure(
            name,
            method,
            make_predictor(),
            table(PEOPLE),
            rows=rows,
            labels=labels,
            against=against,
            k=2,
            **options,
        )

    return make


def test_known_answers(row: Callable) -> None:
    made = row(Raise())
    assert (made.n_people, made.n_found, made.found, made.reason) == (3, 3, 1.0, None)
    assert (made.validity, made.n_broken, made.counts) == (1.0, 0, {"FOUND": 3})
    assert made.people["l1"] == pytest.approx([0.3, 0.1, 0.06])
    assert made.mean("l2") == pytest.approx(0.46 / 3)
    assert made.mean("l0") == 1.0
    # An income of 50 is 0 and 10 away from the nearest two who got a yes, and passes two of the four boundaries.
    assert made.people["plausibility"] == pytest.approx([0.05] * 3)
    assert made.people["survival"] == pytest.approx([0.5] * 3)
    assert made.seconds > 0
    assert made.compile_seconds >= 0


def test_a_method_held_to_the_closed_form(row: Callable) -> None:
    # One number decides: the cheapest recourse is the distance to its boundary, on its grid of 1.
    made = row(ht.SparseSearch(), "sparse_search")
    assert made.people["l1"] == pytest.approx([0.3, 0.1, 0.06], abs=1e-6)


def test_a_method_that_finds_nothing(row: Callable) -> None:
    made = row(Raise(n=0))
    assert (made.n_found, made.found, made.counts) == (0, 0.0, {"NOT_FOUND": 3})
    assert math.isnan(made.mean("l1"))
    assert math.isnan(made.validity)
    assert math.isnan(made.mean("survival"))
    comparison = Comparison(
        {"data": "by hand", "model": "a line"}, [row(Raise(), "a"), dataclasses.replace(made, name="b")]
    )
    assert comparison.common.all()  # who finds nothing has no say in who is easy
    assert "b: NOT_FOUND 3" in str(comparison)


def test_what_is_not_valid_is_not_found(row: Callable) -> None:
    made = row(Raise(to=47))
    assert (made.n_found, made.counts) == (0, {"NOT_FOUND": 3})


def test_a_method_the_model_cannot_serve_says_why(row: Callable) -> None:
    made = row(Needy(), "needy")
    assert made.reason is not None
    assert made.reason.startswith("Needy: needs a trees model; got LinearModel.")
    comparison = Comparison({"data": "by hand", "model": "a line"}, [row(Raise(), "a"), made])
    assert [r.name for r in comparison.ran] == ["a"]
    assert "needy: Needy: needs a trees model" in " ".join(str(comparison).split())
    assert comparison.to_frame()["not_run"].tolist() == ["", made.reason]


@pytest.fixture
def pair(row: Callable) -> Comparison:
    """One that finds all, one that finds only the dear case, one that cannot be run."""
    job = {"data": "by hand", "model": "a line", "retrainings": 4, "vary": "seed", "neighbours": 2}
    rows = [row(Raise(to=60), "far"), row(Raise(n=1), "first only"), row(Needy(), "needy")]
    return Comparison(job, rows)


def test_costs_are_also_given_on_the_people_all_found(pair: Comparison) -> None:
    assert pair.common.tolist() == [True, False, False]
    frame = pair.to_frame().set_index("method")
    assert frame.loc["far", "l1"] == pytest.approx((0.4 + 0.2 + 0.16) / 3)
    assert frame.loc["far", "l1_common"] == pytest.approx(0.4)
    assert frame.loc["first only", ["l1", "l1_common"]].tolist() == pytest.approx([0.3, 0.3])
    assert frame.loc["far", "survival_common"] == pytest.approx(0.75)
    assert frame.loc["first only", "found"] == pytest.approx(1 / 3)
    assert frame.loc["far", "statuses"] == "FOUND 3"
    assert pair["far"].n_found == 3


def test_text_fits(pair: Comparison) -> None:
    text = str(pair)
    assert max(map(len, text.splitlines())) <= 86
    assert "1 person for whom every method found one" in " ".join(text.split())
    assert repr(pair) == "<Comparison of 2 methods on 3 people>"


def test_files_hold_everything(pair: Comparison, tmp_path: Any) -> None:
    path = tmp_path / "c.json"
    pair.write(path)
    again = Comparison.read(path)
    assert str(again) == str(pair)
    assert again.job == pair.job
    pd.testing.assert_frame_equal(again.to_frame(), pair.to_frame())
    short = json.loads(pair.to_json())
    assert "people" not in short["rows"][0]
    assert (short["n_people"], short["n_common"]) == (3, 1)
    assert short["rows"][1]["l1"] == pytest.approx(0.3)


@pytest.mark.parametrize("text", ["", "{}", '{"format": "holdtrue-report", "version": 1}', "[1]"])
def test_other_files_are_refused(tmp_path: Any, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(DataError, match="is not a comparison that can be read"):
        Comparison.read(path)


def test_cut_off_figures_are_refused(pair: Comparison, tmp_path: Any) -> None:
    path = tmp_path / "c.json"
    raw = pair.to_dict(people=True)
    raw["rows"][0]["people"]["l1"].pop()
    path.write_text(json.dumps(raw))
    with pytest.raises(DataError, match="are not one per person"):
        Comparison.read(path)


# ---- pictures ---------------------------------------------------------------------------------------


def many(n: int) -> Comparison:
    """Methods whose points lie close together, as they do."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n):
        cost, holds = rng.uniform(1.0, 1.3), rng.uniform(0.6, 0.7)
        people = {"l1": np.full(4, cost), "survival": np.full(4, holds)}
        rows.append(Row(name=f"method_{i}", method="M", settings={}, n_people=4, people=people))
    return Comparison({"data": "d", "model": "m", "retrainings": 3}, rows)


def test_labels_of_a_crowd_do_not_overlap(tmp_path: Any) -> None:
    figure = many(12).plot(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000
    renderer = figure.canvas.get_renderer()
    boxes = [t.get_window_extent(renderer) for t in figure.axes[0].texts if t.get_text()]
    assert len(boxes) == 12
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
            assert width <= 0 or height <= 0


def test_points_are_where_they_belong(pair: Comparison) -> None:
    figure = pair.plot(cost="l2")
    at = np.concatenate([c.get_offsets() for c in figure.axes[0].collections])
    assert np.asarray(at) == pytest.approx(np.array([[0.4, 0.75], [0.3, 0.5]]))
    names = {t.get_text() for t in figure.axes[0].texts if t.get_text()}
    assert names == {"far", "first only (33% found)"}


def test_nothing_to_draw(pair: Comparison, tmp_path: Any) -> None:
    with pytest.raises(DataError, match="nothing to draw"):
        Comparison(pair.job, [pair["needy"]]).plot()
    with pytest.raises(DataError, match="`cost` is not known"):
        pair.plot(cost="l7")
    with pytest.raises(DataError, match="does not name a picture"):
        pair.plot(tmp_path / "plot.xyz")
