"""A function that runs in a process of its own, which may be stopped: for what may take forever or all memory."""

import multiprocessing
import resource
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

START_SECONDS = 120.0


class Child:
    """Answers with ``work(*question)`` from a process that is replaced when a question takes longer than ``seconds``.

    The process starts with the first question and ends with its parent.

    Args:
        work: a function of a module; what it raises counts as no answer.
        seconds: for one question.
        megabytes: of memory that the process may have; without it, any.
        prepare: is called in the new process, outside of the time of the first question.

    Raises ``TimeoutError`` if the process does not start.
    """

    def __init__(
        self,
        work: Callable[..., Any],
        seconds: float,
        megabytes: int | None = None,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        self._settings = work, megabytes, prepare
        self._seconds = seconds
        self._process: Any = None

    def ask(self, *question: object) -> Any:
        """The answer; None if the time was up, the process died, or the work raised an error."""
        if self._process is None:
            self._start()
        self._connection.send(question)
        try:
            if self._connection.poll(self._seconds):
                return self._connection.recv()
        except EOFError:  # it ran out of memory or of stack
            pass
        self.stop()
        return None

    def stop(self) -> None:
        """End the process; another question starts another one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, *self._settings), daemon=True)
        self._process.start()
        other.close()
        if not self._connection.poll(START_SECONDS):
            self.stop()
            raise TimeoutError(f"a process for {self._settings[0].__name__} did not start within {START_SECONDS:.0f} s")
        self._connection.recv()


def _serve(
    connection: Connection, work: Callable[..., Any], megabytes: int | None, prepare: Callable[[], object] | None
) -> None:
    """Answer until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    if prepare is not None:
        prepare()
    if megabytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    connection.send(())
    while True:
        try:
            question = connection.recv()
        except EOFError:
            return
        try:
            answer = work(*question)
        except Exception:  # the work may raise anything
            answer = None
        connection.send(answer)
