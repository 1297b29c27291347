"""Work that is given up at a deadline."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Done = TypeVar("Done")


def within(until: float | None, work: Callable[[], Done]) -> Done | None:
    """Do the work, or return None at the deadline: a first call may have to compile, which nothing can stop."""
    if until is None:
        return work()
    done: list[Done] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # raised again below, in the caller's thread
            failed.append(error)

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(max(0.0, until - time.monotonic()))
    if failed:
        raise failed[0]
    return done[0] if done else None
