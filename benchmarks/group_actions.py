"""A few actions for many people: `ht.group_actions` beside GLANCE and GLOBE-CE, coverage at equal cost and k.

    python -m benchmarks.group_actions [--people 200] [--k 3] [--data german_credit,heloc,loanapp,adult]
        [--split fresh|new|equal] [--rows 9000]

`--split seen`: a model is fitted on the first 60 % of a dataset's rows (5,000 at most). The refused in the rest
are halved: each half chooses actions that are measured on the other. These people were looked at while
`ht.group_actions` was made.

`--split fresh`: they choose, and are not measured. The first 60 % are cut into three parts by chance. Each part in
turn is held out: a model is fitted on the other two (5,000 rows at most), and the refused of the part, whom nobody
had measured before, are measured.

`--split new`: all rows are cut into three parts by another seed. In turn one part chooses, one is measured and the
third is what a model learns from (5,000 rows at most).

`--split equal`: the same with another seed, on `--rows` rows drawn by it, and by the criterion of
docs/how-to/actions-for-groups.md ("What counts as better"), for tables that nothing was settled on: at the mean
cost of the other method and at that of ours, everybody's setting is the one that serves most of the people who
choose within that mean, and of those who are measured everybody serves as many, the cheapest first, as keep it.
What counts is the interval of the paired difference between the shares served (Agresti and Min, 2005).

Either way everybody is measured once, by actions that they had no part in, under a model that did not learn from
them.
Everybody's actions are tried by the same code: one serves a person where the model then accepts them and no limit
of the schema is broken, and each person takes the cheapest that serves them. Costs are l1 in scaled units.

GLANCE (Kavouras et al., arXiv 2405.18921): the refused are clustered, each centre is given local counterfactuals,
and clusters whose centres and actions are near are merged until `k` are left; each gives the action that serves
most. Local counterfactuals are accepted training rows next to the centre and the recourse of people next to it,
the same that ours starts from; the number of clusters and of local ones is the best of nine settings, by the
people who choose.

GLOBE-CE (Ley, Mishra, Magazzeni, ICML 2023): random directions over a few columns, each person going as far along
one as they need, in twentieths of up to the columns' whole ranges; the `k` directions are added one by one, each
the one that serves most of who is left. How many columns a direction has is the best of four settings, by the
people who choose.

Both were made for models without limits. Here they are told which columns may change and in which direction, and
what they ask is put on the grid, so that they lose nobody whom they could keep.

Ours may cost in the mean what the other's actions cost in the mean, both of those whom they serve among the people
who choose (`mean_cost`): once with common changes, and beside GLOBE-CE also with directions as it has them, where
they do better (`forms=("by", "to", "along")`). Among the others the means may differ: `at their mean` is what ours
do there for as many, the cheapest first, as keep the mean that theirs have in that part. People are paired: of
those whom one serves and not the other, the share whom ours serve, with Clopper and Pearson's interval, says
whether ours serve more (the whole interval above one half), fewer, or whether the two cannot be told apart.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
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
from holdtrue.studies.group_actions._actions import COMMON, FORMS, Form, sentence
from holdtrue.studies.group_actions._choose import Worth, cap_of, choose, counted, greedy, served
from holdtrue.studies.group_actions._choose import worth as worth_of
from holdtrue.studies.group_actions._group_actions import candidates, trial_of

KNOWN, PARTS, MOST = 0.6, 3, 5000  # share of rows never measured before, parts of it, rows to learn from
SEED = 20261118  # of the parts and the rows learned from; not used by an earlier split
EQUAL_SEED = 20261121  # of the split of tables that nothing was settled on
NEW_SEED = 20261119  # of the split that was made after the choice was settled
Split = tuple[RecourseFrame, RecourseFrame, pd.DataFrame]
SETTINGS = tuple((n, m) for n in (20, 50, 100) for m in (5, 10, 20))  # clusters at first, local actions of each
SIZES = ((1, 2), (1, 4), (2, 6), (1, 99))  # how many columns a direction has, at least and at most
DIRECTIONS, SCALES = 200, 20
ROUNDS, CANDIDATES = 3, 100  # as by default


def splits(data: str, kind: str, split: str, n_people: int, n_rows: int) -> Iterator[Split]:
    """Recourse of the refused who choose and of those who are measured; training rows that the model accepts."""
    bank = ht.datasets.load(data)
    X, y = pd.DataFrame(bank.X[bank.schema.names]), np.asarray(bank.y)
    n = int(KNOWN * len(X))
    if split == "seen":
        good, recourse = job(kind, bank.schema, X[:n][:MOST], y[:n][:MOST], n_people)
        plan = recourse(X.iloc[n:])
        order = np.random.default_rng(0).permutation(len(plan))
        one, other = (plan.take(np.sort(half)) for half in (order[: len(plan) // 2], order[len(plan) // 2 :]))
        yield from ((one, other, good), (other, one, good))
        return
    if split in ("new", "equal"):
        order = np.random.default_rng(NEW_SEED if split == "new" else EQUAL_SEED).permutation(len(X))
        parts = np.array_split(order if split == "new" else order[:n_rows], PARTS)
        for part in range(PARTS):
            test, learn = (np.sort(parts[(part + i) % PARTS]) for i in range(2))
            rows = np.sort(parts[(part + 2) % PARTS][:MOST])
            good, recourse = job(kind, bank.schema, X.iloc[rows], y[rows], n_people)
            yield recourse(X.iloc[learn]), recourse(X.iloc[test]), good
        return
    parts = np.array_split(np.random.default_rng(SEED).permutation(n), PARTS)
    for part in range(PARTS):
        rows = np.sort(np.concatenate([parts[i] for i in range(PARTS) if i != part])[:MOST])
        good, recourse = job(kind, bank.schema, X.iloc[rows], y[rows], n_people)
        yield recourse(X.iloc[n:]), recourse(X.iloc[np.sort(parts[part])]), good


def job(
    kind: str, schema: ht.Schema, known: pd.DataFrame, y: np.ndarray, n_people: int
) -> tuple[pd.DataFrame, Callable[[pd.DataFrame], RecourseFrame]]:
    """A model: rows that it accepts of those it learned from, and recourse of whom it refuses of others."""
    model = fitted(kind, known, y)
    predictor = ht.wrap(model, schema, known)
    favourable = predictor.favourable
    search = ht.SparseSearch(norm="l1", random_state=0).fit(predictor, known)

    def recourse(people: pd.DataFrame) -> RecourseFrame:
        return search.recourse(people[np.asarray(model.predict(people)) != favourable][:n_people])

    return known[np.asarray(model.predict(known)) == favourable], recourse


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
    return max(all_glance(trial, plan, good, k), key=lambda actions: worth(trial, actions))


def all_glance(trial: Trial, plan: RecourseFrame, good: pd.DataFrame, k: int) -> list[list[Action]]:
    """The actions of every setting."""
    return [merged(trial, plan, good, k, *setting) for setting in SETTINGS]


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


def directions(plan: RecourseFrame, sizes: tuple[int, int]) -> list[list[Action]]:
    """Random directions, each as the actions of growing scale along it."""
    rng, encoder = np.random.default_rng(0), plan.predictor.encoder
    free = [f for f in plan.schema if f.direction != "fixed"]
    out = []
    for _ in range(DIRECTIONS):
        n = int(rng.integers(sizes[0], min(sizes[1], len(free)) + 1))
        chosen = [free[i] for i in rng.choice(len(free), n, replace=False)]
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
    tried = []
    for sizes in SIZES:
        lines = directions(plan, sizes)
        costs = along(trial, lines)
        chosen = greedy(costs, k)
        tried.append((worth_of(costs[chosen]), [lines[i] for i in chosen]))
    return max(tried, key=lambda one: one[0])[1]


def along(trial: Trial, lines: list[list[Action]]) -> np.ndarray:
    """What everybody pays along each direction: as far as is cheapest."""
    steps = trial.matrix([action for line in lines for action in line])
    ends = np.cumsum([len(line) for line in lines])[:-1]
    return np.stack([part.min(axis=0) for part in np.split(steps, ends)])


# ---- both beside ours -------------------------------------------------------------------------------


def worth(trial: Trial, actions: Sequence[Action]) -> Worth:
    return worth_of(trial.matrix(actions))


def ours(
    trial: Trial, asked: Trial, pool: list[Action], k: int, mean: float | None
) -> tuple[Served, list[Action]]:
    """What our actions do for others, with at most this mean cost among the people who choose."""
    actions = choose(trial, pool, k, ROUNDS, mean)
    return served(asked.matrix(actions), cap_of(trial.matrix(actions), mean)), actions


def mean_of(found: Served) -> float:
    return float(found.cost[found.covered].mean())


def one_part(
    learn: RecourseFrame, test: RecourseFrame, good: pd.DataFrame, k: int
) -> dict[str, tuple[Served, Any]]:
    """Everybody's actions, chosen by some people: what they do for others."""
    trial, asked = trial_of(learn, None), trial_of(test, None)
    pools: dict[str, list[Action]] = {
        name: [a for a in dict.fromkeys(candidates(learn, forms, CANDIDATES, 0)) if a]
        for name, forms in KINDS.items()
    }
    theirs, lines = glance(trial, learn, good, k), globe_ce(trial, learn, k)
    out: dict[str, tuple[Served, Any]] = {
        "glance": (served(asked.matrix(theirs)), [sentence(a, learn.schema) for a in theirs]),
        "globe_ce": (served(along(asked, lines)), [sentence(line[-1], learn.schema) for line in lines]),
    }
    means = {"glance": mean_of(served(trial.matrix(theirs))), "globe_ce": mean_of(served(along(trial, lines)))}
    asks = [
        ("ours at the cost of glance", "common", means["glance"]),
        ("ours at the cost of globe_ce", "common", means["globe_ce"]),
        ("ours with directions at the cost of globe_ce", "all", means["globe_ce"]),
        ("ours", "common", None),
    ]
    for name, form, mean in asks:
        found, actions = ours(trial, asked, pools[form], k, mean)
        out[name] = found, [sentence(a, learn.schema) for a in actions]
    return out


KINDS: dict[str, tuple[Form, ...]] = {"common": COMMON, "all": FORMS}


# ---- both at the same mean cost -----------------------------------------------------------------------


CONTESTS = (("glance", "common"), ("globe_ce", "common"), ("globe_ce", "all"))


def at_equal_cost(
    learn: RecourseFrame, test: RecourseFrame, good: pd.DataFrame, k: int
) -> dict[tuple[str, str, str], tuple[np.ndarray, np.ndarray]]:
    """Costs of those measured, ours and the other's (infinite: not served), by contest and by whose mean."""
    trial, asked = trial_of(learn, None), trial_of(test, None)
    lines = [directions(learn, sizes) for sizes in SIZES]
    theirs: dict[str, Any] = {
        "glance": [(trial.matrix(some), asked.matrix(some)) for some in all_glance(trial, learn, good, k) if some],
        "globe_ce": [(along(trial, some), along(asked, some)) for some in lines],
    }

    def best(name: str, mean: float | None) -> tuple[np.ndarray, np.ndarray]:
        """Least costs of who choose and who are measured, by the setting that serves most of the former."""
        kept = []
        for mine, others in theirs[name]:
            rows = greedy(mine, k, mean) if name == "globe_ce" else list(range(len(mine)))
            kept.append((worth_of(mine[rows], mean), rows, mine, others))
        _, rows, mine, others = max(kept, key=lambda one: one[0])
        return served(mine[rows]).cost, served(others[rows]).cost

    def of_ours(form: str, mean: float | None) -> tuple[np.ndarray, np.ndarray]:
        actions = choose(trial, pools[form], k, ROUNDS, mean)
        return served(trial.matrix(actions)).cost, served(asked.matrix(actions)).cost

    pools = {
        name: [a for a in dict.fromkeys(candidates(learn, forms, CANDIDATES, 0)) if a]
        for name, forms in KINDS.items()
    }
    free = {name: mean_cost(best(name, None)[0]) for name in theirs}
    own = {form: of_ours(form, None) for form in KINDS}
    out = {}
    for name, form in CONTESTS:
        for whose, mean in (("theirs", free[name]), ("ours", mean_cost(own[form][0]))):
            mine = own[form] if whose == "ours" else of_ours(form, mean)
            out[name, form, whose] = keeping(mine[1], mean), keeping(best(name, mean)[1], mean)
    return out


def mean_cost(costs: np.ndarray) -> float:
    return float(costs[np.isfinite(costs)].mean()) if np.isfinite(costs).any() else 0.0


def keeping(costs: np.ndarray, mean: float) -> np.ndarray:
    """Costs of as many, the cheapest first, as keep a mean; infinite for all others."""
    return np.where(costs <= counted(costs, mean)[2], costs, np.inf)


def difference(mine: np.ndarray, theirs: np.ndarray) -> dict[str, Any]:
    """Share that ours serve less the share that the other's do, of the same people (Agresti and Min)."""
    ours, other = np.isfinite(mine), np.isfinite(theirs)
    n, only, lost = len(mine), int((ours & ~other).sum()), int((other & ~ours).sum())
    about = (only - lost) / (n + 2)  # half a person more in each of the four cells
    half = 1.959964 * np.sqrt((only + lost + 1) / (n + 2) - about**2) / np.sqrt(n + 2)
    return {
        "only ours": only, "only theirs": lost, "difference": (only - lost) / n,
        "lower": float(about - half), "upper": float(about + half),
    }  # fmt: skip


def judged(at: dict[str, Any]) -> str:
    """What the differences at the two mean costs say together."""
    up = [one["lower"] > 0 for one in at.values()]
    down = [one["upper"] < 0 for one in at.values()]
    return "ours" if any(up) and not any(down) else "theirs" if any(down) and not any(up) else "not told apart"


def compare_equal(data: str, kind: str, n_people: int, k: int, n_rows: int) -> dict[str, Any]:
    parts, people = [], 0
    for learn, test, good in splits(data, kind, "equal", n_people, n_rows):
        parts.append(at_equal_cost(learn, test, good, k))
        people += len(test)
        print(f"{data}: {people} people measured", flush=True)
    out: dict[str, Any] = {"people": people, "contests": []}
    for name, form in CONTESTS:
        at: dict[str, Any] = {}
        for whose in ("theirs", "ours"):
            mine, other = (np.concatenate([part[name, form, whose][i] for part in parts]) for i in range(2))
            at[whose] = {"ours": told(mine), "theirs": told(other)} | difference(mine, other)
        out["contests"].append({"other": name, "form": form, "at": at, "better": judged(at)})
    return out


def compare(data: str, kind: str, split: str, n_people: int, k: int) -> dict[str, Any]:
    found: list[dict[str, tuple[Served, Any]]] = []
    out: dict[str, Any] = {"people": 0, "who choose": [], "with recourse alone": 0}
    for learn, test, good in splits(data, kind, split, n_people, 0):
        found.append(one_part(learn, test, good, k))
        out["people"] += len(test)
        out["who choose"].append(len(learn))
        out["with recourse alone"] += int(test.found.sum())
    for name in found[0]:
        costs = [one[name][0].cost for one in found]
        out[name] = told(np.concatenate(costs)) | {
            "parts": [told(cost) for cost in costs], "actions": [one[name][1] for one in found]
        }  # fmt: skip
        other = "glance" if name.endswith("glance") else "globe_ce" if name.endswith("globe_ce") else name
        if other != name:
            theirs = [one[other][0].cost for one in found]
            # Where ours cost more in the mean of those measured: as many as keep theirs, the cheapest first.
            kept = [within(mine, other) for mine, other in zip(costs, theirs, strict=True)]
            out[name]["at their mean"] = told(np.concatenate(kept))
            out[name] |= paired(np.concatenate(kept), np.concatenate(theirs))
    return out


def within(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Our costs, of as many people, the cheapest first, as keep the mean of theirs; infinite for all others."""
    reached = np.isfinite(theirs)
    dearest = counted(mine, float(theirs[reached].mean()) if reached.any() else 0.0)[2]
    return np.where(mine <= dearest, mine, np.inf)


def paired(mine: np.ndarray, theirs: np.ndarray) -> dict[str, Any]:
    """Of the people whom one serves and not the other: whom ours serve, and what that says."""
    ours, other = np.isfinite(mine), np.isfinite(theirs)
    only, lost = int((ours & ~other).sum()), int((other & ~ours).sum())
    lower, upper = ht.metrics.clopper_pearson(only, only + lost, 0.95, "both") if only + lost else (0.0, 1.0)
    verdict = "more" if lower > 0.5 else "fewer" if upper < 0.5 else "not told apart"
    return {"only ours": only, "only theirs": lost, "ours serve": verdict}


def told(cost: np.ndarray) -> dict[str, Any]:
    covered = np.isfinite(cost)
    n, k = len(cost), int(covered.sum())
    lower, upper = ht.metrics.clopper_pearson(k, n, 0.95, "both")
    return {
        "coverage": k / n, "lower": float(lower), "upper": float(upper), "people": n,
        "cost": float(cost[covered].mean()) if k else None,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--k", type=int, default=3)
    parser.add_argument("--data", default="german_credit,heloc,loanapp,adult")
    parser.add_argument("--models", default="xgboost,logistic regression")
    parser.add_argument("--split", choices=("seen", "fresh", "new", "equal"), default="seen")
    parser.add_argument("--rows", type=int, default=9000)
    options = parser.parse_args()
    jobs: dict[str, Any] = {}
    for kind in options.models.split(","):
        for data in options.data.split(","):
            if options.split == "equal":
                found = compare_equal(data, kind, options.people, options.k, options.rows)
                for one in found["contests"]:
                    print(f"{data}, {kind}: {one}", flush=True)
            else:
                found = compare(data, kind, options.split, options.people, options.k)
            jobs[f"{data}, {kind}"] = found
            for name, one in found.items():
                if isinstance(one, dict) and options.split != "equal":
                    print(
                        f"{data:<16}{kind:<22}{name:<40}{one['coverage']:>7.1%}{one['cost'] or np.nan:>8.3f}",
                        flush=True,
                    )
            done = dict.fromkeys(job.partition(", ")[0] for job in jobs)
            kinds = dict.fromkeys(job.partition(", ")[2] for job in jobs)
            command = (
                f"python -m benchmarks.group_actions --people {options.people} --k {options.k} "
                f"--data {','.join(done)} --models '{','.join(kinds)}' --split {options.split}"
            )
            if options.split == "equal":
                command += f" --rows {options.rows}"
            name = "group_actions" if options.split == "seen" else f"group_actions-{options.split}"
            if options.split in ("new", "equal"):  # one file for each run, so that tables can be run side by side
                name += f"-{'-'.join(done)}"
            record(name, command, {"jobs": jobs}, shown=False)


if __name__ == "__main__":
    main()
