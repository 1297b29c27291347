"""Write the database of the current schema to ``fixtures/ledger-REVISION.db``, once, when the schema is released.

``python tests/ledger/make_fixture.py``. Its people are made up. A file that is there is not written again: it
shows what that release wrote.
"""

import sys
from datetime import timedelta
from pathlib import Path

from holdtrue.ledger import Ledger
from holdtrue.ledger._migrate import newest
from holdtrue.testing._ledger import START, promise_to


def main() -> None:
    path = Path(__file__).parent / "fixtures" / f"ledger-{newest()}.db"
    if path.exists():
        sys.exit(f"{path.name} is there already")
    with Ledger.create(path) as ledger:
        records = [promise_to(f"person {i}", id=f"{i:032x}") for i in range(5)]
        records.append(promise_to("person 5", id=f"{5:032x}", valid_until=START + timedelta(days=1)))
        ledger.issue(records)
        ledger.supersede(records[0].id, promise_to("person 0", id="a" * 32, cost=0.05))
        ledger.fulfil(records[1].id, decision=1, actual={"income": 36000.0})
        ledger.fulfil(records[2].id, decision=0, note="came too late")
        ledger.expire(START + timedelta(days=2))
        ledger.forget("person 3")
        print(path.name, ledger.head(), ledger.counts())


if __name__ == "__main__":
    main()
