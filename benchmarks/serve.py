"""Recourse requests over HTTP at a fixed rate: latencies, refusals, processor time.

python -m benchmarks.serve [--rate 200] [--seconds 30] [--overload 5]

The demo's data, served by a process of its own: requests of one refused applicant each are sent at the times that
a steady stream would have, whether or not earlier ones were answered; a latency counts from that time. Then, for
a few seconds, `--overload` times as many: what counts there is that each is answered 200 or 429, and that the
service serves on. Last, one request after the other, as from the case officer's page: three options under a new
restriction.
"""

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

import holdtrue as ht
from benchmarks._common import record
from holdtrue.server import add_key

LEAD = 1.0  # seconds before the first request is due: making thousands of them is not the service's time


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--overload", type=float, default=5)
    asked = parser.parse_args()
    clf, people = served()
    with tempfile.TemporaryDirectory() as folder:
        model, keys = Path(folder) / "model.holdtrue", Path(folder) / "keys.json"
        clf.save(model)
        token = add_key(keys, "load", "officer")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = [sys.executable, "-m", "holdtrue", "serve", model, "--keys", keys, "--port", port]
        server += ["--rate", 100_000]
        began = time.monotonic()
        process = subprocess.Popen([str(part) for part in server], stderr=subprocess.DEVNULL)
        try:
            address = f"http://127.0.0.1:{port}"
            while not _answers(address):
                if process.poll() is not None:
                    raise SystemExit("the service ended")
                time.sleep(0.1)
            warm = time.monotonic() - began
            steady, cpu = _measured(process, address, token, people, asked.rate, asked.seconds)
            over, _ = _measured(process, address, token, people, asked.rate * asked.overload, 5.0)
            after, _ = _measured(process, address, token, people, 20.0, 2.0)
            locked = _locked(address, token, people[:20])
        finally:
            process.terminate()
            process.wait(60)
    result = {
        "rate": asked.rate, "seconds": asked.seconds, "warm_start_seconds": warm, "cpu_seconds": cpu,
        "steady": steady, "overload": {"times": asked.overload, **over}, "afterwards": after, "locked": locked,
        "held": steady["p99_ms"] < 250 and set(steady["codes"]) == {"200"},
    }  # fmt: skip
    command = f"python -m benchmarks.serve --rate {asked.rate:g} --seconds {asked.seconds:g}"
    record("service/serve", f"{command} --overload {asked.overload:g}", result)


def served() -> tuple[ht.RecourseClassifier, list[Any]]:
    """A model of the demo's data that holds, and the people it refuses."""
    bank = ht.datasets.load("loanapp")
    regime = ht.StandardTraining(class_weight="balanced")
    method = ht.Wachter(random_state=0)
    clf = ht.RecourseClassifier(schema=bank.schema, regime=regime, method=method, random_state=0)
    clf.fit(bank.X, bank.y)
    return clf, bank.X[clf.predict(bank.X) == 0].to_dict("records")


def _locked(address: str, token: str, people: list[Any]) -> dict[str, Any]:
    """What an officer waits for who locks a column: three options each, for one person after the other."""
    times = []
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        for person in people:
            asked = {"people": [person], "options": 3, "deadline": 30}
            options = client.post("/v1/recourse", json=asked).json()["answers"][0]["options"]
            limits = [{options[0]["changed"][0]: "fixed"}] if options else [None]
            began = time.monotonic()
            client.post("/v1/recourse", json=asked | {"restrictions": limits}).raise_for_status()
            times.append(time.monotonic() - began)
    return {"people": len(times), "median_s": float(np.median(times)), "max_s": max(times)}


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/health", timeout=2).status_code == 200
    except httpx.TransportError:
        return False


def _measured(
    process: Any, address: str, token: str, people: list[Any], rate: float, seconds: float
) -> tuple[dict[str, Any], float]:
    watched = psutil.Process(process.pid)
    before = sum(watched.cpu_times()[:2])
    times, codes = asyncio.run(_send(address, token, people, rate, seconds))
    used = sum(watched.cpu_times()[:2]) - before
    served = np.array([t for t, code in zip(times, codes, strict=True) if code == "200"] or [float("nan")]) * 1000
    p50, p99 = np.percentile(served, [50, 99]).tolist()
    return {"requests": len(times), "codes": dict(Counter(codes)), "p50_ms": p50, "p99_ms": p99}, used


async def _send(
    address: str, token: str, people: list[Any], rate: float, seconds: float
) -> tuple[list[float], list[str]]:
    idle: list[Connection] = []
    began = time.monotonic() + LEAD

    async def one(i: int) -> tuple[float, str]:
        due = began + i / rate
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        connection = idle.pop() if idle else Connection(address, token)
        try:
            code = await connection.post("/v1/recourse", {"people": [people[i % len(people)]]})
            idle.append(connection)
        except (OSError, asyncio.IncompleteReadError) as error:
            code = type(error).__name__
        return time.monotonic() - due, code

    pairs = await asyncio.gather(*[one(i) for i in range(int(rate * seconds))])
    for connection in idle:
        connection.close()
    return [t for t, _ in pairs], [code for _, code in pairs]


class Connection:
    """One that is kept open. No library: at this rate its client takes most of a core from the service."""

    def __init__(self, address: str, token: str) -> None:
        self.host, _, port = address.removeprefix("http://").partition(":")
        self.port, self.token = int(port), token
        self.ends: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, content: Any) -> str:
        """Send JSON and return the status."""
        if self.ends is None:
            self.ends = await asyncio.open_connection(self.host, self.port)
        reader, writer = self.ends
        body = json.dumps(content).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.token}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answered = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next(line for line in answered.split("\r\n") if line.startswith("content-length:"))
        await reader.readexactly(int(length.partition(":")[2]))
        return answered.split(" ", 2)[1]

    def close(self) -> None:
        """Hang up."""
        if self.ends is not None:
            self.ends[1].close()


if __name__ == "__main__":
    main()
