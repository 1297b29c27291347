"""Every page: its code runs, its links lead somewhere, and it names no machine."""

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import holdtrue as ht
from holdtrue.cli import cli

from .conftest import PAGES, ROOT, blocks, title

RUN = [
    page
    for page in PAGES
    if any((b.language == "python" and b.note != "not run") or b.note == "run" for b in blocks(page))
]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
MANY, FEW = 100, 5  # retrainings
FEWER = {"n_rows": 200, "n_candidates": 64}


@pytest.fixture
def smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages do what a reader would; less of everything that takes time shows as well that their code runs."""
    retrain, neighbour = ht.retrain, ht.NearestNeighbour
    monkeypatch.setitem(ht.HighestScore.__init__.__kwdefaults__, "n_steps", 1)  # the certificate's search
    monkeypatch.setattr(
        ht, "retrain", lambda *what, n=MANY, **how: retrain(*what, n=FEW if n == MANY else n, **how)
    )
    monkeypatch.setattr(ht, "NearestNeighbour", lambda **settings: neighbour(**FEWER | settings))


@pytest.mark.parametrize("page", RUN, ids=title)
@pytest.mark.usefixtures("registries", "smaller")
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    before = set(sys.modules)
    try:
        for block in blocks(page):
            if block.note.startswith("file: "):
                Path(block.note.removeprefix("file: ")).write_text(block.code, encoding="utf-8")
            elif block.note == "prints":
                assert printed.split() == block.code.split(), f"{title(page)}:{block.line} prints {printed!r}"
            elif block.note == "run":
                for line in block.code.splitlines():
                    command(line)
            elif block.language == "python" and block.note != "not run":
                code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(code, namespace)
                printed = out.getvalue()
    finally:
        for name in set(sys.modules) - before:
            if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
                del sys.modules[name]


def command(line: str) -> None:
    """Run a command of a page in this process."""
    name, *args = shlex.split(line)
    assert name == "holdtrue", line
    result = CliRunner().invoke(cli, args, prog_name=name)
    assert result.exit_code == 0, f"{line}\n{result.output}"


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_links_resolve(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page
        assert goal.exists(), f"{title(page)} links to {target}, which is not there"
        if anchor and goal.suffix == ".md":
            assert anchor in anchors(goal), (
                f"{title(page)} links to {target}; headings are {sorted(anchors(goal))}"
            )


def anchors(page: Path) -> set[str]:
    """Anchors as GitHub makes them of headings."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.*)$", text, re.M)
    plain = (re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_no_machine_is_named(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.findall(r"(?<![\w.~])/(?:home|root|work|tmp|Users|mnt|opt)/", text)


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_page_is_well_formed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# "), "a page begins with its title"
    assert text.count("```") % 2 == 0
    assert text.endswith("\n")
    assert not re.findall(r"[ \t]+$", text, re.M), "space at the end of a line"
    prose = FENCE.sub("", text)
    long = [line for line in prose.splitlines() if len(line) > 120 and not line.startswith(("|", "![", "- ["))]
    assert not long, long[:1]


def test_every_page_is_on_the_map() -> None:
    maps = [ROOT / "docs" / "index.md", ROOT / "docs" / "reference" / "methods.md"]
    linked = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in maps
        for target in LINK.findall(page.read_text(encoding="utf-8"))
    }
    pages = {p for p in PAGES if (ROOT / "docs") in p.parents and p != maps[0]}
    assert not {title(p) for p in pages - linked}


@pytest.mark.parametrize("image", sorted((ROOT / "docs" / "images").glob("*.[sp][vn]g")), ids=lambda p: p.name)
def test_images_are_small_and_used(image: Path) -> None:
    assert image.stat().st_size < 200_000
    assert any(image.name in page.read_text(encoding="utf-8") for page in PAGES)
