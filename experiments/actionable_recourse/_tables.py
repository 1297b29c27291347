"""Tables 1 and 2 and what Figures 1, 2 and 4 show, ours beside the printed figures, as Markdown."""

from collections.abc import Callable, Collection, Sequence

import numpy as np

from experiments._report import cell, table
from experiments.actionable_recourse._figures import (
    METRICS,
    NAMES,
    digits,
    extras_of,
    in_print,
    mean,
    members,
    pooled,
)
from experiments.actionable_recourse._further import figure_3, figure_5, table_3, table_4, table_5, table_6
from experiments.actionable_recourse._result import OnSplit, Result


def markdown(results: Sequence[Result], parts: Collection[str] = ()) -> str:
    """Tables of some datasets' results: those that are asked for, or all."""
    tables = [r for r in results if r.kinds is not None]
    texts = [r for r in results if r.weights is not None]
    makers: list[tuple[str, Callable[[], str]]] = [
        ("table 1", lambda: _per_dataset(tables, _table_1)),
        ("table 1", lambda: _per_dataset(tables, _reproduction)),
        ("table 1", lambda: _linear_approximation(tables)),
        ("table 1", lambda: _meant(tables)),
        ("table 1", lambda: _states(tables)),
        ("table 2", lambda: _per_dataset(tables, _table_2)),
        ("table 2", lambda: _coverage(tables)),
        ("figure 1", lambda: _per_dataset(tables, _figure_1)),
        ("figure 2", lambda: _per_dataset(tables, _figure_2)),
        ("table 3", lambda: table_3(tables)),
        ("table 4", lambda: table_4(tables)),
        ("figure 3", lambda: figure_3(tables)),
        ("figure 4", lambda: _figure_4(tables)),
        ("figure 5", lambda: figure_5(tables)),
        ("table 5", lambda: "".join(table_5(r) for r in texts)),
        ("table 6", lambda: table_6(tables)),
    ]
    asked = (make() for part, make in makers if not parts or part in parts)
    return "\n\n".join(text for text in asked if text) + "\n"


def _per_dataset(results: Sequence[Result], make: Callable[[Result], str]) -> str:
    return "\n\n".join(text for r in results if (text := make(r)))


def _linear_approximation(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        for key, kind in (("linear 0", "0"), ("linear 0.8", "0.8")):
            found = [f.linear_approximation for f in extras_of(r, key) if f.linear_approximation is not None]
            if found:
                share, n = pooled(found, lambda counted: counted)
                paper = in_print(r, "table 1", kind, "recourse_neg/linear_approx")
                rows.append([r.title, NAMES[key], cell(share, 3), cell(paper, 3), str(n)])
    if not rows:
        return ""
    head = ["dataset", "model", "ours", "printed", "refused, asked"]
    return "### Recourse by LIME and an integer programme (Table 1, linear approximation)\n\n" + table(head, rows)


def _meant(results: Sequence[Result]) -> str:
    """Whether the score means what it should along the step: it rises with it, and falls against it."""
    rows = []
    for r in results:
        for key in ("linear 0", "linear 0.8", "lattice 0.8", "linear 2", "lattice 2"):
            found = [f for f in members(r, key) if "code" in f.recourse]
            if found:
                wrong, n = pooled(found, lambda f: f.recourse["code"])
                lowers = mean(found, lambda f: f.step_lowers_score)[0]
                rows.append([r.title, key, cell(wrong, 3), cell(lowers, 3), str(n)])
    if not rows:
        return ""
    head = ["dataset", "in training, λ", "a yes by the step's opposite", "the step lowers the score", "refused"]
    text = "### Does the score mean it? The linear step and its opposite\n\n"
    return text + table(head, rows)


def _states(results: Sequence[Result]) -> str:
    """Compas around lambda 0.8, split by split: two states, whatever the threshold."""
    result = next((r for r in results if r.dataset == "compas"), None)
    if result is None or len(members(result, "linear 0.8")) < 2:
        return ""
    rows = []
    for key in ("linear 0.6", "linear 0.8", "linear 1", "lattice 0.8", "lattice 1"):
        for i, f in enumerate(members(result, key)):
            counted = f.recourse["linear"]
            share = counted.found / counted.refused if counted.refused else None
            over = "-"
            if f.curve is not None:
                at = [p for p in f.curve if 0.4 <= p.threshold <= 0.6 and p.refused]
                shares = [p.linear / p.refused for p in at]
                over = f"{min(shares):.2f} to {max(shares):.2f}" if shares else "-"
            told = f.performance
            rows.append([key, str(i), cell(told.auc, 3), cell(told.accuracy, 3), cell(told.threshold), cell(share),
                         str(counted.refused), over])  # fmt: skip
    head = ["in training, λ", "split", "AUC", "accuracy", "threshold", "recourse", "refused",
            "recourse at thresholds 0.4 to 0.6"]  # fmt: skip
    return f"### Compas: two states of training, split by split\n\n{table(head, rows)}"


def _row(name: str, found: Sequence[OnSplit]) -> list[str]:
    cells = [cell(*digits(mean(found, lambda f, m=m: getattr(f.performance, m)))) for m in METRICS]
    shares = [pooled(found, lambda f, s=s: f.recourse[s]) for s in ("linear", "gradient", "best")
              if s in found[0].recourse]  # fmt: skip
    return [name, *cells, *(cell(s, 3) for s, _ in shares), str(shares[0][1])]


def _table_1(result: Result) -> str:
    have = [name for name in NAMES if members(result, name)]
    if not have:
        return ""
    searched = [s for s in ("linear", "gradient", "best") if s in members(result, have[0])[0].recourse]
    head = ["model", *METRICS.values(), *searched, "refused"]
    rows = [_row(NAMES[name], members(result, name)) for name in have]
    for kind, label in (("0", "printed, baseline"), ("0.8", "printed, ours")):
        get = lambda metric, kind=kind: in_print(result, "table 1", kind, metric)  # noqa: E731
        shares = {
            "linear": get("recourse_neg/adversarial_training"),
            "gradient": get("recourse_neg/gradient_descent"),
        }
        if get("f1") is not None:
            rows.append([label, cell(get("f1"), 3), cell(get("accuracy"), 3), "-", "-", "-",
                         *(cell(shares.get(s), 3) for s in searched), "-"])  # fmt: skip
    return f"### {result.title}: performance and recourse of the refused (Table 1)\n\n" + table(head, rows)


def _reproduction(result: Result) -> str:
    """The published code's direction and bound, beside the print."""
    rows = []
    for kind in ("0", "0.8"):
        found = members(result, f"code {kind}")
        if not found:
            continue
        for part, metric, get in (
            ("table 1", "f1", lambda f: f.performance.f1),
            ("table 1", "accuracy", lambda f: f.performance.accuracy),
            ("table 2", "f1", lambda f: f.as_published and f.as_published.f1),
            ("table 2", "recourse_all", lambda f: f.as_published and f.as_published.recourse_all),
        ):
            named = {"0": "BL + PARE", "0.8": "Ours + PARE"}[kind] if part == "table 2" else kind
            paper, ours = in_print(result, part, named, metric), mean(found, get)
            gap = None if paper is None or ours[0] is None else ours[0] - paper
            rows.append([f"λ {kind}", f"{part}, {metric}", cell(*digits(ours)), cell(paper, 3), cell(gap, 3)])
        paper = in_print(result, "table 1", kind, "recourse_neg/adversarial_training")
        share, n = pooled(found, lambda f: f.recourse["code"])
        gap = None if paper is None or share is None else share - paper
        rows.append(
            [f"λ {kind}", f"table 1, recourse of {n} refused", cell(share, 3), cell(paper, 3), cell(gap, 3)]
        )
    if not rows:
        return ""
    head = ["model", "figure", "ours, as published", "printed", "difference"]
    return f"### {result.title}: the published code's direction and bound\n\n" + table(head, rows)


def _table_2(result: Result) -> str:
    rows = []
    for name in ("linear 0", "linear 0.8", "lattice 0.8", "chosen lattice"):
        found = members(result, name)
        if not found or found[0].guarantee is None:
            continue
        for search, label in (("linear", "linear step"), ("coarse", "lattice")):
            if search not in found[0].guarantee:
                continue
            for where, called in (("highest", "highest"), ("best_f1", "best F1 below")):
                own = [getattr((f.guarantee or {})[search], where) for f in found]
                get = [mean(own, lambda at, m=m: getattr(at, m))
                       for m in ("f1", "balanced_accuracy", "accepted", "recourse_all", "threshold")]  # fmt: skip
                rows.append([NAMES[name], label, called, *(cell(*digits(g)) for g in get)])
    if not rows:
        return ""
    for kind in ("BL + PARE", "Ours + PARE"):
        f1, has = (in_print(result, "table 2", kind, m) for m in ("f1", "recourse_all"))
        rows.append([f"printed, {kind}", "-", "-", cell(f1, 3), "-", "-", cell(has, 3), "-"])
    head = ["model", "action", "threshold", "F1", "balanced", "accepted", "recourse, all", "at"]
    text = f"### {result.title}: with the guarantee (Table 2; {result.n_calibrate} people calibrate)\n\n"
    return text + table(head, rows)


def _coverage(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        for name in ("linear 0", "linear 0.8"):
            found = [f for f in members(r, name) if f.guarantee is not None]
            if not found:
                continue
            get = [
                mean(found, lambda f, b=b: (f.guarantee or {})["linear"].coverage[b]) for b in ("exact", "printed")
            ]
            n, pool = r.n_calibrate, (found[0].guarantee or {})["linear"].pool
            rows.append([r.title, NAMES[name], f"{n} of {pool}", *(cell(g[0], 3) for g in get)])
    if not rows:
        return ""
    head = ["dataset", "model", "drawn", "exact bound", "published bound"]
    text = "### How often the promise is kept (200 draws per split; 0.95 was promised)\n\n"
    return text + table(head, rows)


def _figure_1(result: Result) -> str:
    rows = []
    for sweep in ("linear", "lattice"):
        keys = [k for k in result.kinds or () if k.startswith(sweep)]
        if len(keys) < 3:
            continue
        rows += [[sweep, key.split()[1], *_row("", members(result, key))[1:]] for key in keys]
    if not rows:
        return ""
    first = next(iter((result.kinds or {}).values()))[0].recourse
    searched = [s for s in ("linear", "gradient", "best") if s in first]
    head = ["in training", "λ", *METRICS.values(), *searched, "refused"]
    return f"### {result.title}: against λ (Figure 1)\n\n" + table(head, rows)


def _figure_2(result: Result) -> str:
    rows = []
    for at in range(2, 19, 2):
        row = []
        for name in ("linear 0", "linear 0.8"):
            curves = [f.curve for f in members(result, name) if f.curve is not None]
            if not curves:
                return ""
            points = [c[at] for c in curves]
            refused = sum(p.refused for p in points)
            row += [cell(float(np.mean([p.f1 for p in points])), 3)]
            row += [
                cell(sum(getattr(p, s) for p in points) / refused if refused else None, 3)
                for s in ("linear", "best")
            ]
        rows.append([cell(curves[0][at].threshold, 1), *row])
    head = ["threshold", *(f"{label}, {m}" for label in ("λ 0", "λ 0.8") for m in ("F1", "linear", "best"))]
    return f"### {result.title}: against the threshold (Figure 2)\n\n" + table(head, rows)


def _figure_4(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        keys = [k for k in r.kinds or () if k.startswith("radius")]
        if keys:
            named = {k: k.split()[1] for k in keys} | {"linear 0.8": "0.75"}
            for key in sorted(named, key=lambda k: float(named[k])):
                found = members(r, key)
                cells = [cell(*digits(mean(found, lambda f, m=m: getattr(f.performance, m)))) for m in METRICS]
                shares = [pooled(found, lambda f, s=s: f.recourse[s]) for s in ("linear", "best")]
                rows.append([named[key], *cells, *(cell(s, 3) for s, _ in shares), str(shares[0][1])])
    if not rows:
        return ""
    head = ["δ max", *METRICS.values(), "linear", "best", "refused"]
    return "### Adult: against the largest change, in training and in use (Figure 4, λ 0.8)\n\n" + table(
        head, rows
    )
