"""Jobs that leave what they find in folders: some at a time, each once, none left alone.

A job that is done is not done again, one that was interrupted goes on. Its folder says what it is of and is refused to
another one; ``log.txt`` there has what it printed and, where it failed, the whole error.
"""

import multiprocessing
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any

import torch
from tqdm import tqdm

from tasks.claims import claim
from tasks.processes import end_with_parent

CLAIM, LOG = "job.json", "log.txt"


class Job(ABC):
    """A job in a folder of its own; it is sent to another process."""

    folder: Path

    @property
    @abstractmethod
    def name(self) -> str:
        """For people."""

    @property
    @abstractmethod
    def configuration(self) -> Mapping[str, Any]:
        """The job of the folder, as JSON."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether the folder holds all that it should."""

    @abstractmethod
    def run(self) -> None:
        """Do it, or go on where an interrupted one was."""


def run(jobs: Sequence[Job], at_a_time: int, threads: int | None = None) -> dict[str, str]:
    """Do the jobs that are not done; a failing one does not stop the others.

    Args:
        jobs: each with a folder of its own.
        at_a_time: with 1 they are done in this process, else in so many others, which end with this one.
        threads: of torch in each of the other processes.

    Returns name to reason of those that failed. Raises ``ValueError``, before any begins, for a folder of another job.
    """
    if at_a_time < 1:
        raise ValueError(f"jobs is {at_a_time}; it must be 1 or more")
    for job in jobs:
        claim(job.folder / CLAIM, job.configuration)
    open_ = [job for job in jobs if not job.done]
    failed = {}
    with tqdm(total=len(open_), unit="job", disable=None) as bar:
        for job, reason in _here(open_) if at_a_time == 1 else _elsewhere(open_, at_a_time, threads):
            bar.update()
            if reason is not None:
                failed[job.name] = reason
    return failed


def _here(jobs: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
    return ((job, _failure(job)) for job in jobs)


def _failure(job: Job) -> str | None:
    """Do a job; why it failed, if it did."""
    with (job.folder / LOG).open("a", encoding="utf-8", buffering=1) as log, redirect_stdout(log), redirect_stderr(log):
        try:
            job.run()
        except SystemExit as error:
            if error.code == 1:  # Lightning's answer to Ctrl-C; a command line that refuses ends with 2 or a sentence
                raise KeyboardInterrupt from None
            if error.code:
                print(error)
                return f"exit status {error}" if isinstance(error.code, int) else str(error)
        except Exception as error:
            traceback.print_exc()
            return f"{type(error).__name__}: {error}"
    return None


def _elsewhere(jobs: Sequence[Job], at_a_time: int, threads: int | None) -> Iterator[tuple[Job, str | None]]:
    """Jobs as they end, each with its failure."""
    workers = [_Worker(threads) for _ in range(min(at_a_time, len(jobs)))]
    free: SimpleQueue[_Worker] = SimpleQueue()
    for worker in workers:
        free.put(worker)

    def do(job: Job) -> str | None:
        worker = free.get()
        try:
            return worker.do(job)
        finally:
            free.put(worker)

    with ThreadPoolExecutor(at_a_time) as executor:
        try:
            futures = {executor.submit(do, job): job for job in jobs}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:  # where this was interrupted, nothing goes on
            executor.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.stop()


class _Worker:
    """A process that does one job after another; where it ends by itself another one takes its place."""

    def __init__(self, threads: int | None) -> None:
        self._threads, self._stopped, self._changing = threads, False, Lock()
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._jobs, theirs = context.Pipe()
        given = (theirs, self._threads, multiprocessing.get_start_method())
        self._process = context.Process(target=_work, args=given)
        self._process.start()
        theirs.close()

    def do(self, job: Job) -> str | None:
        """Why it failed, if it did."""
        try:
            self._jobs.send(job)
            found: str | None = self._jobs.recv()
        except (EOFError, OSError):
            self._process.join()
            reason = f"its process ended with {self._process.exitcode}"
            with self._changing:
                if not self._stopped:
                    self._start()
            return reason
        return found

    def stop(self) -> None:
        with self._changing:
            self._stopped = True
            self._process.terminate()
        self._process.join()


def _work(jobs: Connection, threads: int | None, start_method: str) -> None:
    """The loop of a worker, until its pipe is closed. Loaders start as in the parent, since a spawn takes seconds."""
    end_with_parent()
    multiprocessing.set_start_method(start_method, force=True)
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        while True:
            jobs.send(_failure(jobs.recv()))
    except (EOFError, OSError, KeyboardInterrupt):
        return
