"""Requests of the page: the paths that are answered, and the fields of a request, checked one by one."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, TypeVar
from starlette.requests import Request
from collections.abc import Callable, Mapping
from dataclasses import dataclass

# ---------------------------------------------------------------------------------------------------------------------
# A thread for each kind of work, so that a long search does not keep the other rooms waiting.


MOST_WAITING = 32
"""Requests that may wait for one worker; further ones are turned away."""
Result = TypeVar("Result")
Send = Callable[[dict[str, Any]], None]
Stop = Callable[[], bool]
Stream = Callable[[Send, Stop], None]
"""Work that sends what it has, piece by piece, and asks now and then whether to stop."""


class TurnedAwayError(Exception):
    """Too many wait, or the time is over; the message says so."""


class GoneError(Exception):
    """The client went away before its turn came."""


class Worker:
    """Does one piece of work at a time, in the order in which they are asked for.

    Args:
        name: of its thread.
        seconds: that a request may take, waiting included.
    """

    def __init__(self, name: str, seconds: float) -> None:
        self.name, self.seconds = name, seconds
        self._executor = ThreadPoolExecutor(1, name)
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def run(self, request: Request, work: Callable[[], Result]) -> Result:
        """The result of ``work``, which is not begun for a client that has gone.

        Raises ``TurnedAwayError``, ``GoneError``, and what the work raises.
        """
        try:
            async with asyncio.timeout(self.seconds):
                async with self._queue():
                    if await request.is_disconnected():
                        raise GoneError
                    return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        except TimeoutError:
            raise TurnedAwayError(f"it took more than {self.seconds:g} s; a smaller request takes less") from None

    async def stream(self, work: Stream) -> AsyncGenerator[dict[str, Any], None]:
        """The pieces that ``work`` sends, as they come. It is stopped when the reader has left or the time is over."""
        loop, pieces, stop = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any] | None](), Event()

        def send(piece: dict[str, Any] | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(pieces.put_nowait, piece)

        async with self._queue():
            late = loop.call_later(self.seconds, stop.set)
            done = loop.run_in_executor(self._executor, _sending, work, send, stop.is_set)
            try:
                while (piece := await pieces.get()) is not None:
                    yield piece
            finally:
                stop.set()
                late.cancel()
                await asyncio.shield(done)  # the next one begins when this one has noticed

    def begin(self, work: Callable[[], object]) -> None:
        """Do this before what is asked for later."""
        self._executor.submit(work)

    def close(self) -> None:
        """Begin no more work."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _queue(self) -> "_Turn":
        return _Turn(self)


class _Turn:
    """The worker is free, or there is no room to wait for it."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    async def __aenter__(self) -> None:
        worker = self.worker
        if worker._waiting >= MOST_WAITING:
            raise TurnedAwayError(f"{MOST_WAITING} requests are waiting already; try again in a moment")
        worker._waiting += 1
        try:
            await worker._turn.acquire()
        finally:
            worker._waiting -= 1

    async def __aexit__(self, *_: object) -> None:
        self.worker._turn.release()


def _sending(work: Stream, send: Callable[[dict[str, Any] | None], None], stop: Stop) -> None:
    try:
        work(send, stop)
    except ValueError as error:
        send({"error": str(error)})
    finally:
        send(None)


T = TypeVar("T")


class RequestFields:
    """The fields of a request. Every method raises ``ValueError`` naming the field, and what would be right."""

    def __init__(self, fields: Any) -> None:
        if not isinstance(fields, dict):
            raise ValueError("the request is not a JSON object")
        self._fields: dict[str, Any] = fields

    def text(self, name: str, longest: int) -> str:
        """A text of at most so many characters."""
        found = self._fields.get(name)
        if not isinstance(found, str):
            raise ValueError(f"{name} is missing; it is a text")
        if len(found) > longest:
            raise ValueError(f"{len(found):,} characters; the page takes up to {longest:,}")
        return found

    def texts(self, name: str, most: int, longest: int) -> list[str]:
        """At most so many texts of at most so many characters each."""
        found = self._fields.get(name)
        if not isinstance(found, list) or len(found) > most or not all(isinstance(one, str) for one in found):
            raise ValueError(f"{name} is not a list of up to {most} texts")
        return [RequestFields({name: one}).text(name, longest) for one in found]

    def flag(self, name: str) -> bool:
        """Yes or no; no if the field is missing."""
        found = self._fields.get(name, False)
        if not isinstance(found, bool):
            raise ValueError(f"{name} is true or false")
        return found

    def whole(self, name: str, lowest: int, highest: int) -> int:
        """A whole number between two."""
        found = self._fields.get(name)
        if not isinstance(found, int) or isinstance(found, bool) or not lowest <= found <= highest:
            raise ValueError(f"{name} is not a whole number from {lowest} to {highest}")
        return found

    def one_of(self, name: str, there: Mapping[str, T]) -> T:
        """The model or file of a name that was given at the start."""
        found = self._fields.get(name)
        if not isinstance(found, str) or found not in there:
            raise ValueError(f"{name} is none of {', '.join(there) or 'those that were opened: there is none'}")
        return there[found]


@dataclass(frozen=True)
class Endpoint:
    """One path. It has an ``answer`` or a ``stream``; both raise ``ValueError`` with a message for the user."""

    path: str
    worker: str
    answer: Callable[[RequestFields], dict[str, Any]] | None = None
    stream: Callable[[RequestFields, Send, Stop], None] | None = None
    first: Callable[[], object] | None = None
    """Preparation that makes the first answer as fast as the others, while the page opens."""
