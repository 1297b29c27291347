"""Pages are what their makers write of committed results, and the command finds the experiments or says where."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from experiments import EXPERIMENTS, AbstractResult
from experiments._pages import DOCS, page, place
from experiments._quoted import Quote, read_quotes, tables, wrong
from experiments.robustness_tradeoffs._further import NAMES, broken, of_people, of_splits
from experiments.robustness_tradeoffs._settings import THEOREM_3
from holdtrue.errors import DataError
from holdtrue.metrics import allowed_failures

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("paper", EXPERIMENTS)
def test_a_page_has_the_tables_of_committed_results(paper):
    if not EXPERIMENTS[paper].results.is_dir():
        pytest.skip("a source distribution has no results")
    assert page(paper) == place(paper).read_text(encoding="utf-8")


@pytest.mark.parametrize("paper", EXPERIMENTS)
def test_figures_in_prose_are_those_of_the_tables(paper):
    quotes = read_quotes(EXPERIMENTS[paper].results.parent / "quoted.txt")
    assert len(quotes) >= 10
    assert wrong(place(paper).read_text(encoding="utf-8"), quotes) == []


@pytest.mark.parametrize(
    ("said", "wrongly"),
    [
        ("it holds [0.95] here", None),
        ("it holds [0.945] here", None),
        ("it holds [95%] here", None),
        ("it holds [0.93] here", "the table has '0.945 ± 0.006'"),
        ("it held [0.945] here", "not on the page"),
    ],
)
def test_a_quoted_figure_is_held_against_its_cell(said, wrongly):
    told = said.replace("[", "").replace("]", "").replace("held", "holds")
    rows = ["|  | robust |", "| --- | --- |", "| guides | 0.945 ± 0.006 |", "| guides, two | 0.1 |"]
    text = "\n".join([told, "", "### Loan: all", "", *rows])
    found = wrong(text, [Quote(said, "Loan", "guides", "robust", 1)])
    assert (found == []) if wrongly is None else any(wrongly in line for line in found)


@pytest.mark.parametrize("paper", EXPERIMENTS)
def test_results_are_written_as_they_were_read(paper):
    """But for what is empty: a figure that there is not need not be named."""

    def full(value):
        if isinstance(value, dict):
            return {k: full(v) for k, v in value.items() if v is not None and v != {}}
        return [full(v) for v in value] if isinstance(value, list) else value

    own = EXPERIMENTS[paper]
    for result in own.committed():
        kept = json.loads((own.results / f"{result.dataset}.json").read_text("utf-8"))
        assert full(result.to_dict()) == full(kept)


def test_figures_that_do_not_fit_are_refused():
    result = {"dataset": "german", "title": "German Credit", "seconds": {}}
    assert AbstractResult.from_dict(result).to_dict() == result
    with pytest.raises(DataError, match="it has 'second', which is no figure of it"):
        AbstractResult.from_dict(result | {"second": 1.0})
    with pytest.raises(DataError, match="it lacks 'seconds'"):
        AbstractResult.from_dict({"dataset": "german", "title": "German Credit"})


def test_the_drift_on_the_guarantee_page_is_that_of_its_file():
    own = EXPERIMENTS["actionable-recourse"].results / "closer-drift.json"
    if not own.exists():
        pytest.skip("a source distribution has no results")
    found = json.loads(own.read_text("utf-8"))["found"]
    text = (DOCS / "explanation" / "what-a-guarantee-says.md").read_text("utf-8")
    for name, key in (("releases of 1978 and of 1980", "all"), ("the same without the follow-up time", "without")):
        assert f"| {name} | {found[key]['auc']:.2f} | {found[key]['p_value']:g} |" in text
    halves = found["halves"]
    assert (len(halves), sum(p < 0.01 for p in halves)) == (20, 1)
    assert f"| {min(halves):g} to {max(halves):g}, one below 0.01 |" in text
    assert "AUC 0.60" in found["weighted, without"]["refused"]
    assert "AUC 1.00" in found["weighted, all"]["refused"]


def test_what_a_guarantee_says_is_what_the_bound_and_the_results_say():
    text = " ".join((DOCS / "explanation" / "what-a-guarantee-says.md").read_text("utf-8").split())
    people = (59, 735, 6000)
    allowed = [allowed_failures(n, miscoverage=0.05, failure=0.05) for n in people]
    shares = [f"{binom.cdf(k, n, 0.05):.1%}" for k, n in zip(allowed, people, strict=True)]
    assert f"| the promise is broken with probability | {' | '.join(shares)} |" in text
    printed = allowed_failures(735, miscoverage=0.05, failure=0.05, bound="printed")
    assert f"with 735 people it allows {printed} failures instead of {allowed[1]}" in text
    page = place("actionable-recourse").read_text("utf-8")
    rows = next(rows for title, _, rows in tables(page) if title.startswith("How often the promise is kept"))
    exact, published = ([float(row[i]) for row in rows] for i in (3, 4))
    assert "the exact bound kept its promise in 95% of them or more" in text
    assert min(exact) >= 0.95
    assert f"the printed one in {min(published):.0%} to {max(published):.0%}" in text


def test_the_wide_network_on_the_theory_page_is_that_of_its_files():
    own = EXPERIMENTS["robustness-tradeoffs"].results
    if not (own / "ntk.json").exists():
        pytest.skip("a source distribution has no results")
    found = json.loads((own / "ntk.json").read_text("utf-8"))
    text = (DOCS / "explanation" / "robustness-and-recourse.md").read_text("utf-8")
    tables_of = ("german_credit", "compas", "adult")

    def told(values, digits=3):
        over = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
        return f"{np.mean(values):.{digits}f}{over}"

    for width in (128, 1024, 8192):
        cells = [told(found[name][f"width {width}"]["rms difference"]) for name in tables_of]
        assert f"| {width:,} | {' | '.join(cells)} |" in text
    for n in (250, 500, 1000, 2000):
        of = [found[name]["landmarks"].get(f"{n} landmarks") for name in tables_of]
        cells = [
            f"{told(part['rms difference'])} ({np.mean(part['share of the kernel left out']):.3f})"
            if part
            else "-"
            for part in of
        ]
        assert f"| {n:,} | {' | '.join(cells)} |" in text
    robust = json.loads((own / "robust-kernel.json").read_text("utf-8"))
    keys = ("accuracy", "under attack", "attacked under the plain model")
    for radius in ("0.02", "0.05", "0.1", "0.2"):
        for rows in ("plain rows", "attacked rows"):
            parts = [robust[name][f"{rows}, radius {radius}"] for name in tables_of]
            cells = [" / ".join(f"{np.mean(part[key]):.2f}" for key in keys) for part in parts]
            assert f"| {rows} | {radius} | {' | '.join(cells)} |" in text
    of_rows = [part for name in tables_of for key, part in robust[name].items() if key.startswith("attacked")]
    assert len(of_rows) == 12
    assert all(np.all(np.greater(part[keys[2]], part[keys[0]])) for part in of_rows), "on every split"
    every = [part[key] for name in tables_of for part in robust[name].values() for key in keys]
    assert "deviations are at most .07" in text
    assert round(max(np.std(values, ddof=1) for values in every), 2) == 0.07


def test_a_wheel_says_where_the_experiments_are(tmp_path):
    """What the wheel has, laid out as pip lays it out, asked in a process of its own."""
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"] == {"packages": ["holdtrue"]}
    there = tmp_path / "site-packages"
    shutil.copytree(ROOT / "holdtrue", there / "holdtrue", ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {"PYTHONPATH": str(there), "PYTHONDONTWRITEBYTECODE": "1"}
    for asked in (["papers"], ["papers", "consistent-counterfactuals", "--quick"]):
        command = [sys.executable, "-m", "holdtrue", *asked]
        told = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert told.returncode == 2, told.stderr
        said = " ".join(told.stderr.split())
        assert "the experiments are not in the installed package" in said
        assert str(there) in said.replace(" ", "")
        assert "They are in the folder 'experiments' of holdtrue's source tree: clone it" in said
        assert "Traceback" not in said


def test_a_folder_of_the_same_name_is_not_taken_for_them(tmp_path):
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "__init__.py").write_text("raise SystemExit('somebody else')", "utf-8")
    told = subprocess.run(
        [sys.executable, "-m", "holdtrue", "papers"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert told.stdout.startswith("consistent-counterfactuals: Black"), told.stderr


def test_theorems_of_splits_on_the_theory_page_are_those_of_their_file():
    found = of_people(EXPERIMENTS["robustness-tradeoffs"].results)
    if not found:
        pytest.skip("a source distribution has no results")
    text = " ".join((DOCS / "explanation" / "robustness-and-recourse.md").read_text("utf-8").split())
    shares = [broken(found[name]["Theorem 5, own distance"]["printed"]) for name in NAMES]
    told = [f"{min(own):.0%} to {max(own):.0%}" for own in shares]
    said = f"false for {told[0]} of cases on German Credit, {told[1]} on COMPAS and {told[2]} on Adult"
    assert said in text
    filled = [v for own in found.values() if isinstance(own, dict) for name in THEOREM_3.values() if name in own
              for v in of_splits(own[name]["printed"], "filled (largest)")]  # fmt: skip
    assert f"above {max(filled):.1%} of Theorem 3's bound" in text
    assert len(found["splits"]) == 5
