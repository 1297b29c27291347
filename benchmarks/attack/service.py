# ruff: noqa: E501  (requests are easier to read in long lines)
"""A service in a process of its own, attacked from outside: keys, bodies, lines, kills, and a long mixed load.

python -m benchmarks.attack.service [--minutes 30] [--rate 100] [--kills 20] [--parts roles,login,...] [--print]

- *roles*: every route of the interface and the pages, without a key, with a wrong one, and for each role: nobody
  comes further than they may, and nothing fails.
- *login*: wrong keys at the login, many at once: limited, and none let in. Forms without a token, or with that of
  another session: refused.
- *fuzz*: damaged bodies and odd headers: no answer of 500 and above.
- *lines*: connections that send nothing, half a head, or a head byte by byte, more than there is room for: the
  service answers others meanwhile.
- *told*: values of people are looked for in the log, the metrics and the texts of errors; every page has its headers.
- *kills*: SIGTERM and SIGKILL while promises are made; what was answered with 201 is in the ledger, once.
- *soak*: predictions, recourse, promises, pages and refusals for so many minutes; memory, open files and memory maps
  (of compiled programs) in the last quarter beside those in the second.

Each part that is done is a line of the file of counts, and is not done again. *wrong* counts what should not be; the
command ends with 1 where there is any.
"""

import argparse
import contextlib
import json
import random
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil

import holdtrue as ht
from benchmarks._common import RESULTS, record
from benchmarks.attack._damage import damaged, hostile
from benchmarks.attack._tally import by_code, code, read
from holdtrue.ledger import Ledger
from holdtrue.server import add_key
from holdtrue.server._access import LOGINS, LOGINS_AT_ONCE

ROLES = ("officer", "validator", "admin")
ALL = set(ROLES)
ROUTES: dict[tuple[str, str], set[str]] = {
    ("GET", "/metrics"): ALL - {"officer"},
    ("GET", "/openapi.json"): ALL,
    ("GET", "/v1/model"): ALL,
    ("POST", "/v1/predict"): ALL,
    ("POST", "/v1/recourse"): ALL,
    ("POST", "/v1/records"): ALL - {"validator"},
    ("GET", "/v1/records/0"): ALL,
    ("POST", "/v1/records/0/fulfil"): ALL - {"validator"},
    ("GET", "/v1/records/0/letter"): ALL - {"validator"},
    ("POST", "/v1/records/0/supersede"): ALL - {"validator"},
    ("POST", "/v1/ledger/expire"): ALL,
    ("POST", "/v1/ledger/forget"): {"admin"},
    ("GET", "/v1/ledger"): ALL - {"officer"},
    ("GET", "/v1/gate"): ALL - {"officer"},
    ("POST", "/v1/gate"): ALL - {"officer"},
}
PAGES = {
    "/desk": {"officer", "admin"},
    "/desk/promises": {"officer", "admin"},
    "/oversight": {"validator", "admin"},
}
SECRETS = (123.4567, 7654.321)  # values that stand nowhere else
HEADERS = {"cache-control": "no-store", "referrer-policy": "no-referrer", "x-frame-options": "DENY"}
SENDERS = 4
GROWTH = 0.05  # of memory, from the second quarter of a soak to the last; files and maps: a few


class Bench:
    """A model, keys and a ledger, and a service that can be started and ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        bank = ht.datasets.load("loanapp").subset(range(400))
        clf = ht.RecourseClassifier(
            schema=bank.schema, model=ht.Linear(), regime=ht.StandardTraining(n_epochs=30, class_weight="balanced"),
            method=ht.Wachter(n_steps=40, patience=10, random_state=0), hold=None, random_state=0,
        ).fit(bank.X, bank.y)  # fmt: skip
        clf.save(folder / "model.holdtrue")
        refused = bank.X[clf.predict(bank.X) == 0].astype(object)
        self.people = [{k: None if v != v else v for k, v in row.items()} for row in refused.to_dict("records")]
        self.keys = {role: add_key(folder / "keys.json", role, role) for role in ROLES}
        Ledger.create(folder / "promises.db").close()
        self.process: Any = None
        self.log = (folder / "log").open("ab")

    def start(self) -> None:
        """Until it answers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "holdtrue", "serve", self.folder / "model.holdtrue", "--port", self.port]
        command += [
            "--keys",
            self.folder / "keys.json",
            "--ledger",
            self.folder / "promises.db",
            "--rate",
            100_000,
        ]
        self.process = subprocess.Popen([str(part) for part in command], stderr=self.log, stdout=self.log)
        self.address = f"http://127.0.0.1:{self.port}"
        until = time.monotonic() + 400
        while not self.answers():
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError("the service did not start: " + (self.folder / "log").read_text()[-500:])
            time.sleep(0.3)

    def answers(self) -> bool:
        """Whether it says that it is well."""
        try:
            return httpx.get(f"{self.address}/health", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def end(self, how: int = signal.SIGTERM) -> None:
        """Send it a signal and wait."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(90)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def client(self, role: str | None = None, key: str | None = None) -> httpx.Client:
        """Somebody who asks, with the key of a role, another, or none."""
        key = self.keys[role] if role is not None else key
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=60)

    def page(self, role: str) -> httpx.Client:
        """Somebody who has logged in."""
        client = httpx.Client(base_url=self.address, timeout=60)
        assert client.post("/login", data={"key": self.keys[role]}).status_code == 303
        return client


def roles(bench: Bench, counts: Counter[str], rng: random.Random) -> None:
    """Every route for everybody."""
    strangers = {"no key": bench.client(), "wrong key": bench.client(key="ht_" + secrets.token_hex(32))}
    for (method, path), may in ROUTES.items():
        body = {"json": {}} if method == "POST" else {}
        for client in strangers.values():
            counts["cases"] += 1
            counts["wrong"] += client.request(method, path, **body).status_code != 401
        for role in ROLES:
            counts["cases"] += 1
            code = bench.client(role).request(method, path, **body).status_code
            counts["wrong"] += (code == 403) == (role in may) or code >= 500
    for path, may in PAGES.items():
        counts["cases"] += 1
        counts["wrong"] += bench.client().get(path).status_code not in (303, 401, 403)
        for role in ROLES:
            counts["cases"] += 1
            counts["wrong"] += (bench.page(role).get(path).status_code == 200) != (role in may)


def login(bench: Bench, counts: Counter[str], rng: random.Random, n: int = 1200) -> None:
    """Wrong keys, and forms of others."""
    desk, other = bench.page("officer"), bench.page("officer")
    token = re.search(r'name="csrf" value="([^"]+)"', other.get("/desk").text)
    for csrf in (None, "", "x", token[1] if token else "y"):
        for action in ("/desk/case", "/desk/confirm", "/desk/promise", "/logout"):
            counts["cases"] += 1
            data = {} if csrf is None else {"csrf": csrf}
            counts["wrong"] += desk.post(action, data=data | {"option": "0:"}).status_code not in (400, 403, 422)
    began = time.monotonic()
    codes: Counter[int] = Counter()
    with ThreadPoolExecutor(8) as pool:
        clients = [bench.client() for _ in range(8)]

        def guess(i: int) -> int:
            return clients[i % 8].post("/login", data={"key": secrets.token_hex(32)}).status_code

        codes.update(pool.map(guess, range(n)))
    most = LOGINS_AT_ONCE + LOGINS * (time.monotonic() - began) + 8
    counts["cases"] += n
    counts["limited"] += codes[429]
    counts["wrong"] += codes[303] + codes[200] + int(codes[401] > most)


def fuzz(bench: Bench, counts: Counter[str], rng: random.Random, n: int = 1500) -> None:
    """Bodies and headers that nobody should send."""
    officer = bench.client("admin")
    right = json.dumps({"people": bench.people[:2], "options": 2}).encode()
    promise = json.dumps({"subject": "somebody", "person": bench.people[0], "id": "0" * 32}).encode()
    for i in range(n):
        path, body = rng.choice(
            [
                ("/v1/predict", right),
                ("/v1/recourse", right),
                ("/v1/records", promise),
                ("/v1/ledger/forget", b'{"subject": "x"}'),
            ]
        )
        headers = {
            "Content-Type": rng.choice(("application/json", "application/json", "text/plain", "application/xml"))
        }
        if rng.random() < 0.2:
            headers[rng.choice(("Accept", "Host", "X-Forwarded-For", "Range", "Expect"))] = (
                hostile(rng).encode("ascii", "ignore").decode().translate(dict.fromkeys((*range(32), 127), 46))
            )
        if rng.random() < 0.1:
            path = "/v1/records/" + rng.choice(("0", "%00", "..%2f", "a" * 3000, "é", "{{7*7}}"))
        counts["cases"] += 1
        try:
            code = officer.post(path, content=damaged(body, rng), headers=headers).status_code
            counts["wrong"] += code >= 500
        except httpx.HTTPError:
            counts["hung up"] += 1
        if i % 300 == 0:
            counts["wrong"] += not bench.answers()


def lines(bench: Bench, counts: Counter[str], rng: random.Random) -> None:
    """Connections that never ask."""
    held = []
    head = f"POST /v1/recourse HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\nX-Long: {'x' * 50}".encode()
    for i in range(1500):
        try:
            line = socket.create_connection(("127.0.0.1", bench.port), timeout=10)
        except OSError:
            counts["not let in"] += 1
            continue
        line.setblocking(False)
        with contextlib.suppress(OSError):
            line.send(rng.choice((b"", b"G", head[: rng.randrange(1, len(head))], head + b"\r\n\r\n{")))
        held.append(line)
        counts["cases"] += 1
        if i % 250 == 249:
            time.sleep(2)
            counts["wrong"] += not any(bench.answers() for _ in range(12))
    for line in held:
        line.close()
    time.sleep(1)
    counts["wrong"] += not bench.answers()


def told(bench: Bench, counts: Counter[str], rng: random.Random) -> None:
    """What is said about people where nobody asked about them."""
    officer = bench.client("officer")
    person = bench.people[0] | {"price": SECRETS[0], "atotinc": SECRETS[1]}
    answers = [
        officer.post(f"/v1/recourse?price={SECRETS[0]}", json={"people": [person]}),
        officer.post("/v1/predict", json={"people": [person | {"cons": "secret-level"}]}),
        officer.post("/v1/records", json={"subject": "Jane Roe", "person": person}),
        officer.post(f"/v1/nothing/{SECRETS[0]}", json={"people": [person]}),
        bench.client().post("/v1/recourse", json={"people": [person]}),
    ]
    errors = " ".join(a.text for a in answers if a.status_code in (401, 404, 500))
    said = errors + bench.client("admin").get("/metrics").text
    bench.log.flush()
    said += (bench.folder / "log").read_text(encoding="utf-8", errors="replace")
    for secret in (*map(str, SECRETS), "secret-level", "Jane Roe", "Traceback", *bench.keys.values()):
        counts["cases"] += 1
        counts["wrong"] += secret in said
    desk = bench.page("officer")
    for path in ("/login", "/desk", "/desk/promises", "/desk/99999"):
        page = desk.get(path)
        counts["cases"] += 1
        policy = page.headers.get("content-security-policy", "")
        counts["wrong"] += "default-src 'none'" not in policy or "unsafe" in policy
        counts["wrong"] += any(page.headers.get(name) != value for name, value in HEADERS.items())


def kills(bench: Bench, counts: Counter[str], rng: random.Random, n: int) -> None:
    """Ended while promises are made."""
    answered: list[str] = []
    for i in range(n):
        stop = threading.Event()

        def work(stop: threading.Event = stop) -> None:
            with bench.client("officer") as client:
                while not stop.is_set():
                    id, person = secrets.token_hex(16), rng.choice(bench.people)
                    try:
                        answer = client.post(
                            "/v1/records", json={"subject": f"person {id}", "person": person, "id": id}
                        )
                        if answer.status_code == 201:
                            answered.append(id)
                    except httpx.HTTPError:
                        return

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(rng.uniform(0.3, 2.5))
        bench.end(signal.SIGTERM if i % 2 else signal.SIGKILL)
        stop.set()
        for thread in threads:
            thread.join()
        counts["cases"] += 1
        bench.start()
    with Ledger(bench.folder / "promises.db") as ledger:
        there = Counter(p.id for batch in ledger.live() for p in batch)
        counts["promises"] += len(answered)
        counts["lost"] += len(set(answered) - set(there))
        counts["doubled"] += sum(there.values()) - len(there)
        counts["wrong"] += counts["lost"] + counts["doubled"] + (not ledger.verify().ok)


def soak(
    bench: Bench, counts: Counter[str], rng: random.Random, minutes: float, rate: float = 100.0
) -> dict[str, Any]:
    """Mixed load, at most so many requests a second; what grows."""
    began = time.monotonic()
    until = began + 60 * minutes
    process = psutil.Process(bench.process.pid)
    seen: list[tuple[float, int, int]] = []
    lock = threading.Lock()

    def work(seed: int) -> None:
        mine = random.Random(seed)
        clients = {role: bench.client(role) for role in ROLES} | {None: bench.client()}
        desk = bench.page("officer")
        due = began
        while (now := time.monotonic()) < until:
            due = max(due + SENDERS / rate, now - 1)  # who fell behind does not send all of it at once
            time.sleep(max(0.0, due - now))
            what, some = mine.random(), mine.sample(bench.people, mine.randrange(1, 4))
            try:
                if what < 0.3:
                    code = clients["officer"].post("/v1/predict", json={"people": some}).status_code
                elif what < 0.6:
                    options = {"options": mine.randrange(1, 3)}
                    code = clients["officer"].post("/v1/recourse", json={"people": some} | options).status_code
                elif what < 0.75:
                    body = {"subject": f"person {mine.random()}", "person": some[0]}
                    code = clients["officer"].post("/v1/records", json=body).status_code
                elif what < 0.85:
                    code = desk.get("/desk").status_code
                elif what < 0.93:
                    content = damaged(json.dumps({"people": some}).encode(), mine)
                    code = clients["officer"].post("/v1/predict", content=content).status_code
                else:
                    code = clients[mine.choice(["admin", "validator", None])].get("/metrics").status_code
            except httpx.HTTPError:
                code = 599
            with lock:
                counts["cases"] += 1
                counts["wrong"] += code >= 500

    threads = [threading.Thread(target=work, args=(i,)) for i in range(SENDERS)]
    for thread in threads:
        thread.start()
    while time.monotonic() < until:
        maps = len(Path(f"/proc/{process.pid}/maps").read_text().splitlines())
        seen.append((process.memory_info().rss / 1e6, process.num_fds(), maps))
        time.sleep(2)
    for thread in threads:
        thread.join()
    quarter = max(1, len(seen) // 4)

    def mean(part: list[tuple[float, int, int]]) -> list[float]:
        return [round(sum(x[i] for x in part) / len(part), 1) for i in range(3)]

    early, late = mean(seen[quarter : 2 * quarter] or seen), mean(seen[-quarter:])
    counts["wrong"] += late[0] > early[0] * (1 + GROWTH)
    counts["wrong"] += late[1] > early[1] + 10
    counts["wrong"] += late[2] > early[2] * (1 + GROWTH) + 50
    names = ("memory_mb", "open_files", "memory_maps")
    told = {
        f"{name}, {when}": value
        for when, part in (("second quarter", early), ("last quarter", late))
        for name, value in zip(names, part, strict=True)
    }
    return {"minutes": minutes, "rate": rate, **told}


PARTS: dict[str, Callable[..., Any]] = {
    "roles": roles, "login": login, "fuzz": fuzz, "lines": lines, "told": told, "kills": kills, "soak": soak,
}  # fmt: skip


def main() -> None:
    """Attack, part by part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30, help="Of the soak.")
    parser.add_argument("--rate", type=float, default=100, help="Of the soak: requests a second, at most.")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--again", action="store_true", help="Do parts again that were done.")
    parser.add_argument("--to", type=Path, default=RESULTS / "attack" / "service.jsonl")
    parser.add_argument("--print", action="store_true", dest="show", help="Print only; write nothing.")
    options = parser.parse_args()
    made = [] if options.show else read(options.to)
    label = code()  # now: while it runs, somebody may go on
    done = set() if options.again else {line["part"] for line in made}
    parts = [p for p in options.parts.split(",") if p not in done]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder)) if parts else None
        for part in parts:
            assert bench is not None
            bench.start()
            counts: Counter[str] = Counter(cases=0, wrong=0)
            more = {"kills": {"n": options.kills}, "soak": {"minutes": options.minutes, "rate": options.rate}}.get(
                part, {}
            )
            try:
                extra = PARTS[part](bench, counts, random.Random(part), **more) or {}
            finally:
                bench.end()
            line = {"part": part, **counts, **extra, "code": label}
            print(json.dumps(line), flush=True)
            made.append(line)
            if not options.show:
                options.to.parent.mkdir(parents=True, exist_ok=True)
                with options.to.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(line) + "\n")
                made = read(options.to)  # another process may have done another part meanwhile
    made = list({line["part"]: line for line in made}.values())  # of a part that was done again, the last
    told = {"cases": sum(x["cases"] for x in made), "wrong": sum(x["wrong"] for x in made)}
    told |= {"codes": by_code(made), "parts": made}
    if not options.show:
        record(options.to.stem, "python -m benchmarks.attack.service", told, folder=options.to.parent, shown=False)
    print(f"WRONG: {told['wrong']}" if told["wrong"] else "Nothing is wrong.")
    sys.exit(1 if told["wrong"] else 0)


if __name__ == "__main__":
    main()
