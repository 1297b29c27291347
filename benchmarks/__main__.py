"""Run every benchmark: `python -m benchmarks`."""

import sys

from benchmarks import influence, peers, retrain, stream, throughput, trees, wachter

if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    for module in (wachter, retrain, stream, peers, throughput, influence, trees):
        module.main()
