"""Results of parts, put together: ``python -m experiments.robustness_tradeoffs merge FOLDER ...``.

``holdtrue papers robustness-tradeoffs --dataset NAME --figure N --out FOLDER`` runs one part of a dataset, in a
process of its own. This puts the files of some folders, in their order, into ``results/NAME.json``: what a file
has replaces what was there, and what it has not stays.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments._report import write
from experiments.robustness_tradeoffs._result import Result
from holdtrue.errors import DataError

RESULTS = Path(__file__).parent / "results"
ALIKE = ("n_train", "n_columns", "n_fixed_columns")
"""What two files must share to be of one experiment."""


def merge(into: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """A dataset's results with those of another process."""
    if not into:
        return found
    for key in ALIKE:
        if into[key] != found[key]:
            raise DataError(
                f"merge: `{key}` of {found['dataset']!r} differs; got {into[key]!r} and {found[key]!r}. "
                "Merge runs of the same data."
            )
    kept = ("models", "seconds")
    out = into | {key: value for key, value in found.items() if value not in (None, {}) and key not in kept}
    out["n_splits"] = max(into["n_splits"], found["n_splits"])
    out["radii"] = into["radii"] if len(into["radii"]) >= len(found["radii"]) else found["radii"]
    out["collapse"] = max(into["collapse"], found["collapse"], key=lambda c: len(c["linf"]))
    out["models"] = into.get("models", {}) | found.get("models", {})
    out["seconds"] = into["seconds"] | found["seconds"]
    return out


def merge_folders(folders: Sequence[Path], results: Path = RESULTS) -> list[Path]:
    """Put every file of some folders into the results; the files that were written."""
    written = []
    for place in (p for folder in folders for p in sorted(folder.glob("*.json"))):
        target = results / place.name
        before = json.loads(target.read_text("utf-8")) if target.exists() else {}
        merged = merge(before, json.loads(place.read_text("utf-8")))
        write(target, Result.from_dict(merged).to_dict())
        written.append(target)
    return written


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_subparsers(required=True, dest="command").add_parser("merge").add_argument(
        "folders", nargs="+", type=Path
    )
    for name in merge_folders(parser.parse_args().folders):
        print(name)
