"""Processes that issue records, for the tests: ``issuers.py many|kill PLACE RECORDS N ACKS``.

Imports once and forks, since starting Python takes longer than what is tested.
"""

import os
import random
import signal
import sys
import time

from holdtrue.ledger import Ledger, Record, read_records

AT_END = os.WEXITED | os.WNOHANG | os.WNOWAIT


def issue_all(ledger: Ledger, records: list[Record], acks: str, batch_size: int) -> None:
    """Issue records a batch at a time; note each that the ledger says it has."""
    with open(acks, "a", encoding="ascii") as stream:
        for start in range(0, len(records), batch_size):
            batch = records[start : start + batch_size]
            ledger.issue(batch)
            stream.write("".join(f"{record.id}\n" for record in batch))
            stream.flush()


def opened(place: str) -> Ledger:
    """A ledger that has been used before the fork: its connections are the parent's."""
    ledger = Ledger(place)
    ledger.counts()
    return ledger


def many(place: str, file: str, n: int, acks: str) -> None:
    """`n` processes at once, all with the same records, each from another one on."""
    ledger = opened(place)
    records = list(read_records(file))
    children = []
    for i in range(n):
        pid = os.fork()
        if pid == 0:
            start = i * len(records) // n
            issue_all(ledger, records[start:] + records[:start], acks, 3)
            os._exit(0)
        children.append(pid)
    assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)


def kill(place: str, file: str, n: int, acks: str) -> None:
    """`n` times one process that issues, killed at a random moment."""
    ledger = opened(place)
    records, rng = list(read_records(file)), random.Random(20261115)
    for i in range(n):
        before = os.path.getsize(acks)
        pid = os.fork()
        if pid == 0:
            with open(acks, encoding="ascii") as stream:
                done = len(set(stream.read().split()))
            issue_all(ledger, records[max(0, done - 5) :], acks, 2)
            os._exit(0)
        while i % 2 and os.path.getsize(acks) == before and not os.waitid(os.P_PID, pid, AT_END):
            time.sleep(0.001)  # every second one is killed at work, however little of a core there is for it
        time.sleep(rng.uniform(0.002, 0.12))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    _, task, place, file, n, acks = sys.argv
    open(acks, "a").close()
    {"many": many, "kill": kill}[task](place, file, int(n), acks)
