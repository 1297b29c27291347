"""A service in this process, attacked; `benchmarks.attack.service` starts one of its own, and kills it."""

import logging
import random
import warnings
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: it is part of the serve extra")

from benchmarks.attack import service
from holdtrue.classifier import load
from holdtrue.ledger import Ledger
from holdtrue.server import KeyRing, Quotas, Service, create_app

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer ones want the successor of httpx, older ones do not know it
    from fastapi.testclient import TestClient


class Here(service.Bench):
    """The same model, keys and ledger, behind an application in this process."""

    def start(self) -> None:
        quotas = Quotas(batch=8, options=2, rate=1e5, deadline=60, max_deadline=120)
        self.ledger = Ledger(self.folder / "promises.db")
        served = Service(load(self.folder / "model.holdtrue"), ledger=self.ledger, quotas=quotas)
        self.app = create_app(served, KeyRing(self.folder / "keys.json"))
        self.alive = TestClient(self.app)
        self.alive.__enter__()  # which warms it

    def end(self, how: int = 0) -> None:
        self.alive.__exit__(None, None, None)
        self.ledger.close()
        self.log.close()

    def answers(self) -> bool:
        return self.alive.get("/health").status_code == 200

    def client(self, role: str | None = None, key: str | None = None) -> Any:
        key = self.keys[role] if role is not None else key
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return TestClient(self.app, headers=headers, raise_server_exceptions=False, follow_redirects=False)

    def page(self, role: str) -> Any:
        client = TestClient(self.app, base_url="http://localhost", follow_redirects=False)
        assert client.post("/login", data={"key": self.keys[role]}).status_code == 303
        return client


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    made = Here(tmp_path_factory.mktemp("attacked"))
    handler, log = logging.FileHandler(made.folder / "log"), logging.getLogger("holdtrue.server")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    made.start()
    yield made
    made.end()
    log.removeHandler(handler)
    handler.close()
    log.setLevel(logging.NOTSET)


@pytest.mark.parametrize(
    ("part", "more", "least"),
    [("roles", {}, 80), ("fuzz", {"n": 60}, 60), ("told", {}, 12), ("login", {"n": 150}, 150)],
)
def test_nobody_comes_further_than_they_may_and_nothing_fails(bench, part, more, least) -> None:
    counts: Counter[str] = Counter(cases=0, wrong=0)
    service.PARTS[part](bench, counts, random.Random(part), **more)
    assert counts["wrong"] == 0, counts
    assert counts["cases"] >= least
