"""Logging in and out, and the files that pages load."""

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from holdtrue.reports import STYLE
from holdtrue.server.pages._pages import HERE, SAFE, Pages

WRONG = "This is not a key that is known here. Keys begin with ht_ and are shown once, when they are made."


def way_in_routes(pages: Pages) -> APIRouter:
    """The first page, the login, and what all pages load."""
    router = APIRouter(route_class=pages.route())
    anybody = pages.form("officer", "validator")

    @router.get("/")
    async def first(request: Request) -> Response:
        session = pages.session(request)
        if session is None:
            return pages.ask_who(request)
        return RedirectResponse("/desk" if session.may("officer") else "/oversight", 303, headers=SAFE)

    @router.get("/login")
    async def ask(request: Request) -> Response:
        if pages.door.keys is None:
            return RedirectResponse("/", 303, headers=SAFE)
        return pages.show(request, "login.html", wrong=None)

    @router.post("/login")
    async def login(request: Request) -> Response:
        pages.door.pace_logins()
        given = dict(await pages.pairs(request)).get("key", "").strip()
        key = pages.door.find(given)
        if key is None:
            return pages.show(request, "login.html", 401, wrong=WRONG)
        request.scope["state"]["key"] = key.name
        token, _ = pages.sessions.begin(key)
        return pages.let_in(request, RedirectResponse("/", 303, headers=SAFE), token)

    @router.post("/logout")
    async def logout(request: Request, form: object = anybody) -> Response:
        name = pages.cookie(request)
        pages.sessions.end(request.cookies.get(name))
        response = RedirectResponse("/", 303, headers=SAFE)
        response.delete_cookie(name, path="/", secure=name.startswith("__Host-"), httponly=True, samesite="strict")
        return response

    @router.get("/static/page.css")
    async def style() -> Response:
        # The look of the reports that the gate and the audit write, and what a page needs beyond it.
        text = STYLE + "\n" + (HERE / "static" / "page.css").read_text(encoding="utf-8")
        return Response(text, media_type="text/css", headers=SAFE)

    @router.get("/static/page.js")
    async def script() -> Response:
        return pages.file("page.js", "text/javascript")

    @router.get("/static/icon.svg")
    async def icon() -> Response:
        return pages.file("icon.svg", "image/svg+xml")

    return router
