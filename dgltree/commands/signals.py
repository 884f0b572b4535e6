"""How a run ends on a signal: half-written files are removed, and no traceback is printed.

The first signal unwinds the run; the second ends the process at once, whatever it is doing.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from dgltree.support.refusal import Refusal

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes: 128 and the signal's number, as a shell has it."""
LINES = {signal.SIGINT: ("interrupted", INTERRUPTED), signal.SIGTERM: ("terminated", TERMINATED)}
"""The last line of a run that a signal ended, and its exit code."""
GRACE = 10.0
"""Seconds beyond a limit after which work that did not notice it is ended from outside; a busy machine needs some."""


class Terminated(BaseException):
    """SIGTERM came. It unwinds the run as Ctrl-C does; no ``SystemExit``, which Lightning raises of its own."""


class Interrupted(BaseException):
    """Ctrl-C came. No ``KeyboardInterrupt``, at which Lightning ignores all further ones while it shuts down."""


class _OutOfTime(BaseException):
    """No ``Exception``: what catches errors on the way must not take it for one."""


@contextmanager
def unwinding() -> Iterator[None]:
    """A block that SIGTERM leaves by :class:`Terminated`, so that files and processes are cleared away."""
    with _answering(signal.SIGTERM, signal.SIG_DFL, _leaving_by(Terminated)):
        try:
            yield
        except Exception as error:
            stop = _stop_before(error)
            if stop is None:
                raise
            raise stop from None


@contextmanager
def interruptible() -> Iterator[None]:
    """A block that Ctrl-C leaves by :class:`Interrupted`, once: what is cleared away then can be cut short."""
    with _answering(signal.SIGINT, signal.default_int_handler, _leaving_by(Interrupted)):
        yield


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """A block of imports, which Ctrl-C and SIGTERM end there and then.

    Nothing is written yet; and an exception in the middle of an import of torch or numpy comes out as another one.
    """
    leave = _leaving_at_once()
    with (
        _answering(signal.SIGINT, signal.default_int_handler, leave),
        _answering(signal.SIGTERM, signal.SIG_DFL, leave),
    ):
        yield


def leave_at_once_from_now_on() -> None:
    """Let Ctrl-C and SIGTERM end the process with their line while Python exits, which takes torch a second."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is usual:
            signal.signal(number, _leaving_at_once())


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """A block that is ended from outside if it continues for ``GRACE`` seconds beyond its limit.

    Raises ``ValueError`` then. Only the main thread can be ended so, and only if the system has such an alarm.
    """
    alarm = getattr(signal, "SIGALRM", None)
    if seconds is None or alarm is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise _OutOfTime

    with _answering(alarm, signal.SIG_DFL, end):
        signal.setitimer(signal.ITIMER_REAL, seconds + GRACE)
        try:
            yield
        except _OutOfTime:
            raise Refusal(f"no answer within {seconds:g} s and {GRACE:g} s more; try a smaller equation") from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _leaving_at_once() -> Callable[[int, FrameType | None], None]:
    own = os.getpid()

    def leave(number: int, _: FrameType | None) -> None:
        if os.getpid() == own:
            line, code = LINES[signal.Signals(number)]
            os.write(2, f"dgltree: {line}\n".encode())
            os._exit(code)

    return leave


def _leaving_by(stop: type[BaseException]) -> Callable[..., None]:
    """The handler of a signal: it raises ``stop`` in this process alone, and not in those that read ahead for it."""
    own = os.getpid()

    def leave(*_: object) -> None:
        if os.getpid() != own:  # a loader's worker: if it left with a lock, its parent, which ends it, would hang
            return
        _end_at_the_next()
        raise stop

    return leave


def _stop_before(error: BaseException | None) -> BaseException | None:
    """The signal that an error came after, if one did: processes of its group may have ended by it, too."""
    while error is not None and not isinstance(error, Interrupted | Terminated):
        error = error.__context__
    return error


def _end_at_the_next() -> None:
    """Let the system end the process at the next signal, without Python, which may be busy.

    Nothing is printed of errors in finalizers from now on: torch's miss the processes that were stopped too.
    """
    sys.unraisablehook = lambda _: None
    for number in (signal.SIGTERM, signal.SIGINT):
        if callable(signal.getsignal(number)):  # neither ignored nor the system's already
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _answering(number: signal.Signals, usual: Any, handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """A block with a handler, if the signal has the usual one: who ignores it, or has another one, keeps that."""
    if signal.getsignal(number) is not usual:
        yield
        return
    try:
        signal.signal(number, handler)
    except ValueError:  # signals belong to the main thread
        yield
        return
    try:
        yield
    finally:
        if signal.getsignal(number) is handler:  # what came meanwhile has the next one kill
            signal.signal(number, usual)
