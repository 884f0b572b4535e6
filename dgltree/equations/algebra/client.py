"""Questions to SymPy, answered by a process that is ended when one takes too long."""

import atexit
import json
import math
import os
import select
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import IO, Any

from dgltree.read.infix import read_infix
from dgltree.read.infix_writer import write_infix
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
        self._seconds, self._lock = seconds, Lock()
        self._process: subprocess.Popen[str] | None = None
        self._owner, self._ready = 0, False

    def start(self) -> None:
        """Let the process begin to load SymPy."""
        with self._lock:
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
                self._process.communicate()
            self._process, self._ready = None, False

    def _ask(self, what: str, trees: list[Tree], seconds: float) -> Any:
        if sum(tree.size for tree in trees) > MAX_NODES or seconds <= 0:
            return None
        try:
            texts = [write_infix(tree) for tree in trees]
        except ValueError:  # a node that no text says
            return None
        with self._lock:
            running = self._running()
            assert running.stdin is not None and running.stdout is not None
            try:
                if not self._ready:  # of a deadline the start is a part
                    begun = time.monotonic()
                    self._ready = bool(_line(running.stdout, min(seconds, START)))
                    seconds -= time.monotonic() - begun
                limit = min(seconds, WAIT) if self._ready else 0.0
                question = {"what": what, "trees": texts, "seconds": self._seconds, "wait": math.ceil(limit) + 1}
                running.stdin.write(json.dumps(question) + "\n")
                running.stdin.flush()
                line = _line(running.stdout, limit)
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
            paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)  # the modules that this process has
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "dgltree.equations.algebra.server"],
                env={**os.environ, "PYTHONPATH": paths},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            self._owner, self._ready = os.getpid(), False
        return self._process


def _line(stream: IO[str], seconds: float) -> str:
    """A line, nothing if none comes in time."""
    return stream.readline() if seconds > 0 and select.select([stream], [], [], seconds)[0] else ""


@lru_cache(maxsize=1)
def algebra() -> Algebra:
    """The one of this process, which ends with it."""
    made = Algebra()
    atexit.register(made.stop)
    return made
