"""What stands of the paper's tables."""

from collections.abc import Sequence

from experiments._standing import Item, Pair, compared, shown
from experiments.consistent_counterfactuals._result import Result
from experiments.consistent_counterfactuals._tables import PAPER, figure, in_print, mean

RATE, COST = 0.10, 0.25
FOUND = ("Min l1", "Min l2", "Min eps PGD", "Looveren et al.", "Pawelczyk et al.")
NOT_THEIRS = "moved to the nearest point of the boundary"


def standing(results: Sequence[Result]) -> str:
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
    return (
        f"By dataset, in this order: {names}. Met: a rate within {RATE:.2f} of the print (success within 0.05, R2 "
        f"within 0.05), a cost within {COST:.0%}; of SNS also below it. Seeds are base models, "
        "each judged by 100 retrained ones.\n\n" + shown(items)
    )
