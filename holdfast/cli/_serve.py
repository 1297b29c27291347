"""`holdfast serve`: a model behind HTTP."""

import ipaddress
import logging
import sys
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import click

from holdfast.cli._cache import use_cache
from holdfast.cli._console import say
from holdfast.errors import DataError, MissingDependencyError
from holdfast.server import KeyRing, Limits

DEFAULT = Limits()


@click.command("serve")
@click.argument("model", metavar="MODEL")
@click.option("--ledger", "place", envvar="HOLDFAST_LEDGER", show_envvar=True, metavar="PLACE",
              help="Where promises are kept: a SQLite file, or postgresql://user@host/database.")  # fmt: skip
@click.option("--keys", "keys", metavar="FILE", help="Who may ask; see `holdfast keys add`.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option("--model-version", metavar="TEXT", help="Your own name for the model, for the records.")
@click.option("--gate-report", metavar="FILE",
              help="The gate's last report: what `holdfast gate --out FILE` wrote, or this service.")  # fmt: skip
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
    gate_report: str | None, deadline: float, options: int, rate: float, queue: int, batch: int | None,
    max_body: int,
) -> None:  # fmt: skip
    """Answer predictions, recourse and promises about MODEL over HTTP.

    The port opens when everything that requests need is compiled. Without --keys everybody may ask, so that only
    this machine is listened to. The log, on standard error, holds neither addresses nor anything about people.
    Put a server that speaks TLS in front of it.

    \b
    holdfast keys add keys.json --name branch-7 --role officer
    holdfast serve loans.holdfast --ledger promises.db --keys keys.json
    """
    if keys is None and not _is_here(host):
        raise DataError(
            f"serve: needs --keys to listen beyond this machine; got --host {host!r} and no keys. Make one with: "
            "holdfast keys add FILE --name NAME --role officer"
        )
    ring = None if keys is None else KeyRing(keys)
    limits = Limits(
        deadline=deadline, max_deadline=max(deadline, DEFAULT.max_deadline), options=options, rate=rate,
        burst=2 * rate, queue=queue, body=max_body,
    )  # fmt: skip
    try:
        import uvicorn
    except ImportError as error:
        raise MissingDependencyError(
            "serve: needs fastapi and uvicorn. Install them with: pip install 'holdfast[serve]'"
        ) from error
    from holdfast.ledger import Ledger

    with ExitStack() as stack:
        ledger = None if place is None else stack.enter_context(Ledger(place))  # refused before jax is imported
        from holdfast.cli._model import load_model
        from holdfast.models import n_cores
        from holdfast.server import Service, create_app

        use_cache()
        limits = replace(limits, batch=16 * n_cores() if batch is None else batch)
        service = Service(
            load_model(model), ledger=ledger, limits=limits, model_version=model_version, gate_report=gate_report
        )
        app = create_app(service, ring)
        _log()
        say(f"Warming up; then http://{host}:{port} answers." + ("" if ring else " No keys: everybody may ask."))
        server = uvicorn.Server(_config(uvicorn, app, host, port))
        server.run()
        if not server.started:
            raise click.ClickException("serve: could not start; the port may be taken.")


def _config(uvicorn: Any, app: Any, host: str, port: int) -> Any:
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
        h11_max_incomplete_event_size=16_384,
    )


def _log() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name in ("holdfast.server", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "holdfast.server" else logging.WARNING)


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
