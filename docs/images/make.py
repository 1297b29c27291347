"""Draw the pictures of the documentation: ``python docs/images/make.py [survival] [two-boundaries] [layers] ...``.

The charts are measured anew (half a minute at most); the diagrams are only drawn. Seeds are fixed and files carry
no date, so that drawing again changes a file only where its content changed.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.ticker import PercentFormatter

matplotlib.use("Agg")
matplotlib.rcParams.update({"svg.hashsalt": "holdtrue", "font.family": "DejaVu Sans", "font.size": 10})

HERE = Path(__file__).parent
INK, SOFT, LINE = "#1f2933", "#52606d", "#9aa5b1"
# Blue and orange: told apart by every common kind of colour vision.
BLUE, ORANGE = "#1f6fb2", "#d9822b"


def survival() -> None:
    """Cost against survival of a network, one point per person, for two methods on the mortgage applications."""
    import holdtrue as ht

    bank = ht.datasets.load("loanapp")
    clf = ht.RecourseClassifier(schema=bank.schema, regime=ht.EarlyStopping(), random_state=0)
    clf.fit(bank.X, bank.y)
    refused = bank.X[clf.predict(bank.X) == 0]
    again = ht.retrain(clf, n=100)
    methods: dict[str, Any] = {
        "Wachter": (ht.Wachter(), BLUE, "o"),
        "NearestNeighbour": (ht.NearestNeighbour(random_state=0).fit(clf, bank.X, bank.y), ORANGE, "^"),
    }
    figure, axes = plt.subplots(figsize=(7.0, 3.9))
    for name, (method, colour, marker) in methods.items():
        report = ht.audit(clf.recourse(refused, method=method), against=again)
        people = report.per_person().dropna(subset=["survival"])
        label = f"{name}: {report.survival.mean:.0%} on average, {len(people)} people"
        axes.scatter(
            people["cost_l1"], people["survival"], s=20, c=colour, marker=marker, alpha=0.6, lw=0, label=label
        )
    axes.set_xscale("log")
    axes.set_ylim(-0.02, 1.04)
    axes.set_xlabel("cost of the recourse (l1, scaled units)", color=SOFT)
    axes.set_ylabel("share of 100 retrained models\nthat still say yes", color=SOFT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(color="#e4e7eb", lw=0.6)
    axes.set_axisbelow(True)
    axes.legend(loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=2, frameon=False, handletextpad=0.2)
    figure.savefig(HERE / "survival.png", dpi=130, bbox_inches="tight", metadata={"Software": None})


def reliability() -> None:
    """Stated against observed survival on the mortgage applications, for a method that asks no further models."""
    import holdtrue as ht

    bank = ht.datasets.load("loanapp")
    clf = ht.RecourseClassifier(schema=bank.schema, regime=ht.EarlyStopping(), random_state=0)
    clf.fit(bank.X, bank.y)
    plan = clf.recourse(bank.X[clf.predict(bank.X) == 0])
    life = ht.shelf_life(plan, clf, n=100)
    calibration = life.calibration(ht.retrain(clf, n=100, random_state=1))
    print(life, calibration, sep="\n\n")
    calibration.plot(HERE / "reliability.png")


def two_boundaries() -> None:
    """One person, two recourses, and the boundaries of a network and of 40 retrainings: cost does not protect."""
    import jax
    import numpy as np
    import pandas as pd

    import holdtrue as ht
    from holdtrue.models import batch_logits

    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.random((500, 2)) * [10, 7], columns=["a", "b"])
    y = ((X["a"] > 3) & (X["b"] + 0.35 * X["a"] < 6.4)).to_numpy() ^ (rng.random(len(X)) < 0.08)
    schema = ht.Schema([ht.Feature(name=n, kind="numeric", bounds=(0, top)) for n, top in (("a", 10), ("b", 7))])
    regime = ht.StandardTraining(n_epochs=60, step_size=0.01)
    clf = ht.RecourseClassifier(schema=schema, model=ht.MLP(widths=(16, 16)), regime=regime, random_state=0)
    again = ht.retrain(clf.fit(X, y.astype(int)), n=40)

    wide, high = np.meshgrid(np.linspace(0, 10, 201), np.linspace(0, 7, 141))
    grid = pd.DataFrame({"a": wide.ravel(), "b": high.ravel()})
    encoded = np.asarray(clf.predictor_.encoder.encode(grid), np.float32)

    def gap(model: Any) -> Any:
        logits = np.asarray(batch_logits(model, jax.numpy.asarray(encoded)))
        return (logits[:, 1] - logits[:, 0]).reshape(wide.shape)

    figure, axes = plt.subplots(figsize=(7.4, 4.9))
    for i in range(len(again)):
        axes.contour(wide, high, gap(again.ensemble.member(i)), [0], colors=ORANGE, linewidths=0.6, alpha=0.4)
    base = gap(clf.predictor_.decision.model)
    axes.contourf(wide, high, base, [0, np.inf], colors=["#e6f0f9"], zorder=0)
    edge = np.concatenate(axes.contour(wide, high, base, [0], colors=BLUE, linewidths=2.2).allsegs[0])

    person = np.array([1.3, 1.7])
    candidates = (("near", np.array([4.8, 2.3]), (0.15, -0.25)), ("far", np.array([6.9, 3.75]), (-0.7, 2.6)))
    for name, point, (right, up) in candidates:
        closest = edge[np.linalg.norm(edge - point, axis=1).argmin()]
        held = again.accepts(pd.DataFrame([point], columns=["a", "b"]), [1]).mean()
        cost, away = np.linalg.norm(point - person), np.linalg.norm(closest - point)
        axes.plot(*np.stack([person, point]).T, color=SOFT, lw=1.1, ls=(0, (4, 3)))
        axes.plot(*np.stack([point, closest]).T, color=INK, lw=1.6, zorder=4)
        axes.scatter(*point, s=60, color=INK, zorder=5)
        words = f"cost {cost:.1f}\n{away:.1f} from a boundary\naccepted by {held:.0%} of retrainings"
        axes.text(point[0] + right, point[1] + up, f"the {name} recourse", va="top", weight="bold", color=INK)
        axes.text(
            point[0] + right, point[1] + up - 0.33, words, va="top", color=SOFT, fontsize=9, linespacing=1.35
        )
    axes.scatter(*person, s=60, facecolor="white", edgecolor=INK, lw=1.6, zorder=5)
    axes.text(person[0], person[1] - 0.25, "the person", ha="center", va="top", weight="bold", color=INK)
    axes.text(0.25, 6.5, "no", color=SOFT, fontsize=13, va="center")
    axes.text(9.2, 0.45, "yes", color=BLUE, fontsize=13, va="center")
    handles = [
        plt.Line2D([], [], color=BLUE, lw=2.2, label="boundary of the model asked"),
        plt.Line2D([], [], color=ORANGE, lw=0.9, label="of 40 retrainings"),
        plt.Line2D([], [], color=INK, lw=1.6, label="way to the nearest boundary"),
    ]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize=9)
    axes.set(xlim=(0, 10), ylim=(0, 7), xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_color(LINE)
    figure.savefig(HERE / "two-boundaries.png", dpi=130, bbox_inches="tight", metadata={"Software": None})


# ---- diagrams ---------------------------------------------------------------------------------------


def canvas(width: float, height: float) -> tuple[Any, Any]:
    """Return an empty page; coordinates are inches from the lower left."""
    figure, axes = plt.subplots(figsize=(width, height))
    figure.subplots_adjust(0, 0, 1, 1)
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return figure, axes


def box(
    axes: Any, x: float, y: float, w: float, h: float, head: str, body: str = "", fill: str = "#ffffff"
) -> None:
    """Draw a box with a bold line and a paragraph below it."""
    shape = "round,pad=0,rounding_size=0.06"
    axes.add_patch(FancyBboxPatch((x, y), w, h, boxstyle=shape, fc=fill, ec=LINE, lw=1.0))
    if not body:
        axes.text(x + w / 2, y + h / 2, head, ha="center", va="center", weight="bold", color=INK, fontsize=10)
        return
    axes.text(x + 0.12, y + h - 0.11, head, ha="left", va="top", weight="bold", color=INK, fontsize=10)
    axes.text(x + 0.12, y + h - 0.36, body, ha="left", va="top", color=SOFT, fontsize=8.5, linespacing=1.35)


def arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], bend: float = 0.0) -> None:
    """Draw an arrow between two points."""
    curve = f"arc3,rad={bend}"
    axes.add_patch(
        FancyArrowPatch(start, end, connectionstyle=curve, arrowstyle="-|>", mutation_scale=12, color=SOFT, lw=1.3)
    )


TABLES, BOTH, ARRAYS = "#fdf1e3", "#eef1f4", "#e6f0f9"


def layers() -> None:
    """Draw the folders of the package, highest first: each imports only what lies below it."""
    rows = [
        [("cli", "commands, one a file: options in, one call, text out", TABLES)],
        [("testing", "checks shipped for methods, models and regimes of others", BOTH)],
        [("chat", "the same model, asked from a chat client", BOTH)],
        [("server", "a warm model behind HTTP: shared calls, keys, quotas", BOTH)],
        [
            ("handover", "evidence", BOTH),
            ("runs", "long jobs", BOTH),
            ("tracking", "MLflow", BOTH),
        ],
        [("promises", "the life of a promise: record, letter, gate", BOTH)],
        [("studies", "compare, tune, trade off, certify, act for groups", BOTH)],
        [("classifier", "RecourseClassifier, recourse() for foreign models, model files", BOTH)],
        [("hold", "panels, judges, levels; the past replayed", BOTH)],
        [("reports", "measures gathered, and everything asked again", BOTH)],
        [("retraining", "the same model again: other seeds, rows, tables", BOTH)],
        [("training", "regimes: a step function each; recourse heads", BOTH)],
        [("methods", "one recourse method a file", BOTH)],
        [("attribution", "reasons", BOTH), ("metrics", "pure functions of arrays", ARRAYS)],
        [("batch", "one solver, many people: slots, threads, deadline", ARRAYS)],
        [("search", "Problem, Solution, Status; the solvers; the one search loop", ARRAYS)],
        [("causal", "structural causal models: abduct, act, predict", ARRAYS)],
        [("models", "logits(x); the Decision; the one fitting loop; adapters", ARRAYS)],
        [("encoding", "table to float array and back; the feasible set; the distance", BOTH)],
        [("datasets", "named tables, labelled", TABLES), ("ledger", "promises made to people", TABLES)],
        [("schema", "what the columns are and how each may change", TABLES)],
        [("errors", "every error raised on purpose", TABLES)],
    ]
    free_of_jax = 3  # rows, counted from below
    step, left, width = 0.5, 0.25, 6.3
    height = step * len(rows) + 0.75
    figure, axes = canvas(7.9, height)
    for i, row in enumerate(rows):
        y = height - 0.2 - step * (i + 1) + 0.06
        each = (width - 0.12 * (len(row) - 1)) / len(row)
        for j, (name, what, fill) in enumerate(row):
            x = left + j * (each + 0.12)
            box(axes, x, y, each, step - 0.1, "", " ", fill)
            axes.text(x + 0.14, y + 0.2, name, va="center", weight="bold", color=INK)
            axes.text(x + 1.15, y + 0.2, what, va="center", color=SOFT, fontsize=8.5)
    top, bottom = height - 0.25, height - 0.2 - step * len(rows) + 0.1
    arrow(axes, (left + width + 0.25, top), (left + width + 0.25, bottom))
    axes.text(left + width + 0.4, (top + bottom) / 2, "imports", rotation=-90, va="center", color=SOFT)
    # The dashed line is a rule that is tested: what lies below it never imports jax.
    y = height - 0.2 - step * (len(rows) - free_of_jax) + 0.01
    axes.plot([left - 0.1, left + width + 0.1], [y, y], ls=(0, (4, 3)), color=ORANGE, lw=1.2)
    axes.text(left + width + 0.52, y - 0.03, "no jax\nbelow", va="top", ha="left", color=ORANGE, fontsize=8.5)
    for k, (fill, text) in enumerate([(TABLES, "tables"), (BOTH, "both"), (ARRAYS, "float arrays")]):
        box(axes, left + 1.3 * k, 0.13, 0.3, 0.2, "", " ", fill)
        axes.text(left + 1.3 * k + 0.4, 0.23, text, va="center", color=SOFT, fontsize=8.5)
    save(figure, "layers")


def flow() -> None:
    """Draw what happens to one person's row between the question and the answer."""
    figure, axes = canvas(9.6, 6.9)
    w, h = 2.75, 1.18
    xs = [0.25, 3.42, 6.6]
    top, low = 5.35, 0.35
    box(
        axes,
        xs[0],
        top,
        w,
        h,
        "1  the row",
        "price 109, loanprc 0.78, cons 2, ...\nin the user's own columns",
        TABLES,
    )
    box(
        axes,
        xs[1],
        top,
        w,
        h,
        "2  schema.check, encode",
        "columns checked by name and kind;\nnumbers scaled, categories one-hot;\nfloat64",
        BOTH,
    )
    box(
        axes,
        xs[2],
        top,
        w,
        h,
        "3  feasible set",
        "bounds, grid, direction, levels,\nconstraints, restrictions: of this person;\nfloat32",
        ARRAYS,
    )
    arrow(axes, (xs[0] + w, top + h / 2), (xs[1], top + h / 2))
    arrow(axes, (xs[1] + w, top + h / 2), (xs[2], top + h / 2))

    # The loop.
    frame = FancyBboxPatch(
        (0.25, 2.1),
        9.1,
        2.65,
        boxstyle="round,pad=0,rounding_size=0.08",
        fc="#f7f9fb",
        ec=BLUE,
        lw=1.2,
        ls=(0, (4, 3)),
    )
    axes.add_patch(frame)
    axes.text(
        0.42,
        4.6,
        "4  the search loop, for everyone in a slot at once (vmap); float32",
        va="top",
        color=BLUE,
        weight="bold",
    )
    y = 2.72
    box(axes, 0.5, y, 2.2, 1.25, "harden", "x = hard(u): whole\nnumbers, one level,\nlimits kept", ARRAYS)
    box(
        axes,
        3.05,
        y,
        2.2,
        1.25,
        "ask",
        "margin of the decision\nat x; its gradient, if\nthe solver wants it",
        ARRAYS,
    )
    box(axes, 5.6, y, 1.6, 1.25, "offer", "keep x if valid\nand cheapest\nso far", ARRAYS)
    box(axes, 7.55, y, 1.55, 1.25, "move", "u moves; done?\nthe slot takes\nthe next person", ARRAYS)
    for a, b in ((2.7, 3.05), (5.25, 5.6), (7.2, 7.55)):
        arrow(axes, (a, y + 0.62), (b, y + 0.62))
    axes.plot([8.32, 8.32, 1.6], [y, 2.36, 2.36], color=SOFT, lw=1.3)
    arrow(axes, (1.6, 2.36), (1.6, y))
    axes.text(4.9, 2.39, "next step", ha="center", va="bottom", color=SOFT, fontsize=8.5)
    arrow(axes, (xs[2] + w / 2, top), (xs[2] + w / 2, 4.76))

    box(
        axes,
        xs[2],
        low,
        w,
        h,
        "5  decode",
        "the cheapest hardened point, in the\nperson's columns; what did not change\nkeeps its last digit",
        BOTH,
    )
    box(
        axes,
        xs[1],
        low,
        w,
        h,
        "6  check again",
        "encode, ask the model again; hold\nevery limit against the raw values;\nfail: NOT_FOUND",
        BOTH,
    )
    box(
        axes,
        xs[0],
        low,
        w,
        h,
        "7  the answer",
        "RecourseFrame: both rows, status,\ncost, probabilities, and the change\nin words",
        TABLES,
    )
    arrow(axes, (xs[2] + w / 2, 2.1), (xs[2] + w / 2, low + h))
    arrow(axes, (xs[2], low + h / 2), (xs[1] + w, low + h / 2))
    arrow(axes, (xs[1], low + h / 2), (xs[0] + w, low + h / 2))
    save(figure, "flow")


def save(figure: Any, name: str) -> None:
    """Write an SVG without a date."""
    figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})


DRAWN = {
    "survival": survival,
    "reliability": reliability,
    "two-boundaries": two_boundaries,
    "layers": layers,
    "flow": flow,
}


if __name__ == "__main__":
    for chosen in sys.argv[1:] or DRAWN:
        DRAWN[chosen]()
