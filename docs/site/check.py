"""What is wrong with a site: links that lead nowhere, things loaded from elsewhere, pictures without words."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page refers to, the places in it that can be referred to, and what readers would miss."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.faults: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one tag."""
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon"):
            self.loads.append(given["href"])
        elif "src" in given:
            self.loads.append(given["src"])
        if tag == "img" and not given.get("alt", "").strip():
            self.faults.append(f"a picture without words: {given.get('src')}")
        if tag == "html" and not given.get("lang"):
            self.faults.append("the language is not said")


def check(folder: Path) -> list[str]:
    """What is wrong with a site: links that lead nowhere, things loaded from elsewhere, pictures without words."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    wrong = []
    for path, page in pages.items():
        here = path.relative_to(folder)
        wrong += [f"{here}: {fault}" for fault in page.faults]
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    wrong.append(f"{here}: loads {link} from elsewhere")
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            goal = goal / "index.html" if goal.is_dir() else goal
            if not goal.is_file():
                wrong.append(f"{here}: {link} is not there")
            elif parts.fragment and goal.suffix == ".html" and unquote(parts.fragment) not in pages[goal].ids:
                wrong.append(f"{here}: {link} has no such place")
    return wrong
