"""What stands of the paper's tables."""

from collections.abc import Iterable, Sequence

import numpy as np

from experiments._standing import Item, Pair, Standing, compared
from experiments.consistent_counterfactuals._further import NAMES, published, r2_of
from experiments.consistent_counterfactuals._further import figure as figure_of
from experiments.consistent_counterfactuals._result import Result
from experiments.consistent_counterfactuals._tables import PAPER, figure, in_print, mean, printed_of

RATE, COST = 0.10, 0.25
FOUND = ("Min l1", "Min l2", "Min eps PGD", "Looveren et al.", "Pawelczyk et al.")
FIRST = (
    "Table 1, broken by new seeds: Min l2 + SNS",
    "Table 1, broken by new seeds: Min l1 + SNS",
    "Table 1, broken by new seeds: Min l1",
    "Table 1, broken by new seeds: Min eps PGD as published",
    "Table 1, broken by new seeds: Looveren",
    "Table 1, broken by one row left out: Min l2 + SNS",
    "Table 2, success: Pawelczyk",
    "Table 1, R2 pooled",
)
"""Items that the page begins with, of two that begin alike the shorter."""
NOT_THEIRS = "moved to the nearest point of the boundary"


def standing(results: Sequence[Result]) -> Standing:
    """Its tables, ours beside the print."""
    own = [r for r in results if not r.dataset.endswith("-minmax")]
    names = ", ".join(r.title for r in own)
    n = f"{len(own[0].bases)} models" if own else "-"

    def pairs(key: str, name: str) -> dict[str, Pair]:
        return {r.title: (figure(r, name, key), (in_print(key, name, r) or (None, None))[0]) for r in own}

    items: list[Item] = []
    for name in PAPER:
        better = "lower" if "SNS" in name else None
        other = NOT_THEIRS if name.startswith("Min eps PGD") else None
        title = f"Table 1, broken by new seeds: {name}"
        items.append(compared(title, pairs("iv_rs", name), n, within=RATE, better=better, other=other))
    items += _published(own)
    for name in ("Min l1", "Min l2", "Min l2 + SNS"):
        title = f"Table 1, broken by one row left out: {name}"
        better = "lower" if "SNS" in name else None
        items.append(compared(title, pairs("iv_loo", name), "1 model", within=RATE, better=better))
    for name in (*FOUND, "Min l2 + SNS"):
        better = "lower" if "SNS" in name else None
        other = NOT_THEIRS if name.startswith("Min eps PGD") else None
        title = f"Tables 1 and 4, l2 cost: {name}"
        items.append(compared(title, pairs("l2", name), n, within=COST, relative=True, better=better, other=other))
    for name in FOUND:
        items.append(compared(f"Table 2, success: {name}", pairs("success", name), n, within=0.05))
    r2 = {
        r.title: (mean(r, lambda b: b.r2.get("all")), (in_print("r2", "all", r) or (None, None))[0]) for r in own
    }
    items.append(compared("Table 1, R2 of cost and invalidation", r2, n, within=0.05,
                          other="pooled over our methods too, new seeds only"))  # fmt: skip
    found = {r.title: _pooled(r.dataset) for r in own}
    if any(pair is not None for pair in found.values()):
        pooled: dict[str, Pair] = {t: (found[t], r2[t][1]) for t in found}
        title = "Table 1, R2 pooled as the paper pools it"
        items.append(compared(title, pooled, f"{_bases(r.dataset for r in own)} models", within=0.05))
    intro = (
        f"By dataset, in this order: {names}. Met: a rate within {RATE:.2f} of the print (success within 0.05, R2 "
        f"within 0.05), a cost within {COST:.0%}; of SNS also below it. Seeds are base models, "
        "each judged by 100 retrained ones where no other number stands."
    )
    return Standing(intro, items, FIRST)


def _published(own: Sequence[Result]) -> list[Item]:
    """Min-eps PGD as the paper has it, on the datasets where it was run."""
    found = published()
    titles = {r.dataset: r.title for r in own}
    items = []
    for key, called in (("iv_rs", "broken by new seeds"), ("l2", "l2 cost")):
        pairs: dict[str, Pair] = {}
        for dataset, title in titles.items():
            ours = figure_of(found[dataset], NAMES["paper"], key) if dataset in found else None
            theirs = printed_of(key, "Min eps PGD", dataset)
            pairs[title] = ours, theirs[0] if theirs else None
        counts = [str(found[dataset]["n_models"]) if dataset in found else "-" for dataset in titles]
        n = f"{_bases(titles)} models; retrained {' · '.join(counts)}"
        relative = key == "l2"
        title = f"Table 1, {called}: Min eps PGD as published"
        items.append(compared(title, pairs, n, within=COST if relative else RATE, relative=relative))
    return items if found else []


def _pooled(dataset: str) -> float | None:
    values = r2_of(published().get(dataset, {"bases": []}), "both")
    return float(np.mean(values)) if values else None


def _bases(datasets: Iterable[str]) -> str:
    """Base models of what was run as published, by dataset."""
    found = published()
    return " · ".join(str(len(found[dataset]["bases"])) if dataset in found else "-" for dataset in datasets)
