"""Tables 1-6 and what the figures show, ours beside the printed figures, as Markdown."""

import json
from collections.abc import Callable, Collection, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from holdfast.metrics import recourse_disparity
from holdfast.papers._report import cell, table
from holdfast.papers.actionable_recourse._settings import SETTINGS

Result = dict[str, Any]
METRICS = {
    "f1": "F1",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced",
    "auc": "AUC",
    "accepted": "accepted",
}
NAMES = {
    "linear 0": "plain (λ 0)",
    "linear 0.8": "λ 0.8",
    "lattice 0.8": "λ 0.8, lattice in training",
    "chosen linear": "λ chosen",
    "chosen lattice": "λ chosen, lattice in training",
    "tanh 0": "plain, three tanh layers",
    "tanh 0.8": "λ 0.8, three tanh layers",
}


def printed() -> dict[str, Any]:
    """Figures of the paper: table, dataset, model, metric."""
    text = files("holdfast.papers.actionable_recourse").joinpath("printed.json").read_text("utf-8")
    return json.loads(text)["figures"]


def markdown(results: Sequence[Result], parts: Collection[str] = ()) -> str:
    """Tables of some datasets' results: those that are asked for, or all."""
    tables = [r for r in results if "kinds" in r]
    texts = [r for r in results if "weights" in r]
    makers: list[tuple[str, Callable[[], str]]] = [
        ("table 1", lambda: _per_dataset(tables, _table_1)),
        ("table 1", lambda: _per_dataset(tables, _reproduction)),
        ("table 1", lambda: _linear_approximation(tables)),
        ("table 2", lambda: _per_dataset(tables, _table_2)),
        ("table 2", lambda: _coverage(tables)),
        ("figure 1", lambda: _per_dataset(tables, _figure_1)),
        ("figure 2", lambda: _per_dataset(tables, _figure_2)),
        ("table 3", lambda: _table_3(tables)),
        ("table 4", lambda: _table_4(tables)),
        ("figure 3", lambda: _figure_3(tables)),
        ("figure 4", lambda: _figure_4(tables)),
        ("figure 5", lambda: _figure_5(tables)),
        ("table 5", lambda: "".join(_table_5(r) for r in texts)),
        ("table 6", lambda: _table_6(tables)),
    ]
    asked = (make() for part, make in makers if not parts or part in parts)
    return "\n\n".join(text for text in asked if text) + "\n"


def members(result: Result, name: str) -> list[Result]:
    """What was measured of one kind of model, a split at a time; "chosen" takes another lambda for every split."""
    if name.startswith("chosen"):
        keys = result.get("chosen", {}).get(name.split()[1])
        return [result["kinds"][key][i] for i, key in enumerate(keys)] if keys else []
    return result["kinds"].get(name, [])


def mean(found: Sequence[Result], get: Callable[[Result], float | None]) -> tuple[float | None, float | None]:
    """Mean over splits, and their standard deviation."""
    values = [value for one in found if (value := get(one)) is not None]
    if not values:
        return None, None
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def pooled(found: Sequence[Result], get: Callable[[Result], dict[str, int]]) -> tuple[float | None, int]:
    """Share of the refused of all splits who have recourse, and their number."""
    counts = [get(one) for one in found]
    refused = sum(c["refused"] for c in counts)
    return (sum(c["found"] for c in counts) / refused if refused else None), refused


def _per_dataset(results: Sequence[Result], make: Callable[[Result], str]) -> str:
    return "\n\n".join(text for r in results if (text := make(r)))


def _paper(result: Result, part: str, kind: str, metric: str) -> float | None:
    name = SETTINGS[result["dataset"]].printed or ""
    return printed().get(part, {}).get(name, {}).get(kind, {}).get(metric)


def _linear_approximation(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        for key, kind in (("linear 0", "0"), ("linear 0.8", "0.8")):
            found = [f for f in _extras(r, key) if "linear_approximation" in f]
            if found:
                share, n = pooled(found, lambda f: f["linear_approximation"])
                paper = _paper(r, "table 1", kind, "recourse_neg/linear_approx")
                rows.append([r["title"], NAMES[key], cell(share, 3), cell(paper, 3), str(n)])
    if not rows:
        return ""
    head = ["dataset", "model", "ours", "printed", "refused, asked"]
    return "### Recourse by LIME and an integer programme (Table 1, linear approximation)\n\n" + table(head, rows)


def _row(name: str, found: Sequence[Result]) -> list[str]:
    cells = [cell(*_digits(mean(found, lambda f, m=m: f["performance"][m]))) for m in METRICS]
    shares = [pooled(found, lambda f, s=s: f["recourse"][s]) for s in ("linear", "gradient", "best")
              if s in found[0]["recourse"]]  # fmt: skip
    return [name, *cells, *(cell(s, 3) for s, _ in shares), str(shares[0][1])]


def _digits(pair: tuple[float | None, float | None]) -> tuple[float | None, int, float | None]:
    return pair[0], 3, pair[1]


def _table_1(result: Result) -> str:
    have = [name for name in NAMES if members(result, name)]
    if not have:
        return ""
    searched = [s for s in ("linear", "gradient", "best") if s in members(result, have[0])[0]["recourse"]]
    head = ["model", *METRICS.values(), *searched, "refused"]
    rows = [_row(NAMES[name], members(result, name)) for name in have]
    for kind, label in (("0", "printed, baseline"), ("0.8", "printed, ours")):
        get = lambda metric, kind=kind: _paper(result, "table 1", kind, metric)  # noqa: E731
        shares = {
            "linear": get("recourse_neg/adversarial_training"),
            "gradient": get("recourse_neg/gradient_descent"),
        }
        if get("f1") is not None:
            rows.append([label, cell(get("f1"), 3), cell(get("accuracy"), 3), "-", "-", "-",
                         *(cell(shares.get(s), 3) for s in searched), "-"])  # fmt: skip
    return f"### {result['title']}: performance and recourse of the refused (Table 1)\n\n" + table(head, rows)


def _reproduction(result: Result) -> str:
    """The published code's direction and bound, beside the print."""
    rows = []
    for kind in ("0", "0.8"):
        found = members(result, f"code {kind}")
        if not found:
            continue
        for part, metric, get in (
            ("table 1", "f1", lambda f: f["performance"]["f1"]),
            ("table 1", "accuracy", lambda f: f["performance"]["accuracy"]),
            ("table 2", "f1", lambda f: f["as_published"]["f1"]),
            ("table 2", "recourse_all", lambda f: f["as_published"]["recourse_all"]),
        ):
            named = {"0": "BL + PARE", "0.8": "Ours + PARE"}[kind] if part == "table 2" else kind
            paper, ours = _paper(result, part, named, metric), mean(found, get)
            gap = None if paper is None or ours[0] is None else ours[0] - paper
            rows.append([f"λ {kind}", f"{part}, {metric}", cell(*_digits(ours)), cell(paper, 3), cell(gap, 3)])
        paper = _paper(result, "table 1", kind, "recourse_neg/adversarial_training")
        share, n = pooled(found, lambda f: f["recourse"]["code"])
        gap = None if paper is None or share is None else share - paper
        rows.append(
            [f"λ {kind}", f"table 1, recourse of {n} refused", cell(share, 3), cell(paper, 3), cell(gap, 3)]
        )
    if not rows:
        return ""
    head = ["model", "figure", "ours, as published", "printed", "difference"]
    return f"### {result['title']}: the published code's direction and bound\n\n" + table(head, rows)


def _table_2(result: Result) -> str:
    rows = []
    for name in NAMES:
        found = members(result, name)
        if not found or "guarantee" not in found[0]:
            continue
        for search, label in (("linear", "linear step"), ("coarse", "lattice")):
            if search not in found[0]["guarantee"]:
                continue
            for where, called in (("highest", "highest"), ("best_f1", "best F1 below")):
                get = [mean(found, lambda f, m=m, s=search, w=where: f["guarantee"][s][w][m])
                       for m in ("f1", "balanced_accuracy", "accepted", "recourse_all", "threshold")]  # fmt: skip
                rows.append([NAMES[name], label, called, *(cell(*_digits(g)) for g in get)])
    if not rows:
        return ""
    for kind in ("BL + PARE", "Ours + PARE"):
        f1, has = (_paper(result, "table 2", kind, m) for m in ("f1", "recourse_all"))
        rows.append([f"printed, {kind}", "-", "-", cell(f1, 3), "-", "-", cell(has, 3), "-"])
    head = ["model", "action", "threshold", "F1", "balanced", "accepted", "recourse, all", "at"]
    text = f"### {result['title']}: with the guarantee (Table 2; {result['n_calibrate']} people calibrate)\n\n"
    return text + table(head, rows)


def _coverage(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        for name in ("linear 0", "linear 0.8"):
            found = [f for f in members(r, name) if "guarantee" in f]
            if not found:
                continue
            get = [
                mean(found, lambda f, b=b: f["guarantee"]["linear"]["coverage"][b]) for b in ("exact", "printed")
            ]
            n, pool = r["n_calibrate"], found[0]["guarantee"]["linear"]["pool"]
            rows.append([r["title"], NAMES[name], f"{n} of {pool}", *(cell(g[0], 3) for g in get)])
    if not rows:
        return ""
    head = ["dataset", "model", "drawn", "exact bound", "published bound"]
    text = "### How often the promise is kept (200 draws per split; 0.95 was promised)\n\n"
    return text + table(head, rows)


def _figure_1(result: Result) -> str:
    rows = []
    for sweep in ("linear", "lattice"):
        keys = [k for k in result["kinds"] if k.startswith(sweep)]
        if len(keys) < 3:
            continue
        rows += [[sweep, key.split()[1], *_row("", members(result, key))[1:]] for key in keys]
    if not rows:
        return ""
    first = next(iter(result["kinds"].values()))[0]["recourse"]
    searched = [s for s in ("linear", "gradient", "best") if s in first]
    head = ["in training", "λ", *METRICS.values(), *searched, "refused"]
    return f"### {result['title']}: against λ (Figure 1)\n\n" + table(head, rows)


def _figure_2(result: Result) -> str:
    rows = []
    for at in range(2, 19, 2):
        row = []
        for name in ("linear 0", "linear 0.8"):
            curves = [f["curve"] for f in members(result, name) if "curve" in f]
            if not curves:
                return ""
            points = [c[at] for c in curves]
            refused = sum(p["refused"] for p in points)
            row += [cell(float(np.mean([p["f1"] for p in points])), 3)]
            row += [cell(sum(p[s] for p in points) / refused if refused else None, 3) for s in ("linear", "best")]
        rows.append([cell(curves[0][at]["threshold"], 1), *row])
    head = ["threshold", *(f"{label}, {m}" for label in ("λ 0", "λ 0.8") for m in ("F1", "linear", "best"))]
    return f"### {result['title']}: against the threshold (Figure 2)\n\n" + table(head, rows)


def _extras(result: Result, key: str) -> list[Result]:
    return result.get("extras", {}).get(key, [])


def _table_3(results: Sequence[Result]) -> str:
    judges = {"neural network": "Neural Network", "random forest": "Random Forest",
              "logistic regression": "Logistic Regression"}  # fmt: skip
    rows = []
    for r in results:
        for key in ("linear 0", "linear 0.8"):
            found = [f["told_apart"] for f in _extras(r, key) if f["told_apart"]]
            if not found:
                continue
            cells = []
            for judge, label in judges.items():
                paper = (
                    _paper(r, "table 3", label, "accuracy_original_vs_recourse") if key == "linear 0.8" else None
                )
                ours = cell(mean(found, lambda f, j=judge: f[j])[0], 2)
                cells.append(f"{ours} / {cell(paper, 2)}")
            rows.append([r["title"], NAMES[key], *cells, str(sum(f["n"] for f in found))])
    if not rows:
        return ""
    text = "### Telling recourse from people (Table 3; accuracy, ours / printed)\n\n"
    return text + table(["dataset", "model", *judges, "recourses"], rows)


def _table_4(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        for key, kind in (("linear 0", "0"), ("linear 0.8", "0.8")):
            found = _extras(r, key)
            if not found:
                continue
            cells = []
            for name, metric in (("nearest", "gradient_descent"), ("linear", "adversarial_training")):
                n = sum(f["recourse_robust"][name]["n"] for f in found)
                kept = sum(f["recourse_robust"][name]["kept"] for f in found) / n if n else None
                paper = _paper(r, "table 4", kind, f"recourse_robustness/{metric}")
                cells.append(f"{cell(kept, 3)} / {cell(paper, 3)} ({n})")
            model = mean(found, lambda f: f["model_robust"])[0]
            cells.append(f"{cell(model, 3)} / {cell(_paper(r, 'table 4', kind, 'model_robustness'), 3)}")
            for name in ("deepfool_robust", "manifold_robust", "manifold_worst_robust"):
                cells.append(cell(mean(found, lambda f, n=name: f[n])[0], 3))
            rows.append([r["title"], NAMES[key], *cells])
    if not rows:
        return ""
    head = [
        "dataset",
        "model",
        "nearest recourse",
        "linear step",
        "people",
        "DeepFool",
        "generated",
        "worst of 50",
    ]
    text = "### What stays under noise (Table 4; ours / printed, recourses) and other perturbations (B.1)\n\n"
    return text + table(head, rows)


def _figure_3(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        for key, counts in r.get("causal", {}).items():
            refused = sum(c["refused"] for c in counts)
            shares = [sum(c[k] for c in counts) / refused if refused else None for k in ("found", "ignoring")]
            rows.append([key.split()[1], *(cell(s, 3) for s in shares), str(refused)])
    if not rows:
        return ""
    head = ["λ", "with consequences", "the same actions, nothing following", "refused"]
    return "### German: causal recourse of the refused against λ (Figure 3)\n\n" + table(head, rows)


def _figure_4(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        keys = [k for k in r["kinds"] if k.startswith("radius")]
        if keys:
            named = {k: k.split()[1] for k in keys} | {"linear 0.8": "0.75"}
            for key in sorted(named, key=lambda k: float(named[k])):
                found = members(r, key)
                cells = [cell(*_digits(mean(found, lambda f, m=m: f["performance"][m]))) for m in METRICS]
                shares = [pooled(found, lambda f, s=s: f["recourse"][s]) for s in ("linear", "best")]
                rows.append([named[key], *cells, *(cell(s, 3) for s, _ in shares), str(shares[0][1])])
    if not rows:
        return ""
    head = ["δ max", *METRICS.values(), "linear", "best", "refused"]
    return "### Adult: against the largest change, in training and in use (Figure 4, λ 0.8)\n\n" + table(
        head, rows
    )


def disparity(found: Sequence[Result]) -> Any:
    """Share of white people with recourse less that of others, over all splits, at a precision of 0.65."""
    groups = [f["groups"] for f in found if "groups" in f]
    if not groups:
        return None
    has, white = [], []
    for g in groups:
        for name in ("white", "other"):
            has += [True] * g[name]["has"] + [False] * (g[name]["n"] - g[name]["has"])
            white += [name == "white"] * g[name]["n"]
    return recourse_disparity(has, white)


def _figure_5(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        for key in [k for k in r["kinds"] if k.startswith(("linear", "lattice"))]:
            found = disparity(members(r, key))
            if found is not None:
                interval = f"{found.difference:+.3f} ({found.low:+.3f} to {found.high:+.3f})"
                rows.append([r["title"], key, interval, cell(found.share, 3), cell(found.other_share, 3),
                             f"{found.n}, {found.n_other}"])  # fmt: skip
    if not rows:
        return ""
    head = ["dataset", "in training, λ", "white less others", "white", "others", "people"]
    text = "### Share with recourse or accepted, white people less others (Figure 5; precision 0.65)\n\n"
    return text + table(head, rows)


def _table_5(result: Result) -> str:
    names = ("f1", "accuracy", "precision", "recall", "auc", "accepted")
    rows = []
    for weight, found in result["weights"].items():
        cells = [cell(*_digits(mean(found, lambda f, m=m: f["performance"][m]))) for m in names]
        shares = [
            pooled(found, lambda f, s=s: f["recourse"][s]) for s in ("antonyms", "antonyms, all", "synonyms")
        ]
        rows.append([f"λ {weight}", *cells, *(cell(s, 3) for s, _ in shares), str(shares[0][1])])
    for kind in ("0", "0.25"):
        get = printed()["table 5"]["sst"][kind].get
        rows.append(
            [f"printed, λ {kind}", *(cell(get(m), 3) for m in names), cell(get("recourse_neg"), 3), "-", "-", "-"]
        )
    head = ["model", *names, "10 antonyms", "all antonyms", "10 synonyms", "refused"]
    examples = next((e for e in found if e.get("examples")), {}).get("examples", [])
    shown = "".join(f"\n- {before!r} → {after!r}" for before, after in examples)
    text = "### Sentences: recourse by replacing one word (Table 5)\n\n" + table(head, rows)
    return text + (f"\n\nWith the largest λ:\n{shown}" if shown else "")


def _table_6(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        found = [f["example"] for f in _extras(r, "linear 0.8") if f["example"]]
        for name, (before, after) in (found[0] if found else {}).items():
            rows.append([r["title"], name, cell(before, 1), cell(after, 1), f"{after - before:+.1f}"])
    if not rows:
        return ""
    text = "### A recourse each (Table 6; the first person of the first split, λ 0.8)\n\n"
    return text + table(["dataset", "feature", "is", "would be", "change"], rows)
