"""What the paper has and the main run has not: tables of ``closer-*.json``."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments._report import cell, read, table
from experiments.actionable_recourse._figures import mean

PRINTED_F1 = 0.613
"""Of footnote 6: Adult, miscoverage and failure 0.25."""
ENOUGH = 0.9
"""Share of the refused who are to have recourse."""


def further(folder: Path) -> str:
    """Footnote 6, Bail's test cohort and where Compas' trainings begin, those that were run."""
    found = {name: own["found"] for name, own in read(folder, "closer-*").items()}
    makers = {"closer-footnote": _footnote, "closer-bail": _bail, "closer-states": _states}
    texts = [make(found[name]) for name, make in makers.items() if name in found]
    return "\n\n".join(texts) + "\n" if texts else ""


def footnote(folder: Path) -> tuple[float | None, int]:
    """F1 of Adult with the weak guarantee, exact bound and derived step, and of how many splits."""
    own = read(folder, "closer-footnote").get("closer-footnote")
    if own is None:
        return None, 0
    runs = own["found"]["derived"]
    return mean(runs, lambda f: f["f1"])[0], len(runs)


def _footnote(found: dict[str, Any]) -> str:
    named = {"derived": "as derived, exact bound", "published": "as published"}
    columns = ("f1", "recourse_all", "accepted")
    rows = [
        [named[key], *(cell(*_digits(mean(runs, lambda f, k=k: f[k]))) for k in columns), str(len(runs))]
        for key, runs in found.items()
    ]  # fmt: skip
    rows.append(["printed", cell(PRINTED_F1, 3), "-", "-", "-"])
    head = ["λ 0.8", "F1", "recourse, all", "accepted", "splits"]
    return f"### Adult with a weaker guarantee: miscoverage and failure 0.25 (footnote 6)\n\n{table(head, rows)}"


def _bail(found: dict[str, Any]) -> str:
    rows = []
    for key, runs in found.items():
        shares = []
        for search in ("code", "linear", "best"):
            refused = sum(r[search]["refused"] for r in runs)
            shares.append(sum(r[search]["found"] for r in runs) / refused if refused else None)
        figures = [cell(*_digits(mean(runs, lambda f, k=k: f[k]))) for k in ("f1", "accuracy", "auc", "accepted")]
        rows.append([key, *figures, *(cell(s, 3) for s in shares), str(sum(r["code"]["refused"] for r in runs))])
    rows.append(["printed", "0.760", "0.629", "-", "-", "0.993", "-", "-", "-"])
    head = ["test cohort scaled", "F1", "accuracy", "AUC", "accepted", "recourse, the code's step",
            "the derived step", "best", "refused"]  # fmt: skip
    return (
        f"### Bail, the paper's file, as published (λ 0.8): how its test cohort is scaled\n\n{table(head, rows)}"
    )


def _states(found: dict[str, Any]) -> str:
    """Compas at one lambda by where the training begins, split by split; the last rows are of a choice."""
    named = {
        "fresh": "fresh weights", "from 2": "the weights of λ 2",
        "from 2, longer": "the weights of λ 2, four times as long",
    }  # fmt: skip
    rows = []
    for key, splits in found.items():
        for i, runs in enumerate(splits):
            rows.append([named[key], str(i), *_spans(runs)])
    for i, runs in enumerate(zip(*found.values(), strict=True)):
        rows.append(["taken by watched rows", str(i), *_spans([taken([run for part in runs for run in part])])])
    head = ["training begins with", "split", "watched loss", "its two terms", "recourse of the refused",
            "accuracy", "AUC", "accepted"]  # fmt: skip
    return f"### Compas at λ 0.8: where trainings begin and end, one seed a split\n\n{table(head, rows)}"


def taken(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of a split's trainings the most accurate on the watched rows that leaves enough of these recourse there."""
    fine = [r for r in runs if _rate(r["watch"]) >= ENOUGH]
    return max(fine, key=lambda r: r["watch"]["accuracy"]) if fine else max(runs, key=lambda r: _rate(r["watch"]))


def _rate(told: dict[str, Any]) -> float:
    return told["found"] / told["refused"] if told["refused"] else 1.0


def _spans(runs: Sequence[dict[str, Any]]) -> list[str]:
    def span(get: Callable[[dict[str, Any]], float], digits: int) -> str:
        values = [get(run) for run in runs]
        low, high = (f"{v:.{digits}f}" for v in (min(values), max(values)))
        return low if low == high else f"{low} to {high}"

    terms = " + 0.8 · ".join(span(lambda r, k=k: r[k], 2) for k in ("supervised", "owed"))
    return [span(lambda r: r["loss"], 3), terms, span(lambda r: _rate(r["test"]), 2),
            *(span(lambda r, k=k: r["test"][k], 2) for k in ("accuracy", "auc", "accepted"))]  # fmt: skip


def _digits(pair: tuple[float | None, float | None]) -> tuple[float | None, int, float | None]:
    return pair[0], 3, pair[1]
