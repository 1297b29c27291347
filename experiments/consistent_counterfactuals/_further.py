"""Methods as published, and under other judges: tables of ``published-*.json`` and ``outside-*.json``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import beside, cell, read, table
from experiments.consistent_counterfactuals._tables import POOLS, printed_of
from experiments.consistent_counterfactuals.published import what_is_there

RESULTS = Path(__file__).parent / "results"
READINGS = ", readings"
NAMES = {"paper": "Min eps PGD, the paper's step", "code": "Min eps PGD, the code's step"}


def published(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """What was run as published, by dataset."""
    return {found["dataset"]: found for found in read(folder, "published-*").values()}


def _of_readings(folder: Path) -> dict[str, dict[str, Any]]:
    """Runs of other readings alone, by dataset."""
    return {found["dataset"]: found for found in read(folder, "readings-*").values()}


def figure(found: dict[str, Any], name: str, key: str) -> float | None:
    """A figure of a method, in the mean over the base models that have it."""
    values = [base["methods"].get(name, {}).get(key) for base in found["bases"]]
    there = [v for v in values if v is not None]
    return float(np.mean(there)) if there else None


def r2_of(found: dict[str, Any], key: str) -> list[float]:
    """R2 as the paper pools it, by base model."""
    return [base["r2"][key] for base in found["bases"] if base.get("r2", {}).get(key) is not None]


def further(folder: Path) -> str:
    """Min-eps PGD as published, R2 as pooled by the paper, and other readings of two methods."""
    own = published(folder)
    read_otherwise = own | {f"{key}{READINGS}": found for key, found in _of_readings(folder).items()}
    made = [_balls(own), _pooled(own), _readings(read_otherwise), _run(read_otherwise)] if own else []
    texts = [*made, _outside(folder)]
    return "\n\n".join(text for text in texts if text) + "\n"


def _rows(
    own: dict[str, Any], names: dict[str, str], entry: Callable[[dict[str, Any], str, str], str]
) -> list[list[str]]:
    return [[called, *(entry(found, name, called) for found in own.values())] for name, called in names.items()]


def _balls(own: dict[str, Any]) -> str:
    names = {f"{NAMES[step]}{more}": f"{NAMES[step]}{more}" for more in ("", " + SNS") for step in NAMES}

    def entry(found: dict[str, Any], name: str, _: str) -> str:
        theirs = "Min eps PGD + SNS" if name.endswith("SNS") else "Min eps PGD"
        cells = [
            f"{beside(figure(found, name, key), printed_of(key, theirs, found['dataset']), digits)}"
            for key, digits in (("iv_rs", 3), ("iv_loo", 3), ("l2", 2), ("success", 2))
        ]
        return "; ".join(cells)

    head = ["", *(found["title"] for found in own.values())]
    title = "### Min-eps PGD as published, without our move to the nearest point of the boundary"
    told = "Broken by new seeds; by one row left out; l2 cost; success. Ours / printed."
    return f"{title}\n\n{told}\n\n{table(head, _rows(own, names, entry))}"


def _pooled(own: dict[str, Any]) -> str:
    there = {key: found for key, found in own.items() if any("r2" in base for base in found["bases"])}
    if not there:
        return ""
    rows = []
    for key, called in POOLS.items():
        cells = []
        for found in there.values():
            values = r2_of(found, key)
            cells.append(
                cell(float(np.mean(values)), 2, float(np.std(values, ddof=1)) if len(values) > 1 else None)
            )
        rows.append([called, *cells])
    rows.append(["printed", *(cell((printed_of("r2", "all", key) or (None,))[0]) for key in there)])
    head = ["", *(found["title"] for found in there.values())]
    title = "### R2 of cost and invalidation, pooled over the paper's five methods"
    return f"{title}\n\n± is the deviation over base models.\n\n{table(head, rows)}"


def _readings(own: dict[str, Any]) -> str:
    rows = []
    for found in own.values():
        names = [n for n in found["bases"][0]["methods"] if n.startswith(("Looveren", "Pawelczyk"))]
        for name in names:
            get = lambda key, found=found, name=name: figure(found, name, key)  # noqa: E731
            theirs = f"{name.split(',')[0].split()[0]} et al."
            cells = [
                beside(get(key), printed_of(key, theirs, found["dataset"]), digits)
                for key, digits in (("success", 2), ("l2", 2), ("iv_rs", 3))
            ]
            extra = [cell(get(key)) for key in ("reconstructed", "reconstruction_l2", "as_published")]
            coder = "-".join(map(str, found["coder"])) if name.startswith("Pawelczyk") else "-"
            rows.append([f"{found['title']}, {name}", coder, *cells, *extra])
    if not rows:
        return ""
    head = [
        "",
        "autoencoder",
        "success",
        "l2 cost",
        "broken by new seeds",
        "own reconstruction has the decision wanted",
        "its l2 cost",
        "success with the published fall-backs",
    ]
    return f"### Looveren et al. and Pawelczyk et al. under other readings, ours / printed\n\n{table(head, rows)}"


def _run(own: dict[str, Any]) -> str:
    rows = [
        [found["title"], str(found["n_people"]), str(found["n_models"]), str(len(found["bases"])),
         "-".join(str(n) for n in found["coder"]), f"`{what_is_there(found)}{_to(key)}`"]
        for key, found in own.items()
    ]  # fmt: skip
    head = [
        "",
        "people",
        "retrained models of each kind",
        "base models",
        "autoencoder",
        "command of what is there",
    ]
    return f"### What was run as published\n\n{table(head, rows)}"


def _to(key: str) -> str:
    """Where the command of other readings writes, whose file has a name of its own."""
    name = key.removesuffix(READINGS)
    return "" if name == key else f" --out experiments/consistent_counterfactuals/results/readings-{name}.json"


def _outside(folder: Path) -> str:
    """Methods under judges that differ otherwise than guides do, in the mean over splits."""
    files = list(read(folder, "outside-*").values())
    if not files:
        return ""
    kinds = list(dict.fromkeys(k for f in files for own in f["methods"].values() for k in own["accepted"]))
    rows, run = [], []
    for name in dict.fromkeys(f["dataset"] for f in files):
        mine = [f for f in files if f["dataset"] == name]
        for label in dict.fromkeys(label for f in mine for label in f["methods"]):
            got = [f["methods"][label] for f in mine if label in f["methods"]]
            by_kind = [[g["accepted"][k] for g in got if k in g["accepted"]] for k in kinds]
            cells = [_mean(values, 3) for values in by_kind]
            costs = [g["l2"] for g in got if g["l2"] is not None]
            rows.append([mine[0]["title"], label, _mean([g["found"] for g in got], 2), _mean(costs, 2), *cells])
        people = f"{min(f['n_people'] for f in mine)} to {max(f['n_people'] for f in mine)}"
        run.append([mine[0]["title"], str(len(mine)), people, f"{mine[0]['n_train']:,}",
                    f"{np.mean([f['accuracy'] for f in mine]):.3f}", f"`{mine[0]['command']}`"])  # fmt: skip
    told = (
        "Share of people with recourse within the schema, its l2 cost, and share of models that accept it, by\n"
        "what is otherwise in them; 20 models of a kind, in the mean over splits of the rows. *Seeds* and\n"
        "*resamples* say what guides were. *Other layers*: half and twice the widths, tanh, a linear model, on\n"
        "resamples. *Other rows*: three tables of rows that neither model nor people were drawn from; on Loan\n"
        "the years 2005 to 2007 after a model of 2004."
    )
    head = ["", "", "found", "l2 cost", *kinds]
    more = ["", "splits", "people", "rows learned from", "accuracy", "command of the first"]
    title = "### Judges outside the guides' recipe"
    return f"{title}\n\n{told}\n\n{table(head, rows)}\n\n{table(more, run)}"


def _mean(values: list[float], digits: int) -> str:
    return cell(float(np.mean(values)), digits) if values else "-"
