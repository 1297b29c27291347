"""What a recourse request costs in processor time, part by part: how many a second two cores can answer at best.

python -m benchmarks.serve_cost [--calls 8]

The model of `benchmarks.serve` (the demo's data; hold 95%, twenty guides), asked in this process as the service
asks it: calls of one person, of eight and of a full batch, in processor time, which other work on the machine
does not lengthen as it does the clock's. What is done in Python is told from what compiled programs do; of
these, steps and microseconds a step of each search; and, from the steps that the slowest person in a hundred
takes, what such a person waits for at least when nobody else is there. What HTTP adds is the processor time of a
service in a process of its own that is asked for decisions only.
"""

import argparse
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import numpy as np
import psutil

import holdtrue.hold._search as guided
import holdtrue.methods._base as methods
from benchmarks._common import record
from benchmarks.serve import served
from holdtrue.batch import solve
from holdtrue.models import n_cores
from holdtrue.schema import normalise_restrictions
from holdtrue.server import Service, add_key
from holdtrue.server._batcher import Job

BATCHES = (1, 8, 32)


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=8, help="Of every size.")
    asked = parser.parse_args()
    clf, people = served()
    service = Service(clf)
    service.warm()
    calls = {str(n): _calls(service, people, n, asked.calls) for n in BATCHES}
    full = calls[str(BATCHES[-1])]
    http = _http(clf, people)
    each = full["ms"] + http
    steps = _steps(service, people[: BATCHES[-1]] * 2)
    alone = [sum(s["us_a_step_alone"] * s["steps_p99"] for s in steps.values()) / 1000, calls["1"]["ms"]]
    result = {
        "hold": clf.hold, "guides": len(clf.method_.guides_), "by people in a call": calls, "http_ms": http,
        "ms_a_request": each, "requests_a_second_at_best": 1000 * n_cores() / each, "searches": steps,
        "slowest_in_a_hundred_alone_ms": alone[0], "one_person_alone_ms": alone[1],
    }  # fmt: skip
    record("service/serve-cost", f"python -m benchmarks.serve_cost --calls {asked.calls}", result)


def _jobs(service: Service, rows: Sequence[Any]) -> list[Job]:
    own = normalise_restrictions(None, service.schema, 1)
    return [Job("recourse", [row], [service.predictor.favourable], own, 1, time.monotonic() + 600) for row in rows]


def _calls(service: Service, people: list[Any], n: int, calls: int) -> dict[str, float]:
    """Milliseconds of processor time a person: in all, and of the thread that runs Python."""
    batches = [[people[(n * k + i) % len(people)] for i in range(n)] for k in range(calls + 2)]
    for batch in batches[:2]:
        service._run(_jobs(service, batch))
    began, mine = time.process_time(), time.thread_time()
    for batch in batches[2:]:
        service._run(_jobs(service, batch))
    scale = 1000 / (n * calls)
    return {"ms": scale * (time.process_time() - began), "python_ms": scale * (time.thread_time() - mine)}


def _steps(service: Service, people: list[Any]) -> dict[str, dict[str, float]]:
    """Of every search that one call makes: steps, and what one takes for a full batch and for one person."""
    seen: dict[str, dict[str, float]] = defaultdict(dict)

    def watched(solver: Any, problems: Any, **how: Any) -> Any:
        found = solve(solver, problems, **how)  # compiled, if need be
        name = f"{type(solver).__name__} on {type(solver.decision.model).__name__}"
        began = time.process_time()
        solve(solver, problems, **how)
        used = time.process_time() - began
        size = "" if len(problems) > 1 else "_alone"
        seen[name][f"us_a_step{size}"] = 1e6 * used / max(1, int(found.n_steps.max()))
        if not size:
            seen[name]["steps_mean"] = float(found.n_steps.mean())
            seen[name]["steps_p99"] = float(np.percentile(found.n_steps, 99))
        return found

    with mock.patch.object(guided, "solve", watched), mock.patch.object(methods, "solve", watched):
        for rows in (people[:1], people[: len(people) // 2]):
            service._run(_jobs(service, rows))
    return dict(seen)


def _http(clf: Any, people: list[Any], n: int = 300) -> float:
    """Milliseconds of processor time that a service takes for a request beside the search."""
    with tempfile.TemporaryDirectory() as folder:
        model, keys = Path(folder) / "model.holdtrue", Path(folder) / "keys.json"
        clf.save(model)
        headers = {"Authorization": f"Bearer {add_key(keys, 'load', 'officer')}"}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "holdtrue", "serve", model, "--keys", keys, "--port", port, "--rate", 1e5]
        process = subprocess.Popen([str(part) for part in command], stderr=subprocess.DEVNULL)
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as client:
                while True:
                    try:
                        client.get("/health")
                        break
                    except httpx.TransportError:
                        time.sleep(0.3)
                watched = psutil.Process(process.pid)
                before = sum(watched.cpu_times()[:2])
                for i in range(n):
                    client.post("/v1/predict", json={"people": [people[i % len(people)]]}).raise_for_status()
                return 1000 * (sum(watched.cpu_times()[:2]) - before) / n
        finally:
            process.terminate()
            process.wait(60)


if __name__ == "__main__":
    main()
