"""A process that gates a ledger over and over, for the tests: ``gates.py PLACE FOLDER [ROUNDS]``.

Says "ready" when the first is done, and at each further one what it counted.
"""

import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from holdfast.promises import gate
from holdfast.testing._ledger import START
from tests.promises.world import model


def main(place: str, folder: str, rounds: str = "0") -> None:
    asked = model(60)
    gate(asked, place, at=START)
    print("ready", flush=True)
    for number in itertools.count() if rounds == "0" else range(int(rounds)):
        report = gate(asked, place, at=START, cases=f"{folder}/cases-{number}.jsonl", batch_size=7)
        print(report.n_live, report.n_broken, report.ledger["seq"], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
