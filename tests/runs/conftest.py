import pandas as pd
import pytest

import holdtrue as ht


@pytest.fixture(scope="session")
def bank():
    return ht.datasets.load("loanapp").subset(range(400))


@pytest.fixture(scope="session")
def model(tmp_path_factory, bank):
    """A fitted linear model in a file."""
    regime = ht.StandardTraining(n_epochs=30, step_size=0.01, class_weight="balanced")
    method = ht.Wachter(n_steps=40, patience=10)  # a quick search serves
    clf = ht.RecourseClassifier(
        schema=bank.schema, model=ht.Linear(), regime=regime, method=method, random_state=0
    )
    path = tmp_path_factory.mktemp("model") / "loans.holdtrue"
    clf.fit(bank.X, bank.y).save(path)
    return str(path)


@pytest.fixture(scope="session")
def table(tmp_path_factory, bank):
    """300 people as CSV, with an identifier and the label beside the features."""
    path = tmp_path_factory.mktemp("table") / "people.csv"
    frame = bank.X.assign(approve=bank.y, who=[f"person {i}, no. {i}" for i in range(len(bank.X))])
    frame[:300].to_csv(path, index=False)
    return str(path)


@pytest.fixture(scope="session")
def parquet(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("table") / "people.parquet"
    # Small row groups, so that chunks span them.
    pd.read_csv(table).to_parquet(path, index=False, row_group_size=70)
    return str(path)


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    """A test must not change where this process keeps its compiled programs."""
    monkeypatch.setenv("HOLDTRUE_CACHE", "off")
