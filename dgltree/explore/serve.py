"""The server: on this machine alone, until it is interrupted."""

import asyncio
import secrets
import socket
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from dgltree.explore.app import make_app
from dgltree.explore.open_models import Opened

# Connections to the page: one that says nothing is closed, and never keeps another one out.
MOST_AT_ONCE = 64
"""Connections; a browser opens six."""
SLOWEST_HEADERS = 10.0
"""Seconds for the first lines of a request to arrive."""


class Connection(H11Protocol):
    """One whose requests begin soon, and which makes room for others while it waits for one.

    Uvicorn's own times count from an answer to the next byte: who sends no request, or half of one, could stay.
    """

    waits: asyncio.TimerHandle | None = None
    """For the next request, until then."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) >= MOST_AT_ONCE:
            waiting = {
                other.waits.when(): other for other in self.connections if isinstance(other, Connection) and other.waits
            }
            if waiting:
                waiting[min(waiting)].leave()
        self._wait()

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
        if not self.transport.is_closing():
            self.shutdown()

    def _wait(self) -> None:
        self._stop_waiting()
        self.waits = self.loop.call_later(SLOWEST_HEADERS, self.leave)

    def _stop_waiting(self) -> None:
        if self.waits is not None:
            self.waits.cancel()
            self.waits = None


ADDRESS = "127.0.0.1"
PORT = 8723
LAUNCHER = """<!doctype html><meta charset="utf-8"><title>dgltree</title>
<meta http-equiv="refresh" content="0; url={page}"><a href="{page}">dgltree</a>
"""


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
    config = uvicorn.Config(
        make_app(opened, hosts, token),
        http=Connection,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_AT_ONCE,
        timeout_graceful_shutdown=1,
    )
    with _launcher(page) as file:
        _Server(config, page, file if browser else None).run(sockets=[listening])


@contextmanager
def _launcher(page: str) -> Iterator[Path]:
    """A file of this user alone that leads to the page: the command line of a browser is for all to read."""
    with TemporaryDirectory(prefix="dgltree-") as folder:
        file = Path(folder) / "open.html"
        file.write_text(LAUNCHER.format(page=page), encoding="utf-8")
        yield file


class _Server(uvicorn.Server):
    """Says where the page is once it is there."""

    def __init__(self, config: uvicorn.Config, page: str, launcher: Path | None) -> None:
        super().__init__(config)
        self.page, self.launcher = page, launcher

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(f"{self.page}  (Ctrl-C ends it)", flush=True)
        if self.launcher is not None:
            Thread(target=webbrowser.open, args=(self.launcher.as_uri(),), daemon=True).start()


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
        raise OSError(f"port {port} cannot be used ({error.strerror}); give another --port, or 0 for any") from None
    return made
