"""Searches on the predictors of our own rows: tables of ``equal-*.json``."""

from pathlib import Path
from typing import Any

from experiments._report import read, table
from experiments.rocoursenet._figures import spread


def equal(folder: Path) -> str:
    """The generator and every search, judged alike, on the same predictors."""
    texts = []
    for found in read(folder, "equal-*").values():
        rows = [
            [name, *(_cell([s[key] for s in seeds if s[key] is not None], digits)
                     for key, digits in (("robust", 3), ("validity", 3), ("proximity", 2))), str(len(seeds))]
            for name, seeds in found["methods"].items()
        ]  # fmt: skip
        n = found["n_people"][0]
        title = (
            f"### {found['title']}: searches on the predictors of *RoCourseNet, guides*, {n} people of a subset"
        )
        head = ["", "robust validity", "validity", "proximity (l1)", "seeds"]
        texts.append(f"{title}\n\n{table(head, rows)}")
    return "\n\n".join(texts)


def _cell(values: Any, digits: int) -> str:
    mean, std = spread(values)
    return "-" if mean is None else f"{mean:.{digits}f}" + ("" if std is None else f" ± {std:.{digits}f}")
