"""All of it with one command: what is in ``results/`` already is not run again.

    python -m experiments.hold                  # in turn: grid, years, releases, price, reach, and the page
    python -m experiments.hold --list           # the commands, and run nothing
    python -m experiments.hold --processes 16   # cells of the grid side by side

Stopped and started again, it goes on where it was. On two cores the whole takes about a day.
"""

import argparse
import shlex
import subprocess
import sys

from experiments.hold.reach import WHICH
from experiments.hold.sba import KINDS, RESULTS


def commands(processes: int) -> list[tuple[list[str], str | None]]:
    """Every step, with the file that shows that it is done, where one does."""
    out: list[tuple[list[str], str | None]] = [(["grid", "--processes", str(processes)], None)]
    out += [(["sba", "--kind", kind], "sba.json" if kind == "xgboost" else f"sba-{kind}.json") for kind in KINDS]
    out += [
        (["bail"], "bail.json"),
        (["price"], "price.json"),
        (["price", "--write"], "price.json"),
    ]
    out += [(["reach", *map(str, cell)], f"reach-{'-'.join(map(str, cell))}.json") for cell in WHICH]
    out.append((["page"], None))
    return out


def main() -> None:
    """Run what is not there yet, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=1, help="for the cells of the grid")
    parser.add_argument("--list", action="store_true", help="show the commands and run nothing")
    given = parser.parse_args()
    there = {path.name for path in RESULTS.iterdir()}
    for (module, *words), result in commands(given.processes):
        line = shlex.join(["python", "-m", f"experiments.hold.{module}", *words])
        if result in there:
            print(f"{line}: {result} is there", flush=True)
            continue
        print(line, flush=True)
        if not given.list:
            subprocess.run([sys.executable, "-m", f"experiments.hold.{module}", *words], check=True)


if __name__ == "__main__":
    main()
