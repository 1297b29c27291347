"""Who stands right at the threshold is told what the model itself decides."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import holdtrue as ht
from holdtrue.batch import wrap
from holdtrue.datasets import Dataset
from holdtrue.errors import HoldtrueError
from holdtrue.methods import NearestNeighbour
from holdtrue.search import Problems, Solutions, Status


def _xgboost() -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=100, random_state=0)


def _lightgbm() -> Any:
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=40, random_state=0, verbose=-1, n_jobs=1)


def _logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))


MODELS: dict[str, Callable[[], Any]] = {
    "logistic": _logistic,
    "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((8,), random_state=0, tol=0.01)),
    "tree": lambda: DecisionTreeClassifier(max_depth=6, random_state=0),
    "forest": lambda: RandomForestClassifier(30, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(30, random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=30, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=30, random_state=0),
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
    "voting": lambda: VotingClassifier([("x", _xgboost()), ("l", _logistic())], voting="soft"),
    "calibrated": lambda: CalibratedClassifierCV(RandomForestClassifier(20, random_state=0), cv=3),
    "isotonic": lambda: CalibratedClassifierCV(
        RandomForestClassifier(20, random_state=0), cv=3, method="isotonic"
    ),
    "stacked": lambda: StackingClassifier([("x", _xgboost()), ("l", _logistic())], cv=3),
    "neighbours": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(10)),
}


@pytest.fixture(scope="module")
def bank() -> Dataset:
    """Loan applications: amounts with cents, ratios, and a rate without any step.

    Without limits across columns, whose repair is most of a program, and one is compiled for each model here.
    """
    bank = ht.datasets.load("loanapp")
    return replace(bank, schema=ht.Schema(list(bank.schema)))


def at_threshold(model: Any, X: pd.DataFrame, schema: ht.Schema, n: int = 40) -> pd.DataFrame:
    """Pairs of rows on either side of the boundary, as near to it as float64 has them."""
    rng = np.random.default_rng(0)
    decided = model.predict(X)
    no, yes = np.flatnonzero(decided == 0), np.flatnonzero(decided == 1)
    low = X.iloc[rng.choice(no, 10 * n)].reset_index(drop=True)
    numbers = [f.name for f in schema if f.kind == "numeric"]
    low[numbers] = low[numbers].astype(float)
    high = low.copy()
    high[numbers] = X.iloc[rng.choice(yes, 10 * n)][numbers].to_numpy(float)
    crosses = (model.predict(low) == 0) & (model.predict(high) == 1)
    low, high = (part[crosses].head(n).reset_index(drop=True) for part in (low, high))
    for _ in range(60):
        middle = low.copy()
        middle[numbers] = (low[numbers] + high[numbers]) / 2
        up = model.predict(middle) == 1
        low.loc[~up, numbers], high.loc[up, numbers] = middle.loc[~up, numbers], middle.loc[up, numbers]
    return pd.concat([low, high], ignore_index=True)


@pytest.mark.parametrize("name", MODELS)
def test_decided_by_the_model_itself(name: str, bank: Dataset) -> None:
    """Rows at the threshold, and the table's own: only whom the model accepts need do nothing."""
    model = MODELS[name]().fit(bank.X, bank.y)
    own = bank.X[model.predict(bank.X) == 0].head(60)
    rows = pd.concat([at_threshold(model, bank.X, bank.schema), own], ignore_index=True)
    plan = ht.recourse(model, rows, bank.schema, "nearest_neighbour", reference=bank.X)
    accepted = model.predict(rows) == 1
    assert accepted.any()
    assert not accepted.all()
    assert ((plan.status == int(Status.ALREADY_FAVOURABLE)) == accepted).all()
    assert (model.predict(plan.to_frame()[bank.schema.names])[plan.found] == 1).all()
    assert ht.audit(plan).n_at_odds == 0


def test_every_person_of_a_table(bank: Dataset) -> None:
    """A search that goes through float32 does not turn a refused person into an accepted one."""
    model = MODELS["voting"]().fit(bank.X, bank.y)
    refused = bank.X[model.predict(bank.X) == 0]
    plan = ht.recourse(model, refused, bank.schema, "nearest_neighbour", reference=bank.X)
    assert not (plan.status == int(Status.ALREADY_FAVOURABLE)).any()


def test_a_threshold_of_ones_own(bank: Dataset) -> None:
    """Votes that equal the threshold are a yes, as in ``predict_proba(X)[:, 1] >= 0.6``."""
    model = MODELS["forest"]().fit(bank.X, bank.y)
    rows = bank.X.head(300)
    plan = ht.recourse(model, rows, bank.schema, "nearest_neighbour", reference=bank.X, threshold=0.6)
    accepted = model.predict_proba(rows)[:, 1] >= 0.6 - 1e-9
    assert ((plan.status == int(Status.ALREADY_FAVOURABLE)) == accepted).all()


class Contrary(NearestNeighbour):
    """Says of everybody that nothing needs to change."""

    def search(self, problems: Problems, deadline: float | None, on_rows: Any) -> Solutions:
        """Nothing is searched for."""
        answer = Solutions.unreached(problems)
        answer.status[:] = int(Status.ALREADY_FAVOURABLE)
        return answer


def test_a_status_at_odds_with_the_model_is_an_error(bank: Dataset) -> None:
    """A method that tells a refused person to do nothing is stopped."""
    model = MODELS["logistic"]().fit(bank.X, bank.y)
    refused = bank.X[model.predict(bank.X) == 0].head(5)
    method = Contrary().fit(wrap(model, bank.schema, bank.X), bank.X)
    with pytest.raises(HoldtrueError, match=r"Contrary: .*ALREADY_FAVOURABLE.* 5 of 5"):
        method.recourse(refused)
