"""The benchmark that asks every command of every kind of model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import holdtrue as ht

matrix = pytest.importorskip("benchmarks.matrix", reason="run in a clone")


def test_what_is_known_not_to_hold_is_promised_too(tmp_path):
    """Labels by chance: every training decides otherwise, so that no recourse holds, and all the same each is
    recorded, replayed and told."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc")).round(2)
    y = rng.integers(0, 2, len(X))
    commands = matrix.Commands(tmp_path / "numbers", X, y)
    model = tmp_path / "guided.holdtrue"
    clf = ht.adopt(
        LogisticRegression().fit(X, y), ht.Schema.infer(X), reference=X, labels=y, hold=0.95, n_guides=3,
        threshold=0.55,
    )  # fmt: skip
    clf.save(model)
    own = np.asarray(clf.predict(X[:40])) == 1
    assert set(own.tolist()) == {False, True}
    said = commands.all(model, own, trains=True, ray=False, only=("recourse", "replay", "letter"))
    assert said == dict.fromkeys(("recourse", "replay", "letter"), "done")
    answers = pd.read_csv(tmp_path / "numbers" / "guided" / "answers.csv")
    asked = answers[answers["holdtrue_status"].isin(matrix.WITH_RECOURSE)]
    assert not np.asarray(asked["holdtrue_holds"]).all()  # for whom a promise takes a reason
