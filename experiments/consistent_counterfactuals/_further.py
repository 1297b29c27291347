"""Methods as published: tables of ``published-*.json``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import beside, cell, read, table
from experiments.consistent_counterfactuals._tables import POOLS, printed_of

RESULTS = Path(__file__).parent / "results"
NAMES = {"paper": "Min eps PGD, the paper's step", "code": "Min eps PGD, the code's step"}


def published(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """What was run as published, by dataset."""
    return {found["dataset"]: found for found in read(folder, "published-*").values()}


def figure(found: dict[str, Any], name: str, key: str) -> float | None:
    """A figure of a method, in the mean over the base models that have it."""
    values = [base["methods"].get(name, {}).get(key) for base in found["bases"]]
    there = [v for v in values if v is not None]
    return float(np.mean(there)) if there else None


def further(folder: Path) -> str:
    """Min-eps PGD as published, R2 as pooled by the paper, and other readings of two methods."""
    own = published(folder)
    if not own:
        return ""
    texts = [_balls(own), _pooled(own), _readings(own), _run(own)]
    return "\n\n".join(text for text in texts if text) + "\n"


def _rows(
    own: dict[str, Any], names: dict[str, str], entry: Callable[[dict[str, Any], str, str], str]
) -> list[list[str]]:
    return [[called, *(entry(found, name, called) for found in own.values())] for name, called in names.items()]


def _balls(own: dict[str, Any]) -> str:
    names = {f"{NAMES[step]}{more}": f"{NAMES[step]}{more}" for more in ("", " + SNS") for step in NAMES}

    def entry(found: dict[str, Any], name: str, _: str) -> str:
        theirs = "Min eps PGD + SNS" if name.endswith("SNS") else "Min eps PGD"
        cells = [
            f"{beside(figure(found, name, key), printed_of(key, theirs, found['dataset']), digits)}"
            for key, digits in (("iv_rs", 3), ("iv_loo", 3), ("l2", 2), ("success", 2))
        ]
        return "; ".join(cells)

    head = ["", *(found["title"] for found in own.values())]
    title = "### Min-eps PGD as published, without our move to the nearest point of the boundary"
    told = "Broken by new seeds; by one row left out; l2 cost; success. Ours / printed."
    return f"{title}\n\n{told}\n\n{table(head, _rows(own, names, entry))}"


def _pooled(own: dict[str, Any]) -> str:
    there = {key: found for key, found in own.items() if any("r2" in base for base in found["bases"])}
    if not there:
        return ""
    rows = []
    for key, called in POOLS.items():
        cells = []
        for found in there.values():
            values = [base["r2"][key] for base in found["bases"] if "r2" in base]
            cells.append(cell(float(np.mean(values))))
        rows.append([called, *cells])
    rows.append(["printed", *(cell((printed_of("r2", "all", key) or (None,))[0]) for key in there)])
    head = ["", *(found["title"] for found in there.values())]
    return f"### R2 of cost and invalidation, pooled over the paper's five methods\n\n{table(head, rows)}"


def _readings(own: dict[str, Any]) -> str:
    rows = []
    for found in own.values():
        names = [n for n in found["bases"][0]["methods"] if n.startswith(("Looveren", "Pawelczyk"))]
        for name in names:
            get = lambda key, found=found, name=name: figure(found, name, key)  # noqa: E731
            theirs = f"{name.split(',')[0].split()[0]} et al."
            cells = [
                beside(get(key), printed_of(key, theirs, found["dataset"]), digits)
                for key, digits in (("success", 2), ("l2", 2), ("iv_rs", 3))
            ]
            extra = [cell(get(key)) for key in ("reconstructed", "reconstruction_l2")]
            rows.append([f"{found['title']}, {name}", *cells, *extra])
    if not rows:
        return ""
    head = [
        "",
        "success",
        "l2 cost",
        "broken by new seeds",
        "own reconstruction has the decision wanted",
        "its l2 cost",
    ]
    return f"### Looveren et al. and Pawelczyk et al. under other readings, ours / printed\n\n{table(head, rows)}"


def _run(own: dict[str, Any]) -> str:
    rows = [
        [found["title"], str(found["n_people"]), str(found["n_models"]), str(len(found["bases"])),
         "-".join(str(n) for n in found["coder"]), f"`{found['command']}`"]
        for found in own.values()
    ]  # fmt: skip
    head = ["", "people", "retrained models of each kind", "base models", "autoencoder", "command"]
    return f"### What was run as published\n\n{table(head, rows)}"
