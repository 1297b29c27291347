import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

import holdtrue as ht
from holdtrue.cli import cli


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
    import pandas as pd

    path = tmp_path_factory.mktemp("table") / "people.parquet"
    # Small row groups, so that chunks span them.
    pd.read_csv(table).to_parquet(path, index=False, row_group_size=70)
    return str(path)


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    """A test must not change where this process keeps its compiled programs."""
    monkeypatch.setenv("HOLDTRUE_CACHE", "off")


@pytest.fixture
def run():
    """Run a command in this process; a wrong exit code shows what was printed."""

    def call(*args, code=0, stdin=None):
        result = CliRunner().invoke(cli, [str(a) for a in args], input=stdin, prog_name="holdtrue")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def run_json(run):
    return lambda *args, **rest: json.loads(run(*args, "--json", **rest).stdout)


@pytest.fixture(scope="session")
def script(tmp_path_factory):
    """Run a command in a process of its own, after the code `first`; its programs are kept for the session."""
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}
    environment.pop("HOLDTRUE_CACHE", None)

    def call(*args, first=None, **rest):
        program = (
            ["-m", "holdtrue.cli"] if first is None else ["-c", f"{first}\nfrom holdtrue.cli import main\nmain()"]
        )
        command = [sys.executable, *program, *[str(a) for a in args]]
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, **rest)

    return call
