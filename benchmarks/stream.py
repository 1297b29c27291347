"""1,000,000 rows through `holdtrue recourse`, Parquet in and out: time and resident memory.

python -m benchmarks.stream [--rows 1000000]
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow.parquet as pq

import holdtrue as ht
from benchmarks._common import record


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    n = parser.parse_args().rows
    bank = ht.datasets.load("loanapp")
    clf = ht.RecourseClassifier(schema=bank.schema, regime=ht.StandardTraining(n_epochs=20), random_state=0)
    clf.fit(bank.X, bank.y)
    with tempfile.TemporaryDirectory() as folder:
        model, table, out = (Path(folder) / name for name in ("model.holdtrue", "in.parquet", "out.parquet"))
        clf.save(model)
        rows = np.random.default_rng(0).integers(0, len(bank.X), n)
        bank.X.iloc[rows].to_parquet(table, index=False, row_group_size=100_000)
        small = pq.ParquetFile(table).schema_arrow
        command = [sys.executable, "-m", "holdtrue", "recourse", str(model), str(table), "--out", str(out)]
        began = time.perf_counter()
        process = psutil.Popen(command)
        peak = 0
        while process.poll() is None:
            try:
                peak = max(peak, process.memory_info().rss)
            except psutil.Error:
                break
            time.sleep(0.1)
        seconds = time.perf_counter() - began
        if process.wait() != 0:
            raise subprocess.CalledProcessError(process.returncode, command)
        written = pq.ParquetFile(out).metadata.num_rows
        status = pq.read_table(out, columns=["holdtrue_status"])["holdtrue_status"].value_counts().to_pylist()
    record(
        "stream",
        f"python -m benchmarks.stream --rows {n}",
        {
            "data": "loanapp, resampled",
            "columns": len(small.names),
            "rows in": n,
            "rows out": written,
            "seconds, start to finish": seconds,
            "rows per second": n / seconds,
            "peak resident memory, MB": peak / 1e6,
            "statuses": str({s["values"]: s["counts"] for s in status}),
        },
    )


if __name__ == "__main__":
    main()
