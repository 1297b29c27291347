"""Run every benchmark: `python -m benchmarks`."""

import sys

from benchmarks import (
    counterfactual_training,
    faults,
    gate,
    generators,
    influence,
    ntk,
    peers,
    recourse_training,
    retrain,
    robust_kernel,
    scale,
    serve,
    stream,
    theory,
    throughput,
    tradeoff,
    trees,
    wachter,
)

if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    for module in (
        faults, wachter, retrain, stream, scale, gate, serve, peers, throughput, influence, trees, theory, ntk,
        robust_kernel, recourse_training, counterfactual_training, tradeoff, generators,
    ):  # fmt: skip
        module.main()
