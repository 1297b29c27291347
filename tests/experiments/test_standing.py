"""What stands of a paper: what counts as met, and how parts of a run are put together."""

import json

import pytest

from experiments import EXPERIMENTS
from experiments._standing import OTHER, Item, Standing, claimed, compared
from experiments.robustness_tradeoffs.__main__ import merge, merge_folders
from experiments.rocoursenet._result import OfSeed
from experiments.rocoursenet._tables import forward
from holdtrue.errors import DataError

TWO = {"a": (0.50, 0.52), "b": (0.80, 0.60)}


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ({"within": 0.05}, "met on 1 of 2, not on b"),
        ({"within": 0.05, "better": "higher"}, "met"),
        ({"within": 0.01, "better": "lower"}, "met on 1 of 2, not on b"),
        ({"within": 0.01}, "missed"),
        ({"within": 0.35, "relative": True}, "met"),
        ({"within": 0.05, "other": "another search"}, f"{OTHER}: another search"),
    ],
)
def test_an_item_is_met_where_it_is_near_the_print_or_beyond_it_as_wanted(options, verdict):
    item = compared("Table 1", TWO, 5, **options)
    assert (item.ours, item.printed, item.seeds, item.verdict) == ("0.50 · 0.80", "0.52 · 0.60", "5", verdict)


def test_what_lacks_a_figure_is_shown_and_not_judged():
    item = compared("Table 1", TWO | {"c": (0.1, None)}, 5, within=0.3)
    assert item.verdict == "met"
    assert item.printed.endswith(" · -")


def test_a_claim_is_met_where_it_is_found():
    item = claimed("Figure 1", {"a": "1 → 2", "b": "2 → 1"}, "rises", 3, lambda name: name == "a")
    assert item.verdict == "met on 1 of 2, not on b"
    assert "Of 1 items 1 is met on some of the datasets." in Standing("Read so.", [item], ["Figure 1"]).brief()


def test_every_item_is_counted_once():
    verdicts = ["met", "met", "met on 1 of 3", "missed", f"{OTHER}: another search", "beside Table 2", "missed"]
    items = [Item(f"Table {i}", "0.5", "0.6", "3", verdict) for i, verdict in enumerate(verdicts)]
    told = Standing("Read so.", items, ["Table 1"]).brief()
    assert " ".join(told.split()).startswith(
        "Read so. Of 7 items 2 are met, 1 is met on some of the datasets, 2 are missed, "
        f"1 is {OTHER} and 1 has nothing to be held against."
    )
    assert "| Table 1 |" in told
    assert "| Table 2 |" not in told
    assert Standing("Read so.", items, []).whole().count("| Table") == 7


def test_what_comes_first_is_named_so_that_one_item_is_meant():
    items = [Item(name, "0.5", "0.6", "3", "met") for name in ("Table 1, l1", "Table 1, l1 + SNS")]
    assert "+ SNS" not in Standing("", items, ["Table 1, l1"]).brief()
    with pytest.raises(DataError, match="2 items of the table of what stands begin with a name"):
        Standing("", items, ["Table 1"]).brief()


@pytest.mark.parametrize("paper", EXPERIMENTS)
def test_every_page_begins_with_what_stands(paper):
    own = EXPERIMENTS[paper]
    if not own.results.is_dir():
        pytest.skip("a source distribution has no results")
    standing = own.standing(own.committed())
    assert 5 <= len(standing.first) <= 8
    assert len(standing.brief().splitlines()) <= 16
    rows = [line for line in standing.whole().splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len(standing.items) >= 10
    verdicts = [row.split(" | ")[-1].removesuffix(" |") for row in rows]
    assert all(v.startswith(("met", "missed", OTHER, "beside", "nothing")) for v in verdicts), verdicts


def test_forward_in_time_is_the_matrix_above_its_diagonal():
    own = {"validity": 1.0, "validity_std": 0.0, "robust": 0.5, "robust_std": 0.0, "proximity": 1.0}
    more = {"proximity_std": 0.0, "found": 1.0, "towards": {"0": 1.0, "1": 1.0}, "patterns": 1.0, "inside": 1.0}
    seed = OfSeed(**own, **more, matrix=[[1.0, 0.9, 0.7], [0.1, 1.0, 0.8], [0.2, 0.3, 1.0]])
    later, earlier = forward([seed])
    assert later == pytest.approx([0.8])
    assert earlier == pytest.approx([0.2])


def part(**figures):
    known = {"dataset": "german", "title": "German Credit", "seconds": {}, "radii": [0.0], "n_splits": 3}
    more = {"n_train": 800, "n_columns": 61, "n_fixed_columns": 7, "collapse": {"linf": [0.1]}, "models": {}}
    return known | more | figures


def test_parts_of_the_trade_offs_are_put_together(tmp_path):
    folders = [tmp_path / name for name in ("one", "two", "results")]
    for folder in folders:
        folder.mkdir()
    first = part(seconds={"training": 1.0}, n_splits=10, sizes={"small": {}})
    (folders[0] / "german.json").write_text(json.dumps(first), "utf-8")
    (folders[1] / "german.json").write_text(json.dumps(part(seconds={"kernel": 2.0}, kernel={"NTK": {}})), "utf-8")
    (written, again) = merge_folders(folders[:2], folders[2])
    assert written == again == folders[2] / "german.json"
    kept = json.loads(written.read_text("utf-8"))
    assert kept["sizes"] == {"small": {}}
    assert kept["kernel"] == {"NTK": {}}
    assert kept["seconds"] == {"training": 1.0, "kernel": 2.0}
    assert kept["n_splits"] == 10
    with pytest.raises(DataError, match="`n_train` of 'german' differs; got 800 and 700"):
        merge(part(), part(n_train=700))
