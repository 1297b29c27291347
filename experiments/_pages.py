"""The pages of the papers: text by hand; between marks, what stands of the paper and tables of what was found."""

from pathlib import Path

from experiments._registry import experiment

DOCS = Path(__file__).parents[1] / "docs"
IMAGES = DOCS / "images"
BEGIN, END = "<!-- tables: made by python -m experiments -->", "<!-- end of tables -->"
STANDS, STOOD = "<!-- what stands: made by python -m experiments -->", "<!-- end of what stands -->"
SHORT, SHOWN = "<!-- table {}: made by python -m experiments -->", "<!-- end of table {} -->"
ITEMS, LISTED = "<!-- items: made by python -m experiments -->", "<!-- end of items -->"


def place(paper: str) -> Path:
    """Where the page of a paper lies."""
    return DOCS / "papers" / f"{paper}.md"


def page(paper: str) -> str:
    """The page of a paper, with the tables of what is committed."""
    own = experiment(paper)
    results = own.committed()
    text = place(paper).read_text(encoding="utf-8")
    standing = own.standing(results)
    text = _between(text, STANDS, STOOD, f"{standing.brief()}\n")
    text = _between(text, ITEMS, LISTED, f"{standing.whole()}\n")
    for name, made in own.short(results).items():
        text = _between(text, SHORT.format(name), SHOWN.format(name), f"{made}\n")
    return _between(text, BEGIN, END, own.markdown(results) + own.further())


def _between(text: str, begin: str, end: str, made: str) -> str:
    """A page with something else between two of its marks."""
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{made}\n{end}{rest.split(end)[1]}"


def write(paper: str) -> None:
    """Write the page of a paper, and draw its pictures."""
    place(paper).write_text(page(paper), encoding="utf-8")
    own = experiment(paper)
    own.draw(own.committed(), IMAGES)
