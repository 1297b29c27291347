"""Run every benchmark: `python -m benchmarks`."""

import sys

from benchmarks import (
    defaults,
    evidence,
    faults,
    gate,
    generators,
    group_actions,
    panel,
    peers,
    promise,
    reasons,
    retrain,
    scale,
    serve,
    serve_cost,
    strangers,
    stream,
    throughput,
    trees,
    wachter,
)

if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    for module in (
        faults, wachter, retrain, stream, scale, gate, serve, serve_cost, peers, throughput, trees, promise,
        panel,
        generators, defaults, reasons, evidence, group_actions, strangers,
    ):  # fmt: skip
        module.main()
