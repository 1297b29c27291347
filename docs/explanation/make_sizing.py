# ruff: noqa: E501  (a page's lines may be longer)
"""Write docs/explanation/sizing.md from committed benchmarks: ``python docs/explanation/make_sizing.py``.

Reads ``benchmarks/results/service/scale.json``, ``stream.json`` and ``wachter-h200.json``. Nothing is measured here.
"""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PEOPLE = 100_000_000
PAGE = """# Sizing

*Made from `service/scale.json`, `stream.json` and `wachter-h200.json` in `benchmarks/results` by
`python docs/explanation/make_sizing.py`.*

How many people can be answered in a second, and what a hundred million of them would take. The figures are those of
one model and one method ({method} on {columns} columns, a network of the default size); `python -m benchmarks.scale` makes
them anew on your machine, and another method's are to be had from its throughput beside that of `wachter` in
`benchmarks/results/throughput.json`.

## On processors

`holdtrue recourse`, Parquet in and out, {columns} columns. The start (imports, compiled programs from the cache, the first
chunk) is taken off, since it does not grow with the table. Processor time is what a core must
spend.{note}

{rows}

On {stream_cores} cores, {stream_rows:,} rows as they come took {stream_seconds:,.0f} seconds from start to finish
(`benchmarks/results/stream.json`): {stream_rate:,.0f} a second.

People who already have a yes are read, checked and written, but not searched for; so the first line is what a table of
everybody costs, the second what the refused cost. A person's answer does not depend on who else is in the table, so
cores and machines add up: chunks are independent, and nothing is exchanged between workers.

What does not add up is the command itself, which reads the table, sends the chunks and writes the answers. Alone, it
does {beside:,.0f} rows a second on one core, so that one command keeps about {feeds:,.0f} cores busy; beyond that, cut the table
in two.

## On an accelerator

On {device}, `benchmarks/results/wachter-h200.json` has {search:,.0f} people per second for the search alone, and
{whole:,.0f} from a table to a checked table, with one process: encoding, decoding and asking again are done by the
processor beside it, which is then what waits. All of these were refused, on German Credit (61 inputs after
encoding).

## A hundred million people

| | core hours | on 100 cores |
|---|---:|---:|
{million}
| as they come, by the million rows of `stream.json` | {stream_hours:,.1f} | {stream_hundred} |
| refused only, {device} | | {h200:.1f} hours on one |

These are the figures above multiplied, not a run of that size. They leave out what a cluster adds at that scale: slow
disks, nodes that are lost (a lost worker costs at most two chunks of 16,384 rows), and the join at the end, which
copies the output once. With `--ledger` add the writing of promises, one transaction per chunk, which
`python -m benchmarks.gate` prints as it fills its ledger.

Memory: about 1 GB for the command and for each worker (`benchmarks/results/stream.json` has the peak over a million
rows), whatever the length of the table.
"""
NAMES = ("as they come", "refused only")


def read(name: str) -> dict[str, Any]:
    """A committed result."""
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def _minutes(hours: float) -> str:
    n = round(60 * hours)
    return f"{n} minute" + ("" if n == 1 else "s")


def page() -> str:
    """The whole page."""
    scale, h200, stream = read("service/scale"), read("wachter-h200"), read("stream")
    stream_hours = PEOPLE / stream["rows per second"] * stream["cores"] / 3600
    quiet, cores = "note" not in scale, scale["cores"]  # else the clock's figures say little
    heads = ["table", "rows", "rows per second of processor time"]
    if quiet:
        heads += ["by the clock, on one core", f"on all {cores}", f"on {cores} workers of a local Ray cluster"]
    heads.append("one core, all, and Ray write the same bytes")
    rows, million = [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 2)}---|"], []
    for title in NAMES:
        part = scale[title]
        one = part["one core"]["rows per second of processor time"]
        share = 1 - part["statuses"].get("ALREADY_FAVOURABLE", 0) / part["rows"]
        cells = [f"{title} ({share:.0%} refused)", f"{part['rows']:,}", f"{one:,.0f}"]
        if quiet:
            cells += [
                f"{part[how]['rows per second after that']:,.0f}" for how in ("one core", "all cores", "ray")
            ]
        rows.append(f"| {' | '.join(cells)} | {'yes' if part['same bytes'] else 'no'} |")
        hours = PEOPLE / one / 3600
        million.append(f"| {title} | {hours:,.1f} | {_minutes(hours / 100)} |")
    beside = min(scale[key]["rows per second beside the search"] for key in NAMES)
    text = PAGE.format(
        method=scale["method"],
        columns=scale["columns"],
        note=f" {scale['note']}" if "note" in scale else "",
        rows="\n".join(rows),
        beside=beside,
        feeds=beside / scale["as they come"]["one core"]["rows per second of processor time"],
        stream_cores=stream["cores"],
        stream_rows=stream["rows in"],
        stream_seconds=stream["seconds, start to finish"],
        stream_rate=stream["rows per second"],
        stream_hours=stream_hours,
        stream_hundred=_minutes(stream_hours / 100),
        device=f"an {h200['device']}",
        search=h200["people per second, search"],
        whole=h200["people per second, table to checked table"],
        million="\n".join(million),
        h200=PEOPLE / h200["people per second, table to checked table"] / 3600,
    )
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "sizing.md").write_text(page(), encoding="utf-8")
