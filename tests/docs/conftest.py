"""Pages of the documentation, and the code blocks in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

# An html comment on the line before a block says how the test treats it:
#   <!-- not run -->        leave it alone
#   <!-- file: name.py -->  write it to this file in the page's folder, where later blocks can import it
#   <!-- run -->            before a sh block: holdtrue commands, one a line, that must succeed
#   <!-- prints -->         before a text block: what the python block above must have printed
BLOCK = re.compile(r"(?:^<!-- (?P<note>[^\n]*?) -->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    note: str
    code: str


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code")) + 1
        yield Block(page, line, match["language"], (match["note"] or "").strip(), match["code"])


def title(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def registries() -> Iterator[None]:
    """Pages may register methods and datasets; other tests must not see them."""
    from holdtrue.datasets import _registry
    from holdtrue.methods import METHODS
    from holdtrue.models import ARCHITECTURES
    from holdtrue.training import REGIMES

    kept = [(registry, dict(registry)) for registry in (METHODS, REGIMES, ARCHITECTURES, _registry._SPECS)]
    yield
    for registry, before in kept:
        registry.clear()
        registry.update(before)  # type: ignore[arg-type]
