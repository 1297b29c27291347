"""What all pages share: templates, sessions, forms, and headers that keep a browser from running anything else."""

from collections.abc import Callable, Coroutine
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse

from holdtrue.errors import HoldtrueError
from holdtrue.server._access import ANYBODY, Door
from holdtrue.server._answers import reason_of, status_of
from holdtrue.server._applicants import Applicants
from holdtrue.server._bodies import Bodies
from holdtrue.server._middleware import Refused
from holdtrue.server._service import Service
from holdtrue.server.pages._session import Session, Sessions
from holdtrue.server.pages._show import FILTERS

HERE = Path(__file__).parent
CSP = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SAFE = {
    "Content-Security-Policy": CSP,
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LOCAL = ("localhost", "127.0.0.1", "[::1]")
FIELDS = 3000  # of one form


@cache
def _templates() -> Environment:
    """The pages' templates, which no application changes; compiled at once, so that nobody waits for it later."""
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= FILTERS
    for name in templates.list_templates():
        templates.get_template(name)
    return templates


class NotLoggedIn(Exception):
    """Somebody who has to show a key first."""


class Form:
    """What a form sent, whose session it belongs to checked already."""

    def __init__(self, session: Session | None, pairs: list[tuple[str, str]]) -> None:
        self.session, self.pairs = session, pairs

    def text(self, name: str, default: str = "") -> str:
        """The last value of a field."""
        return next((value for key, value in reversed(self.pairs) if key == name), default)

    def all(self, name: str) -> list[str]:
        """All values of a field."""
        return [value for key, value in self.pairs if key == name]


class Pages:
    """Templates, sessions, and who may see what.

    Parameters
    ----------
    service : Service
    bodies : Bodies
    door : Door
    applicants : Applicants, optional
    show_protected : bool, default=False
        Whether the desk shows what the schema calls `protected`.
    """

    def __init__(
        self, service: Service, bodies: Bodies, door: Door, applicants: Applicants | None, *,
        show_protected: bool = False,
    ) -> None:  # fmt: skip
        self.service, self.bodies, self.door, self.applicants = service, bodies, door, applicants
        features = [] if show_protected else list(enumerate(service.schema))
        self.hidden = frozenset(i for i, feature in features if feature.protected)
        self.sessions = Sessions()
        door.by_cookie = lambda request: self.session(request) is not None
        self.templates = _templates()

    # ---- answers --------------------------------------------------------------------------------------

    def show(self, request: Request, name: str, status: int = 200, **values: object) -> Response:
        """A page."""
        shared = {
            "session": self.session(request),
            "model_version": self.service.model_version,
            "digest": self.service.digest,
            "open_door": self.door.keys is None,
            "keeps_promises": self.service.ledger is not None,
            "path": request.url.path,
        }
        text = self.templates.get_template(name).render(**(shared | values))
        return HTMLResponse(text, status, headers=SAFE)

    def file(self, name: str, kind: str) -> Response:
        """A stylesheet, a script or a picture."""
        return Response((HERE / "static" / name).read_bytes(), media_type=kind, headers=SAFE)

    def route(self) -> type[APIRoute]:
        """Routes whose refusals are pages too."""
        pages = self

        class PageRoute(APIRoute):
            """A route that answers with a page."""

            def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
                """Turn refusals into pages."""
                handle = super().get_route_handler()

                async def page(request: Request) -> Response:
                    try:
                        return await handle(request)
                    except NotLoggedIn:
                        return pages.ask_who(request)
                    except RequestValidationError:  # an address that somebody wrote by hand
                        return pages.refusal(request, HTTPException(404, "page: there is no such page."))
                    except (HTTPException, Refused, HoldtrueError) as error:
                        return pages.refusal(request, error)

                return page

        return PageRoute

    def ask_who(self, request: Request) -> Response:
        """Send somebody to the login; or, where there are no keys, let them in as everybody."""
        if self.door.keys is not None:
            return RedirectResponse("/login", 303, headers=SAFE)
        token, _ = self.sessions.begin(ANYBODY)
        where = request.url.path if request.method == "GET" else "/"
        return self.let_in(request, RedirectResponse(where, 303, headers=SAFE), token)

    def refusal(self, request: Request, error: HTTPException | Refused | HoldtrueError) -> Response:
        """A page that says why not."""
        if isinstance(error, HTTPException):
            status, text = error.status_code, str(error.detail)
        elif isinstance(error, Refused):
            status, text = error.status, error.reason
        else:
            status, text = status_of(error), reason_of(error)
        return self.show(request, "refused.html", status, text=_to_people(text), code=status)

    # ---- who -------------------------------------------------------------------------------------------

    def cookie(self, request: Request) -> str:
        """The cookie's name: one that a browser takes over TLS only, unless this machine itself is asked."""
        return "holdtrue" if _is_local(request) else "__Host-holdtrue"

    def session(self, request: Request) -> Session | None:
        """Who asks; None where their session has ended or their key was taken back."""
        found = self.sessions.find(request.cookies.get(self.cookie(request)))
        return found if found is not None and self.door.knows(found.key) else None

    def let_in(self, request: Request, response: Response, token: str) -> Response:
        """Give somebody their cookie."""
        response.set_cookie(
            self.cookie(request), token, max_age=int(self.sessions.seconds), path="/", httponly=True,
            secure=not _is_local(request), samesite="strict",
        )  # fmt: skip
        return response

    def of(self, *roles: str) -> Any:
        """A dependency: the session of somebody whose role is among these."""

        async def check(request: Request) -> Session:
            session = self.session(request)
            if session is None:
                raise NotLoggedIn
            self.door.admit(request, session.key, roles)
            return session

        return Depends(check)

    def form(self, *roles: str) -> Any:
        """A dependency: a form that somebody of these roles sent from a page of ours."""

        async def check(request: Request) -> Form:
            session = self.session(request)
            if session is None:
                raise NotLoggedIn
            self.door.admit(request, session.key, roles)
            form = Form(session, await self.pairs(request))
            if not session.sent(form.text("csrf")):
                raise HTTPException(403, "page: this form is not one of yours. Load the page again, and send it.")
            return form

        return Depends(check)

    async def pairs(self, request: Request) -> list[tuple[str, str]]:
        """What a form of this site sent."""
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise HTTPException(403, "page: forms of other sites are not taken.")
        kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            raise HTTPException(415, "page: takes forms only. Programs ask /v1.")
        try:
            text = (await request.body()).decode("ascii")
            return parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS, errors="strict")
        except ValueError as error:
            raise HTTPException(400, "page: the form cannot be read.") from error


def _to_people(text: str) -> str:
    """A refusal without the name of the part that refused, which tells people nothing."""
    for where in ("page: ", "service: "):
        text = text.removeprefix(where)
    return text[:1].upper() + text[1:]


def _is_local(request: Request) -> bool:
    host = request.headers.get("host", "")
    return host.rsplit(":", 1)[0] in LOCAL if not host.endswith("]") else host in LOCAL
