"""The site: its navigation has every page, its checks find faults, and what helps to choose says what is so."""

import importlib.util
import inspect
import json
import re
import sys
from types import ModuleType

import pytest
import yaml

import holdtrue as ht
from holdtrue.methods import METHODS

from .conftest import ROOT

DOCS = ROOT / "docs"
CHOOSE = (DOCS / "how-to" / "choose-a-method.md").read_text(encoding="utf-8")
GLOSSARY = (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8")
# The words that HOUSE, the architecture and CONTRIBUTING give to ideas; each has its line.
WORDS = {
    "action", "cost", "factual", "guide", "hold", "judge", "option", "panel", "promise", "quota", "recourse",
    "restriction", "run", "term",
}  # fmt: skip


def load(name: str) -> ModuleType:
    """A module of docs/site, which is not a package."""
    spec = importlib.util.spec_from_file_location(f"site_{name}", DOCS / "site" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    return load("pages")


def rows(text: str) -> list[list[str]]:
    """The cells of the tables of a text, heads and rules left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    rules = {i for i, row in enumerate(cells) if all(set(cell) <= set("-: ") for cell in row)}
    return [row for i, row in enumerate(cells) if i not in rules and i + 1 not in rules]


# ---- the site -------------------------------------------------------------------------------------------


def test_navigation_has_every_page_once(pages):
    every = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert set(pages.listed()) == every
    assert len(pages.listed()) == len(set(pages.listed()))
    trees = re.findall(r"^/(\S+)$", pages._navigation() + pages.toctree(pages.method_pages()), re.M)
    made = {"gallery", "reference/api/index", *(f"project/{name[:-3]}" for name in pages.ABOUT)}
    made |= {f"notebooks/{path.stem}" for path in (DOCS / "notebooks").glob("*.ipynb")}
    assert made <= set(trees)
    assert {f"{place}.md" for place in set(trees) - made} == every - {"index.md"}


def test_llms_txt_has_every_page(pages):
    linked = re.findall(r"\]\(([^)]+)\)", pages.llms())
    assert set(linked) == set(pages.listed()) - {"index.md"}
    assert pages.llms().startswith("# holdtrue\n\n> ")


def test_the_api_has_every_public_name(pages):
    text = "".join(pages.api_pages().values())
    names = [n for n in ht.__all__ if not n.startswith("_") and not inspect.ismodule(getattr(ht, n))]
    assert [n for n in names if f".. holdtrue-public:: holdtrue.{n}\n" not in text] == []


def test_the_gallery_has_every_picture_that_pages_show(pages):
    shown = {place for place, *_ in pages.pictures()}
    files = {f"images/{path.name}" for path in (DOCS / "images").iterdir() if path.suffix in {".png", ".svg"}}
    assert files - shown == {"images/survival.png"}, "README's own"
    assert all(says for _, says, *_ in pages.pictures())


def test_notebooks_are_pages_with_what_they_showed(pages):
    assert {path.name for path in pages.notebooks()} == {p.name for p in (DOCS / "notebooks").glob("*.ipynb")}
    text, drawn = pages.notebook_page(DOCS / "notebooks" / "xgboost_that_holds.ipynb")
    assert text.startswith("# XGBoost that holds\n")
    assert "```python\nplan.plot()\n```" in text
    assert sorted(drawn) == ["xgboost_that_holds-1.png", "xgboost_that_holds-2.png"]
    assert all(picture.startswith(b"\x89PNG") for picture in drawn.values())
    assert ":alt: Every point is a recourse: what it costs, and how many judges accept it.\n" in text
    assert "<caption>Schema of 21 columns" in text
    assert "```text\n44 of 700 are refused.\n```" in text
    assert pages.within("[n](notebooks/a.ipynb)", DOCS / "index.md") == "[n](notebooks/a.md)"


def test_a_sentence_about_an_attribute_stays_whole():
    """What stands before its colon is no type."""
    napoleon = pytest.importorskip("sphinx.ext.napoleon.docstring", reason="pip install 'holdtrue[site]'")
    conf = load("conf")
    said = ["Whether ``a::b`` is so: where the cheapest is looked for,", "and: not else."]
    lines = ["", *said]
    conf.hide_colons(None, "attribute", "holdtrue.x", None, None, lines)
    lines = napoleon.GoogleDocstring(lines, what="attribute", name="holdtrue.x").lines()
    conf.show_colons(None, "attribute", "holdtrue.x", None, None, lines)
    assert " ".join(" ".join(lines).split()) == " ".join(said)


def test_links_stay_on_the_site(pages):
    page = DOCS / "how-to" / "hold.md"
    text = "[a](../../CHANGELOG.md) [b](../../benchmarks/README.txt) [c](serve.md#x)\n```sh\n[d](../../x)\n```\n"
    assert pages.within(text, page) == (
        "[a](../project/CHANGELOG.md) b (`benchmarks/README.txt`) [c](serve.md#x)\n```sh\n[d](../../x)\n```\n"
    )
    text = "[start](docs/index.md) [other](SECURITY.md) [w](https://example.org)"
    assert pages.within(text, ROOT / "CONTRIBUTING.md") == (
        "[start](../index.md) [other](SECURITY.md) [w](https://example.org)"
    )


def test_faults_of_a_site_are_found(tmp_path):
    check = load("check").check
    good = '<html lang="en"><body id="top"><a href="b.html#there">b</a><img src="p.png" alt="a picture"></body>'
    (tmp_path / "a.html").write_text(good)
    (tmp_path / "b.html").write_text(
        '<html lang="en"><p id="there"><a href="a.html">a</a> <a href="https://x.org">x</a>'
    )
    (tmp_path / "p.png").write_bytes(b"")
    assert check(tmp_path) == []
    (tmp_path / "b.html").write_text(
        '<html><a href="c.html">c</a><a href="#no">n</a><script src="//cdn.x/y.js"></script>'
    )
    (tmp_path / "a.html").write_text(good.replace(' alt="a picture"', ""))
    assert check(tmp_path) == [
        "a.html: a picture without words: p.png",
        "a.html: b.html#there has no such place",
        "b.html: the language is not said",
        "b.html: c.html is not there",
        "b.html: #no has no such place",
        "b.html: loads //cdn.x/y.js from elsewhere",
    ]


def test_the_workflow_asks_for_little():
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "site.yml").read_text(encoding="utf-8"))
    assert flow["permissions"] == {}
    assert flow["jobs"]["make"]["permissions"] == {"contents": "read"}
    assert flow["jobs"]["publish"]["permissions"] == {"pages": "write", "id-token": "write"}


# ---- choosing, and words --------------------------------------------------------------------------------

MODELS = {
    "trees, linear, or a small ReLU network": {"layers", "trees"},
    "a network, or linear": {"differentiable"},
    "anything with predictions": set(),
    "predictions, no training rows": set(),
    "one with a recourse head": {"generator"},
}


def fits(method: type, offered: set[str]) -> bool:
    """Whether a method needs just what a kind of model offers, or one of several such things."""
    one_of = set(getattr(method, "needs_one_of", ()))
    return set(method.needs) == offered if not one_of else one_of == offered


def test_the_choice_is_true_to_the_registry():
    choice, _, others = CHOOSE.partition("## The others")
    named = []
    for model, _, take, _ in rows(choice):
        if (found := re.match(r"`(\w+)`", take)) and model in MODELS:
            named.append(found[1])
            assert fits(METHODS[found[1]], MODELS[model]), model
            assert not ("no training rows" in model and METHODS[found[1]].needs_rows)
    assert len(named) == 7
    for _, differentiable, predictions in rows(others):
        for cell, needs in ((differentiable, {"differentiable"}), (predictions, set())):
            for name in re.findall(r"`(\w+)`", cell):
                named.append(name)
                assert fits(METHODS[name], needs), name
    assert sorted(named) == sorted(METHODS), "every method is named once"


def test_the_defaults_are_those_that_the_choice_names():
    assert inspect.signature(ht.recourse).parameters["method"].default == "sparse_search"
    assert inspect.signature(ht.adopt).parameters["method"].default == "sparse_search"
    assert "hold : float or None, default=0.95" in (ht.RecourseClassifier.__doc__ or "")


def test_the_choice_fits_on_one_screen():
    assert len(CHOOSE.partition("## The others")[0].splitlines()) <= 20


def test_the_glossary_has_one_line_for_each_word_and_leads_to_where_it_is_used():
    entries = rows(GLOSSARY)
    words = [row[0].strip("*") for row in entries]
    assert words == sorted(set(words))
    assert set(words) >= WORDS
    for word, _, where in ((row[0].strip("*"), *row[1:]) for row in entries):
        linked = re.findall(r"\]\(([^)#]+)", where)
        texts = [(DOCS / "reference" / place).read_text(encoding="utf-8").lower() for place in linked]
        assert texts
        assert all(re.search(rf"\b{word}", text) for text in texts), word


def test_statuses_and_words_agree():
    """What a status says uses the glossary's words for what is searched."""
    assert "recourse" in GLOSSARY
    assert not [status for status in ht.Status if "counterfactual" in status.message.lower()]


# ---- in a browser ---------------------------------------------------------------------------------------

GOOD = """<!doctype html><html lang="en"><title>t</title><body style="background: #fff; color: #111">
<a href="#x">onward</a> <label>word <input></label> <button>go</button> <p>text</p></body></html>"""
FAULTS = {
    "contrast": ("<p>text</p>", '<p style="color: #bbb">text</p>'),
    "without a name": ("<button>go</button>", "<button></button>"),
    "wider than the screen": ("<p>text</p>", '<p style="width: 3000px">text</p>'),
    "focus cannot be seen": ("<button>", '<button style="outline: none; box-shadow: none">'),
}


def test_every_page_was_looked_at_and_nothing_was_wrong(pages):
    """The outcome that is kept; pages that came later are seen when it is made again, with `make docs`."""
    seen = json.loads((DOCS / "site" / "looked.json").read_text(encoding="utf-8"))
    assert seen["faults"] == []
    assert (sorted(seen["sizes"]), seen["schemes"]) == (["desktop", "phone"], ["light", "dark"])
    listed = {page.removesuffix(".md") for page in pages.listed()}
    assert len(listed & set(seen["pages"])) >= 0.9 * len(listed)
    assert any(name.startswith("reference/api/") for name in seen["pages"])
    assert any(name.startswith("notebooks/") for name in seen["pages"])


def test_a_look_at_the_site_sees_what_readers_trip_over():
    """`docs/site/look.py`, which `make site` and the site's workflow run on the site itself."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed; pip install playwright"
    )
    look = load("look")
    if look.CHROMIUM is None:
        pytest.skip("no chromium on this machine; install it to run this")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=look.CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.set_content(GOOD)
        assert look.faults(page) == []
        for fault, (right, wrong) in FAULTS.items():
            page.set_content(GOOD.replace(right, wrong))
            assert any(said.startswith(fault) for said in look.faults(page)), fault
        browser.close()
