"""Results of parts, put together: ``python -m experiments.actionable_recourse merge FOLDER ...``.

``holdtrue papers actionable-recourse --dataset NAME --table N --splits N --out FOLDER`` runs what a table or a
figure needs. This puts the files of some folders into ``results/NAME.json``: a kind of model that was there has
its new figures only if they are of as many splits or more; noise and causes likewise; what a file has not stays.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments._report import write
from experiments._results import in_turn
from experiments.actionable_recourse._result import Result
from holdtrue.errors import DataError

RESULTS = Path(__file__).parent / "results"
ALIKE = ("n_test", "n_calibrate", "n_train")
"""What two files must share to be of one experiment."""
BY_KIND = ("kinds", "extras", "causal")
"""Of a result: by name, a list with an entry per split."""


def merge(into: dict[str, Any], found: dict[str, Any], parts: Sequence[str] = BY_KIND) -> dict[str, Any]:
    """A dataset's results with some parts of those of another run."""
    for key in ALIKE:
        if into[key] != found[key]:
            raise DataError(
                f"merge: `{key}` of {found['dataset']!r} differs; got {into[key]!r} and {found[key]!r}. "
                "Merge runs of the same data."
            )
    out = dict(into)
    for part in parts:
        rows = dict(into.get(part, {}))
        for name, splits in found.get(part, {}).items():
            if len(splits) >= len(rows.get(name, [])):
                rows[name] = splits
        if rows:
            out[part] = rows
    return out


def merge_command(parts: Sequence[str]) -> str:
    """The command that puts a folder's files into the results."""
    only = "" if set(parts) == set(BY_KIND) else "".join(f" --only {part}" for part in parts)
    return f"python -m experiments.actionable_recourse merge FOLDER{only}"


def merge_folders(folders: Sequence[Path], parts: Sequence[str], results: Path = RESULTS) -> list[Path]:
    """Put every file of some folders into the results; the files that were written."""
    written = []
    for place in (p for folder in folders for p in sorted(folder.glob("*.json"))):
        target = results / place.name
        into, found = (json.loads(p.read_text("utf-8")) for p in (target, place))
        merged = merge(into, found, parts)
        merged["command"] = in_turn(into.get("command"), found.get("command"), merge_command(parts))
        write(target, Result.from_dict(merged).to_dict())
        written.append(target)
    return written


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    merging = parser.add_subparsers(required=True, dest="command").add_parser("merge")
    merging.add_argument("folders", nargs="+", type=Path)
    merging.add_argument("--only", action="append", choices=BY_KIND, help="this alone, where kinds of model stay")
    given = parser.parse_args()
    for name in merge_folders(given.folders, given.only or BY_KIND):
        print(name)
