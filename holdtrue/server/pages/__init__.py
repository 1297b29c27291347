"""Pages for people: a case officer's desk, and a validator's view of the promises; rendered by the service."""

from typing import Any

from holdtrue.server._access import Door
from holdtrue.server._applicants import Applicants
from holdtrue.server._bodies import Bodies
from holdtrue.server._service import Service
from holdtrue.server.pages._desk import desk_routes
from holdtrue.server.pages._evidence import evidence_routes
from holdtrue.server.pages._oversight import oversight_routes
from holdtrue.server.pages._pages import Pages
from holdtrue.server.pages._promised import promised_routes
from holdtrue.server.pages._way_in import way_in_routes

__all__ = ["add_pages"]


def add_pages(
    app: Any,
    service: Service,
    bodies: Bodies,
    door: Door,
    applicants: Applicants | None = None,
    *,
    show_protected: bool = False,
) -> None:
    """Give an application its pages."""
    pages = Pages(service, bodies, door, applicants, show_protected=show_protected)
    for routes in (way_in_routes, desk_routes, promised_routes, oversight_routes, evidence_routes):
        app.include_router(routes(pages), include_in_schema=False)
