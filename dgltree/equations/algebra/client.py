"""Questions to SymPy, answered by a process that is ended when one takes too long."""

import atexit
import json
import math
import os
import subprocess
import time
import warnings
from contextlib import suppress
from functools import lru_cache
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from dgltree.read.infix import read_infix
from dgltree.read.infix_writer import write_infix
from dgltree.support.workers import module_command
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

SECONDS = 5.0
"""CPU time that SymPy may take for one question, its start not counted: on a busy machine it answers the same."""
WAIT = 60.0
"""Seconds that an answer may take on a busy machine."""
START = 30.0
"""Further seconds that the start may take on a busy machine."""
MAX_NODES = 400
"""Nodes of what it is asked about; it walks trees by recursion."""


class Algebra:
    """SymPy in a process of its own, which starts with :meth:`start` or the first question and ends with its parent."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._lock = Lock()
        self._process: subprocess.Popen[str] | None = None
        self._reader: Thread
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._owner = 0
        self._ready = False
        self._is_missing = False

    def start(self) -> None:
        """Let the process begin to load SymPy."""
        with self._lock:
            if not self._is_missing:
                self._running()

    def forms(self, tree: Tree, seconds: float = math.inf) -> dict[str, list[Tree]]:
        """See :func:`dgltree.equations.algebra.server.forms`; nothing if there is no answer within ``seconds``."""
        found = self._ask("forms", [tree], seconds) or {}
        return {name: [read_infix(text) for text in texts] for name, texts in found.items()}

    def solutions(self, equation: Equation, seconds: float = math.inf) -> list[Tree]:
        """See :func:`dgltree.equations.algebra.server.solutions`; nothing if there is no answer within ``seconds``."""
        return [read_infix(text) for text in self._ask("solutions", list(equation), seconds) or []]

    def stop(self) -> None:
        """End the process; another question starts another one."""
        if self._process is not None:
            if self._owner == os.getpid():
                self._process.kill()
                self._reader.join()
                for pipe in (self._process.stdin, self._process.stdout):
                    assert pipe is not None
                    with suppress(OSError):  # a question that it did not read is lost with it
                        pipe.close()
            self._process = None
            self._ready = False

    def _ask(self, what: str, trees: list[Tree], seconds: float) -> Any:
        if self._is_missing or sum(tree.size for tree in trees) > MAX_NODES or seconds <= 0:
            return None
        try:
            texts = [write_infix(tree) for tree in trees]
        except ValueError:  # a node that no text says
            return None
        with self._lock:
            running = self._running()
            assert running.stdin is not None
            try:
                if not self._ready:  # of a deadline the start is a part
                    begun = time.monotonic()
                    first = self._line(min(seconds, START))
                    self._ready = first == "ready\n"
                    if not self._ready and (first or running.poll() is not None):
                        self._give_up(first.strip() or f"its process ended with status {running.returncode}")
                        return None
                    seconds -= time.monotonic() - begun
                limit = min(seconds, WAIT) if self._ready else 0.0
                question = {"what": what, "trees": texts, "seconds": self._seconds, "wait": math.ceil(limit) + 1}
                running.stdin.write(json.dumps(question) + "\n")
                running.stdin.flush()
                line = self._line(limit)
            except OSError:  # it ended
                line = ""
            except BaseException:  # an interrupt: its answer must not answer another question
                self.stop()
                raise
            if not line:
                self.stop()
                return None
            return json.loads(line)

    def _running(self) -> "subprocess.Popen[str]":
        if self._process is None or self._owner != os.getpid():  # of a process that was forked, the parent has it
            command, environment = module_command("dgltree.equations.algebra.server")
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            self._owner = os.getpid()
            self._ready = False
            self._lines = SimpleQueue()
            self._reader = Thread(target=_read_lines, args=(self._process, self._lines), daemon=True)
            self._reader.start()
        return self._process

    def _line(self, seconds: float) -> str:
        """The next line of the process; nothing if none comes in time, or if it ended."""
        try:
            return self._lines.get(timeout=seconds) if seconds > 0 else ""
        except Empty:
            return ""

    def _give_up(self, reason: str) -> None:
        """Ask nothing any more, because the process cannot start here."""
        self.stop()
        self._is_missing = True
        warnings.warn(f"SymPy cannot run here: {reason}; solutions that need SymPy are missing", stacklevel=2)


def _read_lines(process: "subprocess.Popen[str]", lines: "SimpleQueue[str]") -> None:
    """Hand on the lines of a process, and an empty one when it ends.

    A thread waits for them, as a pipe cannot be waited for on every system, nor by ``select`` in a process with more
    than 1,024 open files.
    """
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    process.wait()
    lines.put("")


@lru_cache(maxsize=1)
def algebra() -> Algebra:
    """The one of this process, which ends with it."""
    made = Algebra()
    atexit.register(made.stop)
    return made
