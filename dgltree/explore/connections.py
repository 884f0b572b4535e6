"""Connections to the page: one that says nothing is closed, and never keeps another one out."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

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
