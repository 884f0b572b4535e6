"""``dgltree.check`` says whether an answer to an equation is right, and in the form that was asked for.

Marks within a time come from further processes, each for one thread at a time; one that takes too long is ended.
"""

import atexit
import os
import socket
import subprocess
import threading
from collections.abc import Collection, Mapping
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from dgltree.equations.marking.checker import Checker
from dgltree.equations.marking.marks import Checked, Mark, unjudged
from dgltree.equations.marking.sentences import Cause
from dgltree.support.refusal import Refusal, attempt
from dgltree.support.workers import module_command
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

__all__ = ["Checker", "Mark", "check"]
START = 60.0
"""Seconds that the start of a process may take on a busy machine; they do not count."""
MAX_CHECKERS = 256
"""Questions that a process keeps in mind."""


def check(
    equation: str | Equation,
    answer: str | Tree,
    form: str | None = None,
    names: Collection[str] = (),
    rounded: bool | int = False,
    mixed: bool = False,
    units: bool = False,
    significant: int | None = None,
    decimal: str | None = None,
    seconds: float | None = None,
    assume: Collection[str] = (),
) -> Checked:
    """Mark an answer: ``check("x^2 - 9 = _", "(x - 3)(x + 3)", form="factored")``.

    Examples:
        >>> import dgltree
        >>> print(dgltree.check("x^2 - 9 = _", "(x - 3)(x + 3)", form="factored"))
        right: holds everywhere (proved)
        >>> dgltree.check("x^2 - 9 = _", "(x - 3)^2").mark
        <Mark.WRONG: 'wrong'>
        >>> dgltree.check("x^2 = 4, x = _", "2; 5").counts
        SolutionCounts(right=1, given=2, required=2)

    Args:
        equation: with a blank or several, or with an unknown (``x^2 = 16, x = _``), as a person types it; or read
            already.
        answer: what is put into the blank; for several blanks ``"2, 3"``, in the order of the blanks.
        form: ``expanded``, ``factored``, ``lowest-terms``, ``one-fraction``, ``exact``, or None for any.
        names: runs of letters that are one name; others are products, as :func:`dgltree.complete` has it.
        rounded: whether a decimal is right that is the value rounded to its digits; or to how many places behind the
            point it has to be rounded.
        mixed: whether ``2 1/2`` is 2 + 1/2; else it is refused, as it can be a product.
        units: whether names after numbers are units, compared by pint (the extra ``units``); else they are refused.
        significant: to how many significant digits a value has to be rounded.
        decimal: ``comma`` or ``point``, the mark of decimals in the question and in answers; None: that of the
            decimals in the question. If that has none, what can mean two numbers is refused.
        assume: of the variables, as ``["T > 0", "x in [0, 2π)"]``; what is right there is right, and a solution that
            is elsewhere is wrong.
        seconds: that an answer may take, in a further process, which is ended then: the mark is ``out-of-time``. The
            equation and the answer have to be texts.

    An answer is right if it makes the equation true wherever the rest of the equation has a real value. If an
    unknown is asked for, it lists all real solutions: ``"2, 3"``, ``"x = 2 or x = 3"``, ``"±2"``, ``"no solution"``.

    Raises ``ValueError`` for a text that cannot be read, for an equation without a blank, and for an unknown form.
    :meth:`dgltree.equations.marking.checker.Checker.mark` has marks for these, too.

    See also: :func:`dgltree.complete` for the answer.
    """
    if seconds is None:
        return Checker(equation, form, names, rounded, mixed, units, significant, decimal, assume).check(answer)
    if not isinstance(equation, str) or not isinstance(answer, str):
        raise Refusal("a time limit is only for strings; trees are marked without a limit")
    settings = {"form": form, "names": tuple(names), "rounded": rounded, "mixed": mixed, "units": units}
    settings |= {"significant": significant, "decimal": decimal, "assume": tuple(assume)}
    found = mark_within(MarkingTask(equation, answer, tuple(settings.items())), seconds)
    if found.mark in (Mark.UNREADABLE, Mark.NOT_ASKED):
        raise Refusal(found.error)
    return found


class MarkingTask(NamedTuple):
    """An answer to mark.

    Args:
        question: as a person types it.
        answer: to it.
        settings: the other arguments of :class:`dgltree.equations.marking.checker.Checker`.
    """

    question: str
    answer: str
    settings: tuple[tuple[str, Any], ...] = ()


class Marking:
    """Marks tasks, and keeps the questions of the last ones in mind."""

    def __init__(self) -> None:
        self._checkers: dict[tuple[Any, ...], Checker | str] = {}

    def mark(self, task: MarkingTask) -> Checked:
        """The mark of an answer whatever it is, and ``not-asked`` if the question cannot be read."""
        checker = self._checker(task)
        if isinstance(checker, str):
            return unjudged(Mark.NOT_ASKED, task.answer.strip(), error=checker)
        return checker.mark(task.answer)

    def _checker(self, task: MarkingTask) -> Checker | str:
        key = (task.question, task.settings)
        if key not in self._checkers:
            if len(self._checkers) >= MAX_CHECKERS:
                self._checkers.clear()
            self._checkers[key] = _open(task.question, dict(task.settings))
        return self._checkers[key]


def _open(question: str, settings: Mapping[str, Any]) -> Checker | str:
    """A checker of answers to a question, or why it cannot be read."""
    if not question.strip():
        return "there is no question"
    made = attempt(Checker, question.strip(), **settings)
    return made if isinstance(made, Checker) else str(made)


class TimedMarking:
    """Marks tasks as :class:`Marking` does, in a process of its own, which ends with this one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection[Any, Any] | None = None
        self._owner = 0

    def mark(self, task: MarkingTask, seconds: float) -> Checked:
        """The mark of an answer; ``out-of-time`` if there is none within so many seconds."""
        connection = self._running()
        try:
            connection.send(task)
            if connection.poll(seconds):
                found: Checked = connection.recv()
                return found
        except (EOFError, OSError):
            self.stop()
            ended = unjudged(Mark.OUT_OF_TIME, task.answer.strip())
            return ended._replace(cause=Cause("ended"))
        except BaseException:  # an interrupt: its answer must not answer another question
            self.stop()
            raise
        self.stop()
        return unjudged(Mark.OUT_OF_TIME, task.answer.strip(), seconds=f"{seconds:g}")

    def kill(self) -> None:
        """End the process, whose task is out of time then; any thread may."""
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()

    def stop(self) -> None:
        """End the process; another task starts another one."""
        self.kill()
        if self._process is not None and self._owner == os.getpid():
            self._process.wait()
        if self._connection is not None:
            self._connection.close()
        self._process = self._connection = None

    def _running(self) -> "Connection[Any, Any]":
        if self._process is not None and self._owner == os.getpid() and self._process.poll() is not None:
            self.stop()  # it was killed while it waited for a task
        if self._process is None or self._connection is None or self._owner != os.getpid():
            here, there = socket.socketpair()
            with there:
                command, environment = module_command("dgltree.equations.marking.mark_server", there.fileno())
                self._process = subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    pass_fds=[there.fileno()],
                )
            self._connection = Connection(here.detach())
            self._owner = os.getpid()
            if not self._connection.poll(START) or self._connection.recv() != "ready":
                self.stop()
                raise OSError("the process that marks answers could not be started")
        return self._connection


_idle: list[TimedMarking] = []
_busy: set[TimedMarking] = set()
_lock = threading.Lock()


def mark_within(task: MarkingTask, seconds: float) -> Checked:
    """The mark of an answer within a time, by a process that no other thread uses."""
    with _lock:
        if not _idle:
            atexit.register(end_marking)
        marking = _idle.pop() if _idle else TimedMarking()
        _busy.add(marking)
    try:
        return marking.mark(task, seconds)
    finally:
        with _lock:
            _busy.discard(marking)
            _idle.append(marking)


def end_marking() -> None:
    """End the processes that mark answers; those that other threads wait for are out of time."""
    with _lock:
        for marking in _busy:
            marking.kill()
        for marking in _idle:
            marking.stop()
        _idle.clear()
