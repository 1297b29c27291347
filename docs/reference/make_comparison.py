"""Write docs/reference/comparison.md from committed comparisons: ``python docs/reference/make_comparison.py``.

Reads ``benchmarks/results/compare-*.json`` and draws a picture of each. Nothing is measured here.
"""

import textwrap
from pathlib import Path

from holdtrue.methods import METHODS
from holdtrue.studies.compare import Comparison

ROOT = Path(__file__).parents[2]
ORDER = ("german", "adult", "heloc", "loanapp")
HEAD = """# Methods compared

*Made from `benchmarks/results/compare-*.json` by `python docs/reference/make_comparison.py`.*

{measured} of {known} methods with their defaults, on one split and one network, for up to a hundred people it
refuses, held against twenty retrainings with other seeds. [Compare methods](../how-to/compare-methods.md) says how
to read such a table and how to make one from your own data. Costs, survival and distance are means over the people
for whom every one of them found recourse, so that nobody looks cheap by leaving out the hard cases; they are in
scaled units, and a changed category counts 2 in l1. None broke a limit of the schema. Times were taken while the
machine did other work, and say only which methods are quick; `benchmarks/results/throughput.json` has those of two
quiet cores.

{later}

Methods that ask for a margin survive: the nearest accepted point is where two models of the same data part ways.
`HighestScore` is no advice, but shows how much survival there is to be had. `CausalRecourse` without a causal
model is `SparseSearch`.
"""


def section(name: str, comparison: Comparison) -> str:
    """One dataset's picture and table."""
    who, data = comparison.common, comparison.job["data"]
    lines = [
        "| method | found | l0 | l1 | l2 | survival | distance | a person |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in comparison.ran:
        cells = [f"{row.mean(key, who):.2f}" for key in ("l0", "l1", "l2")]
        cells += [f"{row.mean('survival', who):.0%}", f"{row.mean('plausibility', who):.2f}"]
        lines.append(
            f"| `{row.name}` | {row.found:.0%} | {' | '.join(cells)} | {1e3 * row.seconds_per_person:,.1f} ms |"
        )
    not_run = [f"`{row.name}`: {row.reason}" for row in comparison.rows if row.reason is not None]
    rest = "\n".join(["", "Not run:", *not_run]) if not_run else ""
    return f"""
## {data}

{comparison.n_people} people refused, {int(who.sum())} of them with recourse from every method here:
`holdtrue compare {data} --people 100 --output compare-{name}.json --plot compare-{name}.png`

![Cost of every method's recourse on {data} against the share of retrained models that still say
yes](../images/compare-{name}.png)

{chr(10).join(lines)}
{rest}"""


def comparisons() -> dict[str, Comparison]:
    """Committed comparisons by the name of their data."""
    places = {name: ROOT / "benchmarks" / "results" / f"compare-{name}.json" for name in ORDER}
    return {name: Comparison.read(place) for name, place in places.items() if place.exists()}


def page() -> str:
    """Return the page."""
    found = comparisons()
    measured = {row.name for comparison in found.values() for row in comparison.rows}
    later = [f"`{name}`" for name in METHODS if name not in measured]
    head = HEAD.format(measured=len(measured), known=len(METHODS), later=_absent(later))
    return head + "".join(section(name, comparison) for name, comparison in found.items())


def _absent(names: list[str]) -> str:
    """Methods that the committed comparisons do not have."""
    if not names:
        return "No registered method is left out."
    told = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    text = f"Not among them: {told}, which came after these were measured or need a model of their own."
    return textwrap.fill(text, 115, break_on_hyphens=False)


if __name__ == "__main__":
    for name, comparison in comparisons().items():
        comparison.plot(ROOT / "docs" / "images" / f"compare-{name}.png")
    (ROOT / "docs" / "reference" / "comparison.md").write_text(page(), encoding="utf-8")
