"""A path of the page is answered by a thread with the models, by a further process that judges equations, or by both.

Each kind of work with the models has a thread, so that a long one does not keep the other rooms waiting. Judging has
processes, which are ended when they take too long; nothing else ends the work of a thread.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from typing import Any, TypeVar

from starlette.requests import Request

from dgltree.explore.judging import DONE, PIECE, REFUSED
from dgltree.explore.request_fields import RequestFields
from dgltree.read.json_text import write_json
from dgltree.support.workers import module_command

MOST_WAITING = 32
"""Requests that may wait for one worker; further ones are turned away."""
MOST_PROCESSES, READY = 4, 2
"""Processes that judge at once, and further ones that wait for work: one begins in a second, or three if it is busy."""
LONGEST_LINE = 1 << 24
"""Bytes of a piece of an answer."""
LOOK = 0.2
"""Seconds after which it is asked again whether the client is still there."""
BUSY = "the page is busy; try again in a moment"
Result = TypeVar("Result")
Send = Callable[[dict[str, Any]], None]
Stop = Callable[[], bool]
Stream = Callable[[Send, Stop], None]
"""Work that sends what it has, piece by piece, and asks now and then whether to stop."""


@dataclass(frozen=True)
class Endpoint:
    """One path. What answers it raises ``ValueError`` with a message for the user."""

    path: str
    worker: str = ""
    answer: Callable[[RequestFields], dict[str, Any]] | None = None
    """Work of the thread ``worker``."""
    stream: Callable[[RequestFields, Send, Stop], None] | None = None
    """Answers the request piece by piece."""
    judging: str = ""
    """A work of :mod:`dgltree.explore.judging`; what it says is added to the answer."""
    streams: bool = False
    """Whether that comes piece by piece."""
    first: Callable[[], object] | None = None
    """Preparation that makes the first answer as fast as the others, while the page opens."""


class TurnedAwayError(Exception):
    """Too many wait, or the time is over, or the page ends; the message says so."""


class GoneError(Exception):
    """The client went away before its turn came."""


class JudgingError(Exception):
    """A mistake of ours in a process that judges; the message is its traceback."""


class _Turns:
    """So many requests are worked on at a time, in the order in which they come.

    Args:
        most: how many.
        seconds: that one may wait, and that its work may take then.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self.seconds = seconds
        self._free = asyncio.Semaphore(most)
        self._waiting = 0
        self._ends = asyncio.Event()

    async def __aenter__(self) -> None:
        if self._waiting >= MOST_WAITING:
            raise TurnedAwayError(f"{MOST_WAITING} requests are already waiting; try again in a moment")
        self._waiting += 1
        try:
            async with asyncio.timeout(self.seconds):
                await self._unless_ended(self._free.acquire())
        except TimeoutError:
            raise TurnedAwayError(BUSY) from None
        finally:
            self._waiting -= 1

    async def __aexit__(self, *_: object) -> None:
        self._free.release()

    async def _unless_ended(self, work: Awaitable[Result]) -> Result:
        """The result of work. Raises ``TurnedAwayError`` when the page ends."""
        done = asyncio.ensure_future(work)
        ends = asyncio.ensure_future(self._ends.wait())
        try:
            await asyncio.wait({done, ends}, return_when=asyncio.FIRST_COMPLETED)
            if not done.done():
                raise TurnedAwayError("the page ends")
            return done.result()
        finally:
            done.cancel()
            ends.cancel()

    def end(self) -> None:
        """Begin no more work, and turn away who waits for some."""
        self._ends.set()


class Worker(_Turns):
    """A thread that does one piece of work at a time.

    Args:
        name: of its thread.
        seconds: that a request may wait, and that its work may take then.
    """

    def __init__(self, name: str, seconds: float) -> None:
        super().__init__(1, seconds)
        self._executor = ThreadPoolExecutor(1, name)

    async def run(self, request: Request, work: Callable[[], Result]) -> Result:
        """The result of ``work``, which is not begun for a client that has gone.

        Raises ``TurnedAwayError``, ``GoneError``, and what the work raises.
        """
        async with self:
            if await request.is_disconnected():
                raise GoneError
            try:
                async with asyncio.timeout(self.seconds):
                    return await self._unless_ended(asyncio.get_running_loop().run_in_executor(self._executor, work))
            except TimeoutError:
                raise TurnedAwayError(_too_long(self.seconds)) from None

    async def stream(self, work: Stream) -> AsyncGenerator[dict[str, Any], None]:
        """The pieces that ``work`` sends, as they come. It is stopped when the reader has left or the time is over."""
        loop = asyncio.get_running_loop()
        pieces = asyncio.Queue[dict[str, Any] | None]()
        stop = Event()

        def send(piece: dict[str, Any] | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(pieces.put_nowait, piece)

        async with self:
            late = loop.call_later(self.seconds, stop.set)
            done = loop.run_in_executor(self._executor, _sending, work, send, stop.is_set)
            try:
                while (piece := await self._unless_ended(pieces.get())) is not None:
                    yield piece
            finally:
                stop.set()
                late.cancel()
                with suppress(TurnedAwayError):  # the next one begins when this one has noticed
                    await self._unless_ended(asyncio.shield(done))

    def begin(self, work: Callable[[], object]) -> None:
        """Do this before what is asked for later."""
        self._executor.submit(work)

    def end(self) -> None:
        super().end()
        self._executor.shutdown(wait=False, cancel_futures=True)


class JudgingProcesses(_Turns):
    """Processes of :mod:`dgltree.explore.judging`, each for one request at a time; more are ready for the next ones.

    Args:
        seconds: that a request may wait, and that its work may take then.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(MOST_PROCESSES, seconds)
        self._ready: list[asyncio.subprocess.Process] = []

    async def run(self, request: Request, work: str, fields: Any) -> dict[str, Any]:
        """The answer of a work, all its pieces together. Raises as :meth:`pieces`, and ``GoneError``."""
        pieces = self.pieces(work, fields)
        said: dict[str, Any] = {}

        async def collect() -> None:
            async for piece in pieces:
                said.update(piece)

        collecting = asyncio.create_task(collect())
        try:
            while not (await asyncio.wait({collecting}, timeout=LOOK))[0]:
                if await request.is_disconnected():
                    raise GoneError
            await collecting
            return said
        finally:
            collecting.cancel()

    async def pieces(self, work: str, fields: Any) -> AsyncGenerator[dict[str, Any], None]:
        """The pieces that a work sends, as they come. Its process is ended when the reader has left.

        Raises ``TurnedAwayError``, and ``ValueError`` with the reason of a refusal.
        """
        async with self:
            process = await self._process()
            kind = PIECE
            what = None
            try:
                late = asyncio.get_running_loop().time() + self.seconds
                assert process.stdin is not None
                process.stdin.write(f"{write_json([work, fields])}\n".encode())
                while True:
                    kind, what = await self._line(process, late)
                    if kind != PIECE:
                        break
                    yield what
            finally:
                if kind == PIECE:
                    await _end(process)
                else:
                    self._ready.insert(0, process)
        if kind == REFUSED:
            raise ValueError(what)
        if kind != DONE:
            raise JudgingError(what)

    async def _process(self) -> asyncio.subprocess.Process:
        """A process that waits for work, one that has worked already if there is one, while another one begins."""
        await self.prepare()
        process = self._ready.pop(0)
        await self.prepare()
        return process

    async def prepare(self) -> None:
        """Begin processes until enough wait for work."""
        self._ready = [process for process in self._ready if process.returncode is None]
        while len(self._ready) < READY:
            command, environment = module_command("dgltree.explore.judging")
            made = await asyncio.create_subprocess_exec(
                *command,
                env=environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
            )
            self._ready.append(made)

    async def _line(self, process: asyncio.subprocess.Process, late: float) -> tuple[str, Any]:
        assert process.stdout is not None
        try:
            async with asyncio.timeout_at(late):
                line = await self._unless_ended(process.stdout.readline())
        except TimeoutError:
            raise TurnedAwayError(_too_long(self.seconds)) from None
        if not line:
            raise TurnedAwayError(
                "the process that checks equations ended, probably for lack of memory; try a smaller equation"
            )
        kind, what = json.loads(line)
        return kind, what

    async def close(self) -> None:
        """End the processes that wait for work, and those that work when the page does."""
        self.end()
        await asyncio.gather(*map(_end, self._ready))


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):  # it has ended
        process.kill()
    await process.wait()


def _too_long(seconds: float) -> str:
    return f"stopped after {seconds:g} s; try a smaller request"


def _sending(work: Stream, send: Callable[[dict[str, Any] | None], None], stop: Stop) -> None:
    try:
        work(send, stop)
    except ValueError as error:
        send({"error": str(error)})
    finally:
        send(None)
