"""A few actions for many people: `ht.group_actions` beside GLANCE and GLOBE-CE, coverage at equal cost and k.

    python -m benchmarks.group_actions [--people 300] [--k 3] [--data german_credit,heloc,loanapp,adult]

A model is fitted on the first 60 % of a dataset's rows; of the refused in the rest, half choose the actions and
half measure them. Everybody's actions are tried by the same code: one serves a person where the model then
accepts them and no limit of the schema is broken, and each person takes the cheapest that serves them. Costs are
l1 in scaled units.

GLANCE (Kavouras et al., arXiv 2405.18921): the refused are clustered, each centre is given local counterfactuals,
and clusters whose centres and actions are near are merged until `k` are left; each gives the action that serves
most. Local counterfactuals are accepted training rows next to the centre and the recourse of people next to it,
the same that ours starts from; the number of clusters and of local ones is the best of four settings.

GLOBE-CE (Ley, Mishra, Magazzeni, ICML 2023): random directions over one to four columns, each person going as far
along one as they need; the `k` directions are added one by one, each the one that serves most of who is left.

Both were made for models without limits. Here they are told which columns may change and in which direction, and
what they ask is put on the grid, so that they lose nobody whom they could keep.

Ours is asked for at most what the other's actions cost in the mean, on the people who choose: with the largest cap
on what one person may be asked that stays below it.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

import holdtrue as ht
from benchmarks._common import record
from benchmarks.reasons import fitted
from holdtrue.encoding import to_grid, told_decimals
from holdtrue.methods import RecourseFrame
from holdtrue.schema import plain
from holdtrue.studies.group_actions import Action, Change, Served, Trial
from holdtrue.studies.group_actions._choose import choose, chosen_of, greedy, served
from holdtrue.studies.group_actions._group_actions import candidates, trial_of

TRAIN = 0.6
SETTINGS = ((20, 5), (20, 10), (50, 5), (50, 10))  # clusters at first, local actions of each
DIRECTIONS, SCALES = 200, 10
ROUNDS, HALVINGS = 2, 6  # of changing what is asked a little; of looking for the cap


def job(data: str, kind: str, n_people: int) -> tuple[RecourseFrame, pd.DataFrame]:
    """Recourse of refused people one by one, and training rows that the model accepts."""
    bank = ht.datasets.load(data)
    X, y = pd.DataFrame(bank.X[bank.schema.names]), np.asarray(bank.y)
    n = int(TRAIN * len(X))
    known, rest = X.iloc[:n], X.iloc[n:]
    model = fitted(kind, known[:5000], y[:n][:5000])
    predictor = ht.wrap(model, bank.schema, known[:5000])
    favourable = predictor.favourable
    refused = rest[np.asarray(model.predict(rest)) != favourable][:n_people]
    plan = ht.SparseSearch(norm="l1", random_state=0).fit(predictor, known[:5000]).recourse(refused)
    good = known[:5000][np.asarray(model.predict(known[:5000])) == favourable]
    return plan, good


def made(plan: RecourseFrame, before: dict[str, Any], after: dict[str, Any], scale: float = 1.0) -> Action:
    """The change from one row to another as an action by amounts, in columns and directions that are permitted."""
    out = []
    for feature in plan.schema:
        old, new = before[feature.name], after[feature.name]
        if feature.direction == "fixed" or old is None or new is None or old == new or old != old or new != new:
            continue
        if feature.kind in ("categorical", "binary"):
            out.append(Change(feature.name, "to", new))
            continue
        places = list(feature.levels or ())
        off = places.index(new) - places.index(old) if feature.has_levels else float(new) - float(old)
        if (off > 0 and feature.direction == "decrease") or (off < 0 and feature.direction == "increase"):
            continue
        step = 1.0 if feature.has_levels else feature.grid or 10.0 ** -told_decimals(feature)
        size = float(to_grid(np.array([np.sign(off) * np.ceil(abs(off) * scale / step - 1e-6) * step]), step)[0])
        if size:
            out.append(Change(feature.name, "by", size))
    return tuple(out)


def row(table: Any, i: int) -> dict[str, Any]:
    return {name: plain(values[i]) for name, values in table.columns.items()}


# ---- GLANCE -----------------------------------------------------------------------------------------


def glance(trial: Trial, plan: RecourseFrame, good: pd.DataFrame, k: int) -> list[Action]:
    tried = [merged(trial, plan, good, k, *setting) for setting in SETTINGS]
    return max(tried, key=lambda actions: worth(trial, actions))


def merged(
    trial: Trial, plan: RecourseFrame, good: pd.DataFrame, k: int, n_clusters: int, n_local: int
) -> list[Action]:
    encoder = plan.predictor.encoder
    x = encoder.encode(plan.factual)
    table = encoder.schema.check(good)
    z = encoder.encode(table)
    means = KMeans(min(n_clusters, len(x)), n_init=3, random_state=0).fit(x)
    clusters = []
    for c in range(means.n_clusters):
        members = np.flatnonzero(means.labels_ == c)
        if not len(members):
            continue
        centre = means.cluster_centers_[c]
        nearest = members[np.argmin(np.abs(x[members] - centre).sum(axis=1))]
        own = row(plan.factual, int(nearest))
        near = np.argsort(np.abs(z - x[nearest]).sum(axis=1))[:n_local]
        actions = [made(plan, own, row(table, int(i))) for i in near]
        beside = [i for i in np.argsort(np.abs(x - centre).sum(axis=1)) if plan.found[i]][:n_local]
        actions += [made(plan, row(plan.factual, int(i)), row(plan.recourse, int(i))) for i in beside]
        actions = [action for action in dict.fromkeys(actions) if action]
        moves = (encoder.encode(plan.recourse) - x)[members[plan.found[members]]]
        move = moves.mean(axis=0) if len(moves) else np.zeros(x.shape[1])
        clusters.append((members, actions, move))
    while len(clusters) > k:
        centres = np.stack([x[c[0]].mean(axis=0) for c in clusters])
        moves = np.stack([c[2] for c in clusters])
        far = apart(centres) + apart(moves)
        np.fill_diagonal(far, np.inf)
        # The smallest cluster joins the one that is next to it.
        small = min(range(len(clusters)), key=lambda i: len(clusters[i][0]))
        other = int(np.argmin(far[small]))
        a, b = clusters[small], clusters[other]
        weights = [len(a[0]), len(b[0])]
        joined = (np.concatenate([a[0], b[0]]), [*a[1], *b[1]], np.average([a[2], b[2]], axis=0, weights=weights))
        clusters = [c for i, c in enumerate(clusters) if i not in (small, other)] + [joined]
    out = []
    for members, actions, _ in clusters:
        costs = trial.matrix(actions)[:, members] if actions else np.zeros((0, 0))
        if len(costs) and np.isfinite(costs).any():
            reach = np.isfinite(costs).sum(axis=1)
            spent = np.where(np.isfinite(costs), costs, 0).sum(axis=1)
            out.append(actions[max(range(len(actions)), key=lambda i: (reach[i], -spent[i]))])
    return out


def apart(points: np.ndarray) -> np.ndarray:
    far = np.abs(points[:, None] - points[None]).sum(axis=2)
    return far / (far.mean() or 1.0)


# ---- GLOBE-CE ---------------------------------------------------------------------------------------


def directions(plan: RecourseFrame, seed: int = 0) -> list[list[Action]]:
    """Random directions, each as the actions of growing scale along it."""
    rng, encoder = np.random.default_rng(seed), plan.predictor.encoder
    free = [f for f in plan.schema if f.direction != "fixed"]
    out = []
    for _ in range(DIRECTIONS):
        chosen = [free[i] for i in rng.choice(len(free), min(len(free), int(rng.integers(1, 5))), replace=False)]
        way = {f.name: rng.uniform(0.1, 1.0) * _sign(f, rng) for f in chosen}
        levels = {f.name: (f.levels or (None,))[int(rng.integers(len(f.levels or (None,))))] for f in chosen}
        line = []
        for scale in np.arange(1, SCALES + 1) / SCALES:
            action = []
            for f in chosen:
                if f.kind in ("categorical", "binary"):
                    action.append(Change(f.name, "to", levels[f.name]))
                    continue
                width = 1.0 if f.has_levels else float(encoder.scale[encoder.layout.slot(f.name).start])
                width = len(f.levels or ()) - 1.0 if f.has_levels else width
                step = 1.0 if f.has_levels else f.grid or 10.0 ** -told_decimals(f)
                size = float(to_grid(np.array([way[f.name] * scale * width]), step)[0])
                if size:
                    action.append(Change(f.name, "by", size))
            if action:
                line.append(tuple(action))
        out.append(list(dict.fromkeys(line)))
    return [line for line in out if line]


def _sign(feature: Any, rng: np.random.Generator) -> float:
    if feature.direction in ("increase", "decrease"):
        return 1.0 if feature.direction == "increase" else -1.0
    return float(rng.choice([-1.0, 1.0]))


def globe_ce(trial: Trial, plan: RecourseFrame, k: int) -> list[list[Action]]:
    lines = directions(plan)
    costs = np.stack([trial.matrix(line).min(axis=0) for line in lines])
    return [lines[i] for i in greedy(costs, k)]


# ---- both beside ours -------------------------------------------------------------------------------


def worth(trial: Trial, actions: Sequence[Action]) -> tuple[int, float]:
    found = served(trial.matrix(actions))
    return int(found.covered.sum()), -float(found.cost[found.covered].sum())


def told(found: Served) -> dict[str, Any]:
    n, k = len(found.which), int(found.covered.sum())
    lower, upper = ht.metrics.clopper_pearson(k, n, 0.95, "both")
    return {
        "coverage": k / n, "lower": float(lower), "upper": float(upper), "people": n,
        "cost": float(found.cost[found.covered].mean()) if k else None,
    }  # fmt: skip


def capped(trial: Trial, cap: float | None) -> Trial:
    """The same people, nobody of whom is asked more than a cap; what was tried is known."""
    out = Trial(trial.predictor, trial.people, trial.target, trial.norm, cap)
    if cap is not None:
        out.known = {action: np.where(cost <= cap, cost, np.inf) for action, cost in trial.known.items()}
    else:
        out.known = trial.known
    return out


def ours(trial: Trial, pool: list[Action], k: int, most: float | None) -> tuple[list[Action], float | None]:
    """Our actions whose mean cost on the people who choose is at most this, and the cap on what one is asked."""
    if most is None:
        return choose(trial, pool, k, ROUNDS), None
    known = trial.matrix(pool)

    def mean_at(cap: float) -> float:
        costs = np.where(known <= cap, known, np.inf)
        return mean_of(served(costs[chosen_of(costs, k)]))

    low, high = most, float(np.max(known[np.isfinite(known)]))  # at the first nobody pays more than the mean
    if mean_at(high) <= most:
        low = high
    for _ in range(HALVINGS if low < high else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_at(middle) <= most else (low, middle)
    cap = low
    inside = capped(trial, cap)
    costs = inside.matrix(pool)
    plain_ones = [pool[i] for i in chosen_of(costs, k)]
    better = choose(inside, pool, k, ROUNDS)
    return (better if mean_of(served(inside.matrix(better))) <= most else plain_ones), cap


def mean_of(found: Served) -> float:
    return float(found.cost[found.covered].mean()) if found.covered.any() else 0.0


def compare(data: str, kind: str, n_people: int, k: int) -> dict[str, Any]:
    plan, good = job(data, kind, n_people)
    order = np.random.default_rng(0).permutation(len(plan))
    learn, test = plan.take(np.sort(order[: len(plan) // 2])), plan.take(np.sort(order[len(plan) // 2 :]))
    trial, asked = trial_of(learn, None), trial_of(test, None)
    out: dict[str, Any] = {"people": len(plan), "with recourse alone": float(plan.found.mean())}
    pool = list(dict.fromkeys(a for a in candidates(learn, ("by", "to"), 100, 0) if a))
    theirs = glance(trial, learn, good, k)
    lines = globe_ce(trial, learn, k)
    seen = served(np.stack([trial.matrix(line).min(axis=0) for line in lines])) if lines else None
    far = served(np.stack([asked.matrix(line).min(axis=0) for line in lines])) if lines else None
    parts = [("glance", served(trial.matrix(theirs)), served(asked.matrix(theirs)))]
    parts += [] if seen is None or far is None else [("globe_ce", seen, far)]
    for name, chosen, measured in parts:
        most = float(chosen.cost[chosen.covered].mean()) if chosen.covered.any() else None
        out[name] = told(measured)
        if most is not None:
            actions, cap = ours(trial, pool, k, most)
            out[f"ours at the cost of {name}"] = told(served(capped(asked, cap).matrix(actions))) | {"cap": cap}
    actions, _ = ours(trial, pool, k, None)
    out["ours"] = told(served(asked.matrix(actions))) | {
        "actions": [ht.studies.group_actions._actions.sentence(a, plan.schema) for a in actions]
    }
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--k", type=int, default=3)
    parser.add_argument("--data", default="german_credit,heloc,loanapp,adult")
    parser.add_argument("--models", default="xgboost,logistic regression")
    options = parser.parse_args()
    jobs = {}
    for kind in options.models.split(","):
        for data in options.data.split(","):
            jobs[f"{data}, {kind}"] = found = compare(data, kind, options.people, options.k)
            for name, one in found.items():
                if isinstance(one, dict):
                    print(
                        f"{data:<16}{kind:<22}{name:<32}{one['coverage']:>7.1%}{one['cost'] or np.nan:>8.3f}",
                        flush=True,
                    )
            done = dict.fromkeys(job.partition(", ")[0] for job in jobs)
            kinds = dict.fromkeys(job.partition(", ")[2] for job in jobs)
            command = (
                f"python -m benchmarks.group_actions --people {options.people} --k {options.k} "
                f"--data {','.join(done)} --models '{','.join(kinds)}'"
            )
            record("group_actions", command, {"jobs": jobs}, shown=False)


if __name__ == "__main__":
    main()
