"""What a few common actions do: for whom, at what cost, whether it holds, and how groups differ."""

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from holdtrue import metrics
from holdtrue._json import plain, to_json
from holdtrue._types import Json, JsonObject
from holdtrue.batch import Predictor
from holdtrue.encoding import Norm
from holdtrue.metrics import Interval
from holdtrue.retraining import AbstractRetrained
from holdtrue.schema import Table, TableLike
from holdtrue.studies.group_actions._actions import Action, sentence, taken, to_dict, ways
from holdtrue.studies.group_actions._choose import Served, served
from holdtrue.studies.group_actions._trial import Trial


@dataclass(frozen=True)
class GroupActions:
    """A few actions, and what they do for people who had no part in their choice.

    Attributes
    ----------
    actions : tuple of tuple of Change
        Those that serve most first, as they were chosen.
    people : Table
        On whom they were measured, with `target`, the class that each wants, `labels`, their groups, and `alone`,
        what a recourse of their own costs (infinite without).
    costs : array (actions, people)
        What each action costs everyone; infinite where it does not serve them.
    learned : Served
        What they did for the people by whom they were chosen.
    held_out : bool
        Whether these are others.
    max_cost : float or None
        What nobody is asked to exceed: as was given, or so that those who chose keep the mean cost.
    """

    actions: tuple[Action, ...]
    people: Table
    target: np.ndarray
    costs: np.ndarray
    learned: Served
    labels: np.ndarray | None
    by: str
    predictor: Predictor
    norm: Norm
    alone: np.ndarray
    judges: AbstractRetrained | None
    confidence: float
    held_out: bool
    max_cost: float | None = None

    @functools.cached_property
    def served(self) -> Served:
        """Which action serves each at the least cost, and what it costs."""
        return served(self.costs)

    @property
    def coverage(self) -> Interval:
        """Share of the people whom one of the actions serves."""
        return self._share(np.ones(len(self.target), bool))

    @property
    def cost(self) -> Interval:
        """Mean cost of those who are served, each by the cheapest."""
        return metrics.mean_interval(self.served.cost[self.served.covered], self.confidence)

    def sentences(self) -> list[str]:
        """The actions in words."""
        return [sentence(action, self.predictor.encoder.schema) for action in self.actions]

    def serves(self, X: TableLike) -> Served:
        """What the actions do for other people; who is accepted as they are is not looked at."""
        table = self.predictor.encoder.schema.check(X, where="group_actions")
        target = np.full(table.n_rows, self.predictor.decision.favourable)
        trial = Trial(self.predictor, table, target, self.norm, self.max_cost)
        return served(trial.matrix(self.actions))

    @functools.cached_property
    def accepts(self) -> np.ndarray | None:
        """Of shape (judges, people): whether each accepts who is served, after their action; False for others."""
        if self.judges is None:
            return None
        out = np.zeros((len(self.judges), len(self.target)), bool)
        schema, classes = self.predictor.encoder.schema, self.predictor.classes
        trial = Trial(self.predictor, self.people, self.target, self.norm)
        for at, action in enumerate(self.actions):
            taking = trial.way(action)
            for number, way in enumerate(ways(action, schema)):
                mine = np.flatnonzero((self.served.which == at) & (taking == number))
                if len(mine):
                    after, _ = taken(way, self.people.take(mine), schema)
                    out[:, mine] = self.judges.accepts(after, classes[self.target[mine]])
        return out

    def groups(self) -> list[str]:
        """Names of the groups."""
        return [] if self.labels is None else sorted(set(self.labels.tolist()))

    def measures(self, part: np.ndarray) -> JsonObject:
        """Coverage, cost and survival of some people, with intervals; a mask."""
        covered, c = self.served.covered & part, self.confidence
        own = part & np.isfinite(self.alone)
        out: JsonObject = {
            "people": int(part.sum()),
            "with_recourse_alone": int(own.sum()),
            "coverage": self._share(part)._asdict(),
            "cost": metrics.mean_interval(self.served.cost[covered], c)._asdict(),
            "cost_alone": metrics.mean_interval(self.alone[covered & own], c)._asdict(),
            "survival": None,
        }
        if self.accepts is not None and covered.any():
            value, lower, upper = metrics.survival_interval(self.accepts[:, covered], c)
            out["survival"] = {"value": value, "lower": lower, "upper": upper, "judges": len(self.accepts)}
        return out

    def difference(self, group: str) -> JsonObject:
        """A group less all others: coverage, cost and survival, with intervals."""
        assert self.labels is not None
        mine, c = self.labels == group, self.confidence
        other, covered = ~mine, self.served.covered
        counts = [int((covered & who).sum()) for who in (mine, other)]
        out: JsonObject = {
            "coverage": metrics.difference_of_shares(
                counts[0], int(mine.sum()), counts[1], int(other.sum()), c
            )._asdict(),
            "cost": metrics.difference_of_means(
                self.served.cost[covered & mine], self.served.cost[covered & other], c
            )._asdict(),
            "survival": None,
        }
        if self.accepts is not None and min(counts):
            parts = self.accepts[:, covered & mine], self.accepts[:, covered & other]
            out["survival"] = metrics.difference_of_survival(*parts, c)._asdict()
        return out

    def _share(self, part: np.ndarray) -> Interval:
        k, n = int((self.served.covered & part).sum()), int(part.sum())
        lower, upper = metrics.clopper_pearson(k, n, self.confidence, "both")
        return Interval(k / n if n else float("nan"), float(lower), float(upper))

    def to_frame(self) -> pd.DataFrame:
        """A row for every action, everybody and every group: whom it serves alone, and with the others."""
        rows: list[dict[str, Json]] = []
        everybody = np.ones(len(self.target), bool)
        parts = [("everybody", everybody), *((name, self.labels == name) for name in self.groups())]
        for at, text in enumerate(self.sentences()):
            for name, part in parts:
                reach = np.isfinite(self.costs[at]) & part
                rows.append(
                    {
                        "action": text, self.by: name, "people": int(part.sum()), "serves": int(reach.sum()),
                        "share": reach.sum() / max(part.sum(), 1),
                        "cheapest_for": int(((self.served.which == at) & part).sum()),
                        "mean_cost": float(self.costs[at][reach].mean()) if reach.any() else np.nan,
                    }
                )  # fmt: skip
        return pd.DataFrame(rows)

    def to_dict(self) -> JsonObject:
        """Plain types for JSON."""
        everybody = np.ones(len(self.target), bool)
        schema = self.predictor.encoder.schema
        return plain(
            {
                "actions": [{"text": sentence(a, schema), "changes": to_dict(a)} for a in self.actions],
                "norm": self.norm, "confidence": self.confidence, "held_out": self.held_out,
                "max_cost": self.max_cost,
                "chosen_by": {"people": len(self.learned.which), "served": int(self.learned.covered.sum())},
                "everybody": self.measures(everybody),
                "by": self.by if self.labels is not None else None,
                "groups": {
                    name: self.measures(self.labels == name) | {"difference": self.difference(name)}
                    for name in self.groups()
                },
                "each": self.to_frame().to_dict("records"),
            }
        )  # fmt: skip

    def to_json(self) -> str:
        """JSON text."""
        return to_json(self.to_dict())

    def __str__(self) -> str:
        return "\n".join([*(f"{i + 1}. {text}" for i, text in enumerate(self.sentences())), *self._lines()])

    def _lines(self) -> list[str]:
        whom = "people who had no part in the choice" if self.held_out else "the people they were chosen by"
        told = [self._line("everybody", self.measures(np.ones(len(self.target), bool)))]
        for name in self.groups():
            off = self.difference(name)["coverage"]
            apart = "" if off["lower"] != off["lower"] else (
                f"; {100 * off['value']:+.0f} points from the others ({100 * off['lower']:+.0f} to "
                f"{100 * off['upper']:+.0f})"
            )  # fmt: skip
            told.append(self._line(f"{self.by} {name}", self.measures(self.labels == name)) + apart)
        return [f"Measured on {len(self.target):,} {whom}:", *told]

    def _line(self, name: str, of: JsonObject) -> str:
        share = of["coverage"]
        ends = f"{share['lower']:.0%} to {share['upper']:.0%}"
        text = f"  {name}: {share['value']:.0%} of {of['people']:,} served ({ends})"
        if of["cost"]["value"] == of["cost"]["value"]:
            text += f", cost {of['cost']['value']:.2f}"
            if of["cost_alone"]["value"] == of["cost_alone"]["value"]:
                text += f" (alone {of['cost_alone']['value']:.2f})"
        if of["survival"] is not None:
            text += f", {of['survival']['value']:.0%} of {of['survival']['judges']} judges accept"
        return text
