"""The pages of the site: those of `docs/`, in the order of its map, and what is made from them and from the code.

Nothing is written by hand for the site alone: navigation and `llms.txt` come from the map (docs/index.md), the
gallery from the pictures of the pages, the API reference from the list of public names and their docstrings.
"""

import ast
import base64
import json
import posixpath
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ABOUT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages of the project that the site has too, in its folder `project`."""
PART = re.compile(r"^\*\*(?P<name>[^*]+)\*\*: ?(?P<when>.*)$", re.M)
ENTRY = re.compile(r"^- (?P<links>\[.*?\]\([^)]+\).*(?:\n  .*)*)", re.M)
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
METHODS = "reference/methods.md"


@dataclass(frozen=True)
class Entry:
    """A page on the map: its place in `docs/`, and what the map says of it."""

    page: str
    name: str
    says: str


def parts(text: str | None = None) -> dict[str, list[Entry]]:
    """The map: each of its parts with its pages, in order."""
    text = (DOCS / "index.md").read_text(encoding="utf-8") if text is None else text
    found = list(PART.finditer(text))
    ends = [*(match.start() for match in found[1:]), len(text)]
    return {
        match["name"]: [
            entry for line in ENTRY.finditer(text, match.end(), end) for entry in _entries(line["links"])
        ]
        for match, end in zip(found, ends, strict=True)
    }


def _entries(line: str) -> Iterator[Entry]:
    line = " ".join(line.split())
    says = LINK.sub(lambda link: link["text"], line).partition(": ")[2]
    for link in LINK.finditer(line):
        if link["target"].endswith(".md"):
            yield Entry(link["target"], link["text"], says)


def method_pages() -> list[str]:
    """Pages of single methods, which the methods' page links to."""
    return sorted(path.relative_to(DOCS).as_posix() for path in (DOCS / "reference" / "methods").glob("*.md"))


def listed() -> list[str]:
    """Every page of `docs/` that the navigation has."""
    return ["index.md", *(entry.page for entries in parts().values() for entry in entries), *method_pages()]


# ---- links that leave docs/ ---------------------------------------------------------------------------


def within(text: str, page: Path) -> str:
    """A page whose links stay on the site: to pages of the project there, to other files not at all, by name."""

    def one(link: re.Match[str]) -> str:
        target, hash_, anchor = link["target"].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return link[0]
        goal = Path(posixpath.normpath((page.parent / target).as_posix())).relative_to(ROOT)
        place = goal.relative_to("docs") if goal.parts[0] == "docs" and goal.suffix != ".py" else None
        if place is not None and place.suffix == ".ipynb":
            place = place.with_suffix(".md")  # shown as a page
        if place is None and goal.name in ABOUT:
            place = Path("project") / goal.name
        if place is None and goal.as_posix() == "README.md":
            place = Path("index.md")
        if place is None:
            return link["text"] if goal.as_posix() in link["text"] else f"{link['text']} (`{goal.as_posix()}`)"
        here = page.relative_to(DOCS).parent if DOCS in page.parents else Path("project")
        way = posixpath.relpath(place.as_posix(), here.as_posix())
        return f"{link['image']}[{link['text']}]({way}{hash_}{anchor})"

    spans = [match.span() for match in FENCE.finditer(text)]
    out, at = [], 0
    for start, end in [*spans, (len(text), len(text))]:
        out += [LINK.sub(one, text[at:start]), text[start:end]]
        at = end
    return "".join(out)


# ---- what is made ----------------------------------------------------------------------------------------


def toctree(pages: list[str], caption: str | None = None, *, depth: int = 1, hidden: bool = True) -> str:
    """A piece of the navigation."""
    options = [
        f":maxdepth: {depth}",
        *([":hidden:"] if hidden else []),
        *([f":caption: {caption}"] if caption else []),
    ]
    lines = "\n".join([*options, "", *(f"/{page.removesuffix('.md')}" for page in pages)])
    return f"\n```{{toctree}}\n{lines}\n```\n"


def pictures() -> list[tuple[str, str, str, str]]:
    """Every picture of the pages, once: its file, what it shows, the page that explains it, that page's title."""
    out, seen = [], set()
    for page in listed():
        text = FENCE.sub("", (DOCS / page).read_text(encoding="utf-8"))
        title = text.partition("\n")[0].removeprefix("# ")
        for link in LINK.finditer(text):
            place = posixpath.normpath(posixpath.join(posixpath.dirname(page), link["target"]))
            if link["image"] and place not in seen:
                seen.add(place)
                out.append((place, " ".join(link["text"].split()), page, title))
    return out


def gallery() -> str:
    """The page of all pictures."""
    figures = [
        f"```{{figure}} /{place}\n:alt: {shows}\n:figclass: gallery\n:target: {page.removesuffix('.md')}.html\n\n"
        f"{shows}: [{title}]({page})\n```\n"
        for place, shows, page, title in pictures()
    ]
    return "# Gallery\n\nEvery picture of these pages; each leads to the page that explains it.\n\n" + "\n".join(
        figures
    )


def notebooks() -> list[Path]:
    """The notebooks that the map has, in its order."""
    links = LINK.finditer((DOCS / "index.md").read_text(encoding="utf-8"))
    return [DOCS / link["target"] for link in links if link["target"].endswith(".ipynb")]


def notebook_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook as a page: its text, its code and what running it showed; and its pictures by name."""
    blocks: list[str] = []
    drawn: dict[str, bytes] = {}
    said = ""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            said = " ".join(source.split())
            blocks.append(source)
            if len(blocks) == 1:
                blocks.append(f"As it ran, with what it showed. [The notebook]({path.name}) to run it.")
            continue
        blocks.append(f"```python\n{source}\n```")
        blocks += [_output(output, path.stem, said, drawn) for output in cell["outputs"]]
    return "\n\n".join(blocks) + "\n", drawn


def _output(output: dict[str, Any], stem: str, said: str, drawn: dict[str, bytes]) -> str:
    """What a notebook shows below a cell: a picture, a table, or words."""
    data = output.get("data", {})
    if "image/png" in data:
        name = f"{stem}-{len(drawn) + 1}.png"
        drawn[name] = base64.b64decode("".join(data["image/png"]))
        return f"```{{image}} {name}\n:alt: {said}\n```"
    if "text/html" in data:
        html = "".join(data["text/html"])
        shown = f'<div class="shown" tabindex="0" role="group" aria-label="Shown">\n{html}\n</div>'
        return f"````{{raw}} html\n{shown}\n````"
    text = "".join(output.get("text", data.get("text/plain", ""))).rstrip()
    return f"```text\n{text}\n```"


def public_names() -> dict[str, list[str]]:
    """Module to the public names that it gives, in the order of `holdtrue/__init__.pyi`, the one list."""
    tree = ast.parse((ROOT / "holdtrue" / "__init__.pyi").read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module not in (None, "holdtrue", "holdtrue._version"):
            found.setdefault(str(node.module), []).extend(alias.name for alias in node.names)
    return found


BASES = {"holdtrue.methods": ["AbstractMethod"], "holdtrue.classifier": ["AbstractClassifier"]}
"""Not public by name, but where what all of them have is described."""


def api_pages() -> dict[str, str]:
    """Place to text of the API reference: a page for each module that gives public names."""
    out = {}
    for module, names in public_names().items():
        short = module.removeprefix("holdtrue.")
        items = [f"{module}.{name}" for name in BASES.get(module, [])] + [f"holdtrue.{name}" for name in names]
        body = "\n".join(f".. holdtrue-public:: {item}\n" for item in items)
        out[f"reference/api/{short}.md"] = (
            f"# {module}\n\n```{{eval-rst}}\n.. automodule:: {module}\n\n{body}```\n"
        )
    head = (
        "# API from docstrings\n\nEvery public name, from its docstring, by the module that has it. All are names "
        "of `holdtrue` itself: `import holdtrue as ht`. [Python interface](../python.md) says which to use when.\n"
    )
    rows = [
        f"| [`{module}`]({module.removeprefix('holdtrue.')}.md) | {', '.join(f'`{name}`' for name in names)} |"
        for module, names in public_names().items()
    ]
    table = "\n".join(["| module | names |", "|---|---|", *rows])
    out["reference/api/index.md"] = f"{head}\n{table}\n" + toctree(list(out))
    return out


def llms() -> str:
    """`llms.txt`: what this is and where to read on, for programs that read (llmstxt.org)."""
    head = (
        "# holdtrue\n\n> A Python library for recourse that holds true: it trains classifiers on tables, finds "
        "for all who are refused what they could change to be accepted, and makes it hold when the model is "
        "trained again.\n\n"
        "Every page is here as Markdown, under its own address with the ending .md.\n"
    )
    body = []
    for name, entries in parts().items():
        body.append(f"\n## {name}\n")
        body += [f"- [{e.name}]({e.page}){': ' + e.says if e.says else ''}" for e in entries]
    body.append("\n## Optional\n")
    body += [f"- [{page.rsplit('/')[-1].removesuffix('.md')}]({page})" for page in method_pages()]
    return head + "\n".join(body) + "\n"


def assemble(source: Path) -> None:
    """Write the source of the site into an empty folder."""
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    made = {"gallery.md": gallery(), **api_pages()}
    for page in listed():
        text = within((DOCS / page).read_text(encoding="utf-8"), DOCS / page)
        if page == "index.md":
            text += _navigation()
        elif page == METHODS:
            text += toctree(method_pages())
        made[page] = text
    for name in ABOUT:
        made[f"project/{name}"] = within((ROOT / name).read_text(encoding="utf-8"), ROOT / name)
    for place, text in made.items():
        (source / place).parent.mkdir(parents=True, exist_ok=True)
        (source / place).write_text(text, encoding="utf-8")
    images = [path for path in (DOCS / "images").iterdir() if path.suffix in {".png", ".svg"}]
    (source / "images").mkdir()
    for path in images:
        shutil.copy(path, source / "images" / path.name)
    (source / "notebooks").mkdir()
    for path in notebooks():  # to be read as pages, and fetched as they are
        text, drawn = notebook_page(path)
        (source / "notebooks" / f"{path.stem}.md").write_text(text, encoding="utf-8")
        for name, picture in drawn.items():
            (source / "notebooks" / name).write_bytes(picture)
        shutil.copy(path, source / "notebooks" / path.name)


def _navigation() -> str:
    """The map's parts, with what the site has beside them."""
    trees = {name: [entry.page for entry in entries] for name, entries in parts().items()}
    trees["Notebooks"] = [path.relative_to(DOCS).with_suffix(".md").as_posix() for path in notebooks()]
    trees["Reference"] = [*trees["Reference"], "reference/api/index.md"]
    trees["Project"] = ["gallery.md", *(f"project/{name}" for name in ABOUT)]
    return "".join(toctree(pages, name) for name, pages in trees.items())
