"""The application: the page's files, and the rooms' answers as JSON."""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from json import JSONDecodeError, loads
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from dgltree.explore.batches import BatchesRoom
from dgltree.explore.endpoint import Endpoint, RequestFields
from dgltree.explore.equations import EquationsRoom
from dgltree.explore.guard import Guard
from dgltree.explore.open_models import Opened
from dgltree.explore.own_trees import OwnTreesRoom
from dgltree.explore.sequences import SequencesRoom
from dgltree.explore.titles import title
from dgltree.explore.worker import GoneError, Stream, TurnedAwayError, Worker
from dgltree.read.json_text import write_json

STATIC = Path(str(files("dgltree"))) / "explore" / "static"
MAX_REQUEST_BYTES = 64 * 1024
"""Bytes of a request."""
TOO_LARGE = f"the request has more than {MAX_REQUEST_BYTES // 1024} KB"
READ_TO_THE_END = 32 * 1024 * 1024
"""Bytes of a request that is too large which are still taken, and dropped, so that the browser reads the answer."""
SLOWEST = 10.0
"""Seconds for a request to arrive."""
MIN_COMPRESSED_BYTES = 1024
"""Bytes of an answer that is worth compressing."""
SECONDS = {
    "read": 10.0,
    "rank": 20.0,
    "judge": 20.0,
    "look": 20.0,
    "time": 20.0,
    "trees": 60.0,
    "explain": 60.0,
    "map": 300.0,
    "search": 30.0,
}
"""The workers, and how long a request may take each."""
GONE = 499
"""The status for a client that no longer listens; nobody reads it."""
LOG = logging.getLogger("uvicorn.error")


class _RequestError(Exception):
    """A request that is not looked into: the status and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def make_app(opened: Opened, hosts: Collection[str], token: str) -> Starlette:
    """The application for the models that were opened.

    Args:
        opened: by :func:`dgltree.explore.open_models.open_all`.
        hosts: by which it may be called, such as ``127.0.0.1:8723``.
        token: of those who may ask it.
    """
    workers = {name: Worker(name, seconds) for name, seconds in SECONDS.items()}
    equations, sequences, own_trees = EquationsRoom(opened), SequencesRoom(opened), OwnTreesRoom(opened)
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
        yield
        for worker in workers.values():
            worker.close()

    async def index(_: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def models(_: Request) -> Response:
        return _json(there)

    routes = [
        Route("/", index),
        Route("/api/models", models),
        *(_route(endpoint, workers[endpoint.worker]) for endpoint in endpoints),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    app = Starlette(routes=routes, lifespan=running)
    app.add_middleware(GZipMiddleware, minimum_size=MIN_COMPRESSED_BYTES, compresslevel=9)
    app.add_middleware(Guard, hosts=hosts, token=token)
    return app


def _route(endpoint: Endpoint, worker: Worker) -> Route:
    async def handle(request: Request) -> Response:
        try:
            asked = RequestFields(await _body(request))
            if endpoint.stream is not None:
                return await _streamed(worker, partial(endpoint.stream, asked))
            assert endpoint.answer is not None
            return _json(await worker.run(request, partial(endpoint.answer, asked)))
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
            return _json({"error": "a mistake of ours; the terminal says more"}, 500)

    return Route(f"/api/{endpoint.path}", handle, methods=["POST"])


async def _body(request: Request) -> Any:
    """The JSON that a request carries."""
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise _RequestError(415, "the request is not JSON")
    said = request.headers.get("content-length", "")
    if said.isdecimal() and int(said) > READ_TO_THE_END:
        raise _RequestError(413, TOO_LARGE)
    body, size = bytearray(), 0
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


async def _streamed(worker: Worker, work: Stream) -> Response:
    """Server-sent events, a JSON object each."""
    pieces = worker.stream(work)

    async def events() -> AsyncIterator[bytes]:
        try:
            async for piece in pieces:
                yield f"data: {write_json(piece)}\n\n".encode()
        except TurnedAwayError as error:
            yield f"data: {write_json({'error': str(error)})}\n\n".encode()
        finally:
            await pieces.aclose()

    return StreamingResponse(events(), media_type="text/event-stream")


def _json(value: Any, status: int = 200) -> Response:
    return Response(write_json(value), status, media_type="application/json")
