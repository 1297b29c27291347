import dataclasses
from datetime import timedelta

import pytest

import holdtrue as ht
from holdtrue.ledger import utc_now

NAMES = ["black", "male", "married", "loanprc", "hrat", "obrat", "cons"]


@pytest.fixture(scope="session")
def bank():
    return ht.datasets.load("loanapp")


@pytest.fixture(scope="session")
def people(bank):
    return bank.X[1200:1500][NAMES], bank.y[1200:1500]


@pytest.fixture(scope="session")
def clf(bank):
    """A linear model that holds, with a certificate."""
    schema = ht.Schema([bank.schema[name] for name in NAMES]).replace(
        black={"protected": True}, male={"protected": True}
    )
    regime = ht.StandardTraining(n_epochs=8, class_weight="balanced")
    made = ht.RecourseClassifier(schema=schema, model=ht.Linear(), regime=regime, hold=None, random_state=0)
    made.fit(bank.X[:1200][NAMES], bank.y[:1200])
    retrained = made.retrain(n=9, vary="bootstrap")
    base = ht.Wachter(n_steps=40, patience=10, random_state=0)
    holding = ht.Holding(base=base, hold=0.9, random_state=0).fit(
        made, guides=retrained, level=ht.Level(0.9, 0.05)
    )
    made = made.with_method(holding)
    ht.certify(made, bank.X[1500:1700][NAMES], miscoverage=0.5)
    return made


@pytest.fixture(scope="session")
def level():
    """A level that was measured on two past periods."""
    periods = (
        {"period": "2024", "slack": 0.05, "kept": 0.95, "people": 40, "cost": 1.0},
        {"period": "2025", "slack": 0.05, "kept": 0.9, "people": 50, "cost": 1.1},
    )
    return ht.Level(0.9, 0.05, kept=0.92, lower=0.86, people=90, term=1, periods=periods, vary="bootstrap")


@pytest.fixture(scope="session")
def ledger(tmp_path_factory, clf, people):
    """Promises of every state: live, run out, kept, broken, replaced, erased."""
    plan = clf.recourse(people[0][clf.predict(people[0]) == 0])
    plan = plan.take(plan.found)
    records = ht.records(plan, [f"person {i}" for i in range(len(plan))], valid_for=30)[:12]
    past = utc_now() - timedelta(days=90)
    records[0] = dataclasses.replace(records[0], issued=past, valid_until=past + timedelta(days=30))
    with ht.Ledger.create(tmp_path_factory.mktemp("ledger") / "promises.db") as book:
        book.issue(records[:11])
        book.expire()
        book.fulfil(records[1].id, decision=records[1].target)
        book.fulfil(records[2].id, decision=records[2].target)
        book.fulfil(records[3].id, decision=1 - records[3].target)
        book.supersede(records[4].id, dataclasses.replace(records[11], subject=records[4].subject))
        book.forget(records[5].subject)
        ht.gate(clf.at_threshold(0.99), book, alternatives=0, write_down=True)
        ht.gate(clf, book, alternatives=0, max_broken=0.1, write_down=True)
        yield book


@pytest.fixture(scope="session")
def inputs(bank, people, ledger):
    return {"ledger": ledger, "reference": bank.X[:1200][NAMES], "X_cal": bank.X[1500:1700][NAMES]}


@pytest.fixture(scope="session")
def made(clf, people, level, inputs):
    """Evidence with everything in it."""
    return ht.evidence(
        clf, *people, **inputs, level=level, groups={"male": None, "loanprc": [0.7, 0.9]}, n_people=40,
        n_reasons=30, notes=["Trained for a test."], made="2026-11-18",
    )  # fmt: skip


@pytest.fixture(scope="session")
def file(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("evidence") / "evidence.zip"
    made.save(path)
    return path
