"""Questions that several processes answer, in the order in which they came."""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from queue import Empty, Queue
from typing import Any, NamedTuple, TypeVar

from dgltree.commands.signals import within
from dgltree.equations.completion.batch_completion import BatchCompletion, each
from dgltree.read.typed import Question

SPENT = 0.5
"""Seconds for which questions are answered here: the other processes take one or two to begin."""
AHEAD = 16
"""Questions for each process that are read before they are due."""
T = TypeVar("T")


class ReadQuestion(NamedTuple):
    """A question, and the seconds that reading it took."""

    question: Question
    spent: float


def answered(
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
    with _Pool(completing, processes) as pool:
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
    """The processes, which begin when they are needed and end with the block."""

    def __init__(self, completing: BatchCompletion, processes: int) -> None:
        self.completing = completing
        self._executor = ProcessPoolExecutor(
            processes, get_context("spawn"), initializer=_begin, initargs=(completing,)
        )

    def __enter__(self) -> "_Pool":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._executor.shutdown(wait=kind is None, cancel_futures=True)
        if kind is not None:
            for child in active_children():
                child.terminate()

    def begin(self, task: Any) -> Any:
        """Begin a task, if it is not begun yet."""
        return self._executor.submit(_answer, task) if isinstance(task, ReadQuestion) else task

    def result(self, found: Any) -> Any:
        if isinstance(found, ReadQuestion):
            return _answered(self.completing, found)
        if not isinstance(found, Future):
            return found
        try:
            return found.result()
        except BrokenProcessPool:
            raise MemoryError(
                "a process that answers ended, probably for lack of memory: --processes 1 needs less"
            ) from None


def _answered(completing: BatchCompletion, task: ReadQuestion) -> Any:
    """The completion, or the ``ValueError`` that says why there is none."""
    with within(completing.seconds):
        [found] = each(lambda several: completing.answer(several, task.spent), [task.question])
    return found


_settings: list[BatchCompletion] = []
"""Of a process that answers."""


def _begin(completing: BatchCompletion) -> None:
    """Begin a process that answers: it leaves Ctrl-C to the one that began it, and ends when that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    _settings[:] = [completing]


def _end_with_the_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _answer(task: ReadQuestion) -> Any:
    return _answered(_settings[0], task)
