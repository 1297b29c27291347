"""Schemas at random: every limit and every sentence of methods' answers, held against an independent checker.

python -m benchmarks.attack.schemas [--worlds 90] [--first 0] [--print]

In each world a few registered methods are taken in turn, and a model: a linear one of the package's own, somebody
else's whose trees are read, or one that knows only `predict_proba`; in every third world answers are also asked to
hold. Of everyone who is told a recourse: it breaks no limit as `docs/reference/schema.md` has them, the model
itself accepts it, and who does exactly what the sentence says ends at the row that was checked. Who is told that
nothing needs to change is accepted already. Results are written world by world, so that a run that is stopped goes
on where it was.
"""

import re
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import holdtrue as ht
from benchmarks.attack._checker import NUMBERS, Row, broken
from benchmarks.attack._tally import attacked, crashed, rows_of
from benchmarks.attack._worlds import World, world
from holdtrue.errors import CapabilityError, DataError
from holdtrue.methods import METHODS
from holdtrue.search import Status

PEOPLE, PER_WORLD, PER_MOULD = 400, 6, 6
HELD = ("sparse_search", "growing_spheres")
"""Methods that are asked for answers that hold; each trains the model again."""
APART = ("holding", "generated", "beta_rce", "stable_search", "roar")
"""Methods that need retrained models or a generator, or take minutes in one world."""
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


def attack(seed: int, names: list[str] | None = None, *, people: int = PEOPLE) -> dict[str, Counter[str]]:
    """Hold the answers of some methods in one world against the checker; counts per method."""
    mould, turn = divmod(seed, PER_MOULD)
    place = world(seed, small=False, mould=mould, rows=people)
    kind, model, labels = _model(place, turn)
    out: dict[str, Counter[str]] = {}
    for name in names or _drawn(mould):
        out |= _answered(seed, name, METHODS[name](random_state=0), place, model, {})
    if kind == "own":  # a model that can be trained again
        model = _classifier(place, labels) if turn == 3 else model
    for name in HELD if turn in (2, 3) and names is None else ():
        out |= _answered(seed, name, METHODS[name](random_state=0), place, model, {"hold": 0.9, "labels": labels})
    return out


def _drawn(mould: int) -> list[str]:
    """The next few methods, the same in all worlds of a mould: few programs are compiled."""
    order = sorted(name for name in METHODS if name not in APART)
    return [order[(mould * PER_WORLD + i) % len(order)] for i in range(PER_WORLD)]


def _answered(
    seed: int, name: str, method: Any, place: World, model: Any, holding: dict[str, Any]
) -> dict[str, Counter[str]]:
    key = f"{name}, held" if holding else name
    try:
        if isinstance(model, ht.RecourseClassifier):
            how = {"method": method.fit(model, place.table), "hold": holding["hold"]}
            plan = model.recourse(place.table, restrictions=place.restrictions, **how)
        elif hasattr(model, "predict"):
            how = {"reference": place.table, "method": method, "restrictions": place.restrictions, **holding}
            plan = ht.recourse(model, place.table, place.schema, **how)
        else:
            plan = method.fit(model, place.table).recourse(place.table, restrictions=place.restrictions)
        return {key: _counted(place, model, plan)}
    except CapabilityError:
        return {}
    except DataError as error:
        if "no margin was measured" in str(error):  # it says that it cannot promise so much
            return {key: Counter({"no level": 1})}
        return {key: crashed(seed, key, error)}
    except Exception as error:  # whatever it is, it should have been a status
        return {key: crashed(seed, key, error)}


def _model(place: World, turn: int) -> tuple[str, Any, np.ndarray]:
    own = place.linear()
    decided = own.decide(place.table)
    labels = decided if len(np.unique(decided)) == 2 else np.arange(len(decided)) % 2
    trees = [
        RandomForestClassifier(15, max_depth=6, random_state=0),
        GradientBoostingClassifier(n_estimators=15, random_state=0),
    ][place.rng.integers(2)]
    if turn not in (2, 4):
        return "own", own, labels
    if turn == 2 and not place.table.isna().any().any():
        words = make_column_selector(dtype_include=object)
        columns = make_column_transformer((OneHotEncoder(), words), remainder="passthrough")
        return "read", make_pipeline(columns, trees).fit(place.table, labels), labels
    inner = LogisticRegression(max_iter=200) if place.rng.random() < 0.3 else trees
    return "foreign", Foreign(inner).fit(place.table, labels), labels


def _classifier(place: World, labels: np.ndarray) -> ht.RecourseClassifier:
    quick = ht.StandardTraining(n_epochs=20)
    made = ht.RecourseClassifier(
        schema=place.schema, model=ht.Linear(), regime=quick, hold=0.9, n_guides=10, random_state=0
    )
    return made.fit(place.table, labels)


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
    attacked("schemas", __doc__ or "", lambda seed: attack(seed), WRONG, worlds=90)


if __name__ == "__main__":
    main()
