"""One dataset: models of several kinds on several splits, and what each gives the people of the test part."""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from experiments._report import Clock
from experiments.actionable_recourse._evaluate import evaluate
from experiments.actionable_recourse._extras import causal, extras, generator
from experiments.actionable_recourse._models import Kind, spread, train_all
from experiments.actionable_recourse._result import Result
from experiments.actionable_recourse._settings import SETTINGS, split
from experiments.actionable_recourse._text import run_text
from holdtrue.errors import DataError

TEXT = "sst"
WEIGHTS = tuple(round(0.2 * i, 1) for i in range(11))
RADII = (0.25, 0.5, 1.0, 1.5)
PAPER = 0.8
SWEEPS = ("linear", "lattice")
DRAWN = ("linear 0", "linear 0.8")  # against the threshold, in Figure 2


def kinds(name: str, *, quick: bool = False, parts: Collection[str] = ()) -> dict[str, Kind]:
    """What is trained for a dataset: sweeps over lambda, both architectures, the published code, radii."""
    ours = {"linear 0": Kind(0.0), "linear 0.8": Kind(PAPER)}
    if quick:
        return ours
    code = {f"code {w:g}": Kind(w, direction="code", paper_epoch=True) for w in (0.0, PAPER)}
    if parts and all(part in ("table 3", "table 4", "table 6", "figure 2") for part in parts):
        return ours | {"lattice 0.8": Kind(PAPER, action="lattice")}
    swept = {f"{a} {w:g}": Kind(w, action=a) for a in SWEEPS for w in WEIGHTS if w or a == "linear"}
    if set(parts) == {"figure 3"}:
        return {key: kind for key, kind in swept.items() if key.startswith("linear")}
    if parts and all(part in ("figure 1", "figure 3", "figure 5") for part in parts):
        return swept
    radii = {f"radius {r:g}": Kind(PAPER, radius=r) for r in RADII} if name == "adult" else {}
    if parts and all(part == "figure 4" for part in parts):
        return ours | radii
    tanh = {f"tanh {w:g}": Kind(w, recipe="tanh") for w in (0.0, PAPER)}
    return swept | tanh | code | radii


def run(
    name: str,
    *,
    n_splits: int = 5,
    quick: bool = False,
    parts: Collection[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Result:
    """Run one dataset and return its figures.

    Parameters
    ----------
    name : str
        One of `SETTINGS`, or "sst" for the sentences.
    n_splits : int, default=5
        Splits drawn afresh; of the sentences, which come split, seeds.
    quick : bool, default=False
        Two splits, lambda 0 and 0.8 only.
    parts : collection of str, optional
        Tables and figures that are asked for: only the models they need are trained.
    say : callable, optional
        Told what is being done.
    """
    clock = Clock(say)
    if name == TEXT:
        out = run_text(n_splits=n_splits, quick=quick, clock=clock)
        clock.stop()
        figures = {"dataset": name, "title": "SST", "n_splits": n_splits} | out | {"seconds": clock.seconds}
        return Result.from_dict(_short(figures))
    if name not in SETTINGS:
        raise DataError(f"papers: unknown dataset; got {name!r}. Known are {[*SETTINGS, TEXT]!r}.")
    splits = [split(name, seed) for seed in range(2 if quick else n_splits)]
    asked = kinds(name, quick=quick, parts=parts)
    clock(f"training {len(asked)} kinds of model on {len(splits)} splits")
    models = train_all(name, splits, asked)
    clock("asking for recourse")

    def one(job: tuple[str, int]) -> dict[str, Any]:
        key, i = job
        out = evaluate(models[key][i], splits[i], radius=asked[key].radius, full=not quick)
        return out if key in DRAWN else {name: value for name, value in out.items() if name != "curve"}

    found = spread(one, [(key, i) for key in asked for i in range(len(splits))])
    result: dict[str, Any] = {
        "dataset": name,
        "title": SETTINGS[name].title,
        "n_splits": len(splits),
        "n_test": len(splits[0].test.y),
        "n_calibrate": len(splits[0].calibrate.y),
        "n_train": len(splits[0].train.y),
        "prevalence": float(np.mean([s.test.y.mean() for s in splits])),
        "kinds": {key: [found[key, i] for i in range(len(splits))] for key in asked},
    }
    if not quick:
        result["chosen"] = {sweep: _chosen(result["kinds"], sweep) for sweep in SWEEPS if f"{sweep} 2" in asked}
        clock("noise, perturbations, examples")
        makers = [generator(s) for s in splits]
        pairs = [(key, i) for key in ("linear 0", "linear 0.8", "lattice 0.8") if key in asked
                 for i in range(len(splits))]  # fmt: skip
        more = spread(lambda job: extras(models[job[0]][job[1]], splits[job[1]], makers[job[1]]), pairs)
        result["extras"] = {key: [more[key, i] for i in range(len(splits))] for key in dict(pairs)}
    if name == "german" and not quick:
        clock("causes")
        keys = [key for key in asked if key.startswith("linear")]
        caused = spread(lambda job: causal(models[job[0]][job[1]], splits[job[1]]),
                         [(key, i) for key in keys for i in range(len(splits))])  # fmt: skip
        result["causal"] = {key: [caused[key, i] for i in range(len(splits))] for key in keys}
    clock.stop()
    return Result.from_dict(_short(result | {"seconds": clock.seconds}))


def _short(value: Any) -> Any:
    """Five digits are more than these figures carry."""
    if isinstance(value, dict):
        return {key: _short(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_short(part) for part in value]
    return round(value, 5) if isinstance(value, float) else value


def _chosen(found: dict[str, list[dict[str, Any]]], sweep: str) -> list[str]:
    """Per split, the kind of the sweep that the watched rows prefer.

    The harmonic mean of the Gini coefficient (2 AUC - 1) and the share of the refused who have recourse: neither a
    model that ranks nobody nor one that leaves nobody a way is worth much.
    """

    def merit(watch: dict[str, float]) -> float:
        gini = max(2 * watch["auc"] - 1, 0.0)
        return 2 * gini * watch["recourse"] / max(gini + watch["recourse"], 1e-9)

    keys = ["linear 0", *(key for key in found if key.startswith(sweep) and key != "linear 0")]
    n = len(found["linear 0"])
    return [max(keys, key=lambda key, i=i: merit(found[key][i]["watch"])) for i in range(n)]
