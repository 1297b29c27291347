"""The pages of the papers: text by hand, tables of committed results between two marks."""

from pathlib import Path

from experiments._registry import experiment

DOCS = Path(__file__).parents[1] / "docs"
IMAGES = DOCS / "images"
BEGIN, END = "<!-- tables: made by python -m experiments -->", "<!-- end of tables -->"


def place(paper: str) -> Path:
    """Where the page of a paper lies."""
    return DOCS / "papers" / f"{paper}.md"


def page(paper: str) -> str:
    """The page of a paper, with the tables of what is committed."""
    before, rest = place(paper).read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    own = experiment(paper)
    return f"{before}{BEGIN}\n\n{own.markdown(own.committed())}\n{END}{after}"


def write(paper: str) -> None:
    """Write the page of a paper, and draw its pictures."""
    place(paper).write_text(page(paper), encoding="utf-8")
    own = experiment(paper)
    own.draw(own.committed(), IMAGES)
