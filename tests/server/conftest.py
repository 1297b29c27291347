"""One small model behind one application, with a key for each role."""

import warnings
from types import SimpleNamespace

import pytest

import holdtrue as ht
from holdtrue.server import Applicants, KeyRing, Quotas, Service, add_key, create_app

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer ones want the successor of httpx, older ones do not know it
    from fastapi.testclient import TestClient

    from .forms import Forms, enter


@pytest.fixture(scope="session")
def bank():
    return ht.datasets.load("loanapp").subset(range(400))


@pytest.fixture(scope="session")
def clf(bank):
    return ht.RecourseClassifier(
        schema=bank.schema,
        model=ht.Linear(),
        regime=ht.StandardTraining(n_epochs=30, step_size=0.01, class_weight="balanced"),
        method=ht.Wachter(n_steps=40, patience=10, random_state=0),
        random_state=0,
    ).fit(bank.X, bank.y)


@pytest.fixture(scope="session")
def rows(bank):
    """People as JSON."""
    return [
        {k: None if v != v else v for k, v in row.items()}
        for row in bank.X.astype(object).to_dict(orient="records")
    ]


@pytest.fixture(scope="session")
def refused(clf, bank, rows):
    return [row for row, label in zip(rows, clf.predict(bank.X), strict=True) if label == 0]


@pytest.fixture(scope="session")
def world(clf, bank, tmp_path_factory):
    """The application and a client for each role."""
    folder = tmp_path_factory.mktemp("service")
    ledger = ht.Ledger.create(folder / "promises.db")
    keys = folder / "keys.json"
    tokens = {role: add_key(keys, f"the {role}", role) for role in ("officer", "validator", "admin")}
    quotas = Quotas(
        batch=32, options=2, queue=300, people=50, body=200_000, deadline=60, max_deadline=120, rate=1e5
    )
    service = Service(
        clf, ledger=ledger, quotas=quotas, model_version="v1", gate_report=folder / "gate.json",
        retrained=ht.retrain(clf, n=8),
    )  # fmt: skip
    applicants = Applicants(bank.X, [f"application {i}" for i in range(len(bank.X))], bank.schema)
    app = create_app(service, KeyRing(keys), applicants=applicants)

    def client(role):
        headers = {} if role is None else {"Authorization": f"Bearer {tokens[role]}"}
        return TestClient(app, headers=headers, raise_server_exceptions=False)

    with TestClient(app) as alive:  # its start-up warms the service
        yield SimpleNamespace(
            app=app, service=service, applicants=applicants, ledger=ledger, keys=keys, tokens=tokens,
            anybody=alive, **{role: client(role) for role in tokens},
        )  # fmt: skip


@pytest.fixture(scope="session")
def desk(world):
    return enter(world.app, world.tokens["officer"])


@pytest.fixture(scope="session")
def overseer(world):
    return enter(world.app, world.tokens["validator"])


@pytest.fixture(scope="session")
def case(world, desk, clf, bank):
    """The page of somebody with two options."""
    for row in [i for i, label in enumerate(clf.predict(bank.X)) if label == 0]:
        page = desk.get(f"/desk/{row}")
        assert page.status_code == 200
        if "Two ways to a yes" in Forms(page.text).words:
            return row, page.text
    raise AssertionError
