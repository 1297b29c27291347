"""From every released schema to this one, with nothing lost; and the tables are what the steps make."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from holdtrue.errors import LedgerError
from holdtrue.ledger import Head, Ledger
from holdtrue.ledger._migrate import newest, scripts
from holdtrue.ledger._tables import METADATA, VERSION_TABLE
from holdtrue.testing._ledger import START, promise_to

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("ledger-*.db"))


def test_every_schema_has_its_file() -> None:
    revisions = {step.revision for step in scripts().walk_revisions()}
    assert {path.stem.removeprefix("ledger-") for path in FIXTURES} == revisions


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.stem)
def test_upgrade_keeps_everything(fixture: Path, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    shutil.copy(fixture, path)
    if fixture.stem != f"ledger-{newest()}":
        with pytest.raises(LedgerError, match="older version"):
            Ledger(path)
    with Ledger.create(path) as ledger:
        assert ledger.verify().ok
        assert ledger.verify().n_events == 12
        assert ledger.counts() == {
            "live": 2, "superseded": 1, "fulfilled": 2, "expired": 1, "forgotten": 1, "kept": 1, "broken": 1,
        }  # fmt: skip
        live = [promise.record for batch in ledger.live(START) for promise in batch]
        name = "holdfast" if fixture.stem == "ledger-0001" else "holdtrue"  # the project's name at the time
        software = {name: "0.1.0"}
        assert live == [
            promise_to("person 4", id=f"{4:032x}", software=software),
            promise_to("person 0", id="a" * 32, cost=0.05, software=software),
        ]
        assert ledger.history("person 3") == []
        ledger.issue(promise_to("new"))
        assert ledger.verify().ok


def test_the_tables_are_what_the_steps_make(place: str) -> None:
    with Ledger.create(place) as ledger:

        def differences(connection: sa.Connection) -> list:
            options = {"version_table": VERSION_TABLE, "compare_type": True}
            return compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)

        assert ledger._database.run(differences) == []


def test_a_newer_schema_is_refused(place: str) -> None:
    with Ledger.create(place) as ledger:
        ledger._database.run(
            lambda c: c.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")), write=True
        )
    for opening in (Ledger, Ledger.create):
        with pytest.raises(LedgerError, match="newer version"):
            opening(place)


def test_many_make_it_at_once(place: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        heads = list(pool.map(lambda _: _made(place), range(6)))
    assert len(set(heads)) == 1


def _made(place: str) -> Head:
    with Ledger.create(place) as ledger:
        return ledger.head()


def test_an_interrupted_making_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda n: 1 / 0)
    path = tmp_path / "l.db"
    with pytest.raises(ZeroDivisionError):
        Ledger.create(path)
    monkeypatch.undo()
    with pytest.raises(LedgerError, match="holds no ledger"):
        Ledger(path)
    assert Ledger.create(path).verify().ok
