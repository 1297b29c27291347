# ruff: noqa: E501  (a page's lines may be longer)
"""Write docs/explanation/how-it-is-attacked.md from committed results: ``python docs/explanation/make_attacked.py``.

Reads ``benchmarks/results/attack/*.json`` and ``service/serve-cost.json``; what was not run yet is said to be so. Nothing is measured here.
"""

import json
import textwrap
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = """# How it is attacked

*Made from `benchmarks/results/attack` by `python docs/explanation/make_attacked.py`.*

Tests written beside the code share its author's blind spots. So some checks are written apart from it, from what the
reference says alone, and let loose on worlds that nobody chose: `benchmarks/attack/`. Each is a command with a count;
it writes as it goes, so that it can be stopped and gone on with, by one process or many (`--processes`), and ends
with 1 where something is wrong. What it found is kept in `benchmarks/results/attack/`. A few cases of each are part of
the tests (`tests/attack`).

## What runs, and what it found

| command `python -m benchmarks.attack.` | what it holds against what | aim | done | wrong |
|---|---|---:|---:|---|
{rows}

Whatever is wrong in a row of this table is a defect that is open. *Done* is what the committed files hold, not what
has ever been run; of a question that was asked again of newer code, the newer answer counts. `python -m
benchmarks.attack.all --seconds 360 --again` runs those that want many cores (`ledger`, `same`, `brute`, `schemas`).

{codes}

A world is two to four columns of any kind with bounds, steps, directions, transitions, missing values, linear
constraints that some people lie on exactly, implications, and people of whom a third have restrictions of their own.
The checker of limits (`benchmarks/attack/_checker.py`) is written from [the schema's reference](../reference/schema.md)
and shares no code with the package.

{details}

## How many requests a second

{rate}

## What they found, and was mended

- **brute**: optima that were none on the edge of a linear constraint (17 of 570, and 22 people who were told that
  nothing was found), which single precision puts on either side; an error of `SparseSearch` on a schema of categories
  alone; six people told that their decision is favourable already whom `predict` refuses by less than 0.0000002 in
  log-odds. The worlds of the last two were run again: nothing.
- **schemas**: a held search under a model made elsewhere that finds nobody a way ended in an error of scikit-learn's.
- **inputs**: damaged pages of a Parquet file, and deep YAML as a table of codes, were errors of other libraries; an
  owner's words for a decision could begin a new paragraph of a letter. Of a file of evidence that somebody else put
  together, with digests that fit: markup in place of a digest was markup on its page, members that did not fit were
  errors of other libraries, and packed members would have been unpacked whatever their size.
- **kills**: half-written outputs and notes of killed runs stayed beside the output, under hidden names.
- **service**: attempts to log in were limited only as much as a key's requests, and shared a key's limit if it was
  called `login`.

## What is carried through as it is

Cells of your own columns are written to CSV as they came: a cell that begins with `=` is a formula to a spreadsheet
before and after. A mark in front of it would change your data. Open such a file as text, or write Parquet.

## What tests hold

What the attack on the first version found has tests of its own:

- **What is told is what was checked**: `tests/methods/test_told.py` does what the sentence says, for 300 people and
  three methods on a table without steps, and for trees.
- **Promises are made once**, whatever the moment of a kill: `tests/runs/test_run.py`, `tests/cli/test_killed.py`,
  `tests/attack/test_kills.py`; yes/no columns and negative zeros are written as they are: `tests/runs/test_work.py`.
- **Linear constraints on wide ranges**, up to 100,000,000, are kept to the last unit: `tests/encoding/test_limits.py`;
  optima on their edge: `tests/attack/test_brute.py`.
- **Requests that are never finished**: real sockets that send nothing, half a head, a head byte by byte, heads without
  a body; three times as many as there is room for: `tests/server/test_http_parser.py` and `test_strangers.py` beside
  it, which also has what other sites may post.
- **What is kept of requests**: `tests/server/test_memory.py`; roles, tokens, logins, bodies and what logs say, of a
  service in the tests' own process: `tests/attack/test_service.py`.
- **Evidence**: bytes, sizes, members and texts of a stranger's file: `tests/handover/test_tampering.py`.
- **Sixty thousand features** end: `tests/schema/test_table.py`.
- **Files and locks**: keys added and revoked at once, two runs to one output, files that are whole or not there, a
  model file that would unpack to a thousand times its size: `tests/test_files.py`, `tests/runs`, `tests/classifier`.
- **The ledger behind its back**: rows put back, orphans, a head that is gone, a clock that is set back, promises
  against the policy, the same id on other terms: `tests/ledger/test_policy.py`, `tests/ledger/test_faults.py`; a tail
  that was cut off, by an [anchor](../reference/ledger.md#the-chain) outside: `tests/ledger/test_anchor.py`.
- **Answers that can be had again**: every registered method without a seed, recorded, read back and replayed:
  `tests/promises/test_records.py`; in every way of asking: `tests/attack/test_same.py`; after `set_threshold`:
  `tests/methods/test_sns.py`.
- **Certificates**: `tests/promises/test_doors.py` (no door drops them), `tests/studies/test_certify.py` (every field is
  held against the rows).
- **Programs that pile up**: `tests/models/test_maps.py`, `tests/retraining/test_retrain.py`.
- **What is built and published**: `tests/attack/test_supply.py`.
"""
PARTS: dict[str, tuple[str, str, int, str]] = {
    "schemas": (
        "every registered method's answers under models of the package's own and others', with and without hold, against every limit of the schema, the model itself and the sentence done to the letter",
        "rows",
        200_000,
        "people",
    ),
    "brute": (
        "every OPTIMAL and INFEASIBLE on small schemas, linear models and trees, against trying every action on the grid",
        "people",
        20_000,
        "people",
    ),
    "cpsat": (
        "every OPTIMAL and INFEASIBLE of `ExactSearch` under forests, boosting and linear models, against OR-Tools' CP-SAT: status and cost",
        "instances",
        1_000,
        "instances",
    ),
    "replay": (
        "every proof of `ExactSearch` under trees, against a checker of under 200 lines that follows it box by box; spoilt proofs must be rejected",
        "proofs",
        400,
        "replayed",
    ),
    "same": (
        "one question in another order, in halves, alone, by threads, from a file, by a run, Ray, replay",
        "answers",
        10_000,
        "answers",
    ),
    "inputs": (
        "broken and hostile files and texts, against typed errors and nothing obeyed",
        "cases",
        100_000,
        "cases",
    ),
    "ledger": (
        "edits, tails, bytes, clocks, full disks, locks, a server that is killed, against `verify` and counts",
        "cases",
        10_000,
        "cases",
    ),
    "service": (
        "routes, logins, bodies, lines, kills and a long load, against a service in a process of its own",
        "requests",
        10_000,
        "cases",
    ),
    "kills": (
        "kill -9 at every moment of a run, its end above all, against an undisturbed run and one promise each",
        "kills",
        1_000,
        "kills",
    ),
}
WRONG = {
    "schemas": ("crashed", "breaks a limit", "refused", "told otherwise", "not favourable"),
    "brute": ("crashed", "cheaper exists", "a way exists", "breaks a limit", "refused", "not favourable"),
    "cpsat": ("crashed", "disagree"),
    "replay": ("crashed", "rejected", "spoilt, not rejected"),
    "same": ("crashed", "differs"),
    "inputs": ("crashed", "obeyed", "slow"),
    "ledger": ("unseen", "crashed", "lost", "doubled"),
    "service": ("wrong",),
    "kills": ("lost", "doubled", "another output", "broken chain", "left over"),
}


def read(name: str) -> dict[str, Any] | None:
    """A committed result, or none."""
    path = ROOT / "benchmarks" / "results" / "attack" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def total(result: dict[str, Any], what: str) -> int:
    """A count, of all or summed over methods."""
    if what in result:
        return int(result[what])
    return sum(int(counts.get(what, 0)) for counts in result.get("methods", {}).values())


def _row(name: str) -> str:
    about, unit, aim, what = PARTS[name]
    result = read(name)
    if result is None:
        return f"| `{name}` | {about} | {aim:,} {unit} | not run yet | |"
    wrong = {kind: total(result, kind) for kind in WRONG[name] if total(result, kind)}
    said = ", ".join(f"{n:,} {kind}" for kind, n in wrong.items()) or "0"
    return f"| `{name}` | {about} | {aim:,} {unit} | {total(result, what):,} | {said} |"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Cells as a page has them: words to the left, and what follows the first column to the right."""
    rule = "|---|" + "---:|" * (len(head) - 1)
    lines = [f"| {' | '.join(line)} |" for line in (head, *rows)]
    return "\n".join([lines[0], rule, *lines[1:]])


def _codes() -> str:
    """Which code was attacked: version, and the last commit of the package."""
    rows = []
    for name, (_, unit, _, what) in PARTS.items():
        codes = (read(name) or {}).get("codes") or {"earlier code": {what: total(read(name) or {}, what)}}
        rows += [
            (f"`{name}`", label, f"{counts[what]:,} {unit}") for label, counts in codes.items() if counts.get(what)
        ]
    return "What was attacked, by the package's version and last commit:\n\n" + _table(
        ("attack", "code", "done"), rows
    )


def _missed(brute: dict[str, Any]) -> str:
    """Who was not found a way though there is one, by method."""
    missed = {name: counts for name, counts in brute["methods"].items() if counts.get("missed")}
    rows = [(name.replace("_", " "), f"{c['missed']:,}", f"{c['people']:,}") for name, c in missed.items()]
    return _table(("method, model", "told NOT_FOUND with a way there", "people asked for"), rows)


def _details() -> str:
    said = []
    schemas, brute, service = read("schemas"), read("brute"), read("service")
    if schemas:
        found = total(schemas, "FOUND") + total(schemas, "OPTIMAL")
        said.append(
            f"*schemas*: {schemas['worlds']:,} worlds, {len(schemas['methods'])} methods (those asked to hold counted apart); {found:,} people were told a recourse, and each was held against all limits, the model and the sentence."
        )
    if brute:
        said.append(
            f"*brute*: {brute['worlds']:,} worlds; {total(brute, 'OPTIMAL'):,} optima and {total(brute, 'INFEASIBLE'):,} proofs that there is no way; {total(brute, 'missed'):,} people with a way were told NOT_FOUND, which is no claim."
        )
        if total(brute, "missed"):
            said.append(_missed(brute))
    soak = next((part for part in (service or {}).get("parts", []) if part["part"] == "soak"), None)
    if soak:
        said.append(f"*service*: the mixed load ran {soak['minutes']:g} minutes, {soak['cases']:,} requests.")
        kept = (("memory, MB", "memory_mb"), ("open files", "open_files"), ("memory maps", "memory_maps"))
        quarters = ("second quarter", "last quarter")
        rows = [(words, *(f"{soak[f'{key}, {q}']:,.0f}" for q in quarters)) for words, key in kept]
        said.append(_table(("of the service", *(f"in the {q}" for q in quarters)), rows))
    done = {part["part"] for part in (service or {}).get("parts", [])}
    rest = [part for part in ("roles", "login", "fuzz", "lines", "told", "kills", "soak") if part not in done]
    if rest:
        said.append(f"Of *service* not run yet: {', '.join(rest)}.")
    ways = Counter[str]()
    for counts in (read("same") or {}).get("methods", {}).values():
        ways.update({what.removeprefix("by "): n for what, n in counts.items() if what.startswith("by ")})
    if ways:
        said.append("*same*, by way of asking:")
        said.append(_table(("way", "answers"), [(way, f"{n:,}") for way, n in ways.items()]))
    return "\n\n".join(said)


def _rate() -> str:
    """What stops the service from 400 requests a second at a 99th percentile under 100 ms."""
    path = ROOT / "benchmarks" / "results" / "service" / "serve-cost.json"
    if not path.exists():
        return "Not measured: `python -m benchmarks.serve_cost`."
    of = json.loads(path.read_text(encoding="utf-8"))
    full = of["by people in a call"]["32"]
    most, wait = of["requests_a_second_at_best"], of["slowest_in_a_hundred_alone_ms"]
    panel = max(of["searches"].values(), key=lambda one: one["us_a_step"])
    met = most >= 400 and wait < 100
    rows = [
        ("requests a second, two cores, at best", "400", f"{most:,.0f}"),
        ("the slowest in a hundred wait, ms, when nobody else asks", "100", f"{wait:.0f}"),
        ("who asks alone waits, ms, on average", "", f"{of['one_person_alone_ms']:.0f}"),
        ("processor time of a request, ms", "", f"{of['ms_a_request']:.1f}"),
        ("of it HTTP, keys, checks and JSON", "", f"{of['http_ms']:.1f}"),
        ("of it compiled programs and Python, of a call of 32 people", "", f"{full['ms']:.1f}"),
        ("of these Python", "", f"{full['python_ms']:.1f}"),
        (
            "steps of a person's three searches, on average",
            "",
            f"{sum(one['steps_mean'] for one in of['searches'].values()):.0f}",
        ),
        ("microseconds of a step with the guides, for 32 people", "", f"{panel['us_a_step']:.0f}"),
        ("microseconds of a step with the guides, for one", "", f"{panel['us_a_step_alone']:.0f}"),
    ]
    return (
        f"The aim is 400 recourse requests a second on two cores, 99 in 100 answered in 100 ms, for the demo's data with hold (95%, {of['guides']} guides). {'It is within reach' if met else 'It is not reached'}. Measured by processor time, which other work on the machine lengthens less than the clock's: `python -m benchmarks.serve_cost`, {of['cores']} cores.\n\n"
        f"{_table(('of recourse with hold', 'aim', 'measured'), rows)}\n\n"
        'What stops it is the search, not the service. Each person\'s recourse is found by a search for the model alone and two for the model with its guides, and steps come one after another, so that people wait for theirs even when nobody else asks. Fewer steps or fewer guides would be another answer, and less of one; `"hold": null` in a request is answered by the first search alone. What `holdtrue serve` cannot answer in time it refuses with 429.'
    )


def _wrapped(text: str) -> str:
    parts = text.split("\n\n")
    return "\n\n".join(
        part if part.startswith("|") else textwrap.fill(part, 118, break_on_hyphens=False) for part in parts
    )


def page() -> str:
    """The whole page."""
    return PAGE.format(
        rows="\n".join(map(_row, PARTS)),
        details=_wrapped(_details()),
        codes=_wrapped(_codes()),
        rate=_wrapped(_rate()),
    )


if __name__ == "__main__":
    (Path(__file__).parent / "how-it-is-attacked.md").write_text(page(), encoding="utf-8")
