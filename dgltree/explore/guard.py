"""Checks of a request before anything reads it, and headers that tell the browser what to refuse."""

from collections.abc import Collection
from hmac import compare_digest

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "font-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",  # a text that is put in as HTML is an error in the browser
        "trusted-types 'none'",
    ]
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


OPENED = """<!doctype html><meta charset="utf-8"><title>dgltree</title><link rel="icon" href="data:,">
<meta http-equiv="refresh" content="0; url=/"><a href="/">dgltree</a>
"""
"""For a browser that comes from another page, such as the file that opens it: after a redirect it sends no cookie."""


class Guard:
    """Refuses what another site's page, a name that leads here, or another user of the machine could have sent.

    A client that sends the token in the address gets it as a cookie, and is redirected to the address without it.

    Args:
        app: what answers the others.
        hosts: the values allowed in ``Host``, and after ``http://`` in ``Origin``.
        token: that the browser must have.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], token: str) -> None:
        self.app, self.hosts, self.token = app, frozenset(hosts), token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        unread = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers

        async def receive_noted() -> Message:
            nonlocal unread
            message = await receive()
            unread = unread and bool(message.get("more_body", False))
            return message

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                closing = {"connection": "close"} if unread else {}  # or what is left of the request is read for ever
                MutableHeaders(scope=message).update({**HEADERS, **closing})
            await send(message)

        app = self._own_answer(request) or self.app
        await app(scope, receive_noted, send_guarded)

    def _own_answer(self, request: Request) -> Response | None:
        """A refusal, or the cookie; None for what the application answers."""
        headers = request.headers
        if headers.getlist("host") not in [[host] for host in self.hosts]:
            return _refused("this server answers to its own address alone")
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return _refused("this server answers to its own page alone")
        cookie = f"dgltree-{headers['host'].rpartition(':')[2]}"  # a browser has one for all ports of a machine
        other = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        if request.url.path == "/" and self._is_token(request.query_params.get("token")):
            answer = HTMLResponse(OPENED) if other else RedirectResponse("/", 303)
            answer.set_cookie(cookie, self.token, httponly=True, samesite="strict")
            return answer
        if other:
            return _refused("this server answers to its own page alone")
        if not self._is_token(request.cookies.get(cookie)):
            return _refused(
                "this page is open to those alone who have its address with the token, as the terminal shows it"
            )
        return None

    def _is_token(self, given: str | None) -> bool:
        return given is not None and compare_digest(given.encode(), self.token.encode())


def _refused(why: str) -> Response:
    return PlainTextResponse(why, 403)
