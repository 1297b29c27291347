"""Write the tables of how-to pages that come from benchmarks: ``python docs/how-to/make_measured.py``.

From `benchmarks/results/reasons.json` and `group_actions.json`, with the commands that made them.
"""

import json
import re
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "benchmarks" / "results"
NAMES = {"german_credit": "German Credit", "heloc": "HELOC", "loanapp": "loanapp", "adult": "Adult"}


def result(name: str) -> dict[str, Any]:
    """What a benchmark wrote."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def percent(value: float) -> str:
    """A share in whole percent."""
    return f"{100 * value:.0f}%"


def wrapped(text: str) -> list[str]:
    """A paragraph as lines of a page."""
    return textwrap.wrap(text, 117, break_long_words=False, break_on_hyphens=False)


def made_by(found: dict[str, Any]) -> str:
    """The command behind a result."""
    return f"Made by `{found['command']}`."


def titled(job: str) -> str:
    """A job as a reader knows it."""
    data, _, kind = job.partition(", ")
    return f"{NAMES[data]}, {kind}"


def reasons() -> str:
    """Agreement of the top four reasons, and how fast they are."""
    found = result("reasons")
    lines = [
        "| data, model | people | same reasons | same first reason | reasons that stand |",
        "|---|---|---|---|---|",
    ]
    for job, one in found["agreement"].items():
        same, first = (
            f"{percent(v)} ({percent(lo)} to {percent(hi)})" for v, lo, hi in (one["agreement"], one["first"])
        )
        lines.append(f"| {titled(job)} | {one['people']} | {same} | {first} | {percent(one['stands'])} |")
    speed = found["speed"]
    lines += ["", *wrapped(
        f"Exact contributions under XGBoost (150 trees of depth 5) on HELOC, {speed['reference rows']} reference "
        f"rows: {round(speed['people per second'], -2):,.0f} people a second by the clock, "
        f"{round(speed['people per second of two cores, by processor time'], -2):,.0f} by the processor time of "
        f"two cores, on a machine that had other work; they add up to the gap to "
        f"{speed['largest remainder of the gap']:.0e}. {made_by(found)}"
    )]  # fmt: skip
    return "\n".join(lines)


def group_actions() -> str:
    """Coverage of each method, and of ours at its cost."""
    found = result("group_actions")
    lines = [
        "| data, model | method | served | mean cost | ours | served | mean cost | at their mean cost |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for job, one in found["jobs"].items():
        for name, title in (("glance", "GLANCE"), ("globe_ce", "GLOBE-CE")):
            for ours, kind in (("ours", "common"), ("ours with directions", "directions too")):
                mine = one.get(f"{ours} at the cost of {name}")
                if mine is not None:
                    there = f"{100 * mine['at their mean']:.1f}%"
                    told = f"{cell(one[name])} | {kind} | {cell(mine)} | {there}"
                    lines.append(f"| {titled(job)} | {title} | {told} |")
    told = f"Shares of people who had no part in the choice, with 95% intervals. {made_by(found)}"
    lines += ["", *wrapped(told)]
    return "\n".join(lines)


def cell(one: dict[str, Any]) -> str:
    """Share served, and mean cost."""
    ends = f"{percent(one['lower'])} to {percent(one['upper'])}"
    cost = "-" if one["cost"] is None else f"{one['cost']:.2f}"
    return f"{100 * one['coverage']:.1f}% ({ends}) | {cost}"


PAGES = {"give-reasons.md": ("reasons", reasons), "actions-for-groups.md": ("group actions", group_actions)}


def page(name: str) -> str:
    """A page with its table."""
    title, make = PAGES[name]
    text = (HERE / name).read_text(encoding="utf-8")
    begin, end = f"<!-- {title}: made by docs/how-to/make_measured.py -->", f"<!-- end of {title} -->"
    return re.sub(
        f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}\n{make()}\n{end}", text, flags=re.S
    )


if __name__ == "__main__":
    for name in PAGES:
        (HERE / name).write_text(page(name), encoding="utf-8")
