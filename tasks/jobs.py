"""Jobs that leave what they find in folders: some at a time, each once, none left alone.

A job that is done is not repeated, one that was interrupted continues. Its folder names the job and is refused to
another one; ``log.txt`` there has what it printed and, if it failed, the whole error.
"""

import multiprocessing
import signal
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Event, Lock
from typing import Any

import torch
from tqdm import tqdm

from dgltree.commands.signals import INTERRUPTED, LINES, Interrupted, Terminated, interruptible, unwinding
from dgltree.read.text import one_line
from dgltree.support.durations import in_seconds
from dgltree.support.files import claim
from dgltree.support.workers import end_with_parent

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
        at_a_time: with 1 they are done in this process, else each in another one, which ends with this one.
        threads: of torch in each of the other processes.

    A line on standard error says of each that it ended, and how. Returns name to reason of those that failed. Raises
    ``ValueError``, before any begins, for a folder of another job.
    """
    if at_a_time < 1:
        raise ValueError(f"jobs is {at_a_time}; it must be 1 or more")
    for job in jobs:
        claim(job.folder / CLAIM, job.configuration)
    open_ = [job for job in jobs if not job.done]
    failed = {}
    start = time.perf_counter()
    with tqdm(total=len(open_), unit="job", disable=None) as bar:
        ended = _here(open_) if at_a_time == 1 else _elsewhere(open_, at_a_time, threads)
        for number, (job, reason) in enumerate(ended, 1):
            bar.update()
            if reason is not None:
                failed[job.name] = reason
            how = "done" if reason is None else f"failed ({one_line(reason)})"
            seconds = in_seconds(time.perf_counter() - start)
            tqdm.write(f"{number} of {len(open_)} after {seconds} s: {job.name}: {how}", file=sys.stderr)
    return failed


def answering_signals(name: str, command: Callable[[], int]) -> int:
    """The exit status of a command; Ctrl-C and SIGTERM end it and its jobs with one line, as those of ``dgltree``."""
    try:
        with unwinding(), interruptible():
            return command()
    except (KeyboardInterrupt, Interrupted):
        line, status = LINES[signal.SIGINT]
    except Terminated:
        line, status = LINES[signal.SIGTERM]
    print(f"{name}: {line}; the same command continues", file=sys.stderr)
    return status


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
    """Jobs as they end, each in a process of its own, with its failure."""
    context = multiprocessing.get_context("spawn")
    running = set[BaseProcess]()
    stopped = Event()
    changing = Lock()

    def do(job: Job) -> str | None:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(job, theirs, threads, multiprocessing.get_start_method()))
        with changing:
            if stopped.is_set():
                return "stopped"
            process.start()
            running.add(process)
        theirs.close()
        try:
            found: str | None = ours.recv()
        except EOFError:
            found = None
        process.join()
        running.discard(process)
        return f"its process ended with {process.exitcode}" if process.exitcode else found

    with ThreadPoolExecutor(at_a_time) as executor:
        try:
            futures = {executor.submit(do, job): job for job in jobs}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:  # if this was interrupted, nothing continues
            with changing:
                stopped.set()
                for process in running:
                    process.terminate()
            executor.shutdown(wait=False, cancel_futures=True)


def _work(job: Job, answer: Connection, threads: int | None, start_method: str) -> None:
    """Do a job in a process of its own. Loaders start as in the parent, since a spawn takes seconds."""
    end_with_parent()
    multiprocessing.set_start_method(start_method, force=True)
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        answer.send(_failure(job))
    except KeyboardInterrupt:  # the process that started this one says so
        sys.exit(INTERRUPTED)
