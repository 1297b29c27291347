"""Counters in the text format that Prometheus reads. No value of any person is among them."""

import threading
from bisect import bisect_left
from collections.abc import Callable

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counts, durations and gauges of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._help: dict[str, tuple[str, str]] = {}
        self._counts: dict[tuple[str, Labels], float] = {}
        self._times: dict[tuple[str, Labels], tuple[list[int], float]] = {}
        self._gauges: dict[str, Callable[[], float]] = {}

    def describe(self, name: str, kind: str, text: str, read: Callable[[], float] | None = None) -> None:
        """Name a metric before it is used; a gauge is read when asked for."""
        self._help[name] = (kind, text)
        if read is not None:
            self._gauges[name] = read
        elif kind == "counter":
            self._counts.setdefault((name, ()), 0.0)

    def count(self, name: str, by: float = 1, **labels: str) -> None:
        """Add to a counter."""
        key = (name, tuple(sorted(labels.items())))
        with self._lock:
            self._counts[key] = self._counts.get(key, 0.0) + by

    def value(self, name: str, **labels: str) -> float:
        """What a counter stands at."""
        with self._lock:
            return self._counts.get((name, tuple(sorted(labels.items()))), 0.0)

    def time(self, name: str, seconds: float, **labels: str) -> None:
        """Add a duration to a histogram."""
        key = (name, tuple(sorted(labels.items())))
        with self._lock:
            counts, total = self._times.setdefault(key, ([0] * (len(BUCKETS) + 1), 0.0))
            counts[bisect_left(BUCKETS, seconds)] += 1
            self._times[key] = (counts, total + seconds)

    def text(self) -> str:
        """All of it, as text."""
        with self._lock:
            counts, times = dict(self._counts), {k: (list(c), t) for k, (c, t) in self._times.items()}
        lines = []
        for name, (kind, text) in self._help.items():
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
            if name in self._gauges:
                lines.append(f"{name} {self._gauges[name]():g}")
            # The count without labels is there so that a counter begins at 0, and goes once there are others.
            mine = {labels: value for (key, labels), value in counts.items() if key == name}
            for labels, value in sorted(mine.items()):
                if labels or len(mine) == 1:
                    lines.append(f"{name}{_labels(labels)} {value:.15g}")
            for (key, labels), (buckets, total) in sorted(times.items()):
                if key == name:
                    lines += _histogram(name, labels, buckets, total)
        return "\n".join(lines) + "\n"


def _histogram(name: str, labels: Labels, counts: list[int], total: float) -> list[str]:
    lines, below = [], 0
    for edge, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
        below += count
        lines.append(f"{name}_bucket{_labels((*labels, ('le', edge)))} {below}")
    return [*lines, f"{name}_sum{_labels(labels)} {total:.9g}", f"{name}_count{_labels(labels)} {below}"]


def _labels(labels: Labels) -> str:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return "{" + ",".join(f'{k}="{escaped(v)}"' for k, v in labels) + "}" if labels else ""
