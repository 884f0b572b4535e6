"""Questions that several processes answer, in the order in which they came."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from queue import Empty, Queue
from typing import Any, NamedTuple, TypeVar

from dgltree.commands.signals import within
from dgltree.equations.completion.batch_completion import BatchCompletion, each
from dgltree.read.typed import Question
from dgltree.workers import result_of, workers

SPENT = 0.5
"""Seconds for which questions are answered here: the other processes take one or two to begin."""
AHEAD = 16
"""Questions for each process that are read before they are due."""
T = TypeVar("T")


class ReadQuestion(NamedTuple):
    """A question, and the seconds that reading it took."""

    question: Question
    spent: float


def answer_each(
    completing: BatchCompletion, asked: Iterator[tuple[T, ReadQuestion | ValueError]], processes: int
) -> Iterator[tuple[T, Any]]:
    """Each question with its answer, or with what is wrong with it.

    A question that comes is begun, and an answer that is due is given, without waiting for further questions.

    Args:
        completing: the settings of a search.
        asked: questions; a thread reads them, which may still wait for one when the block ends.
        processes: how many further ones there are at most; this one waits.

    Raises ``MemoryError`` if a process ends, what reading raises, and what an answer raises but ``ValueError``.
    """
    coming: Queue[Any] = Queue(AHEAD * processes)
    threading.Thread(target=_read, args=(asked, coming), daemon=True).start()
    with workers(processes, _begin, completing) as executor:
        pool = _Pool(completing, executor)
        begun: deque[tuple[T, Future[Any] | Any]] = deque()
        spent, ended = 0.0, False
        while begun or not ended:
            while not ended and len(begun) < AHEAD * processes:
                try:
                    one = coming.get(block=not begun)
                except Empty:
                    break
                ended = one is None or isinstance(one, BaseException)
                if isinstance(one, BaseException):
                    raise one
                if one is not None:
                    begun.append(one)
            if spent >= SPENT:
                begun = deque((item, pool.begin(task)) for item, task in begun)
            if begun:
                item, found = begun.popleft()
                since = time.monotonic()
                answer = pool.result(found)
                spent += time.monotonic() - since
                yield item, answer


def _read(asked: Iterator[Any], coming: "Queue[Any]") -> None:
    try:
        for one in asked:
            coming.put(one)
    except BaseException as error:
        coming.put(error)
    else:
        coming.put(None)


class _Pool:
    """Processes that answer what is begun."""

    def __init__(self, completing: BatchCompletion, executor: ProcessPoolExecutor) -> None:
        self.completing, self._executor = completing, executor

    def begin(self, task: Any) -> Any:
        """Begin a task, if it is not begun yet."""
        return self._executor.submit(_answer, task) if isinstance(task, ReadQuestion) else task

    def result(self, found: Any) -> Any:
        if isinstance(found, ReadQuestion):
            return _answered(self.completing, found)
        return result_of(found, "answers") if isinstance(found, Future) else found


def _answered(completing: BatchCompletion, task: ReadQuestion) -> Any:
    """The completion, or the ``ValueError`` that says why there is none."""
    with within(completing.seconds):
        [found] = each(lambda several: completing.answer(several, task.spent), [task.question])
    return found


_settings: list[BatchCompletion] = []
"""Of a process that answers."""


def _begin(completing: BatchCompletion) -> None:
    _settings[:] = [completing]


def _answer(task: ReadQuestion) -> Any:
    return _answered(_settings[0], task)
