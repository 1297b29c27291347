"""Tables 1-4 with ours beside the printed figures, and what the paper does not have, as Markdown."""

import json
from collections.abc import Callable, Collection, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from experiments._report import beside, cell, table
from experiments.consistent_counterfactuals._result import OfBase, Result

PAPER = ["Min l1", "Min l2", "Min eps PGD", "Looveren et al.", "Pawelczyk et al.",
         "Min l1 + SNS", "Min l2 + SNS", "Min eps PGD + SNS"]  # fmt: skip
POOLS = {
    "iv_rs": "new seeds",
    "iv_loo": "one row left out",
    "both": "both kinds, a point each",
    "in one rate": "both kinds in one rate",
}
"""Ways to pool R2 over both kinds of retraining, which the paper's words leave open."""
OURS = ["Stable, cost of SNS", "Stable"]


def printed() -> dict[str, Any]:
    """Figures of the paper: metric, method, dataset, then value and deviation."""
    text = files("experiments.consistent_counterfactuals").joinpath("printed.json").read_text("utf-8")
    return json.loads(text)["figures"]


def markdown(results: Sequence[Result], parts: Collection[str] = ()) -> str:
    """Tables of some datasets' results: those of the paper that are asked for, or all, and what it lacks."""
    texts = [
        *_main(results, parts),
        _success(results) if not parts or "table 2" in parts else "",
        _r2(results) if not parts or "table 1" in parts else "",
    ]
    if not parts:
        texts += [_ours(results), _front(results), _directions(results), _hardened(results)]
        texts += [_shelf_life(results), _time(results)]
    return "\n\n".join(text for text in texts if text) + "\n"


def mean(result: Result, get: Callable[[OfBase], float | None]) -> float | None:
    """Mean over base models of what `get` finds in one."""
    values = [value for base in result.bases if (value := get(base)) is not None]
    return float(np.mean(values)) if values else None


def _by_method(results: Sequence[Result], names: Sequence[str], entry: Callable[[Result, str], str]) -> str:
    head = ["method", *(r.title for r in results)]
    return table(head, [[name, *(entry(r, name) for r in results)] for name in names])


def figure(result: Result, name: str, key: str, part: str | None = None) -> float | None:
    """A figure of a method, or of a part of its people, in the mean over base models."""

    def get(base: OfBase) -> float | None:
        found = base.relaxed.get(name)
        return getattr(found if found is None or part is None else getattr(found, part), key, None)

    return mean(result, get)


def in_print(key: str, name: str, result: Result) -> Sequence[float | None] | None:
    """Value and deviation that the paper prints."""
    return printed_of(key, name, result.dataset)


def printed_of(key: str, name: str, dataset: str) -> Sequence[float | None] | None:
    """The same by the dataset's name."""
    return printed().get(key, {}).get(name, {}).get(dataset.removesuffix("-minmax"))


def _main(results: Sequence[Result], asked: Collection[str]) -> list[str]:
    texts = []
    for key, tables, title in (
        ("iv_rs", {"table 1", "table 3"}, "Invalidation rate under new seeds (Tables 1 and 3)"),
        ("iv_loo", {"table 1", "table 3"}, "Invalidation rate, one row left out, same order of rows"),
        ("l2", {"table 1", "table 4"}, "l2 cost (Tables 1 and 4)"),
        ("l1", {"table 4"}, "l1 cost (Table 4)"),
    ):
        if asked and not tables & set(asked):
            continue
        text = _by_method(
            results,
            PAPER,
            lambda r, n, key=key: beside(
                figure(r, n, key), in_print(key, n, r), 3 if key[0] == "i" else 2, figure(r, n, f"{key}_std")
            ),
        )
        texts.append(f"### {title}, ours / printed\n\n{text}")
    if not asked:
        text = _by_method(results, PAPER, lambda r, n: cell(figure(r, n, "iv_loo_new_order"), 3))
        texts.append(f"### Invalidation rate, one row left out, new order of rows (not in the paper)\n\n{text}")
    return texts


def _success(results: Sequence[Result]) -> str:
    text = _by_method(results, PAPER, lambda r, n: beside(figure(r, n, "success"), in_print("success", n, r)))
    return f"### Success rate (Table 2), ours / printed\n\n{text}"


def _ours(results: Sequence[Result]) -> str:
    names = ["Min l2 + SNS", *OURS]
    text = _by_method(
        results,
        names,
        lambda r, n: (
            f"{cell(figure(r, n, 'iv_rs'), 3)} at {cell(figure(r, n, 'l2'))} ({cell(figure(r, n, 'success'))})"
        ),
    )
    return f"### StableSearch beside SNS: invalidation under new seeds at l2 cost (success)\n\n{text}"


def _front(results: Sequence[Result]) -> str:
    names = [n for n in results[0].bases[0].relaxed if n.startswith(("SNS,", "Stable, aim"))]

    if not names:
        return ""

    def entry(result: Result, name: str) -> str:
        return f"{cell(figure(result, name, 'iv_rs'), 3)} at {cell(figure(result, name, 'l2'))}"

    return "### Other radii and aims: invalidation under new seeds at l2 cost\n\n" + _by_method(
        results, names, entry
    )


def _directions(results: Sequence[Result]) -> str:
    def entry(result: Result, name: str) -> str:
        return " at ".join(cell(figure(result, name, key, "favourable"), 3) for key in ("iv_rs", "l2"))

    text = _by_method(results, [*PAPER, *OURS], entry)
    return f"### Towards the favourable decision only: invalidation under new seeds at l2 cost\n\n{text}"


def _hardened(results: Sequence[Result]) -> str:
    def afterwards(result: Result, name: str) -> str:
        valid, rate = (figure(result, name, key, "hardened") for key in ("valid", "iv_rs"))
        return f"{cell(valid)}, {cell(rate, 3)}"

    def within(result: Result, name: str) -> str:
        success, rate, cost = (
            mean(result, lambda base, key=key: getattr(base.within_schema.get(name), key, None))
            for key in ("success", "iv_rs", "l2")
        )
        return f"{cell(rate, 3)} at {cell(cost)} ({cell(success)})"

    names = ["Min l2", "Min l2 + SNS", *OURS, "Stable, aim 0.9"]
    return (
        "### Hardened afterwards: share still valid, and invalidation under new seeds of those\n\n"
        + _by_method(results, [*PAPER, *OURS], afterwards)
        + "\n\n### Searched in hardened points, to the favourable decision: invalidation at l2 cost (success)\n\n"
        + _by_method(results, names, within)
    )


def _r2(results: Sequence[Result]) -> str:
    def entry(result: Result, name: str) -> str:
        ours = mean(result, lambda base: base.r2.get(name))
        return beside(ours, in_print("r2", "all", result)) if name == "all" else cell(ours)

    text = _by_method(results, [*PAPER, "all"], entry)
    return f"### R2 of cost and invalidation over people (Table 1 prints it pooled over methods)\n\n{text}"


def _shelf_life(results: Sequence[Result]) -> str:
    rows = [
        [title, *(cell(mean(r, lambda base, key=key: getattr(base.shelf_life, key)), 3) for r in results)]
        for key, title in (
            ("mean_absolute_error", "mean absolute error"),
            ("bias", "bias"),
            ("held_where_all_accept", "share of further models that accept, where all asked did"),
        )
    ]
    text = table(["a fifth of the unseen models against the rest", *(r.title for r in results)], rows)
    return f"### Shelf life\n\n{text}"


def _time(results: Sequence[Result]) -> str:
    rows = [
        ["people", *(str(r.n_people) for r in results)],
        ["retrained models of each kind", *(str(r.n_models) for r in results)],
        ["base models", *(str(len(r.bases)) for r in results)],
        ["accuracy of the base models", *(", ".join(f"{a:.3f}" for a in r.accuracy) for r in results)],
        ["seconds in all", *(f"{sum(r.seconds.values()):.0f}" for r in results)],
        [
            "of which training",
            *(f"{sum(s for n, s in r.seconds.items() if _is_training(n)):.0f}" for r in results),
        ],
    ]
    return "### What was run\n\n" + table(["", *(r.title for r in results)], rows)


def _is_training(stage: str) -> bool:
    return stage == "base models" or stage.endswith((" guides", " of rows", " of new seeds"))
