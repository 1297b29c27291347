"""What is in a piece of evidence, computed again by code that shares nothing with the package's."""

import io
import json
import re
import shutil
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError
from holdtrue.handover._archive import packed, write

from . import recompute

SCRIPT = Path(recompute.__file__)


def test_every_number_follows_from_the_tables(file):
    said, own = recompute.numbers(file)
    assert list(recompute.differences(said, own)) == []
    # A number that is wrong is found.
    own["everybody"]["cost"]["median"] += 1e-6
    assert len(list(recompute.differences(said, own))) == 1


def test_who_recomputes_needs_little():
    text = SCRIPT.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 300
    assert not re.search(r"^(import|from) holdtrue", text, re.M)


def test_figures_are_those_of_the_plan(made, clf, people, level):
    figures, table = made.figures, made.tables["people"].to_pandas()
    assert figures["everybody"]["refused"]["k"] == int((clf.predict(people[0]) == 0).sum())
    accuracy = figures["everybody"]["performance"]["accuracy"]
    assert accuracy["share"] == pytest.approx((clf.predict(people[0]) == np.asarray(people[1])).mean())
    rows = table.index[table.asked]
    assert len(rows) == 40
    plan = clf.recourse(people[0].iloc[rows], hold=level)
    assert figures["everybody"]["found"]["k"] == int(plan.found.sum())
    assert figures["everybody"]["cost"]["value"] == pytest.approx(plan.cost[plan.found].mean())
    assert figures["everybody"]["survival"]["value"] == pytest.approx(plan.held.survival[plan.found].mean())
    assert figures["everybody"]["holds"]["k"] == int(plan.held.holds.sum())


def test_groups_are_the_columns_that_were_asked_for(made, people):
    groups = made.figures["groups"]
    assert set(groups) == {"male", "loanprc"}
    assert list(groups["loanprc"]) == ["0.7 to below 0.9", "0.9 or more", "below 0.7"]
    assert groups["male"]["1"]["measures"]["people"] == int((people[0].male == 1).sum())
    off = groups["male"]["1"]["difference"]["refused"]
    shares = [groups["male"][k]["measures"]["refused"]["share"] for k in ("1", "0")]
    assert off["value"] == pytest.approx(shares[0] - shares[1])
    assert off["lower"] < off["value"] < off["upper"]


def test_the_page_has_groups_by_size(made):
    page = made.html()
    places = [page.index(f"loanprc: {label}") for label in ("below 0.7", "0.7 to below 0.9", "0.9 or more")]
    assert places == sorted(places)


def test_a_group_that_is_no_column_is_told_before_anybody_is_searched_for(clf, people, monkeypatch):
    X, y = people[0], people[1]
    monkeypatch.setattr(type(clf), "recourse", lambda *_, **__: pytest.fail("searched first"))
    with pytest.raises(DataError, match="is not a column of the people's table; got 'mal'"):
        ht.evidence(clf, X, y, groups=["mal"])


def test_without_being_asked_groups_are_the_protected_columns(clf, people):
    found = ht.evidence(clf, people[0], n_people=5, n_reasons=2)
    assert set(found.figures["groups"]) == {"black", "hispan", "male", "married"} & set(people[0])
    assert found.figures["everybody"]["performance"] is None
    assert found.figures["ledger"] is None
    assert any("No labels" in text for text in found.limits)
    with pytest.raises(DataError, match="`group` is not a column"):
        ht.evidence(clf, people[0], groups=["sex"])
    with pytest.raises(DataError, match="`y` must have a label"):
        ht.evidence(clf, people[0], [7] * len(people[0]))
    with pytest.raises(CapabilityError, match="fitted RecourseClassifier"):
        ht.evidence(object(), people[0])


def test_promises_are_counted_by_where_they_stand(made, ledger):
    of = made.figures["ledger"]
    assert of["states"] == {"expired": 1, "forgotten": 1, "fulfilled": 3, "live": 6, "superseded": 1}
    counts = ledger.counts()
    assert (of["fulfilled_and_kept"]["k"], of["fulfilled_and_kept"]["n"]) == (counts["kept"], 3)
    assert of["promised"] == 12
    assert of["chain_follows"]
    assert of["gate"]["broken"]["n"] == 6
    assert of["gate"]["broken"]["k"] == 0  # the model that promised keeps what it promised
    first, second = of["gates"].values()
    assert (first["ok"], second["ok"]) == (False, True)
    assert (first["broken"]["n"], second["broken"]["n"], second["broken"]["k"]) == (6, 6, 0)
    assert second["model"] == made.given["model"]["sha256"] != first["model"]
    assert "Gates that were written down" in made.html()
    assert not any("no gate" in text for text in made.limits)


def test_a_chain_that_was_changed_does_not_follow(made):
    from holdtrue.handover._figures import figures_of

    events = made.tables["ledger"]
    public = events.column("public").to_pylist()
    public[0] = public[0].replace("holding", "other")
    assert public[0] != events.column("public").to_pylist()[0]
    at = events.column_names.index("public")
    tables = made.tables | {"ledger": events.set_column(at, "public", [public])}
    assert not figures_of(tables, made.given)["ledger"]["chain_follows"]


def test_the_certificate_is_checked_and_counted_again(made, clf):
    assert made.given["certificate"]["sha256"] == clf.certificate_.to_dict()["sha256"]
    assert made.given["certificate_check"]["ok"]
    of = made.figures["certificate"]
    assert (of["n"], of["failures"], of["allowed"]) == (200, clf.certificate_.failures, clf.certificate_.k)


def test_reasons_add_up_and_are_held_against_guides(made):
    of = made.figures["reasons"]
    assert of["people"] == 30
    assert of["largest_remainder"] < 1e-6
    assert of["agreement"]["lower"] <= of["agreement"]["value"] <= of["agreement"]["upper"]
    assert of["contributions"]["male"]["protected"]
    assert not {"male", "black"} & set(of["each"])


def test_no_column_of_a_person_is_in_it_but_the_groups(file, people):
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            if name.endswith(".parquet"):
                columns = pq.read_table(io.BytesIO(archive.read(name))).column_names
                assert not set(columns) & set(people[0].columns)
        text = archive.read("evidence.json").decode()
    assert "person 1" not in text


def test_versions_of_what_read_the_model_are_listed(made):
    """Of what is installed: figures of a model made elsewhere follow from its own library too."""
    told = made.given["software"]
    installed = {re.sub(r"[-_.]+", "-", d.metadata["Name"]).lower(): d.version for d in distributions()}
    readers = {"xgboost", "xgboost-cpu", "lightgbm", "catboost", "onnxruntime", "skops", "torch", "llvmlite"}
    assert {name: version for name, version in told.items() if name in readers} == {
        name: version for name, version in installed.items() if name in readers
    }
    assert told["numpy"] == np.__version__


def test_the_page_needs_nothing_from_elsewhere(made):
    page = made.html()
    assert not re.search(r"https?:|src=|<script|@import|url\(|<link", page)
    assert "Limits and known weaknesses" in page
    assert "Trained for a test." in page
    for text in made.limits:
        assert text.split("'")[0].split("<")[0][:40] in page


WIDTH, HEIGHT = 687, 1001  # A4 without its margins, 182 by 265 mm, in points of a screen


@pytest.fixture
def printed(made, tmp_path):
    """The page as it goes to paper: in a browser at the width of a sheet, and the sheets as a PDF."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed; pip install playwright"
    )
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium on this machine; install it to run this")
    place = tmp_path / "evidence.html"
    place.write_text(made.html(), encoding="utf-8")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})
        page.emulate_media(media="print")
        page.goto(place.as_uri())
        yield page, page.pdf(prefer_css_page_size=True)
        browser.close()


def test_the_page_fits_a_printed_sheet(printed):
    """What is wider than the sheet is printed smaller, all of it."""
    page, _ = printed
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTH
    tables = page.evaluate(
        "[...document.querySelectorAll('table, svg, pre')].map((e) => e.getBoundingClientRect().right)"
    )
    assert len(tables) >= 10
    assert max(tables) <= WIDTH


def test_the_sheets_are_full(printed):
    """What must not be torn apart may leave a part of a sheet empty: a quarter of them at most."""
    page, pdf = printed
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    n = len(re.findall(rb"/Type /Page\b", pdf))
    assert {(round(float(w)), round(float(h))) for w, h in boxes} == {(595, 842)}  # A4, in points of print
    least = page.evaluate("document.documentElement.scrollHeight") / HEIGHT
    assert least <= n <= np.ceil(1.25 * least)


def test_what_people_write_is_no_markup(clf, people):
    page = ht.evidence(clf, people[0], n_people=2, n_reasons=1, notes=["<b>bold</b>"], command="<i>").html()
    assert "<b>bold" not in page
    assert "<i>&lt;" not in page
    assert "&lt;b&gt;bold" in page


def test_the_same_inputs_give_the_same_bytes(made, clf, people, level, inputs, tmp_path):
    again = ht.evidence(
        clf, *people, **inputs, level=level, groups={"male": None, "loanprc": [0.7, 0.9]}, n_people=40,
        n_reasons=30, notes=["Trained for a test."], made="2026-11-18",
    )  # fmt: skip
    assert packed(again.members()).to_bytes() == packed(made.members()).to_bytes()


def test_evidence_is_read_back(made, file):
    again = ht.Evidence.load(file)
    assert again.to_dict() == made.to_dict()
    assert json.loads(json.dumps(again.to_dict())) == again.to_dict()
    assert "40 asked about" in str(again)


# ---- checking ---------------------------------------------------------------------------------------


def test_it_holds_against_its_inputs(file, clf, people, inputs):
    found = ht.verify_evidence(file, clf, *people, **inputs)
    assert found.ok, str(found)
    assert found.unchecked == []
    assert {f.what for f in found.findings} >= {"figures, made again", "table of people, made again", "rows"}


def test_other_people_are_noticed(file, clf, people, inputs):
    other = people[0].copy()
    other.iloc[0, other.columns.get_loc("hrat")] += 5.0
    found = ht.verify_evidence(file, clf, other, people[1], **inputs)
    assert not found.ok
    assert not next(f for f in found.findings if f.what == "rows").ok


def test_a_ledger_that_went_on_is_read_up_to_then(file, clf, people, inputs, ledger):
    live = ledger.recent(1)[0]
    ledger.fulfil(live.id, decision=live.record.target)
    found = ht.verify_evidence(file, clf, *people, **inputs)
    assert found.ok, str(found)
    assert found.unchecked == ["what the model would break, since the ledger has gone on"]


def test_a_figure_that_was_changed_with_its_digests_is_noticed(file, made, tmp_path):
    members = made.members()
    members["evidence.json"] = members["evidence.json"].replace(b'"asked": 40', b'"asked": 41')
    write(packed(members), tmp_path / "other.zip")
    found = ht.verify_evidence(tmp_path / "other.zip")
    assert not found.ok
    assert "FAIL evidence.json from the tables: differs" in str(found)
    assert found.digest != ht.verify_evidence(file).digest


def test_means_of_nobody(clf, people):
    """A group without anybody refused has figures too: none."""
    accepted = people[0][clf.predict(people[0]) == 1][:40]
    found = ht.evidence(clf, accepted, groups=["male"])
    assert found.figures["everybody"]["found"]["share"] is None
    assert found.figures["reasons"] is None
    assert "<html" in found.html()
    assert np.isfinite(pd.Series(found.figures["everybody"]["refused"])).all()


# ---- proofs that there is none ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def savers():
    """Savings count and years count; savings may only grow, and end at 10."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"savings": rng.uniform(0, 10, 400).round(1), "age": rng.integers(20, 70, 400)})
    good = (table.savings + 0.5 * (table.age - 45) > 7).astype(int)
    schema = ht.Schema(
        [
            ht.Feature(name="savings", kind="numeric", bounds=(0, 10), direction="increase"),
            ht.Feature(name="age", kind="numeric", bounds=(18, 90), direction="fixed"),
        ]
    )
    return table, good, schema


def evidence_of(savers, method):
    table, good, schema = savers
    clf = ht.RecourseClassifier(
        schema=schema, model=ht.Linear(), regime=ht.StandardTraining(n_epochs=150), method=method, random_state=0
    ).fit(table, good)
    # Two have nothing left to change, three may save more but never enough, four need a little more.
    asked = pd.DataFrame({"savings": [10.0] * 2 + [0.0] * 3 + [4.0] * 4, "age": [20] * 2 + [20] * 3 + [45] * 4})
    assert (clf.predict(asked) == 0).all()
    assert (clf.predict(pd.DataFrame({"savings": [10.0, 10.0], "age": [20, 45]})) == [0, 1]).all()
    return ht.evidence(clf, asked)


def counts_of(found):
    return {name: found.figures["everybody"][name]["k"] for name in ("found", "proved_none", "open")}


def test_who_may_change_nothing_is_proved_to_have_no_recourse(savers, tmp_path):
    """A search that proves nothing of others: two of nine have nothing to change, and three stay open."""
    found = evidence_of(savers, ht.Wachter(n_steps=60, random_state=0))
    assert counts_of(found) == {"found": 4, "proved_none": 2, "open": 3}
    table = found.tables["people"].to_pandas()
    assert table.proved_none.tolist() == [True] * 2 + [False] * 7
    assert table.status.tolist() == ["INFEASIBLE"] * 2 + ["NOT_FOUND"] * 3 + ["FOUND"] * 4
    assert "22.2%" in found.html()
    assert any("3 people nothing was found and nothing is proved" in text for text in found.limits)
    found.save(tmp_path / "evidence.zip")
    said, own = recompute.numbers(tmp_path / "evidence.zip")
    assert own["everybody"]["proved_none"]["k"] == 2
    assert list(recompute.differences(said, own)) == []


def test_a_proof_of_the_search_counts(savers):
    found = evidence_of(savers, ht.Flipset())
    assert counts_of(found) == {"found": 4, "proved_none": 5, "open": 0}
    assert not any("nothing is proved" in text for text in found.limits)


def test_the_end_of_a_list_is_no_proof(savers):
    """All listed values of one column were tried in vain: of values between them nothing is known."""
    found = evidence_of(savers, ht.SparseSearch(max_changes=1, n_values=3, random_state=0))
    assert found.tables["people"].to_pandas().status.tolist()[:5] == ["INFEASIBLE"] * 5
    assert counts_of(found) == {"found": 4, "proved_none": 2, "open": 3}
