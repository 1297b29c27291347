"""Schemas, tables and models at random."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.models import Decision, LinearModel

N_ROWS = 60


@dataclass(frozen=True)
class World:
    """A schema, people, what single ones may not change, and a random generator to draw a model from."""

    schema: ht.Schema
    table: pd.DataFrame
    restrictions: list[dict[str, Any]]
    rng: np.random.Generator

    def linear(self) -> Predictor:
        """A linear model that refuses about two in three; often one whose boundary goes through grid points."""
        encoder = Encoder.fit(self.schema, self.table)
        weight = self.rng.normal(size=(2, encoder.n_columns))
        if self.rng.random() < 0.5:
            weight = np.round(weight)
        gap = encoder.encode(self.table) @ (weight[1] - weight[0])
        bias = np.array([0.0, -np.quantile(gap, 0.66) + self.rng.choice([0.0, 1e-3])])
        model = LinearModel(weight.astype(np.float32), bias.astype(np.float32))
        return Predictor(encoder, Decision(model, np.float32(0.5), 1), np.arange(2))


def world(seed: int, *, small: bool = True, mould: int | None = None, rows: int = N_ROWS) -> World:
    """A world from a seed; a `small` one has a grid that can be tried out whole.

    Worlds of one `mould` have columns of the same kinds and limits on the same columns, so that a search is
    compiled once for all of them; bounds, steps, directions, transitions, weights, people and models are each
    world's own.
    """
    rng = np.random.default_rng(seed)
    cast = rng if mould is None else np.random.default_rng([mould, 25])
    features = [_feature(f"f{i}", rng, cast, small) for i in range(cast.integers(2, 5))]
    columns = {f.name: _column(f, rng, rows) for f in features}
    constraints = [_constraint(features, columns, rng, cast) for _ in range(cast.choice([0, 0, 1, 2]))]
    implications = [i for i in (_implication(features, cast) for _ in range(cast.choice([0, 0, 1, 2]))) if i]
    schema = ht.Schema(features, constraints=[c for c in constraints if c], implications=implications)
    restrictions = [_restriction(features, rng) if rng.random() < 0.3 else {} for _ in range(rows)]
    return World(schema, pd.DataFrame(columns), restrictions, rng)


def _feature(name: str, rng: np.random.Generator, cast: np.random.Generator, small: bool) -> ht.Feature:
    kind = cast.choice(["numeric", "integer", "binary", "ordinal", "categorical"])
    weight = float(rng.choice([1.0, 1.0, 0.5, 3.0]))
    way = str(rng.choice(["free", "free", "free", "increase", "decrease", "fixed"]))
    fields: dict[str, Any] = {"name": name, "kind": str(kind), "cost_weight": weight, "direction": way}
    if kind in ("numeric", "integer"):
        step = (
            float(rng.choice([1.0, 2.0, 10.0]))
            if kind == "integer"
            else float(rng.choice([0.1, 0.25, 0.5, 1, 100]))
        )
        low = step * int(rng.integers(-3, 4))
        fields |= {"bounds": (low, low + step * int(rng.integers(2, 7))), "step": step}
        if not small and kind == "numeric" and rng.random() < 0.5:
            del fields["step"]
        if cast.random() < 0.2:
            fields["missing"] = fields["bounds"][0]
        return ht.Feature(**fields)
    n = 2 if kind == "binary" else int(cast.integers(2, 5))
    levels = [0, 1] if kind == "binary" and cast.random() < 0.5 else list("abcd"[:n])
    fields["levels"] = levels
    if kind == "categorical":
        fields["direction"] = "fixed" if way == "fixed" else "free"
        if rng.random() < 0.4:
            fields["transitions"] = {levels[0]: [v for v in levels[1:] if rng.random() < 0.6]}
        if cast.random() < 0.2:
            fields["missing"] = "level"
    elif cast.random() < 0.2:
        fields["missing"] = levels[0]
    return ht.Feature(**fields)


def _column(feature: ht.Feature, rng: np.random.Generator, rows: int) -> Any:
    if feature.has_levels:
        values = [feature.levels[i] for i in rng.integers(0, len(feature.levels or ()), rows)]  # type: ignore
    else:
        low, high = feature.bounds or (0.0, 1.0)
        step = feature.grid
        if step is None:
            values = rng.uniform(low, high, rows).tolist()
        else:
            values = [
                round(low + step * int(k), 10) for k in rng.integers(0, round((high - low) / step) + 1, rows)
            ]
        if rng.random() < 0.3 and feature.kind == "numeric":
            values[0] = low - 0.37 * (high - low)  # somebody outside, and off the grid
    if feature.missing is not None:
        for i in rng.integers(2, rows, 4):
            values[i] = None
    if feature.has_levels:
        return pd.Series(values, dtype=object)
    return pd.Series([np.nan if v is None else float(v) for v in values])


def _constraint(
    features: list[ht.Feature], columns: Any, rng: np.random.Generator, cast: np.random.Generator
) -> ht.LinearConstraint | None:
    coefficients, sums = {}, np.zeros(len(columns[features[0].name]))
    for f in features:
        if cast.random() < 0.4 or f.missing in ("median", "mean"):
            continue
        factor = float(rng.choice([1.0, 1.0, -1.0, 2.0, 0.5]))
        values = columns[f.name]
        if f.kind == "categorical":
            level = (f.levels or ())[0]
            coefficients[f"{f.name}={level}"] = factor
            sums += factor * np.array([v == level for v in values])
        elif f.has_levels:
            coefficients[f.name] = factor
            sums += factor * np.array([0 if v is None else (f.levels or ()).index(v) for v in values])
        else:
            coefficients[f.name] = factor
            sums += factor * values.fillna(float(f.missing or 0.0)).to_numpy()
    if not coefficients:
        return None
    if rng.random() < 0.3:
        return ht.LinearConstraint(
            coefficients=coefficients, bound=float(np.round(np.ptp(sums) / 3, 2)), on="change"
        )
    # A bound that some people lie on exactly.
    return ht.LinearConstraint(
        coefficients=coefficients, bound=round(float(np.quantile(sums, 0.7, method="lower")), 9)
    )


def _implication(features: list[ht.Feature], rng: np.random.Generator) -> ht.Implication | None:
    levelled = [f for f in features if f.has_levels and f.missing is None]
    if len(levelled) < 2:
        return None
    first, second = rng.choice(len(levelled), 2, replace=False)
    when, then = levelled[first], levelled[second]
    parts: dict[str, Any] = {"then": {then.name: [(then.levels or ())[-1]]}}
    parts["when" if rng.random() < 0.7 else "was"] = {when.name: [(when.levels or ())[0]]}
    return ht.Implication(**parts)


def _restriction(features: list[ht.Feature], rng: np.random.Generator) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for f in features:
        if rng.random() < 0.6 or f.direction == "fixed":
            continue
        if f.kind == "categorical":
            out[f.name] = {"levels": list((f.levels or ())[: rng.integers(1, len(f.levels or ()) + 1)])}
        elif f.has_levels:
            out[f.name] = str(rng.choice(["increase", "decrease", "fixed"]))
        else:
            low, high = f.bounds or (0.0, 1.0)
            middle = round((low + high) / 2, 3)
            out[f.name] = {"bounds": [low, middle]} if rng.random() < 0.5 else "increase"
    return out
