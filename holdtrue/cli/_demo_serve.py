"""`holdtrue demo --serve`: the demo's model behind its pages, with promises made and models held against them."""

import tempfile
from pathlib import Path
from typing import Any

from holdtrue._cache import use_cache
from holdtrue._types import Keywords
from holdtrue.cli._console import Interrupted, interruptible, say
from holdtrue.cli._serve import check_uvicorn, listen

HOST = "127.0.0.1"
VERSION = "demo 1"
PROMISED = 80  # people
RETURNED = 12  # of them, who came back
DAYS = 90
# Models that could come next: one that only goes on learning, one without a single row, two of resampled rows.
NEXT = (("finetune", 1, "fine-tuned"), ("leave_one_out", 1, "one row less"), ("bootstrap", 2, "resampled rows"))


def serve_demo(n_models: int, port: int, seed: int) -> None:
    """Train, promise, gate, and serve until Ctrl-C; everything is kept in a folder that is gone afterwards."""
    check_uvicorn()
    use_cache()
    from holdtrue.server import KeyRing, add_key, create_app

    with tempfile.TemporaryDirectory(prefix="holdtrue-demo-") as name:
        folder = Path(name)
        service, applicants = seeded(folder, n_models, seed)
        token = add_key(folder / "keys.json", "demo", "admin")
        app = create_app(service, KeyRing(folder / "keys.json"), applicants=applicants)
        say("Compiling what the pages need, so that nobody waits for it later.")
        try:
            interruptible(service.warm)
        except KeyboardInterrupt as error:
            raise Interrupted("Interrupted. Nothing was served.") from error
        say(f"\n  http://{HOST}:{port}/login#key={token}\n")
        say(f"Open this address; or go to http://{HOST}:{port} and log in with this key, good for this run:")
        say(f"  {token}\nCtrl-C ends it; the demo's ledger is gone then.\n")
        try:
            listen(app, HOST, port)
        except KeyboardInterrupt:
            say("Ended.")
        finally:
            service.ledger.close()


def seeded(folder: Path, n_models: int, seed: int) -> tuple[Any, Any]:
    """A service with promises in its ledger and reports of the gate, and people to pick from."""
    import holdtrue as ht
    from holdtrue.attribution import Reasoner
    from holdtrue.cli._against_retrained import retrain_again
    from holdtrue.cli._demo import data, fitted
    from holdtrue.models import n_cores
    from holdtrue.server import Applicants, Quotas, Service

    bank, train, _ = data(seed)
    classifier = fitted(bank, train, seed)
    retrained = retrain_again(classifier, train.X, train.y, n_models, seed + 1, vary="anew")
    refused = bank.X[classifier.predict(bank.X) != bank.favourable]
    plan = classifier.recourse(refused[:PROMISED])
    method = classifier.method_
    assert isinstance(method, ht.Holding)  # the default has guides
    reasoner = Reasoner(classifier.predictor_, train.X, guides=method.guides_)
    keys = [_key(number) for number in refused.index[:PROMISED]]
    life = ht.shelf_life(plan, against=retrained)
    ledger = ht.Ledger.create(folder / "promises.db")
    terms: Keywords = {"valid_for": DAYS, "model_version": VERSION, "life": life}
    told = plan.with_recourse(reasoner.of(plan.factual, plan.target))
    promised = ht.promise(plan, keys, ledger, only_holding=True, reasons=told, **terms)
    gates = folder / "gates"
    gates.mkdir()
    first = None
    for vary, n, name in NEXT:
        models = retrain_again(classifier, train.X, train.y, n, seed + 2, vary=vary)
        for i in range(n):
            model = models.member(i)
            first = first or model
            title = f"{name} {i + 1}" if n > 1 else name
            ht.gate(model, ledger, max_broken=0.2, group="male", alternatives=0).write(gates / f"{title}.json")
    _come_back(promised[:RETURNED], ledger, first, classifier)
    applicants = Applicants(bank.X, [_key(number) for number in bank.X.index], classifier.schema_)
    quotas = Quotas(batch=16 * n_cores(), deadline=20.0, max_deadline=60.0)
    service = Service(
        classifier, ledger=ledger, quotas=quotas, model_version=VERSION, gate_report=gates, retrained=retrained,
        reasoner=reasoner,
    )  # fmt: skip
    return service, applicants


def _come_back(records: Any, ledger: Any, model: Any, classifier: Any) -> None:
    """Some people do as they were told and return, to the first of the next models."""
    from holdtrue.classifier import table_of

    table = table_of([record.recourse for record in records], classifier.schema_, where="demo")
    decided = model.classes[model.decide(table)].tolist()
    for record, decision in zip(records, decided, strict=True):
        ledger.fulfil(record.id, decision=decision, actual=record.recourse)


def _key(number: object) -> str:
    return f"application {number}"
