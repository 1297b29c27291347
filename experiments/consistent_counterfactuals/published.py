"""Methods as published, where ours differ: ``python -m experiments.consistent_counterfactuals.published DATASET``.

Min-eps PGD without our move to the nearest point of the boundary, with the paper's step and with that of its code
(``balls``); R2 pooled as the paper pools it, over its five methods and both kinds of retraining (``pooled``); and
what Looveren et al. and Pawelczyk et al. give under other readings of their text (``readings``). Writes
``results/published-DATASET.json``, or where ``--out`` says: a folder, or the file of one dataset.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments._encoded import EncodedSpace, Points
from experiments._report import told_place, write
from experiments._results import made_with
from experiments.consistent_counterfactuals._run import (
    QUICK_CODER,
    base_model,
    figures_of,
    squared_correlation,
    targets,
)
from experiments.consistent_counterfactuals._settings import SETTINGS, RetrainedDataset, methods
from holdtrue.methods import SNS, AbstractMethod, CFProto, LatentSearch, MinPGD

RESULTS = Path(__file__).parent / "results"
PUBLISHED = {"paper": "Min eps PGD, the paper's step", "code": "Min eps PGD, the code's step"}
POOLED = ("Min l1", "Min l2", "Looveren et al.", "Pawelczyk et al.")
"""The paper's five, with Min-eps PGD under the paper's step."""


def balls(setting: RetrainedDataset, steps: Sequence[str] = tuple(PUBLISHED)) -> dict[str, AbstractMethod]:
    """Min-eps PGD as published, and SNS from there."""
    out: dict[str, AbstractMethod] = {}
    for step, name in ((step, PUBLISHED[step]) for step in steps):
        base = MinPGD(radius=setting.max_radius, n_steps=100, nearest=False, step=step, random_state=0)  # type: ignore[arg-type]
        out |= {name: base, f"{name} + SNS": SNS(base=base, radius=setting.sns_radius, random_state=0)}
    return out


def readings(setting: RetrainedDataset) -> dict[str, AbstractMethod]:
    """Other readings of the two methods whose figures differ most."""
    proto: dict[str, AbstractMethod] = {
        "Looveren, the last neighbour": CFProto(norm="l2", prototype="last", random_state=0),
        "Looveren, prototype weight 1": CFProto(norm="l2", prototype_weight=1.0, random_state=0),
        "Looveren, no prototype": CFProto(norm="l2", prototype_weight=0.0, random_state=0),
    }
    coder: dict[str, Any] = {"widths": setting.coder[:-1], "n_latent": setting.coder[-1], "random_state": 2021}
    latent: dict[str, AbstractMethod] = {
        "Pawelczyk, radius in code lengths": LatentSearch(radius=setting.latent_radius, **coder),
        "Pawelczyk, three code lengths": LatentSearch(radius=3 * setting.latent_radius, **coder),
        "Pawelczyk, one epoch": LatentSearch(radius=setting.latent_radius, raw_radius=True, n_epochs=1, **coder),
        "Pawelczyk, five epochs": LatentSearch(radius=setting.latent_radius, raw_radius=True, n_epochs=5, **coder),
    }
    return latent | proto


def run(
    name: str,
    n_models: int,
    n_people: int,
    n_bases: int,
    parts: list[str],
    steps: Sequence[str],
    out_to: Path = RESULTS,
) -> dict[str, Any]:
    """One dataset."""
    setting = SETTINGS[name]
    bases = [base_model(setting, seed, n_people) for seed in range(n_bases)]
    first = bases[0][0]
    new_seeds = first.retrain(n_models, random_state=1)  # serve all bases; leave-one-out models belong to one
    out: dict[str, Any] = {
        "dataset": name, "title": setting.title, "n_models": n_models, "n_people": len(bases[0][1].asked.y),
        "coder": list(setting.coder), "parts": parts, "bases": [],
    }  # fmt: skip
    for clf, task in bases:
        predictor, learned, people = clf.predictor_, task.learned.x, task.asked.x
        space = EncodedSpace.of(predictor, float(learned.min()), float(learned.max()))
        wanted = targets(predictor, people)
        side = wanted == predictor.decision.favourable
        mine = clf is first
        groups = {"iv_rs": new_seeds}
        if mine or "pooled" in parts:
            groups["iv_loo"] = clf.retrain(n_models, vary="leave_one_out", random_state=3)
        asked = (readings(setting) if mine and "readings" in parts else {}) | balls(setting, steps)
        if "pooled" in parts:
            asked |= {key: value for key, value in methods(setting).items() if key in POOLED}
        found: dict[str, Any] = {}
        out["bases"].append({"methods": found})
        cost: dict[str, np.ndarray] = {}
        rates: dict[str, dict[str, np.ndarray]] = {}
        for label, method in asked.items():
            fitted = space.fitted(method, learned)
            own = space.recourse(fitted, people, wanted)
            ok = own.found & own.valid
            yes = {
                key: (space.decided(models, own.x) == predictor.decision.favourable) == side[None]
                for key, models in groups.items()
            }
            found[label] = figures_of(people, ok, own.x, yes)
            cost[label] = np.linalg.norm(own.x[ok] - people[ok], axis=1)
            rates[label] = {key: 1 - part[:, ok].mean(axis=0) for key, part in yes.items()}
            if isinstance(method, LatentSearch):
                found[label] |= _reconstructed(space, fitted, people, side, own)
            _keep(out, n_bases, steps, out_to)
        if "pooled" in parts:
            out["bases"][-1]["r2"] = _pooled(cost, rates)
            _keep(out, n_bases, steps, out_to)
    return out


def _reconstructed(
    space: EncodedSpace, fitted: AbstractMethod, people: np.ndarray, side: np.ndarray, own: Points
) -> dict[str, float]:
    """Whether people's own reconstructions have the decision that is wanted, what that costs, and the first's.

    The published search returns a reconstruction that is decided otherwise before it draws any code, and the first
    person's where it finds nothing.
    """
    again = fitted.generator()  # type: ignore[attr-defined]
    rows = np.asarray(jax.vmap(lambda x: again.decode(again.encode(x), x))(jnp.asarray(people)))
    predictor = space.predictor
    decided = predictor.decide_of(predictor.logits_of(rows)) == predictor.decision.favourable
    turned = decided == side
    length = np.linalg.norm(rows - people, axis=1)
    return {
        "reconstructed": float(turned.mean()), "reconstruction_l2": float(length.mean()),
        "first_serves": float((decided[0] == side).mean()),
        "first_l2": float(np.linalg.norm(rows[0] - people, axis=1).mean()),
        "as_published": float((turned | (own.found & own.valid) | (decided[0] == side)).mean()),
    }  # fmt: skip


def _pooled(cost: dict[str, np.ndarray], rates: dict[str, dict[str, np.ndarray]]) -> dict[str, float | None]:
    """R2 over all valid points of the five methods: each kind alone, both as points, and both in one rate."""
    five = [*POOLED, PUBLISHED["paper"]]
    costs = np.concatenate([cost[name] for name in five])
    by = {key: np.concatenate([rates[name][key] for name in five]) for key in ("iv_rs", "iv_loo")}
    return {
        **{key: squared_correlation(costs, rate) for key, rate in by.items()},
        "both": squared_correlation(np.tile(costs, 2), np.concatenate([by["iv_rs"], by["iv_loo"]])),
        "in one rate": squared_correlation(costs, (by["iv_rs"] + by["iv_loo"]) / 2),
    }


def command_of(found: Mapping[str, Any], n_bases: int, parts: Sequence[str], steps: Sequence[str]) -> str:
    """What makes a file of so many base models, parts and steps of Min-eps PGD."""
    return (
        f"python -m experiments.consistent_counterfactuals.published {found['dataset']} --models "
        f"{found['n_models']} --people {found['n_people']} --bases {n_bases} --parts {' '.join(parts)}"
        f"{' --quick' if found['coder'] == list(QUICK_CODER) else ''}"
        f"{'' if set(steps) == set(PUBLISHED) else f' --steps {chr(32).join(steps)}'}"
    )


def what_is_there(found: Mapping[str, Any]) -> str:
    """What makes the figures of a file again, where its own command was cut off before its end."""
    methods = found["bases"][0]["methods"]
    parts = [p for p in found["parts"] if p == "balls" or (p == "pooled" and "r2" in found["bases"][0])
             or (p == "readings" and any(m.startswith(("Looveren,", "Pawelczyk,")) for m in methods))]  # fmt: skip
    return command_of(found, len(found["bases"]), parts, [s for s, name in PUBLISHED.items() if name in methods])


def _keep(out: dict[str, Any], n_bases: int, steps: Sequence[str], out_to: Path) -> None:
    place = out_to if out_to.suffix == ".json" else out_to / f"published-{out['dataset']}.json"
    command = command_of(out, n_bases, out["parts"], steps) + told_place(out_to, RESULTS)
    write(place, out | {"command": command} | made_with({}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("datasets", nargs="+", choices=list(SETTINGS))
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--bases", type=int, default=3)
    parser.add_argument("--parts", nargs="+", default=["balls", "pooled", "readings"])
    parser.add_argument("--quick", action="store_true", help="a small autoencoder")
    parser.add_argument("--steps", nargs="+", choices=list(PUBLISHED), default=list(PUBLISHED),
                        help="of Min-eps PGD: the paper's, the code's")  # fmt: skip
    parser.add_argument("--out", type=Path, default=RESULTS, help="a folder, or the file of one dataset")
    given = parser.parse_args()
    if given.out.suffix == ".json" and len(given.datasets) > 1:
        parser.error("--out: one file is for one dataset; name a folder.")
    (given.out.parent if given.out.suffix == ".json" else given.out).mkdir(parents=True, exist_ok=True)
    for which in given.datasets:
        if given.quick:
            SETTINGS[which] = replace(SETTINGS[which], coder=QUICK_CODER)
        run(which, given.models, given.people, given.bases, given.parts, given.steps, given.out)
        print(which, flush=True)
