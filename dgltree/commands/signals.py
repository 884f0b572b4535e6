"""How a run ends that is told to stop: what is half written goes, and no traceback is printed."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes: 128 and the signal's number, as a shell has it."""


class Terminated(BaseException):
    """SIGTERM came. It unwinds the run as Ctrl-C does; no ``SystemExit``, which Lightning raises of its own."""


@contextmanager
def unwinding() -> Iterator[None]:
    """A block that SIGTERM leaves by :class:`Terminated`, so that files and processes are cleared away."""
    own = os.getpid()

    def terminate(*_: object) -> None:
        if os.getpid() != own:  # a process that reads ahead for us: its parent clears away
            os._exit(TERMINATED)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
        raise Terminated

    with _answering(signal.SIGTERM, signal.SIG_DFL, terminate):
        yield


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """A block of imports, which Ctrl-C ends there and then.

    Nothing is written yet; and an exception in the middle of an import of torch or numpy comes out as another one.
    """

    def leave(*_: object) -> None:
        os.write(2, b"dgltree: interrupted\n")
        os._exit(INTERRUPTED)

    with _answering(signal.SIGINT, signal.default_int_handler, leave):
        yield


@contextmanager
def _answering(number: signal.Signals, usual: Any, handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """A block with a handler, where the signal has the usual one: who ignores it, or has another one, keeps that."""
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
        signal.signal(number, usual)
