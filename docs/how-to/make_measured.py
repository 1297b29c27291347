"""Write the tables of pages that come from benchmarks: ``python docs/how-to/make_measured.py``.

From `benchmarks/results/reasons.json`, `group_actions*.json` and `nice.json`, with the commands that made them.
"""

import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "benchmarks" / "results"
METHODS = {"glance": "GLANCE", "globe_ce": "GLOBE-CE"}
OURS = (
    ("glance", "ours", "common"),
    ("globe_ce", "ours", "common"),
    ("globe_ce", "ours with directions", "directions too"),
)
NAMES = {"german_credit": "German Credit", "heloc": "HELOC", "loanapp": "loanapp", "adult": "Adult"}
NAMES |= {"bail": "bail", "sba_loans": "SBA loans", "give_me_some_credit": "Give Me Some Credit"}
NAMES |= {"taiwan_credit": "Taiwan credit"}
EQUAL = ("bail", "sba_loans", "give_me_some_credit", "taiwan_credit")


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
    named = speed["people"] / speed["seconds, named and told"]
    lines += ["", *wrapped(
        f"Exact contributions under XGBoost (150 trees of depth 5) on HELOC, {speed['reference rows']} reference "
        f"rows: shares of all features, {speed['people per second']:,.0f} people a second by the clock and "
        f"{round(speed['people per second of two cores, by processor time'], -2):,.0f} by the processor time of "
        f"two cores; reasons named and told in words, {named:,.0f} people a second by the clock; on a machine "
        f"with other work. They add up to the gap to {speed['largest remainder of the gap']:.0e}. {made_by(found)}"
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
        for name, ours, kind in OURS:
            mine = one[f"{ours} at the cost of {name}"]
            there = at_their_mean(mine)
            lines.append(
                f"| {titled(job)} | {METHODS[name]} | {cell(one[name])} | {kind} | {cell(mine)} | {there} |"
            )
    told = f"Shares of people who had no part in the choice, with 95% intervals. {made_by(found)}"
    lines += ["", *wrapped(told)]
    return "\n".join(lines)


def new_people() -> str:
    """Coverage on the same tables, cut anew, and who is told apart."""
    lines = [
        "| data, model | people | method | served | mean cost | ours | served | mean cost | at their mean | "
        "ours serve |",
        "|---|---:|---|---|---|---|---|---|---|---|",
    ]
    for data in ("loanapp", "german_credit", "heloc", "adult"):
        for job, one in result(f"group_actions-new-{data}")["jobs"].items():
            for name, ours, kind in OURS:
                mine = one[f"{ours} at the cost of {name}"]
                told = f"{METHODS[name]} | {cell(one[name])} | {kind} | {cell(mine)} | "
                told += f"{at_their_mean(mine)} | {mine['ours serve']}"
                lines.append(f"| {titled(job)} | {one['people']} | {told} |")
    told = (
        "Made by `python -m benchmarks.group_actions "
        "--people 200 --k 3 --data DATA --models xgboost --split new`, "
        "a table at a time."
    )
    return "\n".join([*lines, "", *wrapped(told)])


def equal() -> str:
    """Both at the same mean cost, on tables that nothing was settled on, and who is better."""
    lines = [
        "| data, model | people | other | ours | mean cost of | other serves | mean cost | ours serve | mean cost "
        "| difference | better |",
        "|---|---:|---|---|---|---|---|---|---|---|---|",
    ]
    commands = []
    there = [data for data in EQUAL if (RESULTS / f"group_actions-equal-{data}.json").exists()]
    for data in there:
        found = result(f"group_actions-equal-{data}")
        commands.append(found["command"])
        for job, one in found["jobs"].items():
            for contest in one["contests"]:
                ours = {"common": "common", "all": "directions too"}[contest["form"]]
                for whose, at in contest["at"].items():
                    gap = " to ".join(f"{100 * at[end]:+.1f}" for end in ("lower", "upper"))
                    at_whose = "other" if whose == "theirs" else "ours"
                    lines.append(
                        f"| {titled(job)} | {one['people']} | {METHODS[contest['other']]} | {ours} | "
                        f"{at_whose} | {cell(at['theirs'])} | {cell(at['ours'])} | "
                        f"{100 * at['difference']:+.1f} ({gap}) | {contest['better']} |"
                    )
    told = "Differences in percentage points, with 95% intervals. Made by " + ", ".join(f"`{c}`" for c in commands)
    absent = [NAMES[data] for data in EQUAL if data not in there]
    told += f". Not measured yet: {', '.join(absent)}." if absent else "."
    return "\n".join([*lines, "", *wrapped(told)])


def at_their_mean(mine: dict[str, Any]) -> str:
    """Share that ours serve at the other's mean cost; what was written before has the share alone."""
    there = mine["at their mean"]
    return f"{100 * (there['coverage'] if isinstance(there, dict) else there):.1f}%"


def beside_nice() -> str:
    """People a second of SparseSearch and of NICE for each kind of model, and the goals."""
    found = result("nice")
    lines = [
        "| model | people a second | NICE | goal | processor ms each | NICE | one, ms | NICE | mean cost | NICE |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for kind, one in found["models"].items():
        ours, theirs = one["holdtrue"], one["NICE"]
        goal = f"{one['goal']:,.0f}, {'reached' if one['reached'] else 'not reached'}"
        rates, spent, alone, cost = (
            [form.format(part[name]) for part in (ours, theirs)]
            for name, form in (
                ("people per second", "{:,.0f}"),
                ("processor ms", "{:.1f}"),
                ("one, ms", "{:.0f}"),
                ("cost", "{:.3f}"),
            )
        )
        lines.append(f"| {' | '.join([kind, *rates, goal, *spent, *alone, *cost])} |")
    load = found.get("load", found["cores"])
    busy = (
        ""
        if load < found["cores"]
        else " Other work ran on the same cores: by the clock both are slower than alone."
    )
    return "\n".join([*lines, "", *wrapped(made_by(found) + busy)])


def cell(one: dict[str, Any]) -> str:
    """Share served, and mean cost."""
    ends = f"{percent(one['lower'])} to {percent(one['upper'])}"
    cost = "-" if one["cost"] is None else f"{one['cost']:.2f}"
    return f"{100 * one['coverage']:.1f}% ({ends}) | {cost}"


PAGES: dict[str, dict[str, Callable[[], str]]] = {
    "give-reasons.md": {"reasons": reasons},
    "../reference/adapters.md": {"beside NICE": beside_nice},
    "actions-for-groups.md": {"group actions": group_actions, "new people": new_people, "equal cost": equal},
}


def page(name: str) -> str:
    """A page with its tables."""
    text = (HERE / name).read_text(encoding="utf-8")
    for title, make in PAGES[name].items():
        begin, end = f"<!-- {title}: made by docs/how-to/make_measured.py -->", f"<!-- end of {title} -->"
        made = f"{begin}\n{make()}\n{end}"
        text = re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _, made=made: made, text, flags=re.S)
    return text


if __name__ == "__main__":
    for name in PAGES:
        (HERE / name).write_text(page(name), encoding="utf-8")
