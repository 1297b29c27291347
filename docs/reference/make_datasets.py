"""Write docs/reference/datasets.md from the registry: ``python docs/reference/make_datasets.py``."""

import textwrap
from pathlib import Path
from typing import Any

from holdtrue import datasets

HEAD = """# Datasets

*Made from the registry by `python docs/reference/make_datasets.py`; a test keeps it current.*

`holdtrue.datasets.load(name)` returns a `Dataset`: `X`, `y`, `schema`, `target`, `favourable`, `source`,
`licence`, `description`, and `groups` (columns that no model should read, such as a year). `split` and `subset`
return parts of it. `names()` lists the names, `describe(name)` the facts below, without reading anything. On the
command line: `holdtrue datasets`, and `dataset:NAME` wherever a table is expected.

*Embedded* sets are always there: they come with holdtrue, with a package it depends on, or are simulated. The
others are files that their owners publish and holdtrue does not ship; see
[Add a dataset](../how-to/add-a-dataset.md#add-the-file-of-a-known-dataset). Counts are those of `load(name)`
without options. In two-class sets, 1 is the outcome a person hopes for. *Protected* columns are who somebody is:
no reason names them and no desk shows them, in a paper's variant too. What may change is the schema's matter:
`load(name)` has them fixed, a variant as its paper has it.

"""


def page() -> str:
    """Return the page."""
    rows = datasets.describe()
    table = ["| name | rows | features | classes | kept in | what a label means |", "|---|---:|---:|---:|---|---|"]
    table += [
        f"| [`{r['name']}`](#{r['name']}) | {r['rows']:,} | {r['features']} | {r['classes']} | {_kept(r)} | "
        f"{_first(r)} |"
        for r in rows
    ]
    return HEAD + "\n".join(table) + "\n" + "".join(_section(r) for r in rows)


def _kept(row: dict[str, Any]) -> str:
    return "embedded" if row["kept_in"] == "embedded" else f"`{row['kept_in']}`"


def _first(row: dict[str, Any]) -> str:
    return row["description"].split("\n\n")[0].replace("\n", " ")


def _section(row: dict[str, Any]) -> str:
    about, *variants = row["description"].split("\n\nvariant=")
    lines = [f"\n## {row['name']}\n", about, ""]
    favourable = "none" if row["favourable"] is None else f"`{row['favourable']!r}`"
    lines.append(f"- label: `{row['target']}`, favourable {favourable}")
    if row["protected"]:
        lines += _wrapped("- protected: " + ", ".join(f"`{name}`" for name in row["protected"]))
    if row["options"]:
        lines.append("- options: " + ", ".join(f"`{name}`" for name in row["options"]))
    for variant in variants:
        name, _, meaning = variant.partition(": ")
        lines += _wrapped(f"- `variant={name}`: {meaning.strip()}")
    lines += [f"- source: {row['source']}", f"- licence: {row['licence']}"]
    return "\n".join(lines) + "\n"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 116, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    (Path(__file__).parent / "datasets.md").write_text(page(), encoding="utf-8")
