"""The page is served on this machine alone, until it is interrupted: its files, and the rooms' answers as JSON.

A request is checked before anything reads it: it has the token, the page's own origin and a size that is read. A
connection that says nothing is closed, and never keeps another one out.
"""

import asyncio
import logging
import secrets
import socket
import webbrowser
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from hmac import compare_digest
from importlib.resources import files
from json import JSONDecodeError, loads
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from dgltree.explore.batch_room import BatchesRoom
from dgltree.explore.endpoint import Endpoint, GoneError, JudgingError, JudgingProcesses, TurnedAwayError, Worker
from dgltree.explore.equation_room import EquationsRoom
from dgltree.explore.open_models import Opened, title
from dgltree.explore.request_fields import RequestFields
from dgltree.explore.sequence_room import SequencesRoom
from dgltree.explore.tree_room import OwnTreesRoom
from dgltree.read.json_text import write_json

ADDRESS = "127.0.0.1"
PORT = 8723
LAUNCHER = """<!doctype html><meta charset="utf-8"><title>dgltree</title>
<meta http-equiv="refresh" content="0; url={page}"><a href="{page}">dgltree</a>
"""
OPENED = """<!doctype html><meta charset="utf-8"><title>dgltree</title><link rel="icon" href="data:,">
<meta http-equiv="refresh" content="0; url=/"><a href="/">dgltree</a>
"""
"""The page for a browser that comes from another one, such as the file that opens it: after a redirect it sends no
cookie."""
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
STATIC = Path(str(files("dgltree"))) / "explore" / "static"
MAX_REQUEST_BYTES = 64 * 1024
"""Bytes of a request."""
TOO_LARGE = f"the request has more than {MAX_REQUEST_BYTES // 1024} KB"
READ_TO_THE_END = 32 * 1024 * 1024
"""Bytes of a request that is too large which are still taken, and dropped, so that the browser reads the answer."""
SLOWEST = 10.0
"""Seconds for a request, or for its first lines, to arrive."""
MOST_AT_ONCE = 256
"""Connections; a browser opens six. Of more, those that wait for their clients make room, and of twice as many the
last ones get 503: a process may have 1,024 open files."""
MOMENT = 0.05
"""Seconds after which room is made: what a client has sent by then is read, and it is not let go."""
MIN_COMPRESSED_BYTES = 1024
"""Bytes of an answer that is worth compressing."""
SECONDS = {
    "read": 10.0,
    "rank": 20.0,
    "look": 20.0,
    "time": 20.0,
    "trees": 60.0,
    "explain": 60.0,
    "map": 300.0,
}
"""The workers, how long a request may wait for each, and how long its work may take then."""
JUDGING = 30.0
"""Seconds that a process that judges may take."""
OURS = "dgltree failed; the terminal shows the error"
GONE = 499
"""The status for a client that no longer listens; nobody reads it."""
LOG = logging.getLogger("uvicorn.error")


def serve(opened: Opened, port: int | None, browser: bool) -> None:
    """Serve the page, and open a browser on it.

    Args:
        opened: the models.
        port: 0 for any; None: ``PORT``, or any if that is taken.
        browser: whether to open one.

    Raises ``OSError`` for a port that is taken.
    """
    listening = _bound(port)
    number = listening.getsockname()[1]
    hosts = [f"{name}:{number}" for name in (ADDRESS, "localhost")]
    token = secrets.token_urlsafe(24)
    page = f"http://{hosts[0]}/?token={token}"
    app = make_app(opened, hosts, token)
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=2 * MOST_AT_ONCE,
        timeout_graceful_shutdown=1,
    )
    with _launcher(page) as file:
        _Server(config, page, file if browser else None, app.state.end).run(sockets=[listening])


def _bound(port: int | None) -> socket.socket:
    if port is None:
        try:
            return _bound(PORT)
        except OSError:
            return _bound(0)
    # asyncio sends small answers at once only if the protocol is named; else each waits 40 ms
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((ADDRESS, port))
    except OSError as error:
        made.close()
        raise OSError(
            f"port {port} cannot be used ({error.strerror}); give another --port, or 0 for any free port"
        ) from None
    return made


@contextmanager
def _launcher(page: str) -> Iterator[Path]:
    """A file of this user alone that leads to the page: the command line of a browser is for all to read."""
    with TemporaryDirectory(prefix="dgltree-") as folder:
        file = Path(folder) / "open.html"
        file.write_text(LAUNCHER.format(page=page), encoding="utf-8")
        yield file


class _Server(uvicorn.Server):
    """Says where the page is once it is there, and ends what is being answered before it waits for answers."""

    def __init__(self, config: uvicorn.Config, page: str, launcher: Path | None, end: Callable[[], None]) -> None:
        super().__init__(config)
        self.page = page
        self.launcher = launcher
        self.end = end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.end()
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(f"{self.page}  (Ctrl-C ends it)", flush=True)
        if self.launcher is not None:
            Thread(target=webbrowser.open, args=(self.launcher.as_uri(),), daemon=True).start()


def make_app(opened: Opened, hosts: Collection[str], token: str) -> Starlette:
    """The application for the models that were opened.

    Args:
        opened: by :func:`dgltree.explore.open_models.open_all`.
        hosts: by which it may be called, such as ``127.0.0.1:8723``.
        token: of those who may ask it.
    """
    workers = {name: Worker(name, seconds) for name, seconds in SECONDS.items()}
    processes = JudgingProcesses(JUDGING)
    equations = EquationsRoom(opened)
    sequences = SequencesRoom(opened)
    own_trees = OwnTreesRoom(opened)
    endpoints = [endpoint for room in (equations, sequences, own_trees, BatchesRoom()) for endpoint in room.endpoints()]
    there = {
        "equations": [{"name": name, "title": title(name, model)} for name, model in opened.equations.items()],
        "sequences": sequences.about(),
        "trees": list(opened.own_trees),
    }

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        for endpoint in endpoints:
            if endpoint.first is not None:
                workers[endpoint.worker].begin(endpoint.first)
        await processes.prepare()
        yield
        end()
        await processes.close()

    def end() -> None:
        for each in (processes, *workers.values()):
            each.end()

    async def index(_: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def models(_: Request) -> Response:
        return _json(there)

    routes = [
        Route("/", index),
        Route("/api/models", models),
        *(_route(endpoint, workers.get(endpoint.worker), processes) for endpoint in endpoints),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    app = Starlette(routes=routes, lifespan=running)
    app.state.end = end
    app.add_middleware(GZipMiddleware, minimum_size=MIN_COMPRESSED_BYTES, compresslevel=9)
    app.add_middleware(Guard, hosts=hosts, token=token)
    return app


def _route(endpoint: Endpoint, worker: Worker | None, processes: JudgingProcesses) -> Route:
    async def handle(request: Request) -> Response:
        try:
            fields = await _body(request)
            asked = RequestFields(fields)
            if endpoint.streams:
                return _streamed(processes.pieces(endpoint.judging, fields))
            said = await processes.run(request, endpoint.judging, fields) if endpoint.judging else {}
            if worker is None:
                return _json(said)
            if endpoint.stream is not None:
                return _streamed(worker.stream(partial(endpoint.stream, asked)))
            assert endpoint.answer is not None
            return _json(await worker.run(request, partial(endpoint.answer, asked)) | said)
        except ValueError as error:  # half an equation is no fault of the browser, which would report another status
            return _json({"error": str(error)})
        except _RequestError as error:
            return _json({"error": str(error)}, error.status)
        except TurnedAwayError as error:
            return _json({"error": str(error)}, 503)
        except (GoneError, ClientDisconnect):
            return Response(status_code=GONE)
        except Exception:
            LOG.exception("a mistake of ours in %s", endpoint.path)
            return _json({"error": OURS}, 500)

    return Route(f"/api/{endpoint.path}", handle, methods=["POST"])


async def _body(request: Request) -> Any:
    """The JSON that a request carries."""
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise _RequestError(415, "the request is not JSON")
    said = request.headers.get("content-length", "")
    if said.isdecimal() and int(said) > READ_TO_THE_END:
        raise _RequestError(413, TOO_LARGE)
    body = bytearray()
    size = 0
    try:
        async with asyncio.timeout(SLOWEST):
            async for part in request.stream():
                size += len(part)
                if size <= MAX_REQUEST_BYTES:
                    body += part
                if size > READ_TO_THE_END:
                    break
    except TimeoutError:
        raise _RequestError(408, f"the request took more than {SLOWEST:g} s to arrive") from None
    if size > MAX_REQUEST_BYTES:
        raise _RequestError(413, TOO_LARGE)
    try:
        return loads(body)
    except (JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise _RequestError(400, "the request is not JSON") from None


def _streamed(pieces: AsyncGenerator[dict[str, Any], None]) -> Response:
    """Server-sent events, a JSON object each."""

    async def events() -> AsyncIterator[bytes]:
        try:
            async for piece in pieces:
                yield f"data: {write_json(piece)}\n\n".encode()
        except (TurnedAwayError, ValueError) as error:
            yield f"data: {write_json({'error': str(error)})}\n\n".encode()
        except JudgingError as error:
            LOG.error("a mistake of ours in a search\n%s", error)
            yield f"data: {write_json({'error': OURS})}\n\n".encode()
        finally:
            await pieces.aclose()

    return StreamingResponse(events(), media_type="text/event-stream")


def _json(value: Any, status: int = 200) -> Response:
    return Response(write_json(value), status, media_type="application/json")


class _RequestError(Exception):
    """A request that is not looked into: the status and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Guard:
    """Refuses what another site's page, a name that leads here, or another user of the machine could have sent.

    A client that sends the token in the address gets it as a cookie, and is redirected to the address without it.

    Args:
        app: what answers the others.
        hosts: the values allowed in ``Host``, and after ``http://`` in ``Origin``.
        token: that the browser must have.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], token: str) -> None:
        self.app = app
        self.hosts = frozenset(hosts)
        self.token = token

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
            return _refused("this server accepts only requests to its own address")
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return _refused("this server accepts only requests from its own page")
        cookie = f"dgltree-{headers['host'].rpartition(':')[2]}"  # a browser has one for all ports of a machine
        other = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        if request.url.path == "/" and self._is_token(request.query_params.get("token")):
            answer = HTMLResponse(OPENED) if other else RedirectResponse("/", 303)
            answer.set_cookie(cookie, self.token, httponly=True, samesite="strict")
            return answer
        if other:
            return _refused("this server accepts only requests from its own page")
        if not self._is_token(request.cookies.get(cookie)):
            return _refused("open this page at the address with the token, which the terminal shows")
        return None

    def _is_token(self, given: str | None) -> bool:
        return given is not None and compare_digest(given.encode(), self.token.encode())


def _refused(why: str) -> Response:
    return PlainTextResponse(why, 403)


class Connection(H11Protocol):
    """A connection whose requests begin soon, and which makes room for others while it waits for one.

    Uvicorn's own times count from an answer to the next byte: who sends no request, or half of one, could stay.
    """

    waits: asyncio.TimerHandle | None = None
    """The end of the time in which the next request has to begin."""
    since = 0.0
    """When it began to wait for that."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_AT_ONCE:
            self.loop.call_later(MOMENT, self._make_room)
        self._wait()

    def _make_room(self) -> None:
        """Let the connection go that has waited longest for its client, if there are too many."""
        if len(self.connections) > MOST_AT_ONCE:
            waiting = [other for other in self.connections if isinstance(other, Connection) and other.waits_for_client]
            if waiting:
                min(waiting, key=lambda other: other.since).leave()

    @property
    def waits_for_client(self) -> bool:
        """Whether a request has to come, or the rest of one."""
        return self.waits is not None or self._has_half_a_request

    @property
    def _has_half_a_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete and self.cycle.more_body

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        self._wait()
        super().on_response_complete()  # which may begin with the next one
        if not self.cycle.response_complete:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def leave(self) -> None:
        """Close it; it counts no more."""
        self._stop_waiting()
        self.connections.discard(self)
        if self._has_half_a_request:
            self.transport.close()
        elif not self.transport.is_closing():
            self.shutdown()

    def _wait(self) -> None:
        self._stop_waiting()
        self.since = self.loop.time()
        self.waits = self.loop.call_later(SLOWEST, self.leave)

    def _stop_waiting(self) -> None:
        if self.waits is not None:
            self.waits.cancel()
            self.waits = None
