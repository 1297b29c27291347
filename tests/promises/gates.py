"""Processes that gate a ledger over and over, for the tests: ``gates.py PLACE FOLDER ROUNDS [FOLDER ROUNDS ...]``.

Each is forked from one that has imported everything and computed nothing, and writes into its FOLDER: in ``said``
a line "ready" when the first gate is done, at each further one what it counted, then "done"; in ``error`` what
went wrong. Rounds of 0 go on until it is killed. This process says each one's number, and ends after all of them.
"""

import itertools
import os
import sys
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from holdtrue.promises import gate
from holdtrue.testing._ledger import START
from tests.promises.world import model


def gates(place: str, folder: Path, rounds: int) -> None:
    asked = model(60)
    with (folder / "said").open("w", buffering=1) as said:
        gate(asked, place, at=START)
        print("ready", file=said)
        for number in range(rounds) if rounds else itertools.count():
            report = gate(asked, place, at=START, cases=folder / f"cases-{number}.jsonl", batch_size=7)
            print(report.n_live, report.n_broken, report.ledger["seq"], file=said)
        print("done", file=said)


def main(place: str, *asked: str) -> None:
    for folder, rounds in zip(asked[::2], asked[1::2], strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # jax warns of forks; it has not begun anything here
            pid = os.fork()
        if pid == 0:
            try:
                gates(place, Path(folder), int(rounds))
            except BaseException:
                (Path(folder) / "error").write_text(traceback.format_exc())
            finally:
                os._exit(0)
        print(pid, flush=True)
    for _ in asked[::2]:
        os.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
