"""The attacks that want many cores, one after another, each with a share of the time.

python -m benchmarks.attack.all --seconds 360 [--processes 16] [--to FOLDER] [--again] [--code NAME]

Counts go to files in the folder, which begin as the committed ones, line by line as they are made: whatever ends
it, what it has is kept, and the same command goes on from there. What one attack leaves of its share goes to the
next. With `--again`, what other code was asked is asked again, after what was never asked; the newer answer
counts. With `--seconds 0` the sums are written from the lines that are there. Ends with 1 where something is
wrong.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks._common import RESULTS
from benchmarks.attack._tally import code

SHARES = {"ledger": 0.08, "same": 0.17, "brute": 0.2, "schemas": 0.55}
"""Of the time; the last takes all that is left."""


def main() -> None:
    """Run them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--seconds", type=float, default=360, help="For all of them together.")
    add("--processes", type=int, default=len(os.sched_getaffinity(0)), help="Side by side; as many as cores.")
    add("--to", type=Path, default=RESULTS / "attack", metavar="FOLDER", help="Of the files of counts.")
    add("--again", action="store_true", help="Ask again what other code was asked.")
    add("--code", default=code(), metavar="NAME", help="What to call the code; version and commit unless said.")
    asked = parser.parse_args()
    asked.to.mkdir(parents=True, exist_ok=True)
    # A process that is asked to end asks the attack at work to end, too, and goes no further.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    until, left, worst = time.monotonic() + asked.seconds, 1.0, 0
    for name, share in SHARES.items():
        file = asked.to / f"{name}.jsonl"
        committed = RESULTS / "attack" / file.name
        if committed.exists() and not file.exists():
            shutil.copy(committed, file)
        seconds = max(0.0, until - time.monotonic()) * share / left
        left = max(left - share, 1e-9)
        command = [sys.executable, "-m", f"benchmarks.attack.{name}", "--seconds", f"{seconds:.0f}"]
        command += ["--processes", str(asked.processes), "--to", str(file), "--code", asked.code]
        print(f"{name}: {seconds:.0f} s", flush=True)
        process = subprocess.Popen(command + ["--again"] * asked.again)
        try:
            worst = max(worst, process.wait())
        finally:
            process.terminate()
    sys.exit(worst)


if __name__ == "__main__":
    main()
