"""Write docs/reference/methods.md and the README's table from the docstrings of the registered methods.

``python docs/reference/make_methods.py``
"""

import inspect
import re
import textwrap
from pathlib import Path

import holdtrue.hold  # noqa: F401  (registers what is about other methods)
from holdtrue.methods import METHODS, AbstractMethod

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"
START, STOP = "<!-- methods: made by docs/reference/make_methods.py -->\n", "<!-- end of methods -->"
LIMITS = "every limit of the schema, and restrictions"
HEAD = """# Methods

*Made from the docstrings by `python docs/reference/make_methods.py`; a test keeps it current.*

A method is a scikit-learn object. `clf.recourse(X)` uses the classifier's own; `clf.recourse(X, method=...)`
another. `ht.recourse(model, X, schema, method="name")` and the command line take the registered name;
`holdtrue methods NAME` prints the docstring.

Every method honours every limit: bounds, grids, directions, levels and transitions, linear constraints on the
value and on the change, implications, and restrictions. This is enforced in one place and checked again after
decoding; a method cannot opt out. What differs is what a method needs of the model, and which of the allowed
points it finds.

"""
NORMS = """
The parameter `norm` is the same in all of them: the distance that counts as cost, in scaled units, with the
schema's `cost_weight` per feature.

| norm | distance | a changed category counts |
|---|---|---|
| `l0` | number of features changed | 1 |
| `l1` | sum of the changes | 2 |
| `l2` | root of the sum of squares | 1.41 |
| `linf` | largest change | 1 |
| `mad` | sum of the changes, each over the median absolute deviation of its column | 1 |
"""
LASTING = """
Some methods look for recourse that is to last, each by a test of its own. All return what the model accepts;
who cannot be brought to pass the test keeps the valid point that lacks least, and is not told so by the status.

| method | a point passes where | model | against |
|---|---|---|---|
| `StableSearch` | the model and its retrainings agree, with margins to spare | differentiable | retraining |
| `BetaRCE` | so many retrainings accept that one more credibly will | any | retraining |
| `ElliCE` | every near-optimal top layer accepts | linear, MLP | retraining, near the top |
| `RobX` | noisy neighbours are accepted surely, and alike | any | retraining, by a proxy |
| `TRex` | the same by another measure; climbed, or the nearest such row | any | retraining, by a proxy |
| `SNS` | the model is sure all along the way to it | differentiable | retraining, by a proxy |
| `ROAR` | the worst linear model near a local one accepts | any | shifts of the weights |
| `RBR` | a yes is likelier than a no under the worst densities | any | errors of the densities |
| `PROBE` | noise in its execution undoes it seldom | any | imprecise people |
"""
NEEDLESS = """
A change without which the answer would be the same is *needless*. Searches for the cheapest point alone take
such changes back: {trims}, and `Holding` where it searches with one of these; `GrowingSpheres` does it by
itself (`sparsify`). The others are left as their papers have them: a neighbour with a change taken back is no
neighbour, and a point that passes a test of its own may fail it. A method of your own says `trims = True`.
"""
# What a user should know and a docstring does not say.
REMARKS = {
    "wachter": "At most `n_steps` forward and backward passes per person. Without `target_probability` the answer "
    "lies close to the boundary; with it, only points that reach that probability count.",
    "nearest_neighbour": "At most `n_candidates` predictions per person, 16 at a time. A row that was accepted as "
    "it stood may not be once someone's fixed features replace its own. Where none of the candidates asked about "
    "is accepted the status is NOT_FOUND; raise `n_candidates` then. The rows kept are written to model files.",
    "sparse_search": "OPTIMAL and INFEASIBLE speak of the values listed and of at most two changes, not of every "
    "number in between.",
}
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)
PARAMETER = re.compile(r"^(\w+(?:, \w+)*) : (.*)\n((?:    .*\n?|\n)*)", re.M)


def sections(cls: type) -> dict[str, str]:
    """Parts of a numpydoc docstring; the text before the first heading is under an empty name."""
    parts = SECTION.split(inspect.cleandoc(cls.__doc__ or ""))
    return {"": parts[0].strip(), **{k: v.strip("\n") for k, v in zip(parts[1::2], parts[2::2], strict=True)}}


def markdown(text: str) -> str:
    """Turn the mark-up of a docstring into that of a page, paragraphs wrapped anew."""
    paragraphs = text.replace("``", "`").split("\n\n")
    return "\n\n".join(wrapped(p) if "\n " not in p else p for p in paragraphs)


def line(text: str) -> str:
    """Join lines for a cell of a table."""
    return " ".join(text.split()).replace("``", "`").replace("|", "\\|")


def needs(cls: type[AbstractMethod]) -> str:
    """What the model must offer, in words."""
    kinds = " and ".join(sorted(cls.needs)) or " or ".join(sorted(cls.needs_one_of))
    return f"a {kinds} model" if kinds else "any model with predictions"


def first_reference(cls: type) -> str:
    """The first entry of References, or what stands in for it."""
    found = re.search(r"\[1\] (.*?)(?=\n\[2\]|\Z)", sections(cls).get("References", ""), re.S)
    return line(found[1]).rstrip(".") if found else "none"


def page() -> str:
    """Return the reference page."""
    rows = ["| method | registered as | model must be | training rows | in a sentence |", "|---|---|---|---|---|"]
    for name, cls in METHODS.items():
        kind = " and ".join(sorted(cls.needs)) or " or ".join(sorted(cls.needs_one_of))
        kind = kind or "anything with predictions"
        rows.append(
            f"| [`{cls.__name__}`](#{cls.__name__.lower()}) | `{name}` | {kind} | "
            f"{'needed' if cls.needs_rows else 'not needed'} | {line(sections(cls)[''].split(chr(10) * 2)[0])} |"
        )
    return (
        HEAD
        + "\n".join(rows)
        + "\n"
        + NORMS
        + needless()
        + LASTING
        + "".join(method(name, cls) for name, cls in METHODS.items())
    )


def needless() -> str:
    """Which methods take needless changes back, as the classes say."""
    trims = ", ".join(f"`{cls.__name__}`" for cls in METHODS.values() if cls.trims)
    return "\n" + wrapped(" ".join(NEEDLESS.format(trims=trims).split())) + "\n"


def method(name: str, cls: type[AbstractMethod]) -> str:
    """Return the section of one method."""
    parts = sections(cls)
    rows = "needed" if cls.needs_rows else "not needed"
    out = [
        f"\n## {cls.__name__}\n",
        wrapped(f"Registered as `{name}`. Needs {needs(cls)}; training rows are {rows}. Honours {LIMITS}.") + "\n",
        markdown(parts[""]) + "\n",
        "| parameter | type and default | meaning |",
        "|---|---|---|",
    ]
    for names, kind, text in PARAMETER.findall(parts.get("Parameters", "") + "\n"):
        shown = ", ".join(f"`{n}`" for n in names.split(", "))
        out.append(f"| {shown} | {line(kind)} | {line(text)} |")
    if "Notes" in parts:
        out.append("\n" + markdown("**Notes.** " + parts["Notes"]))
    if name in REMARKS:
        out.append("\n" + wrapped("**In use.** " + REMARKS[name]))
    if (HERE / "methods" / f"{name}.md").exists():
        out.append(f"\nMore: [methods/{name}.md](methods/{name}.md).")
    if "References" in parts:
        entries = re.split(r"^\[\d+\] ", parts["References"], flags=re.M)[1:]
        out.append("\n**References**\n\n" + "\n".join("- " + wrapped(line(entry), "  ") for entry in entries))
    return "\n".join(out) + "\n"


def wrapped(text: str, indent: str = "") -> str:
    """Wrap a paragraph."""
    return "\n".join(textwrap.wrap(text, 112, subsequent_indent=indent, break_on_hyphens=False))


def readme_table() -> str:
    """Return the README's table: paper, what model it needs, which constraints it honours."""
    rows = ["| method | paper | needs | honours |", "|---|---|---|---|"]
    for name, cls in METHODS.items():
        needed = needs(cls) + ("; training rows" if cls.needs_rows else "")
        rows.append(f"| `{cls.__name__}` (`{name}`) | {first_reference(cls)} | {needed} | {LIMITS} |")
    return "\n".join(rows) + "\n"


def readme(text: str) -> str:
    """Return the README with a current table."""
    before, rest = text.split(START)
    return before + START + readme_table() + STOP + rest.split(STOP)[1]


if __name__ == "__main__":
    (HERE / "methods.md").write_text(page(), encoding="utf-8")
    README.write_text(readme(README.read_text(encoding="utf-8")), encoding="utf-8")
