"""The first minutes of somebody new, in processes of their own: ``python -m benchmarks.strangers [--only NAME]``.

The three tables of ``tests/cli/test_stranger.py`` from CSV to a letter, in five commands with nothing set; the
demo with nothing kept, and again; and the first answer for one person from a model file, where programs are kept.
Seconds by the clock and of the processor; an interruption loses one part at most.
"""

import argparse
import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._common import record

ROOT = Path(__file__).parents[1]
ONE_PERSON = """
import time
began, worked = time.monotonic(), time.process_time()
import pandas as pd
import holdtrue as ht
clf = ht.load({model!r})
person = pd.read_csv({people!r})[:1]
said = clf.recourse(person).changes()[0]
assert said, said
print(time.monotonic() - began, time.process_time() - worked)
"""


def tables() -> dict[str, tuple[Any, str, tuple[str, ...]]]:
    """How each is made, its target, and what must be said of it."""
    spec = importlib.util.spec_from_file_location("strangers", ROOT / "tests" / "cli" / "test_stranger.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    frame = module.applications()
    return {
        "deny": (lambda rng: module.with_deny(frame, rng), "deny", ("--favourable", "no")),
        "identifiers, dates, job titles": (lambda rng: module.with_names_and_dates(frame, rng), "decision", ()),
        "half-missing columns": (lambda rng: module.with_gaps(frame, rng), "approved", ()),
    }


def timed(*arguments: object, cache: Path) -> tuple[dict[str, float], str]:
    """A command in a process of its own; what it took, and what it printed."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    environment = os.environ | {"XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], env=environment, capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"clock": round(time.monotonic() - began, 1), "processor": round(worked, 1)}, done.stdout


def from_csv_to_letter(name: str, folder: Path, cache: Path) -> dict[str, Any]:
    """Five commands of somebody who has never seen holdtrue; and then one person's answer."""
    make, target, said = tables()[name]
    table, left_out = make(np.random.default_rng(0))
    people, guess, model, out, ledger = (folder / n for n in ("t.csv", "s.yaml", "m.holdtrue", "o.csv", "p.db"))
    table.to_csv(people, index=False)
    subject = left_out[0]
    cli, seconds = ("-m", "holdtrue.cli"), {}
    asked = ("--only-refused", "--ledger", ledger, "--subject", subject, "--out", out)
    seconds["schema"], _ = timed(*cli, "schema", people, "--target", target, "--out", guess, cache=cache)
    fit = ("fit", people, "--target", target, "--schema", guess, "--out", model, *said)
    seconds["fit"], _ = timed(*cli, *fit, cache=cache)
    seconds["ledger init"], _ = timed(*cli, "ledger", "init", "--ledger", ledger, cache=cache)
    seconds["recourse"], _ = timed(*cli, "recourse", model, people, *asked, cache=cache)
    answers = pd.read_csv(out)
    held = answers[answers.holdtrue_holds == True]  # noqa: E712 - of a column with gaps
    letter = ("letter", "--ledger", ledger, "--subject", held[subject].iloc[0])
    seconds["letter"], _ = timed(*cli, *letter, cache=cache)
    refused = folder / "refused.csv"
    table[table[subject].isin(answers[subject])].to_csv(refused, index=False)
    code = ONE_PERSON.format(model=str(model), people=str(refused))
    timed("-c", code, cache=cache)  # so that what one person needs is compiled
    one, printed = timed("-c", code, cache=cache)
    clock, worked = map(float, printed.split())
    return {
        "rows": len(table), "told": len(answers), "holds": len(held), "seconds": seconds,
        "in all": {kind: round(sum(p[kind] for p in seconds.values()), 1) for kind in ("clock", "processor")},
        "one person, from the file": {"clock": round(clock, 2), "processor": round(worked, 2)},
        "one person, with the start of Python": one,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=[*tables(), "demo"])
    options = parser.parse_args()
    out: dict[str, Any] = {"load of the machine before": os.getloadavg()[0]}
    command = "python -m benchmarks.strangers" + (f" --only {options.only!r}" if options.only else "")
    with tempfile.TemporaryDirectory() as made:
        cache = Path(made) / "cache"  # empty: nothing was compiled before
        for name in (options.only,) if options.only else (*tables(), "demo"):
            folder = Path(made) / name.split(",")[0]
            folder.mkdir()
            if name == "demo":
                cold = Path(made) / "cold"
                out[name] = {w: timed("-m", "holdtrue.cli", "demo", cache=cold)[0] for w in ("cold", "again")}
            else:
                out[name] = from_csv_to_letter(name, folder, cache)
            print(f"{name}: {out[name]}", flush=True)
            record("strangers", command, out, shown=False)


if __name__ == "__main__":
    main()
