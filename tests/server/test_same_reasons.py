"""One person, three doors: their promise keeps the same reasons from Python, the command line and HTTP."""

import pickle
import warnings

import pandas as pd
import pytest
from click.testing import CliRunner

import holdtrue as ht
from holdtrue.cli import cli
from holdtrue.cli._model import reasoner_of
from holdtrue.errors import DataError
from holdtrue.runs import Source
from holdtrue.runs._issue import Terms
from holdtrue.runs._reasons import Grounds
from holdtrue.runs._work import Work
from holdtrue.server import KeyRing, Quotas, Service, add_key, create_app

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer ones want the successor of httpx, older ones do not know it
    from fastapi.testclient import TestClient

CODES = """
name: ours
codes:
  - {code: A, text: Obligations in relation to income, features: [obrat, hrat]}
otherwise: {code: Z, text: Other}
"""


@pytest.fixture(scope="module")
def folder(bank, tmp_path_factory):
    """A model that asks guides for their reasons too, in a file beside tables, codes and keys."""
    folder = tmp_path_factory.mktemp("doors")
    clf = ht.RecourseClassifier(
        schema=bank.schema.replace(male={"protected": True}), model=ht.Linear(), hold=None,
        regime=ht.StandardTraining(n_epochs=30, step_size=0.01, class_weight="balanced"),
        random_state=0,
    ).fit(bank.X, bank.y)  # fmt: skip
    guides = clf.retrain(n=6, vary="bootstrap")
    clf = clf.with_method(ht.Holding(hold=0.9, random_state=0).fit(clf, guides=guides, level=ht.Level(0.9, 0.1)))
    clf.save(folder / "loans.holdtrue")
    refused = bank.X[clf.predict(bank.X) == 0][:20]
    refused.assign(who=[f"application {i}" for i in range(len(refused))]).to_csv(
        folder / "people.csv", index=False
    )
    bank.X.to_csv(folder / "training.csv", index=False)
    (folder / "codes.yaml").write_text(CODES)
    return folder


@pytest.fixture(scope="module")
def codes(folder):
    return folder / "codes.yaml"


def holdtrue(*words):
    done = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def asked(folder, out, ledger, *more):
    files = ("--reference", folder / "training.csv", "--out", out, "--ledger", ledger, "--subject", "who")
    return ("recourse", folder / "loans.holdtrue", folder / "people.csv", *files, *more)


def promised(place):
    with ht.Ledger(place) as ledger:
        return {promise.record.subject: promise.record for batch in ledger.live() for promise in batch}


@pytest.fixture(scope="module")
def written(folder, codes):
    """What the command line promised."""
    place = folder / "written.db"
    ht.Ledger.create(place).close()
    holdtrue(*asked(folder, folder / "written.csv", place, "--codes", codes, "--chunk-rows", 7))
    records = promised(place)
    assert len(records) >= 5
    return records


def test_python_the_command_line_and_http_keep_the_same_reasons(folder, codes, written, bank):
    clf = ht.load(folder / "loans.holdtrue")
    people = pd.read_csv(folder / "people.csv")
    plan = clf.recourse(people.drop(columns="who"))
    why = plan.reasons(reference=pd.read_csv(folder / "training.csv"), codes=ht.CodeTable.load(codes))
    said = ht.records(plan, people["who"].tolist(), reasons=why, only_holding=True)
    assert {record.subject: record.reasons for record in said} == {who: r.reasons for who, r in written.items()}
    assert all(record.reasons["panel"]["models"] == 3 for record in said)
    assert {one["code"] for record in said for one in record.reasons["named"]} == {"A", "Z"}
    assert all("male" not in one["features"] for record in said for one in record.reasons["named"])

    keys = folder / "keys.json"
    token = add_key(keys, "the officer", "admin")
    with ht.Ledger.create(folder / "served.db") as ledger:
        service = Service(
            clf, ledger=ledger, quotas=Quotas(batch=4, options=1, deadline=60, max_deadline=120, rate=1e5),
            reasoner=reasoner_of(clf, str(folder / "training.csv"), str(codes)),
        )  # fmt: skip
        with TestClient(create_app(service, KeyRing(keys)), headers={"Authorization": f"Bearer {token}"}) as http:
            for record in said[:3]:
                answer = http.post("/v1/records", json={"person": record.factual, "subject": record.subject})
                assert answer.status_code == 201, answer.text
                assert answer.json()["reasons"] == record.reasons


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_the_table_of_reasons_says_which_stand(folder, codes, end, tmp_path):
    out = tmp_path / f"reasons.{end}"
    files = (folder / "loans.holdtrue", folder / "people.csv", "--reference", folder / "training.csv")
    holdtrue("reasons", *files, "--codes", codes, "--out", out)
    frame = pd.read_csv(out) if end == "csv" else pd.read_parquet(out)
    for k in (1, 2):
        told = frame[frame[f"holdtrue_reason_{k}"].notna()]
        expected = told[f"holdtrue_reason_{k}_agreement"] >= 0.8
        assert len(told)
        assert told[f"holdtrue_reason_{k}_stands"].astype(bool).tolist() == expected.tolist()


def test_the_letter_of_a_run_names_them(folder, written):
    record = next(iter(written.values()))
    letter = holdtrue("letter", record.id, "--ledger", folder / "written.db")
    assert all(f"- {one['text']}\n" in letter for one in record.reasons["named"])


def test_cut_up_otherwise_it_is_the_same_promise(folder, codes, written, tmp_path):
    more = ("--codes", codes, "--chunk-rows", 3, "--json")
    text = holdtrue(*asked(folder, tmp_path / "again.csv", folder / "written.db", *more))
    assert f'"repeated": {len(written)}' in text
    assert promised(folder / "written.db") == written


def test_other_codes_are_another_promise_and_no_reference_is_none(folder, written, tmp_path):
    place = tmp_path / "l.db"
    ht.Ledger.create(place).close()
    holdtrue(*asked(folder, tmp_path / "own.csv", place))
    other = promised(place)
    assert set(other) == set(written)
    assert not {record.id for record in other.values()} & {record.id for record in written.values()}
    assert all(one["code"] is None for record in other.values() for one in record.reasons["named"])
    out = tmp_path / "none.csv"
    done = ht.run(folder / "loans.holdtrue", folder / "people.csv", out, ledger=place, subject="who")
    assert done.promises == len(written)
    assert sum(r.reasons is None for r in live(place)) == len(written)


def live(place):
    with ht.Ledger(place) as ledger:
        return [promise.record for batch in ledger.live() for promise in batch]


def test_each_option_of_a_person_knows_what_it_changes(folder, tmp_path):
    place = tmp_path / "l.db"
    ht.Ledger.create(place).close()
    holdtrue(*asked(folder, tmp_path / "own.csv", place, "--options", 2, "--hold", "none"))
    by_person: dict[str, list] = {}
    for record in live(place):
        by_person.setdefault(record.subject, []).append(record)
    several = [records for records in by_person.values() if len(records) > 1]
    assert several
    for records in several:
        assert len({record.reasons["gap"] for record in records}) == 1
        for record in records:
            changed = {name for name in record.factual if record.factual[name] != record.recourse[name]}
            for one in record.reasons["named"]:
                assert one["in_recourse"] == bool(changed & set(one["features"]))


def test_what_lacks_its_grounds_is_refused(folder, codes, tmp_path):
    ht.Ledger.create(tmp_path / "l.db").close()
    asked = {"ledger": tmp_path / "l.db", "subject": "who"}
    files = (folder / "loans.holdtrue", folder / "people.csv", tmp_path / "o.csv")
    with pytest.raises(DataError, match=r"^run: `codes`: is for reasons, .*; got no `reference`"):
        ht.run(*files, **asked, codes=codes)
    with pytest.raises(DataError, match=r"^run: `codes`: is for promises; got no `ledger`"):
        ht.run(*files, codes=codes)
    said = CliRunner().invoke(cli, [str(word) for word in ("recourse", *files[:2], "--codes", codes)])
    assert "--codes: is for promises; got no --ledger" in said.output
    (tmp_path / "odd.yaml").write_text("codes:\n  - {code: A, text: Odd, features: [nothing]}\n")
    with pytest.raises(DataError, match="neither a feature nor a group"):
        ht.run(*files, **asked, codes=tmp_path / "odd.yaml", reference=pd.read_csv(folder / "training.csv"))
    assert not files[2].exists()


def test_a_worker_elsewhere_gives_the_same_reasons(folder, codes, written):
    """What a cluster's worker is sent: the model as a file, the grounds as plain tables."""
    clf = ht.load(folder / "loans.holdtrue")
    grounds = Grounds.of(clf, pd.read_csv(folder / "training.csv"), codes)
    work = Work(classifier=clf, method=clf.method_, terms=Terms("who", "a run", grounds=grounds))
    (chunk,) = Source(folder / "people.csv").chunks(clf.schema_)
    there = pickle.loads(pickle.dumps(work)).run(chunk)
    assert {r.subject: r.reasons for r in there.records} == {who: r.reasons for who, r in written.items()}
