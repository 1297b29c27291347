"""Proofs held against another solver: OR-Tools' CP-SAT on random schemas, forests, boosting and linear models.

python -m benchmarks.attack.cpsat [--worlds 12] [--seed 0] [--processes 1] [--print]

Needs ortools. Every instance is one refused person under one model: `ExactSearch` is asked, and CP-SAT is given
the same question as a model of its own: the values that `_checker` says the person may take, the trees as their
libraries write them down, or the linear weights. Counts where the two disagree about whether there is a recourse,
or by more than rounding about what the cheapest costs. Rows within 2e-4 log-odds of the threshold may count either
way; where that decides, the instance is counted as `at the edge`, and what was said must lie between the two.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from xgboost import XGBClassifier

import holdtrue as ht
from benchmarks.attack._checker import Row, _level, allowed, grid, limit_of, term
from benchmarks.attack._tally import Attack, Line, crashed, rows_of, world_by_world
from benchmarks.attack._worlds import World, world
from holdtrue.batch import Predictor
from holdtrue.encoding import norm_weights
from holdtrue.search import Status

KINDS = ("linear", "forest", "boosting")
PEOPLE = 40  # of one world under one model
SCALE = 10**7  # of costs, scores and constraints, as whole numbers
CLEAR = 2e-4
EDGE = -1e-5
CLOSE = 2e-5  # of cost: rounding of whole numbers and of single precision

Leaf = tuple[dict[int, tuple[float, float, bool]], float]
"""Per column of the model's table the interval ``low < value <= high`` that leads there and whether a missing
value does; and what the leaf adds."""


def attack(seed: int, kind: str) -> list[Line]:
    """Hold every instance of one world under one kind of model against CP-SAT."""
    try:
        return [{"method": kind, **_held_against(world(seed), kind)}]
    except Exception as error:  # whatever it is, it should have been a status
        return [crashed(kind, error)]


def _held_against(place: World, kind: str) -> Counter[str]:
    model: Any = None
    if kind == "linear":
        predictor = place.linear()
    else:
        model = _learned(place, kind)
        predictor = ht.wrap(model, place.schema, place.table)
        if "trees" not in predictor.capabilities:
            return Counter(unread=1)
    schema = predictor.encoder.schema
    refused = np.flatnonzero(predictor.decide(schema.check(place.table)) != predictor.decision.favourable)[:PEOPLE]
    counts: Counter[str] = Counter(instances=len(refused))
    if not len(refused):
        return counts
    people = place.table.iloc[refused].reset_index(drop=True)
    restrictions = [place.restrictions[i] for i in refused]
    plan = ht.ExactSearch(time_limit=60).fit(predictor).recourse(people, restrictions=restrictions)
    rows = rows_of(people, place.schema)
    for i, row in enumerate(rows):
        status, cost = Status(plan.status[i]), float(plan.cost[i])
        counts[status.name] += 1
        question = _Question(schema.to_dict(), row, restrictions[i], predictor, model, people.dtypes)
        least = question.cheapest(CLEAR)
        same = status == Status.INFEASIBLE and np.isinf(least)
        same |= status == Status.OPTIMAL and np.isfinite(least) and abs(cost - least) <= CLOSE * (1 + least)
        if same:
            counts["agree"] += 1
        elif status in (Status.OPTIMAL, Status.INFEASIBLE):
            loosest = question.cheapest(EDGE)
            between = status == Status.OPTIMAL and loosest - CLOSE <= cost <= least + CLOSE * (1 + min(least, 1e3))
            counts["at the edge" if between else "disagree"] += 1
    return counts


def _learned(place: World, kind: str) -> Any:
    """Trees over codes of levels, with labels that a random linear score gives most of them."""
    table, rng = place.table, place.rng
    words = [f.name for f in place.schema if f.has_levels]
    codes = make_column_transformer((OrdinalEncoder(), words), remainder="passthrough")
    z = np.nan_to_num(np.asarray(codes.fit_transform(table), float))
    score = ((z - z.mean(axis=0)) / (z.std(axis=0) + 1e-9)) @ rng.normal(size=z.shape[1])
    y = (score + rng.normal(0, 0.5, len(z)) > np.quantile(score, 0.6)).astype(int)
    trees: Any = RandomForestClassifier(12, max_depth=4, random_state=0)
    if kind == "boosting":
        trees = XGBClassifier(n_estimators=12, max_depth=3, n_jobs=1, random_state=0)
    return make_pipeline(codes, trees).fit(table, y)


def _as_learned(codes: Any, table: pd.DataFrame) -> pd.DataFrame:
    """What is missing written as the encoder learned it: to it, None and NaN are two categories."""
    _, encoder, words = codes[0].transformers_[0]
    out = table.copy()
    for name, known in zip(words, encoder.categories_, strict=True):
        if any(value is None for value in known):
            out[name] = pd.Series([None if v != v else v for v in table[name]], index=table.index, dtype=object)
    return out


class _Question:
    """One person's question as CP-SAT has it: a value of every feature, one leaf of every tree."""

    def __init__(
        self, schema: dict[str, Any], row: Row, restriction: Any, predictor: Predictor, model: Any, types: Any
    ) -> None:
        self.schema, self.row, self.predictor, self.model, self.types = schema, row, predictor, model, types
        self.values = {}
        for feature in schema["features"]:
            own, limit = row[feature["name"]], limit_of(restriction, feature)
            self.values[feature["name"]] = [
                own, *(v for v in grid(feature) if v != own and allowed(feature, own, v, limit))
            ]  # fmt: skip

    def rows(self, name: str) -> pd.DataFrame:
        """The person with every value of one feature."""
        return self.frame([self.row | {name: value} for value in self.values[name]])

    def frame(self, rows: Sequence[Row]) -> pd.DataFrame:
        return pd.DataFrame(list(rows), columns=list(self.row)).astype(self.types)

    def cheapest(self, need: float) -> float:
        """The least cost at which the score is at least `need`; infinite where there is none."""
        from ortools.sat.python import cp_model

        cp = cp_model.CpModel()
        takes = {name: [cp.new_bool_var("") for _ in values] for name, values in self.values.items()}
        for options in takes.values():
            cp.add_exactly_one(options)
        self._limits(cp, takes)
        score, least = self._linear(takes) if self.model is None else self._trees(cp, takes, need)
        cp.add(score >= round((least + (need if self.model is None else 0.0)) * SCALE))
        encoder = self.predictor.encoder
        weights, own = norm_weights(encoder, "l1"), encoder.encode(self.frame([self.row]))
        cost = 0
        for name, options in takes.items():
            paid = np.abs(encoder.encode(self.rows(name)) - own) @ weights
            cost += sum(round(float(c) * SCALE) * option for c, option in zip(paid, options, strict=True))
        cp.minimize(cost)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        status = solver.solve(cp)
        if status == cp_model.INFEASIBLE:
            return np.inf
        assert status == cp_model.OPTIMAL, solver.status_name(status)
        return solver.objective_value / SCALE

    def _limits(self, cp: Any, takes: dict[str, list[Any]]) -> None:
        schema, row = self.schema, self.row
        for constraint in schema.get("constraints", []):
            left, size = 0, 1
            for key, coefficient in constraint["coefficients"].items():
                name = next(
                    f["name"] for f in schema["features"] if key == f["name"] or key.startswith(f["name"] + "=")
                )
                added = [coefficient * term(schema, key, row | {name: v}) for v in self.values[name]]
                if constraint.get("on", "value") == "change":
                    added = [a - coefficient * term(schema, key, row) for a in added]
                left += sum(round(a * SCALE) * option for a, option in zip(added, takes[name], strict=True))
                size += 1
            cp.add(left <= round(constraint["bound"] * SCALE) + size)
        for implication in schema.get("implications", []):
            if all(_level(schema, n, row) in levels for n, levels in implication.get("was", {}).items()):
                when = [self._one_of(cp, takes, n, levels) for n, levels in implication.get("when", {}).items()]
                for name, levels in implication["then"].items():
                    cp.add_bool_or([*(w.negated() for w in when), self._one_of(cp, takes, name, levels)])

    def _one_of(self, cp: Any, takes: dict[str, list[Any]], name: str, levels: Sequence[Any]) -> Any:
        """Whether a feature takes one of some levels."""
        named = cp.new_bool_var("")
        hits = [_level(self.schema, name, {name: v}) in levels for v in self.values[name]]
        cp.add(sum(o for o, hit in zip(takes[name], hits, strict=True) if hit) == named)
        return named

    def _linear(self, takes: dict[str, list[Any]]) -> tuple[Any, float]:
        """The score of a linear model, as what every value adds to the person's own."""
        decision, encoder = self.predictor.decision, self.predictor.encoder
        weight, bias = (np.asarray(part, float) for part in (decision.model.weight, decision.model.bias))  # type: ignore[attr-defined]
        gap = weight[1] - weight[0]
        own = encoder.encode(self.frame([self.row]))[0]
        score = round(float(own @ gap + bias[1] - bias[0]) * SCALE)
        for name, options in takes.items():
            added = (encoder.encode(self.rows(name)) - own) @ gap
            score += sum(round(float(a) * SCALE) * option for a, option in zip(added, options, strict=True))
        return score, 0.0

    def _trees(self, cp: Any, takes: dict[str, list[Any]], need: float) -> tuple[Any, float]:
        """The sum over trees, one leaf each; a leaf is open where its path's values are taken."""
        codes, trees = self.model[:-1], self.model[-1]
        boosted = isinstance(trees, XGBClassifier)
        numbers = {name: np.asarray(codes.transform(_as_learned(codes, self.rows(name))), float) for name in takes}
        place = {}  # which feature a column of the transformed table comes from
        for column, name in enumerate(codes[0].get_feature_names_out()):
            place[column] = name.split("__", 1)[1]
        score = 0
        for leaves in _boosted(trees) if boosted else _forest(trees):
            chosen = [cp.new_bool_var("") for _ in leaves]
            cp.add_exactly_one(chosen)
            for leaf, (path, value) in zip(chosen, leaves, strict=True):
                score += round(value * SCALE) * leaf
                for column, (low, high, gone) in path.items():
                    at = numbers[place[column]][:, column]
                    ok = np.where(np.isnan(at), gone, (np.float32(low) < at) & (at <= np.float32(high)))
                    cp.add_bool_or(
                        [o for o, hit in zip(takes[place[column]], ok, strict=True) if hit] + [leaf.negated()]
                    )
        if not boosted:
            return score, 1.0 / (1.0 + np.exp(-need))
        row = codes.transform(self.frame([self.row]))
        own = sum(v for tree in _boosted(trees) for path, v in tree if _leads(path, np.asarray(row, float)[0]))
        return score, need - (float(trees.predict(row, output_margin=True)[0]) - own)


def _leads(path: dict[int, tuple[float, float, bool]], row: np.ndarray) -> bool:
    return all(
        gone if np.isnan(row[c]) else np.float32(low) < row[c] <= np.float32(high)
        for c, (low, high, gone) in path.items()
    )


def _narrowed(path: dict[int, tuple[float, float, bool]], column: int, low: float, high: float, gone: bool) -> Any:
    old = path.get(column, (-np.inf, np.inf, True))
    return path | {column: (max(old[0], low), min(old[1], high), old[2] and gone)}


def _forest(forest: RandomForestClassifier) -> list[list[Leaf]]:
    """Leaves of scikit-learn's trees, with their share of the second class."""
    out = []
    for tree in (e.tree_ for e in forest.estimators_):
        leaves, stack = [], [(0, {})]
        while stack:
            node, path = stack.pop()
            if tree.children_left[node] < 0:
                counts = tree.value[node][0]
                leaves.append((path, float(counts[1] / counts.sum()) / len(forest.estimators_)))
                continue
            column, edge, left = (
                int(tree.feature[node]),
                float(tree.threshold[node]),
                bool(tree.missing_go_to_left[node]),
            )
            stack.append((int(tree.children_left[node]), _narrowed(path, column, -np.inf, edge, left)))
            stack.append((int(tree.children_right[node]), _narrowed(path, column, edge, np.inf, not left)))
        out.append(leaves)
    return out


def _boosted(model: XGBClassifier) -> list[list[Leaf]]:
    """Leaves of XGBoost's trees, which go left below an edge: at the float32 before it and below."""
    frame = model.get_booster().trees_to_dataframe()
    out = []
    for _, nodes in frame.groupby("Tree"):
        by_id = nodes.set_index("ID")
        leaves, stack = [], [(nodes.iloc[0]["ID"], {})]
        while stack:
            at, path = stack.pop()
            node = by_id.loc[at]
            if node["Feature"] == "Leaf":
                leaves.append((path, float(node["Gain"])))
                continue
            column = int(node["Feature"][1:])
            edge = float(np.nextafter(np.float32(node["Split"]), np.float32(-np.inf)))
            left = node["Missing"] == node["Yes"]
            stack.append((node["Yes"], _narrowed(path, column, -np.inf, edge, left)))
            stack.append((node["No"], _narrowed(path, column, edge, np.inf, not left)))
        out.append(leaves)
    return out


WRONG = ("crashed", "disagree")


ATTACK = Attack("cpsat", __doc__ or "", attack, WRONG, world_by_world(KINDS), worlds=12)

if __name__ == "__main__":
    ATTACK.main()
