"""What the paper has and the main run has not: tables of ``closer-*.json``."""

from pathlib import Path
from typing import Any

from experiments._report import cell, read, table
from experiments.actionable_recourse._figures import mean

PRINTED_F1 = 0.613
"""Of footnote 6: Adult, miscoverage and failure 0.25."""


def further(folder: Path) -> str:
    """Footnote 6 and Bail's test cohort, those that were run."""
    found = {name: own["found"] for name, own in read(folder, "closer-*").items()}
    makers = {"closer-footnote": _footnote, "closer-bail": _bail}
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


def _digits(pair: tuple[float | None, float | None]) -> tuple[float | None, int, float | None]:
    return pair[0], 3, pair[1]
