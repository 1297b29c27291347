"""Tables 1-4 with ours beside the printed figures, and what the paper does not have, as Markdown."""

import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

PAPER = ["Min l1", "Min l2", "Min eps PGD", "Looveren et al.", "Pawelczyk et al.",
         "Min l1 + SNS", "Min l2 + SNS", "Min eps PGD + SNS"]  # fmt: skip
OURS = ["Stable, cost of SNS", "Stable"]


def printed() -> dict[str, Any]:
    """Figures of the paper: metric, method, dataset, then value and deviation."""
    text = files("holdfast.papers.consistent_counterfactuals").joinpath("printed.json").read_text("utf-8")
    return json.loads(text)["figures"]


def markdown(results: Sequence[dict[str, Any]]) -> str:
    """All tables of some datasets' results."""
    parts = [
        _main(results),
        _success(results),
        _ours(results),
        _front(results),
        _directions(results),
        _hardened(results),
    ]
    parts += [_r2(results), _shelf_life(results), _time(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


def mean(result: dict[str, Any], get: Callable[[dict[str, Any]], float | None]) -> float | None:
    """Mean over base models of what `get` finds in one."""
    values = [value for base in result["bases"] if (value := get(base)) is not None]
    return float(np.mean(values)) if values else None


def _cell(value: float | None, digits: int = 2, std: float | None = None) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}f}" + ("" if std is None else f" ± {std:.2f}")


def _beside(
    ours: float | None, theirs: Sequence[float | None] | None, digits: int = 2, std: float | None = None
) -> str:
    value, deviation = (None, None) if theirs is None else theirs
    return f"{_cell(ours, digits, std)} / {_cell(value, 2, deviation)}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _by_method(
    results: Sequence[dict[str, Any]], names: Sequence[str], cell: Callable[[dict[str, Any], str], str]
) -> str:
    head = ["method", *(r["title"] for r in results)]
    return _table(head, [[name, *(cell(r, name) for r in results)] for name in names])


def _figure(result: dict[str, Any], name: str, key: str, part: str | None = None) -> float | None:
    def get(base: dict[str, Any]) -> float | None:
        found = base["relaxed"].get(name, {})
        return (found if part is None else found.get(part, {})).get(key)

    return mean(result, get)


def _paper(key: str, name: str, result: dict[str, Any]) -> Sequence[float | None] | None:
    return printed().get(key, {}).get(name, {}).get(result["dataset"].removesuffix("-minmax"))


def _main(results: Sequence[dict[str, Any]]) -> str:
    parts = []
    for key, title in (
        ("iv_rs", "Invalidation rate under new seeds (Tables 1 and 3), ours / printed"),
        ("iv_loo", "Invalidation rate, one row left out, same order of rows, ours / printed"),
        ("l2", "l2 cost (Tables 1 and 4), ours / printed"),
        ("l1", "l1 cost (Table 4), ours / printed"),
    ):
        text = _by_method(
            results,
            PAPER,
            lambda r, n, key=key: _beside(
                _figure(r, n, key), _paper(key, n, r), 3 if key[0] == "i" else 2, _figure(r, n, f"{key}_std")
            ),
        )
        parts.append(f"### {title}\n\n{text}")
    text = _by_method(results, PAPER, lambda r, n: _cell(_figure(r, n, "iv_loo_new_order"), 3))
    parts.append(f"### Invalidation rate, one row left out, new order of rows (not in the paper)\n\n{text}")
    return "\n\n".join(parts)


def _success(results: Sequence[dict[str, Any]]) -> str:
    text = _by_method(results, PAPER, lambda r, n: _beside(_figure(r, n, "success"), _paper("success", n, r)))
    return f"### Success rate (Table 2), ours / printed\n\n{text}"


def _ours(results: Sequence[dict[str, Any]]) -> str:
    names = ["Min l2 + SNS", *OURS]
    text = _by_method(
        results,
        names,
        lambda r, n: (
            f"{_cell(_figure(r, n, 'iv_rs'), 3)} at {_cell(_figure(r, n, 'l2'))} "
            f"({_cell(_figure(r, n, 'success'))})"
        ),
    )
    return f"### StableSearch beside SNS: invalidation under new seeds at l2 cost (success)\n\n{text}"


def _front(results: Sequence[dict[str, Any]]) -> str:
    names = [n for n in results[0]["bases"][0]["relaxed"] if n.startswith(("SNS,", "Stable, aim"))]

    if not names:
        return ""

    def cell(result: dict[str, Any], name: str) -> str:
        return f"{_cell(_figure(result, name, 'iv_rs'), 3)} at {_cell(_figure(result, name, 'l2'))}"

    return "### Other radii and aims: invalidation under new seeds at l2 cost\n\n" + _by_method(
        results, names, cell
    )


def _directions(results: Sequence[dict[str, Any]]) -> str:
    def cell(result: dict[str, Any], name: str) -> str:
        return " at ".join(_cell(_figure(result, name, key, "favourable"), 3) for key in ("iv_rs", "l2"))

    text = _by_method(results, [*PAPER, *OURS], cell)
    return f"### Towards the favourable decision only: invalidation under new seeds at l2 cost\n\n{text}"


def _hardened(results: Sequence[dict[str, Any]]) -> str:
    def afterwards(result: dict[str, Any], name: str) -> str:
        valid, rate = (_figure(result, name, key, "hardened") for key in ("valid", "iv_rs"))
        return f"{_cell(valid)}, {_cell(rate, 3)}"

    def within(result: dict[str, Any], name: str) -> str:
        success, rate, cost = (
            mean(result, lambda base, key=key: base["within_schema"].get(name, {}).get(key))
            for key in ("success", "iv_rs", "l2")
        )
        return f"{_cell(rate, 3)} at {_cell(cost)} ({_cell(success)})"

    names = ["Min l2", "Min l2 + SNS", *OURS, "Stable, aim 0.9"]
    return (
        "### Hardened afterwards: share still valid, and invalidation under new seeds of those\n\n"
        + _by_method(results, [*PAPER, *OURS], afterwards)
        + "\n\n### Searched in hardened points, to the favourable decision: invalidation at l2 cost (success)\n\n"
        + _by_method(results, names, within)
    )


def _r2(results: Sequence[dict[str, Any]]) -> str:
    def cell(result: dict[str, Any], name: str) -> str:
        ours = mean(result, lambda base: base["r2"].get(name))
        return _beside(ours, _paper("r2", "all", result)) if name == "all" else _cell(ours)

    text = _by_method(results, [*PAPER, "all"], cell)
    return f"### R2 of cost and invalidation over people (Table 1 prints it pooled over methods)\n\n{text}"


def _shelf_life(results: Sequence[dict[str, Any]]) -> str:
    rows = [
        [title, *(_cell(mean(r, lambda base, key=key: base["shelf_life"][key]), 3) for r in results)]
        for key, title in (
            ("mean_absolute_error", "mean absolute error"),
            ("bias", "bias"),
            ("held_where_all_accept", "share of further models that accept, where all asked did"),
        )
    ]
    text = _table(["a fifth of the unseen models against the rest", *(r["title"] for r in results)], rows)
    return f"### Shelf life\n\n{text}"


def _time(results: Sequence[dict[str, Any]]) -> str:
    rows = [
        ["people", *(str(r["n_people"]) for r in results)],
        ["retrained models of each kind", *(str(r["n_models"]) for r in results)],
        ["base models", *(str(len(r["bases"])) for r in results)],
        ["accuracy of the base models", *(", ".join(f"{a:.3f}" for a in r["accuracy"]) for r in results)],
        ["seconds in all", *(f"{sum(r['seconds'].values()):.0f}" for r in results)],
        [
            "of which training",
            *(f"{sum(s for n, s in r['seconds'].items() if _is_training(n)):.0f}" for r in results),
        ],
    ]
    return "### What was run\n\n" + _table(["", *(r["title"] for r in results)], rows)


def _is_training(stage: str) -> bool:
    return stage == "base models" or stage.endswith((" guides", " of rows", " of new seeds"))
