"""How Sphinx makes the site; `make site` calls it, through docs/site/make.py."""

import inspect
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import holdtrue  # noqa: E402

project, author = "holdtrue", "The holdtrue developers"
version = release = holdtrue.__version__
project_copyright = "The holdtrue developers, Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 6
default_role = "code"  # docstrings write `x` for code
napoleon_google_docstring, napoleon_use_ivar, napoleon_use_rtype = False, True, False
autodoc_typehints = "none"  # types are said in the docstrings, in words
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = True
add_module_names = False
# Attributes of several classes may have one name; pages that programs write may leave a level of headings out.
suppress_warnings = ["ref.python", "myst.header"]
html_math_renderer = "plain"
html_theme = "furo"
html_title = f"holdtrue {version}"
html_short_title = "holdtrue"
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#155a94", "color-brand-content": "#155a94"},
    "dark_css_variables": {"color-brand-primary": "#7fbdf0", "color-brand-content": "#7fbdf0"},
}


class Public(Directive):
    """A public name, documented as what it is: a class with its members, a function, or an exception."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the directive of autodoc that fits."""
        path = self.arguments[0]
        module, _, name = path.rpartition(".")
        thing = getattr(sys.modules.get(module) or __import__(module, fromlist=[name]), name)
        kind = "autoclass" if inspect.isclass(thing) else "autofunction"
        lines = [
            f".. {kind}:: {path}",
            *(["   :members:", "   :show-inheritance:"] if kind == "autoclass" else []),
        ]
        heading = nodes.title(name, name)
        id_ = f"{kind.removeprefix('auto')}-{name.lower()}"  # `Reasons` and `reasons` are two
        section = nodes.section("", heading, ids=[id_], names=[id_])
        self.state.nested_parse(StringList([*lines, ""], source=path), self.content_offset, section)
        return [section]


def not_ours(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def one_line_each(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Put every reference on a line of its own: one that goes on in the next, indented, is no reST."""
    rules = [i for i, line in enumerate(lines) if line.startswith("---") and lines[i - 1].strip() == "References"]
    for start in rules:
        end = next((i - 1 for i in range(start + 1, len(lines)) if lines[i].startswith("---")), len(lines))
        entries: list[str] = []
        for line in lines[start + 1 : end]:
            if line.startswith("[") or not entries:
                entries.append(line.strip())
            elif line.strip():
                entries[-1] += " " + line.strip()
        lines[start + 1 : end] = [f"- {entry}" for entry in entries if entry] + [""]


COLON = "\ue000"  # stands for a colon while napoleon reads: what is before one in an attribute it takes for a type


def hide_colons(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Keep a sentence about an attribute whole; `show_colons` writes its colons again."""
    if what in {"attribute", "data", "property"}:
        first = next((i for i, line in enumerate(lines) if line.strip()), None)
        if first is not None:
            lines[first] = lines[first].replace(":", COLON)


def show_colons(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Write the colons that `hide_colons` took."""
    lines[:] = [line.replace(COLON, ":") for line in lines]


def plain_math(translator: Any, node: nodes.Element) -> None:
    """Write a formula as it stands in the docstring: what draws formulas would be loaded from elsewhere."""
    tag = "pre" if isinstance(node, nodes.math_block) else "code"
    translator.body.append(f"<{tag}>{translator.encode(node.astext())}</{tag}>")
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Tell Sphinx about the directive."""
    app.add_directive("holdtrue-public", Public)
    app.add_html_math_renderer("plain", (plain_math, None), (plain_math, None))
    app.connect("autodoc-skip-member", not_ours)
    for before in (one_line_each, hide_colons):
        app.connect("autodoc-process-docstring", before, priority=400)  # before napoleon reads them
    app.connect("autodoc-process-docstring", show_colons, priority=600)  # and after
