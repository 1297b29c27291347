"""Make the site: ``python docs/site/make.py [FOLDER]`` (``make site``). Every warning is an error.

The site is a folder of files that any web server can show, or a browser from the disk. Its links are followed, and
it loads nothing from elsewhere.
"""

import logging
import shutil
import sys
import time
from pathlib import Path

from check import check
from pages import DOCS, ROOT, assemble, listed, llms, notebooks, within
from sphinx.application import Sphinx


def main() -> None:
    """Assemble, build, check."""
    began = time.monotonic()
    logging.getLogger("alembic").setLevel(logging.WARNING)  # tells of its plugins when it is imported
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    source, html = out.resolve() / "source", out.resolve() / "html"
    assemble(source)
    app = Sphinx(
        str(source), str(Path(__file__).parent), str(html), str(out.resolve() / "doctrees"), "html",
        warningiserror=True, status=None,
    )  # fmt: skip
    app.build()
    if app.statuscode:
        sys.exit(app.statuscode)
    (html / "llms.txt").write_text(llms(), encoding="utf-8")
    for page in listed():
        place = html / page
        place.write_text(within((DOCS / page).read_text(encoding="utf-8"), DOCS / page), encoding="utf-8")
    for path in notebooks():
        place = html / "notebooks" / f"{path.stem}.md"
        shutil.copy(source / "notebooks" / place.name, place)
    wrong = check(html)
    if wrong:
        sys.exit("\n".join(["The site has faults:", *wrong]))
    n = len(list(html.rglob("*.html")))
    print(f"{n} pages in {html}, {time.monotonic() - began:.0f} s; start at index.html.")


if __name__ == "__main__":
    main()
