"""`holdtrue serve`: a model behind HTTP, and pages for those who work with it."""

import ipaddress
import logging
import sys
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import click

from holdtrue._cache import use_cache
from holdtrue._optional import need
from holdtrue.cli._console import say
from holdtrue.errors import DataError
from holdtrue.server import KeyRing, Quotas

DEFAULT = Quotas()


@click.command("serve")
@click.argument("model", metavar="MODEL")
@click.option("--ledger", "place", envvar="HOLDTRUE_LEDGER", show_envvar=True, metavar="PLACE",
              help="Where promises are kept: a SQLite file, or postgresql://user@host/database.")  # fmt: skip
@click.option("--keys", "keys", metavar="FILE", help="Who may ask; see `holdtrue keys add`.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option("--model-version", metavar="TEXT", help="Your own name for the model, for the records.")
@click.option("--gate-report", metavar="PLACE",
              help="The gate's last report: what `holdtrue gate --out FILE` wrote, or this service; or a folder "
              "with a report for each model version.")  # fmt: skip
@click.option("--train", metavar="TABLE",
              help="What the model learned from: it is trained again at the start, and every recourse is told "
              "with its chance to hold.")  # fmt: skip
@click.option("--target", metavar="COLUMN", help="The label column of --train.")
@click.option("--models", "n_models", type=click.IntRange(min=1), default=100, show_default=True, metavar="N",
              help="How often it is trained again.")  # fmt: skip
@click.option("--applicants", metavar="TABLE", help="People to pick from on the page; needs --subject.")
@click.option("--subject", metavar="COLUMN", help="The column of --applicants with your key for each person.")
@click.option("--show-protected", is_flag=True,
              help="Show the desk what the schema calls protected, and let it be edited there.")  # fmt: skip
@click.option("--letter-text", metavar="FILE", help="Your own Jinja2 template of letters as plain text.")
@click.option("--letter-html", metavar="FILE", help="Your own Jinja2 template of letters as pages.")
@click.option("--reference", metavar="TABLE",
              help="Rows that the model knows: refusals are then told with their main reasons.")  # fmt: skip
@click.option("--codes", metavar="FILE", help="With --reference: your table of reason codes.")
@click.option("--no-pages", is_flag=True, help="Only the interface for programs.")
@click.option("--deadline", type=float, default=DEFAULT.deadline, show_default=True, metavar="SECONDS",
              help="For requests that name none.")  # fmt: skip
@click.option("--options", type=click.IntRange(1, 10), default=DEFAULT.options, show_default=True,
              help="Most recourses per person that can be asked for.")  # fmt: skip
@click.option("--rate", type=float, default=DEFAULT.rate, show_default=True, metavar="N",
              help="Requests per second of one key, in the long run.")  # fmt: skip
@click.option("--queue", type=click.IntRange(min=1), default=DEFAULT.queue, show_default=True, metavar="N",
              help="People who may wait at once; more are answered 429.")  # fmt: skip
@click.option("--batch", type=click.IntRange(min=1), metavar="N",
              help="People who share a call.  [default: 16 for each core]")  # fmt: skip
@click.option("--max-body", type=click.IntRange(min=1), default=DEFAULT.body, show_default=True, metavar="BYTES",
              help="Of one request.")  # fmt: skip
def command(
    model: str, place: str | None, keys: str | None, host: str, port: int, model_version: str | None,
    gate_report: str | None, train: str | None, target: str | None, n_models: int, applicants: str | None,
    subject: str | None, show_protected: bool, letter_text: str | None, letter_html: str | None,
    reference: str | None, codes: str | None, no_pages: bool, deadline: float,
    options: int, rate: float, queue: int, batch: int | None, max_body: int,
) -> None:  # fmt: skip
    """Answer predictions, recourse and promises about MODEL over HTTP, and show pages for people.

    The port opens when everything that requests need is compiled. Without --keys everybody may ask, so that only
    this machine is listened to. The log, on standard error, holds neither addresses nor anything about people.
    Put a server that speaks TLS in front of it.

    A case officer's page and a validator's are at the address itself; people log in with their keys.

    \b
    holdtrue keys add keys.json --name branch-7 --role officer
    holdtrue serve loans.holdtrue --ledger promises.db --keys keys.json
    """
    if keys is None and not _is_here(host):
        raise DataError(
            f"serve: needs --keys to listen beyond this machine; got --host {host!r} and no keys. Make one with: "
            "holdtrue keys add FILE --name NAME --role officer"
        )
    _check_tables(train, target, applicants, subject)
    ring = None if keys is None else KeyRing(keys)
    quotas = Quotas(
        deadline=deadline, max_deadline=max(deadline, DEFAULT.max_deadline), options=options, rate=rate,
        burst=2 * rate, queue=queue, body=max_body,
    )  # fmt: skip
    check_uvicorn()
    from holdtrue.ledger import Ledger
    from holdtrue.promises import Stationery

    with ExitStack() as stack:
        ledger = None if place is None else stack.enter_context(Ledger(place))  # refused before jax is imported
        from holdtrue.cli._against_retrained import retrain_again, rows_to_learn
        from holdtrue.cli._model import applicants_of, load_model, reasoner_of
        from holdtrue.models import n_cores
        from holdtrue.server import Service, create_app

        use_cache()
        quotas = replace(quotas, batch=16 * n_cores() if batch is None else batch)
        classifier = load_model(model)
        reasoner = reasoner_of(classifier, reference, codes)
        people = None if applicants is None else applicants_of(applicants, str(subject), classifier)
        retrained = None
        if train is not None:
            # Another stream of seeds than that of a search, which may have drawn some of its own from 0.
            retrained = retrain_again(classifier, *rows_to_learn(classifier, train, target), n_models, 1)
        service = Service(
            classifier, ledger=ledger, quotas=quotas, model_version=model_version, gate_report=gate_report,
            retrained=retrained, stationery=Stationery(letter_text, letter_html),
            reasoner=reasoner,
        )  # fmt: skip
        app = create_app(service, ring, applicants=people, pages=not no_pages, show_protected=show_protected)
        say("Warming up." + ("" if ring else " No keys: everybody may ask."))
        listen(app, host, port, ready=f"http://{host}:{port} answers. Ctrl-C ends it.")


def check_uvicorn() -> None:
    """Refuse before anything is done where there is nothing to serve with."""
    need("uvicorn", extra="serve", what="serve:")


def listen(app: object, host: str, port: int, ready: str = "") -> None:
    """Serve until a signal ends it; say what is `ready` when the port is open."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, *args: Any, **settings: Any) -> None:
            await super().startup(*args, **settings)
            if self.started and ready:
                say(ready)

    _log()
    server = Server(_config(uvicorn, app, host, port))
    server.run()
    if not server.started:
        raise click.ClickException("serve: could not start; the port may be taken.")


def _check_tables(train: str | None, target: str | None, applicants: str | None, subject: str | None) -> None:
    from holdtrue.runs import DATASET

    if train is not None and target is None and not train.startswith(DATASET):
        raise DataError("--train: needs the label column; got no --target. Write --target COLUMN.")
    if applicants is not None and subject is None:
        raise DataError("--applicants: needs your key for each person; got no --subject. Name the column.")


def _config(uvicorn: Any, app: object, host: str, port: int) -> Any:
    from holdtrue.server import BACKLOG, MOST_HEAD, reader

    return uvicorn.Config(
        app,
        host=host,
        port=port,
        access_log=False,  # it would hold addresses
        log_config=None,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=30,
        ws="none",
        backlog=BACKLOG,
        http=reader(),
        h11_max_incomplete_event_size=MOST_HEAD,
    )


def _log() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name in ("holdtrue.server", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "holdtrue.server" else logging.WARNING)


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
