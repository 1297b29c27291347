"""Schemas at random: every limit and every sentence of methods' answers, held against an independent checker.

python -m benchmarks.attack.schemas [--worlds 200] [--first 0] [--print]

In each world a few registered methods are drawn, and a model: a linear one of the package's own, or somebody
else's that knows only `predict_proba`. Of everyone who is told a recourse: it breaks no limit as
`docs/reference/schema.md` has them, the model itself accepts it, and who does exactly what the sentence says ends
at the row that was checked. Who is told that nothing needs to change is accepted already. Results are written
world by world, so that a run that is stopped goes on where it was.
"""

import re
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import holdtrue as ht
from benchmarks.attack._checker import NUMBERS, Row, broken
from benchmarks.attack._tally import attacked, crashed, rows_of
from benchmarks.attack._worlds import World, world
from holdtrue.errors import CapabilityError
from holdtrue.methods import METHODS
from holdtrue.search import Status

PER_WORLD = 4
APART = ("holding", "generated", "beta_rce", "stable_search", "roar")
"""Methods that need retrained models or a generator, or take minutes on a world of sixty people."""
SAID = re.compile(r"(f\d) from (\S+) to (\S+?)(?=, | and |\. |\.$)")
WRONG = ("crashed", "breaks a limit", "refused", "told otherwise", "not favourable")


class Foreign(ClassifierMixin, BaseEstimator):
    """A model that reads the columns itself: levels by their place in a list of its own, missing values as -1."""

    def __init__(self, inner: Any = None) -> None:
        self.inner = inner

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "Foreign":
        """Learn."""
        self.levels_ = {n: sorted({str(v) for v in X[n].dropna()}) for n in X if X[n].dtype == object}
        self.classes_, self.feature_names_in_ = np.unique(y), np.array(X.columns)
        self.model_ = self.inner.fit(self._numbers(X), y)
        return self

    def _numbers(self, X: pd.DataFrame) -> np.ndarray:
        columns = []
        for name in X:
            values = X[name]
            if name in self.levels_:
                values = pd.Series(
                    [np.nan if v is None or v != v else float(self.levels_[name].index(str(v))) for v in values]
                )
            columns.append(values.astype(float).fillna(-1.0).to_numpy())
        return np.stack(columns, axis=1)

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Chances of the classes."""
        return self.model_.predict_proba(self._numbers(X))

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """The likelier class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def attack(seed: int, names: list[str] | None = None) -> dict[str, Counter[str]]:
    """Hold the answers of some methods in one world against the checker; counts per method."""
    place = world(seed, small=False)
    drawn = place.rng.permutation([name for name in METHODS if name not in APART]).tolist()
    foreign = place.rng.random() < 0.5
    model = _foreign(place) if foreign else place.linear()
    out: dict[str, Counter[str]] = {}
    for name in drawn if names is None else names:
        method = METHODS[name](random_state=0)
        try:
            if foreign:
                how = {"reference": place.table, "method": method, "restrictions": place.restrictions}
                plan = ht.recourse(model, place.table, place.schema, **how)
            else:
                plan = method.fit(model, place.table).recourse(place.table, restrictions=place.restrictions)
            out[name] = _counted(place, model, plan)
        except CapabilityError:
            continue
        except Exception as error:  # whatever it is, it should have been a status
            out[name] = crashed(seed, name, error)
        if names is None and len(out) == PER_WORLD:
            break
    return out


def _foreign(place: World) -> Foreign:
    inner = [
        RandomForestClassifier(15, random_state=0), GradientBoostingClassifier(n_estimators=15, random_state=0),
        LogisticRegression(max_iter=200),
    ][place.rng.integers(3)]  # fmt: skip
    decided = place.linear().decide(place.table)
    y = decided if len(np.unique(decided)) == 2 else np.arange(len(decided)) % 2
    return Foreign(inner).fit(place.table, y)


def _counted(place: World, model: Any, plan: ht.RecourseFrame) -> Counter[str]:
    schema = plan.schema.to_dict()
    frame = plan.to_frame()[list(place.table.columns)]
    accepts = model.decide if hasattr(model, "decide") else model.predict
    yes, now = (accepts(t.astype(place.table.dtypes)) == 1 for t in (frame, place.table))
    rows, proposed = rows_of(place.table, place.schema), rows_of(frame, place.schema)
    counts: Counter[str] = Counter(people=len(plan))
    for i, sentence in enumerate(plan.changes()):
        status = Status(plan.status[i])
        counts[status.name] += 1
        if plan.found[i]:
            counts["breaks a limit"] += int(bool(broken(schema, rows[i], proposed[i], place.restrictions[i])))
            counts["refused"] += int(not yes[i])
            followed = sentence.startswith("Nothing") or _followed(schema, rows[i], sentence) == proposed[i]
            counts["told otherwise"] += int(not followed)
        counts["not favourable"] += int(status == Status.ALREADY_FAVOURABLE and not now[i])
    return counts


def _followed(schema: Any, row: Row, sentence: str) -> Row:
    """A person after they have done what a sentence says, to the letter."""
    out = dict(row)
    for name, _, text in SAID.findall(sentence.split(" As a consequence")[0]):
        feature = next(f for f in schema["features"] if f["name"] == name)
        if feature["kind"] in NUMBERS:
            out[name] = float(text.replace(",", ""))
        else:
            said = (
                {"yes": 1, "no": 0} if set(feature["levels"]) == {0, 1} else {str(v): v for v in feature["levels"]}
            )
            out[name] = said[text]
    return out


def main() -> None:
    """Run, printing what was found; the file of counts grows world by world."""
    attacked("schemas", __doc__ or "", lambda seed: attack(seed), WRONG, worlds=200)


if __name__ == "__main__":
    main()
