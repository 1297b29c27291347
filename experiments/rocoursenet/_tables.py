"""The paper's tables as Markdown, ours beside the printed figures; `_figures` has those of its figures."""

import json
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Any

import numpy as np

from experiments._report import beside, cell, table
from experiments.rocoursenet import _figures as figures
from experiments.rocoursenet._figures import Seeds, over
from experiments.rocoursenet._recipes import PRINTED
from experiments.rocoursenet._result import Ceiling, OfSeed, Result

REAL = ("loan", "german", "student")
SEARCHED = ("VanillaCF", "ROAR-LIME", "RBR")
IN_TIME = ("loan",)
"""Datasets whose subsets are years, in their order."""
CHOICES = 16  # settings shown of those tried


@cache
def printed() -> dict[str, Any]:
    """Figures of the paper by table, method and dataset."""
    return json.loads(files("experiments.rocoursenet").joinpath("printed.json").read_text("utf-8"))


def markdown(results: Sequence[Result], parts: Collection[str] = ()) -> str:
    """Tables of some datasets' results: those of the paper that are asked for, or all, and what it lacks."""
    shown: list[tuple[set[str], Callable[[Sequence[Result]], str]]] = [
        ({"table 2", "table 9"}, _main),
        ({"table 2"}, _forward),
        ({"table 2", "figure 3"}, _ceiling),
        ({"table 3"}, _framework),
        ({"table 8"}, _heuristics),
        ({"table 6", "table 7"}, _performance),
        ({"figure 3"}, figures.fronts),
        ({"figure 4"}, partial(figures.attacks, norm="linf", figure=4)),
        ({"figure 12"}, partial(figures.attacks, norm="l2", figure=12)),
        ({"figure 4"}, partial(figures.attackers, norm="linf", figure=4)),
        ({"figure 12"}, partial(figures.attackers, norm="l2", figure=12)),
        ({"figure 5"}, figures.sizes),
        ({"figure 6"}, figures.schedules),
        ({"figure 7", "figure 10"}, _matrices),
        ({"figure 11"}, figures.losses),
        ({"table 10", "table 11"}, _times),
    ]
    texts = [make(results) for names, make in shown if not parts or names & set(parts)]
    if not parts:
        texts += [_choice(results), _run(results)]
    return "\n\n".join(text for text in texts if text) + "\n"


def _cells(seeds: Seeds, theirs: dict[str, Any]) -> list[str]:
    """Robust validity, validity and proximity, ours / printed."""
    out = []
    for key, digits in (("robust", 3), ("validity", 3), ("proximity", 2)):
        mean, std = over(seeds, key)
        own = "-" if mean is None else f"{mean:.{digits}f}" + ("" if std is None else f" ± {std:.{digits}f}")
        them = theirs.get(key)
        out.append(f"{own} / {'-' if them is None else f'{them[0]:.{digits}f}'}")
    return out


def _extra(seeds: Sequence[OfSeed]) -> list[str]:
    """What the paper does not report: recourse by direction, distinct patterns, share inside the schema."""
    low, high = ([share for s in seeds if (share := s.towards[d]) is not None] for d in "01")
    shown = [cell(float(np.mean(v)) if v else None, 3) for v in (high, low)]
    return [*shown, cell(over(seeds, "patterns")[0], 0), cell(over(seeds, "inside")[0], 3)]


HEAD = [
    "robust validity",
    "validity",
    "proximity (l1)",
    "to favourable",
    "to unfavourable",
    "patterns",
    "in schema",
]


def _methods_table(result: Result, names: Sequence[str], source: Callable[[str], dict[str, Any]]) -> str:
    rows = [
        [_named(result, name), *_cells(result.methods[name], source(name)), *_extra(result.methods[name])]
        for name in names
        if name in result.methods
    ]
    return table(["", *HEAD], rows) if rows else ""


def _named(result: Result, name: str) -> str:
    """The name, and how many seeds there are where they are not those of the result."""
    n = len(result.methods[name])
    return name if n == len(result.seeds) else f"{name} ({n} seed{'s'[: n != 1]})"


def paper(part: str, name: str, dataset: str) -> dict[str, Any]:
    """What the paper prints of a method in a table, by figure."""
    found = printed()[part].get(name.split(",")[0], {}).get(dataset)
    return found if isinstance(found, dict) else {}


def _main(results: Sequence[Result]) -> str:
    texts = []
    for r in results:
        part = "table 2" if r.dataset in REAL else "table 9"
        names = [n for n in r.main if n in r.methods]
        text = _methods_table(r, names, lambda n, r=r, part=part: paper(part, n, r.dataset))
        if text:
            number = part.split()[1]
            texts.append(f"### {r.title}: recourse under the other subsets' models (Table {number}), "
                         f"ours ± deviation over {len(r.seeds)} seeds / printed\n\n{text}")  # fmt: skip
    return "\n\n".join(texts)


def forward(seeds: Sequence[OfSeed]) -> tuple[list[float], list[float]]:
    """By seed: robust validity under the models of later subsets alone, and of earlier ones."""
    out: tuple[list[float], list[float]] = [], []
    for s in seeds:
        matrix = np.array(s.matrix)
        for part, where in zip(out, (np.triu_indices, np.tril_indices), strict=True):
            part.append(float(matrix[where(len(matrix), 1 if where is np.triu_indices else -1)].mean()))
    return out


def _forward(results: Sequence[Result]) -> str:
    """What recourse is for: the models that come. Of datasets whose subsets follow one another in time."""
    texts = []
    for r in results:
        if r.dataset not in IN_TIME:
            continue
        rows = []
        for name in (n for n in r.main if n in r.methods):
            seeds = r.methods[name]
            later, earlier = (figures.spread(part) for part in forward(seeds))
            towards = figures.spread([v for s in seeds if (v := s.towards["1"]) is not None])
            both = figures.spread([v for s in seeds if s.later and (v := s.later["1"]) is not None])
            whole = over(seeds, "robust")
            rows.append([_named(r, name), *(_three(pair) for pair in (later, earlier, whole, towards, both))])
        head = ["", "later years' models", "earlier years'", "all others (the paper's mean)",
                "all others, refused people towards a yes", "later years, towards a yes"]  # fmt: skip
        if not any(s.later for name in r.main for s in r.methods.get(name, [])):
            head, rows = head[:-1], [row[:-1] for row in rows]
        texts.append(f"### {r.title}: forward in time, robust validity\n\n{table(head, rows)}")
    return "\n\n".join(texts)


def _three(pair: tuple[float | None, float | None]) -> str:
    mean, std = pair
    return "-" if mean is None else f"{mean:.3f}" + ("" if std is None else f" ± {std:.3f}")


def _ceiling(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        for name, found in r.oracle.items():
            keys = ("robust", "validity", "proximity", "under_all", "nearest")
            mean = [float(np.mean([getattr(f, k) for f in found])) for k in keys]
            rows.append([f"{r.title}, models of {name}", *(f"{v:.3f}" for v in mean[:2]), f"{mean[2]:.2f}",
                         f"{mean[3]:.3f}", f"{mean[4]:.2f}", _front(found)])  # fmt: skip
    if not rows:
        return ""
    head = ["", "robust validity", "validity", "its proximity", "people with a point under all", "nearest valid",
            "front: robust validity at proximity"]  # fmt: skip
    return "### The oracle, which sees all models: what can be had\n\n" + table(head, rows)


def _front(found: Sequence[Ceiling]) -> str:
    points = found[0].front
    few = [points[i] for i in sorted({round(v) for v in np.linspace(0, len(points) - 1, 5)})]
    return ", ".join(f"{share:.3f} at {cost:.2f}" for cost, share in few)


def _framework(results: Sequence[Result]) -> str:
    names = [own for name in printed()["table 3"] for own in (name + PRINTED, name)]
    texts = [
        f"### {r.title}: other generators, plain and robust (Table 3; the print is of Loan)\n\n{text}"
        for r in results
        if (text := _methods_table(r, names, lambda n, r=r: paper("table 3", n, r.dataset)))
    ]
    return "\n\n".join(texts)


def _heuristics(results: Sequence[Result]) -> str:
    names = ["VanillaCF-Random", "RoCourseNet-Random"]
    texts = [
        f"### {r.title}: heuristics (Table 8; the print is of Loan)\n\n{text}"
        for r in results
        if (text := _methods_table(r, names, lambda n, r=r: paper("table 8", n, r.dataset)))
    ]
    return "\n\n".join(texts)


def _performance(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        for name, seeds in r.performance.items():
            theirs = [
                printed()[part].get(name.split(",")[0], {}).get(r.dataset) for part in ("table 6", "table 7")
            ]
            cells = [
                beside(*_swap(over(seeds, key), them))
                for key, them in zip(("accuracy", "auc"), theirs, strict=True)
            ]
            low = min(min(s.favourable) for s in seeds)
            high = max(max(s.favourable) for s in seeds)
            rows.append([f"{r.title}, {name}", *cells, f"{low:.2f} to {high:.2f}"])
    if not rows:
        return ""
    head = ["", "accuracy", "AUC", "predicted favourable, by subset"]
    return "### Accuracy and AUC (Tables 6 and 7), ours / printed\n\n" + table(head, rows)


def _swap(ours: tuple[float | None, float | None], theirs: Any) -> tuple[Any, Any, int, Any]:
    return ours[0], theirs, 3, ours[1]


def _matrices(results: Sequence[Result]) -> str:
    """Only of two subsets; sixteen have their picture."""
    rows = []
    for r in results:
        for name, seeds in r.methods.items():
            matrix = np.mean([s.matrix for s in seeds], axis=0)
            if len(matrix) == 2 and (name in r.main or name in printed()["table 3"]):
                rows.append([f"{r.title}, {name}", *(f"{v:.3f}" for v in matrix.ravel())])
    head = ["", "first, own", "first under second", "second under first", "second, own"]
    return "### Validity matrices (Figures 7 and 10)\n\n" + table(head, rows) if rows else ""


def _times(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        swept = {name for names in r.sweeps_of.values() for name in names}
        for name, t in r.times.items():
            if name in swept:
                continue
            them = [
                printed()[part].get(name.split(",")[0], {}).get(r.dataset) for part in ("table 10", "table 11")
            ]
            cells = [
                f"{cell(getattr(t, key), digits)} / {cell(None if v is None else v[0], 2)}"
                for key, v, digits in zip(("train_s", "ms_per_person"), them, (1, 4), strict=True)
            ]
            rows.append([f"{r.title}, {name}", *cells])
    if not rows:
        return ""
    head = ["", "training, s, all subsets, one seed", "ms per recourse"]
    return "### Time (Tables 10 and 11), ours / printed\n\n" + table(head, rows)


def _choice(results: Sequence[Result]) -> str:
    """The most robust of the settings that were tried on rows to learn from alone."""
    figures = ("robust", "validity", "proximity", "accuracy")
    known = {*figures, "to 0", "to 1", "patterns", "least", "auc"}
    texts = []
    for r in results:
        found = r.choice
        if found is None:
            continue
        rows = [
            [", ".join(f"{k} {v}" for k, v in row.items() if k not in known), *(f"{row[k]:.3f}" for k in figures)]
            for row in sorted(found.rows, key=lambda row: row["robust"])[-CHOICES:]
        ]
        told = [f"of {len(found.rows)} settings the most robust {len(rows)}"]
        told += [f"{found.seeds} seed{'s'[: found.seeds != 1]}"] if found.seeds is not None else []
        told += [f"base model: accuracy {found.base_accuracy:.3f}"] if found.base_accuracy is not None else []
        texts.append(f"### {r.title}: guides on rows to learn from ({'; '.join(told)})\n\n"
                     + table(["", "robust validity", "validity", "proximity", "accuracy"], rows))  # fmt: skip
    return "\n\n".join(texts)


def _run(results: Sequence[Result]) -> str:
    rows = [
        ["subsets", *(str(len(r.subsets)) for r in results)],
        ["rows to learn from, of a subset", *(_range(r.n_learned) for r in results)],
        ["people asked about, of a subset", *(_range(r.n_people) for r in results)],
        ["the same, by searches", *(str(r.n_searched) for r in results)],
        ["seeds", *(str(len(r.seeds)) for r in results)],
        ["updates of a model", *(str(r.n_updates) for r in results)],
        ["device", *(str(r.device or "-") for r in results)],
        ["seconds in all", *(f"{sum(r.seconds.values()):.0f}" for r in results)],
    ]
    return "### What was run\n\n" + table(["", *(r.title for r in results)], rows)


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
