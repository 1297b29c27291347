"""1,000,000 live promises through `holdtrue gate`: time and resident memory.

python -m benchmarks.gate [--promises 1000000] [--broken 1%]

The records are those of real loan applications, each many times under other names; they are written through the
ledger's own code, so that the chain is whole. The new model is the old one with another seed; its threshold is put
where about the given share of promises breaks.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

import holdtrue as ht
from benchmarks._common import record
from holdtrue.cli._gate import read_share
from holdtrue.ledger import canonical, new_id
from holdtrue.ledger._append import issue_entry


def classifier(bank: ht.datasets.Dataset, seed: int, threshold: float = 0.5) -> ht.RecourseClassifier:
    regime = ht.StandardTraining(n_epochs=20, class_weight="balanced")
    method = ht.Wachter(n_steps=200, random_state=0)
    return ht.RecourseClassifier(
        schema=bank.schema, regime=regime, method=method, random_state=seed, threshold=threshold
    ).fit(bank.X, bank.y)


def fill(ledger: ht.Ledger, records: list[ht.Record], n: int) -> None:
    """Issue `n` promises: the records over and over, each under a name of its own."""
    rows = [(one, one.to_json()) for one in records]
    for start in range(0, n, 5000):
        entries = []
        for i in range(start, min(n, start + 5000)):
            one, text = rows[i % len(rows)]
            id, subject = new_id(), f"application {i}"
            text = text.replace(one.id, id).replace(
                f'"subject":{canonical(one.subject)}', f'"subject":"{subject}"'
            )
            kind, _, public, _ = issue_entry(one, "", {})
            entries.append((kind, id, public, (subject, text)))
        ledger._write(lambda _, entries=entries: (entries, None))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--promises", type=int, default=1_000_000)
    parser.add_argument("--broken", default="1%")
    parser.add_argument("--folder", help="Keep the ledger here, and use one that is there.")
    asked = parser.parse_args()
    n, share = asked.promises, read_share(asked.broken)
    bank = ht.datasets.load("loanapp")
    old = classifier(bank, 0)
    refused = bank.X[old.predict(bank.X) == 0]
    plan = old.recourse(refused)
    records = ht.records(plan, [f"row {i}" for i in range(len(plan))], valid_for=3650)
    chance = classifier(bank, 1).predict_proba(plan.take(plan.found).recourse)[:, 1]
    new = classifier(bank, 1, threshold=float(np.quantile(chance, share)))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(asked.folder or temporary)
        place, model, cases = (folder / name for name in (f"promises-{n}.db", "new.holdtrue", "broken.jsonl"))
        new.save(model)
        began = time.perf_counter()
        if not place.exists():
            with ht.Ledger.create(place) as ledger:
                fill(ledger, records, n)
        filling = time.perf_counter() - began
        command = [sys.executable, "-m", "holdtrue", "gate", str(model), "--ledger", str(place), "--json"]
        command += ["--group", "male", "--cases", str(cases), "--max-broken", "100%"]
        began = time.perf_counter()
        process = psutil.Popen(command, stdout=subprocess.PIPE)
        peak, cpu = 0, 0.0
        while process.poll() is None:
            try:
                peak = max(peak, process.memory_info().rss)
                times = process.cpu_times()
                cpu = times.user + times.system
            except psutil.Error:
                break
            time.sleep(0.1)
        seconds = time.perf_counter() - began
        printed = process.communicate()[0]
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, command)
        report = json.loads(printed)
        size = place.stat().st_size
    record(
        "service/gate",
        f"python -m benchmarks.gate --promises {n} --broken {asked.broken}",
        {
            "data": "records of loanapp's refused, each many times",
            "columns": len(bank.schema),
            "live promises": report["n_live"],
            "broken": report["n_broken"],
            "searched for another way": report["instead"]["n_searched"],
            "size of the ledger, MB": size / 1e6,
            "seconds, start to finish": seconds,
            "seconds of processor time": cpu,
            "promises per second": n / seconds,
            "peak resident memory, MB": peak / 1e6,
            "seconds to write the ledger": filling,
        },
    )


if __name__ == "__main__":
    main()
