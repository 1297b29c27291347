"""Tables 3 to 6 and what Figures 3 and 5 show, as Markdown."""

import itertools
from collections.abc import Sequence
from typing import Any

from experiments._report import cell, table
from experiments.actionable_recourse._figures import (
    COMPARED,
    NAMES,
    digits,
    extras_of,
    in_print,
    mean,
    members,
    pooled,
    printed,
)
from experiments.actionable_recourse._result import OnSplit, Result, Sentences
from holdtrue.metrics import recourse_disparity

WAYS = {"descent": "gradient descent", "nearest": "nearest of a lattice"}
ENDINGS = {"descent": "_descent", "nearest": ""}
"""Of the names under which a result keeps what a way gives."""


def table_3(results: Sequence[Result]) -> str:
    judges = {"neural network": "Neural Network", "random forest": "Random Forest",
              "logistic regression": "Logistic Regression"}  # fmt: skip
    rows = []
    for r in results:
        for key, way in itertools.product(("linear 0", "linear 0.8", "lattice 0.8"), WAYS):
            found = [told for f in extras_of(r, key) if (told := getattr(f, f"told_apart{ENDINGS[way]}"))]
            if not found:
                continue
            cells = []
            for judge, label in judges.items():
                paper = (
                    in_print(r, "table 3", label, "accuracy_original_vs_recourse") if key == "linear 0.8" else None
                )
                ours = cell(mean(found, lambda f, j=judge: f[j])[0], 2)
                cells.append(f"{ours} / {cell(paper, 2)}")
            rows.append([r.title, NAMES[key], WAYS[way], *cells, str(sum(f["n"] for f in found))])
    if not rows:
        return ""
    text = "### Telling recourse from people (Table 3; accuracy, ours / printed)\n\n"
    return text + table(["dataset", "model", "recourse by", *judges, "recourses"], rows)


def table_4(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        for key, kind in (("linear 0", "0"), ("linear 0.8", "0.8"), ("lattice 0.8", "")):
            found = extras_of(r, key)
            if not found:
                continue
            cells = []
            for name, metric in (
                ("descent", "gradient_descent"), ("nearest", None), ("linear", "adversarial_training")
            ):  # fmt: skip
                asked = [f.recourse_robust[name] for f in found if name in f.recourse_robust]
                n = sum(f.n for f in asked)
                kept = sum(f.kept for f in asked) / n if n else None
                if metric is None:
                    cells.append(f"{cell(kept, 3)} ({n})")
                    continue
                paper = in_print(r, "table 4", kind, f"recourse_robustness/{metric}")
                cells.append(f"{cell(kept, 3)} / {cell(paper, 3)} ({n})")
            model = mean(found, lambda f: f.model_robust)[0]
            cells.append(f"{cell(model, 3)} / {cell(in_print(r, 'table 4', kind, 'model_robustness'), 3)}")
            for name in ("deepfool_robust", "manifold_robust", "manifold_worst_robust"):
                cells.append(cell(mean(found, lambda f, n=name: getattr(f, n))[0], 3))
            rows.append([r.title, NAMES[key], *cells])
    if not rows:
        return ""
    head = [
        "dataset",
        "model",
        "gradient descent",
        "nearest recourse",
        "linear step",
        "people",
        "DeepFool",
        "generated",
        "worst of 50",
    ]
    text = "### What stays under noise (Table 4; ours / printed, recourses) and other perturbations (B.1)\n\n"
    return text + table(head, rows)


def figure_3(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        for key, counts in r.causal.items():
            refused = sum(c.refused for c in counts)
            shares = [
                sum(getattr(c, k) for c in counts) / refused if refused else None for k in ("found", "ignoring")
            ]
            rows.append([key.split()[1], *(cell(s, 3) for s in shares), str(refused)])
    if not rows:
        return ""
    head = ["λ", "with consequences", "the same actions, nothing following", "refused"]
    return "### German: causal recourse of the refused against λ (Figure 3)\n\n" + table(head, rows)


def disparity(found: Sequence[OnSplit]) -> Any:
    """Share of white people with recourse less that of others, over all splits, at a precision of 0.65."""
    groups = [f.groups for f in found if f.groups is not None]
    if not groups:
        return None
    has, white = [], []
    for g in groups:
        for own, is_white in ((g.white, True), (g.other, False)):
            has += [True] * own.has + [False] * (own.n - own.has)
            white += [is_white] * own.n
    return recourse_disparity(has, white)


def figure_5(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        for key in COMPARED:
            found = disparity(members(r, key))
            if found is not None:
                interval = f"{found.difference:+.3f} ({found.low:+.3f} to {found.high:+.3f})"
                rows.append([r.title, key, interval, cell(found.share, 3), cell(found.other_share, 3),
                             f"{found.n}, {found.n_other}"])  # fmt: skip
    if not rows:
        return ""
    head = ["dataset", "in training, λ", "white less others", "white", "others", "people"]
    text = "### Share with recourse or accepted, white people less others (Figure 5; precision 0.65)\n\n"
    return text + table(head, rows)


def table_5(result: Result) -> str:
    names = ("f1", "accuracy", "precision", "recall", "auc", "accepted")
    rows: list[list[str]] = []
    found: list[Sentences] = []
    for weight, found in (result.weights or {}).items():
        cells = [cell(*digits(mean(found, lambda f, m=m: getattr(f.performance, m)))) for m in names]
        shares = [pooled(found, lambda f, s=s: f.recourse[s]) for s in ("antonyms", "antonyms, all", "synonyms")]
        rows.append([f"λ {weight}", *cells, *(cell(s, 3) for s, _ in shares), str(shares[0][1])])
    for kind in ("0", "0.25"):
        get = printed()["table 5"]["sst"][kind].get
        rows.append(
            [f"printed, λ {kind}", *(cell(get(m), 3) for m in names), cell(get("recourse_neg"), 3), "-", "-", "-"]
        )
    head = ["model", *names, "10 antonyms", "all antonyms", "10 synonyms", "refused"]
    examples = next((e.examples for e in found if e.examples), [])
    text = "### Sentences: recourse by replacing one word (Table 5)\n\n" + table(head, rows)
    shown = table(["refused", "would be accepted"], [[before, after] for before, after in examples])
    return text + (f"\n\nWith the largest λ:\n\n{shown}" if examples else "")


def table_6(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        for way, called in WAYS.items():
            found = [told for f in extras_of(r, "linear 0.8") if (told := getattr(f, f"example{ENDINGS[way]}"))]
            for name, (before, after) in (found[0] if found else {}).items():
                rows.append([r.title, called, name, cell(before, 1), cell(after, 1), f"{after - before:+.1f}"])
    if not rows:
        return ""
    text = "### A recourse each (Table 6; the first person of the first split, λ 0.8)\n\n"
    return text + table(["dataset", "recourse by", "feature", "is", "would be", "change"], rows)
