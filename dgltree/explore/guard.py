"""What a request must be before anything looks at it, and what every answer tells the browser to refuse."""

from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
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


class Guard:
    """Refuses requests that another site's page, or a name that leads here, could have sent.

    Args:
        app: what answers the others.
        hosts: what may stand in ``Host``, and behind ``http://`` in ``Origin``.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self.app, self.hosts = app, frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = self._refusal(Headers(scope=scope))
        app = self.app if refused is None else PlainTextResponse(refused, 403)
        await app(scope, receive, send_guarded)

    def _refusal(self, headers: Headers) -> str | None:
        if headers.getlist("host") not in [[host] for host in self.hosts]:
            return "this server answers to its own address alone"
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return "this server answers to its own page alone"
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return "this server answers to its own page alone"
        return None
