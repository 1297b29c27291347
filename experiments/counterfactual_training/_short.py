"""Small tables within the page's text, of the figures that a paragraph is about."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments._report import cell, read, table
from experiments.counterfactual_training._result import Result
from experiments.counterfactual_training._settings import HELD, OURS, PAPER, PGD, PLAIN
from experiments.counterfactual_training._tables import against, got, printed

RESULTS = Path(__file__).parent / "results"


def short(results: Sequence[Result]) -> dict[str, str]:
    """Tables by the names of their marks."""
    return {
        "gains": _gains(results),
        "protected": _protected(results),
        "attacked": _attacked(results),
        "studied": _studied(results),
        "slopes": _slopes(results),
    }


def _ip(result: Result, protocol: str) -> float | None:
    found = against(got(result, protocol, "free", PAPER), PLAIN)
    return found and found.ip and found.ip.gain


def _cost(result: Result, protocol: str, kind: str) -> float | None:
    found = against(got(result, protocol, "held", kind), PLAIN)
    return found and found.cost and found.cost.gain


def _print(key: str, result: Result) -> float | None:
    theirs = printed()[key].get(result.title)
    return None if theirs is None else theirs[0]


def _gains(results: Sequence[Result]) -> str:
    """CT as printed below plain training, in percent."""
    rows = []
    for r in results:
        found = against(got(r, "honest", "free", PAPER), PLAIN)
        star = ((found and found.ip_star) or {}).get("median")
        values = [_print("ip", r), _ip(r, "paper"), _ip(r, "honest"), star and star.gain]
        rows.append([r.title, *(cell(v, 0) for v in values)])
    head = ["percent below plain training", "IP, print", "IP, the paper's protocol", "IP, honest", "IP*, honest"]
    return table(head, rows)


def _protected(results: Sequence[Result]) -> str:
    """Cost of recourse with the protected feature held, below plain training's, in percent."""
    rows = []
    for r in results:
        values = [_print("cost", r), _cost(r, "paper", PAPER + HELD), _cost(r, "paper", PAPER),
                  _cost(r, "honest", PAPER + HELD)]  # fmt: skip
        rows.append([r.title, *(cell(v, 0) for v in values)])
    head = ["cost, percent below plain training", "print", "the paper's protocol",
            "the same, trained without protection", "honest"]  # fmt: skip
    return table(head, rows)


def _attacked(results: Sequence[Result]) -> str:
    """Accuracy, and under PGD of the tested radius."""
    kinds, rows = (PLAIN, PAPER, PGD), []
    for r in (r for r in results if r.n_columns > 2):
        told = [
            " / ".join(f"{float(np.mean(getattr(r.kinds[kind], key))):.2f}" for kind in kinds)
            for key in ("accuracy", "pgd")
        ]
        rows.append([r.title, *told])
    return table(["plain / CT / PGD training", "accuracy", "under PGD of 0.1"], rows)


def _studied(results: Sequence[Result]) -> str:
    """What the settings used had on the rows that they were chosen by."""
    titles, rows = {r.dataset: r.title for r in results}, []
    for name, found in read(RESULTS, "study-*").items():
        base, row = found["base"], next(row for row in found["rows"] if row["setting"] == found["chosen"])
        told = [
            " / ".join(f"{part[key]:.3f}" for part in (row, base[PLAIN], base[PGD])) for key in ("accuracy", "pgd")
        ]
        gains = [f"{row[f'ip below {kind}']:.0f}" for kind in (PLAIN, PGD)]
        rows.append([titles[name.removeprefix("study-")], *gains, f"{row['validity']:.3f}", *told])
    return table(["", "IP below BL", "IP below PGD", "validity", "accuracy: ours / BL / PGD",
                  "under PGD 0.1: ours / BL / PGD"], rows)  # fmt: skip


def _slopes(results: Sequence[Result]) -> str:
    """Share of the slopes on protected columns, with protection in training and without."""
    kinds, rows = (PLAIN, PAPER, PAPER + HELD, OURS, OURS + HELD), []
    for r in results:
        cells = []
        for kind in kinds:
            found = r.kinds[kind].sensitivity if kind in r.kinds else None
            there = [v for v in (found or {}).get("slope", []) if v is not None]
            cells.append(cell(float(np.mean(there)), 3) if there else "-")
        rows.append([r.title, *cells])
    return table(["share of the slope on the protected", *kinds], rows)
