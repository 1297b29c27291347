"""A report as text, as frames and as a file."""

import dataclasses
import io
import json

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import holdtrue as ht
from holdtrue.errors import DataError
from holdtrue.reports import _render


@pytest.fixture
def report(plan, make_retrained):
    return ht.audit(plan, make_retrained(*[50] * 30, 57, vary="bootstrap"))


def test_text_reads_as_a_table(report) -> None:
    lines = str(report).splitlines()
    assert lines[0] == "Recourse audit: 4 people, by Handmade (l1)"
    assert max(map(len, lines)) <= 86
    row = next(line for line in lines if line.startswith("  with recourse, of the refused"))
    assert row.split()[-2:] == ["2", "66.7%"]
    assert any(line.startswith("Survival under 31 retrained models (bootstrap)") for line in lines)
    assert any(line.split()[-2:] == ["1", "50.0%"] for line in lines if "every model says yes" in line)
    assert next(line for line in lines if line.startswith("  monthly income")).endswith("2      100.0%")
    assert next(line for line in lines if line.startswith("  per person")).endswith("500 ms")
    assert not any(line != line.rstrip() for line in lines)


def test_long_names_and_many_features_stay_inside(report) -> None:
    rates = {f"f{i}": (20 - i) / 20 for i in range(12)}
    titles = dict.fromkeys(rates, "a name that goes on " * 6)
    wide = dataclasses.replace(report, change_rates=rates, titles=titles, n_people=123_456_789)
    lines = str(wide).splitlines()
    assert max(map(len, lines)) <= 86
    assert any("and 4 more features" in line for line in lines)
    assert sum("…" in line for line in lines) == 8


def test_rich_and_html_say_the_same(report) -> None:
    out = io.StringIO()
    Console(file=out, width=90, color_system=None).print(report)
    text, html = out.getvalue(), report._repr_html_()
    assert max(map(len, text.splitlines())) <= 90
    for section in _render.sections(report):
        for cell in [*section.heads, *(c for row in section.rows for c in row)]:
            assert cell in text
            assert cell.replace("<", "&lt;").replace(">", "&gt;") in html


def test_html_is_escaped(report) -> None:
    assert "<script>" not in dataclasses.replace(report, method="<script>")._repr_html_()


def test_nothing_is_rounded_into_all_or_none() -> None:
    assert [_render.percent(s) for s in (1.0, 0.99999, 0.5, 1e-5, 0.0)] == [
        "100.0%",
        ">99.9%",
        "50.0%",
        "<0.1%",
        "0.0%",
    ]
    assert _render.percent(float("nan")) == "-"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (3e-7, "<1 µs"), (0.0123, "12.3 ms"), (3.0, "3.00 s"), (4321.0, "4,321 s")]
)
def test_time_in_fitting_units(seconds: float, text: str) -> None:
    assert _render.shown_seconds(seconds) == text


def test_to_frame_is_tidy_and_agrees(report) -> None:
    frame = report.to_frame()
    assert frame.columns.tolist() == ["measure", "value", "note"]
    assert frame["measure"].is_unique
    value = frame.set_index("measure")["value"]
    assert value["recourse_among_refused"] == report.share.among_refused
    assert value["cost_l1_mean"] == report.costs["l1"].mean
    assert value["invalidation_rate"] == report.survival.invalidation == pytest.approx(1 / 62)
    assert value["assured"] == report.survival.n_assured == 1  # 30 of 31 leave a lower bound of 0.86
    assert frame["note"].str.len().gt(0).all()


def test_per_person_keeps_the_index(make_plan) -> None:
    table = {"index": [7, 3, 9]}
    plan = make_plan([(20, 60), (60, None), (10, None)], frame=lambda c: pd.DataFrame(c, **table))
    people = ht.audit(plan).per_person()
    assert people.index.tolist() == [7, 3, 9]
    assert people["status"].tolist() == ["FOUND", "ALREADY_FAVOURABLE", "INFEASIBLE"]
    np.testing.assert_allclose(people["cost_l1"], [0.4, 0, np.nan])
    np.testing.assert_allclose(people["n_changed"], [1, 0, np.nan])
    assert "survival" not in people


def test_json_round_trip(report, tmp_path) -> None:
    path = tmp_path / "report.json"
    report.write(path)
    read = json.loads(path.read_text(encoding="utf-8"))
    assert read == report.to_dict()
    assert (read["format"], read["version"]) == ("holdtrue-report", 1)
    assert read["survival"]["n_models"] == 31
    assert read["costs"]["l1"]["mean"] == report.costs["l1"].mean
    assert "people" not in read
    report.write(path, people=True)
    people = json.loads(path.read_text(encoding="utf-8"))["people"]
    assert people["survival"] == [1.0, pytest.approx(30 / 31), None, None]
    assert people["status"][0] == "FOUND"
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]


def test_what_was_not_measured_is_null_in_json(make_plan) -> None:
    read = json.loads(ht.audit(make_plan([(60, None)])).to_json())
    assert read["validity"] is None
    assert read["share"] == {"among_refused": None, "among_all": 1.0}
    assert read["survival"] is None


def test_a_failed_write_leaves_the_old_report(report, tmp_path, monkeypatch) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(DataError, match=r"cannot write the report; got .*disk full"):
        report.write(path)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(DataError, match="cannot write"):
        report.write(tmp_path / "nowhere" / "report.json")


def test_repr_is_short(report) -> None:
    assert repr(report) == "<Report on 4 people by Handmade: 2 with recourse of 3 refused>"
