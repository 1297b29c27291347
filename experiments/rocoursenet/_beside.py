"""Beside our own rows: searches on their predictors (``equal-*``), settings chosen blindly (``nested-*``)."""

from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import read, table
from experiments.rocoursenet._figures import spread
from experiments.rocoursenet._tables import IN_TIME

TOLD = "*Towards*: robust validity by the decision wanted, under the models of all other subsets"
LATER = ";\n*later*: the same under those of later years alone, which are the ones that a promise meets."
"""What the columns are, below a table's title."""


def equal(folder: Path) -> str:
    """The generator and every search, judged alike, on the same predictors."""
    texts = []
    for found in read(folder, "equal-*").values():
        in_time = found["dataset"] in IN_TIME
        sides = [(key, label) for key in ("towards", "later")[: 2 if in_time else 1] for label in "10"]
        rows = [
            [name, *(told([s[key] for s in seeds if s[key] is not None], digits)
                     for key, digits in (("robust", 3), ("validity", 3), ("proximity", 2))),
             *(told([s[key][label] for s in seeds if s[key][label] is not None], 3) for key, label in sides),
             str(len(seeds))]
            for name, seeds in found["methods"].items()
        ]  # fmt: skip
        n = found["n_people"][0]
        title = (
            f"### {found['title']}: searches on the predictors of *RoCourseNet, guides*, {n} people of a subset"
        )
        named = {"1": "a yes", "0": "a no"}
        head = ["", "robust validity", "validity", "proximity (l1)",
                *(f"{key}: {named[label]}" for key, label in sides), "seeds"]  # fmt: skip
        texts.append(f"{title}\n\n{TOLD}{LATER if in_time else '.'}\n\n{table(head, rows)}")
    return "\n\n".join(texts)


def nested(folder: Path) -> str:
    """What was chosen without a look at the judges, and how it was judged once."""
    rows = []
    for found in read(folder, "nested-*").values():
        taken, judged = found["taken"], found["judged"]
        by = {key: [s[key] for s in judged if s[key] is not None] for key in ("robust", "validity", "proximity")}
        of_model = found["performance"]
        chosen = ", ".join(f"{key} {value:g}" for key, value in taken["setting"].items())
        figures = [told(by["robust"], 3), told(by["validity"], 3), told(by["proximity"], 2)]
        auc, accepted = ([float(np.mean(t[key])) for t in of_model] for key in ("auc", "favourable"))
        last = found.get("forward")
        rows.append([
            found["title"], f"{chosen} (of {len(found['tried'])})", f"{taken['robust']:.3f}", *figures,
            "-" if last is None else told(last, 3), told(auc, 3), told(accepted, 2), str(len(judged)),
        ])  # fmt: skip
    if not rows:
        return ""
    head = ["", "taken", "robust where it was chosen", "robust validity", "validity", "proximity (l1)",
            "later years alone", "AUC", "share predicted favourable", "seeds"]  # fmt: skip
    title = "### RoCourseNet, guides, chosen by simulated shifts or past years alone, judged once"
    return f"{title}\n\n{table(head, rows)}"


def told(values: Any, digits: int) -> str:
    """Mean and deviation over seeds."""
    mean, std = spread(values)
    return "-" if mean is None else f"{mean:.{digits}f}" + ("" if std is None else f" ± {std:.{digits}f}")
