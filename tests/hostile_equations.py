"""Equations that are made to take long: for the tests, and for ``scripts/fuzz --only hostile``.

``PYTHONPATH=. .venv/bin/python tests/hostile_equations.py 500 0`` prints what 500 calls took, as lines of JSON.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from fuzzing import Target
from hypothesis import strategies as st

from benchmarks.processes import below, held

SECONDS = 1.0
"""That each call is given."""
CASES_IN_CI = 50
MOST_SECONDS, MOST_MEMORY = 3.0, 600.0
"""That a call may take, and MB of its process with its children."""
PARTS = (
    "{0}^2 + s^2 {0}",
    "sin^2 {0} + s^2 {0}",
    "sin({0})^{n} + cos({0})^{n}",
    "sqrt({0}^2 + {n})",
    "cbrt({0} - {n})",
    "abs({0} - {n})",
    "({0} + {n})^{n}",
    "({0})^({0})",
    "{n}^({0})",
    "log({0}, {n})",
    "1/({0} + 1/({0} - {n}))",
    "e^({0}) - e^(-{0})",
    "arctan({0}) + arcsin({0})",
    "sin({n}*({0})) - cos(({0})/{n})",
    "({0})^({n}/7)",
    "({0})^pi",
    "tan(({0})^2)",
    "({0} - y)^{n}",
    "sqrt({0} + sqrt({0} + y))",
    "(({0})^2 - y^2)/({0} - y)",
    "{0}*z - z/({0})",
    "abs(abs({0}) - abs(y))",
    "log(abs({0}) + {n})",
    "({0} + y + z + 1)^{n}",
    "sin(pi*{0})",
    "(-2)^({0})",
    "{n}^{n}^({0})",
)
QUESTIONS = (
    "{0} = _",
    "_ = {0}",
    "{0} + _ = {1}",
    "_*({0}) = {1}",
    "({0})/_ = {1}",
    "_^2 = {0}",
    "sqrt(_) + {0} = {1}",
    "{0} = {1}, x = _",
    "sin(_) = {0}",
    "_ + _*({0}) = {1}",
    "_1*({0}) + _2 = {1}",
    "({0})*(x - _) = {1}",
    "factor {0}",
    "simplify {0}",
    "expand {0}",
    "{0} = 0, x = _",
    "log(_) = {0}",
    "({0})^_ = {1}",
    "_^_ = {0}",
    "abs(_ - x) = {0}",
)
KNOWN = (
    "sin^2 x + s^2 x = _",
    "(x^2 + 1)^(1/3) + (x^3 + 1)^(1/5) = _ + x",
    "x^100 + 1 = _*(x + 1)",
    "(x + y + z + w + 1)^50 = _*(x + y)",
    "sqrt(sqrt(x + 1) + sqrt(x + 2) + sqrt(x + 3) + sqrt(x + 5)) = _",
    "9^9^9^9 + _ = x",
    "(x + 1)^1000 = _",
    "sin(x)^40 + cos(x)^40 = _",
    "factor x^120 - y^120",
    "expand (x + y + z + w + 1)^20",
    "tan(x) = x, x = _",
    "a*x^5 + b*x + c = 0, x = _",
    "_*_*_*_ = x^x",
)
NUMBERS = (
    "2",
    "3",
    "5",
    "6",
    "7",
    "12",
    "17",
    "31",
    "100",
    "2/3",
    "0.37",
    "sqrt(2)",
    "pi",
    "10^9",
    "123456789012345678901",
)


def drawn_equation(draw: random.Random) -> str:
    """A question of nested parts that are cheap to write and dear to judge."""
    if draw.random() < 0.1:
        return draw.choice(KNOWN)
    names = draw.choice([["x"], ["x", "2x"], ["x", "x", "y", "2x", "x + y"]])
    return draw.choice(QUESTIONS).format(_part(draw, names), _part(draw, names))


def _part(draw: random.Random, names: list[str]) -> str:
    terms = []
    for _ in range(draw.choice([1, 1, 2, 3])):
        text = draw.choice(names)
        for _ in range(draw.randint(0, 4)):
            text = draw.choice(PARTS).format(f"({text})" if len(text) > 1 else text, n=draw.choice(NUMBERS))
            if len(text) > 400:
                break
        terms.append(text)
    return draw.choice([" + ", " - ", "*", " + "]).join(f"({term})" for term in terms)


class Call(NamedTuple):
    """What a call took."""

    text: str
    seconds: float
    processor: float
    """Seconds of the processor, which other programs do not lengthen."""
    memory: float
    said: str


def calls(number: int, seed: int) -> Iterator[Call]:
    """Complete so many drawn equations with ``SECONDS`` each, in this process."""
    import dgltree

    draw = random.Random(seed)
    dgltree.complete("x + _ = 2x", seconds=60)
    for _ in range(number):
        text = drawn_equation(draw)
        with Peak() as peak:
            since, before = time.monotonic(), time.process_time()
            try:
                found = dgltree.complete(text, seconds=SECONDS)
                said = f"{len(found.fillers)} fillers, {found.fillers[0].verdict if found.fillers else found.reason}"
            except ValueError as error:
                said = f"refused: {error}"
            seconds, processor = time.monotonic() - since, time.process_time() - before
        yield Call(text, seconds, processor, peak.memory, said)


def call_in_a_child(number: int, seed: int) -> Iterator[Call]:
    """The same in a process of its own, whose memory is that of the calls alone."""
    command, environment = [sys.executable, __file__, str(number), str(seed)], dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            yield Call(*json.loads(line))
    assert child.returncode == 0


def print_calls(number: int, seed: int) -> None:
    """Write the calls as lines of JSON."""
    for call in calls(number, seed):
        print(json.dumps(call), flush=True)


class Peak:
    """A block that is watched: the most MB that its process and those below it had at once."""

    def __enter__(self) -> "Peak":
        self.memory, self._over = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.memory = max(self.memory, memory())
            if self._over.wait(0.1):
                return


def memory() -> float:
    """MB of this process and of those below it; one that has not begun its own program yet is its parent once more."""
    processes = dict(below(os.getpid()))
    own = processes.pop(os.getpid())
    return held(os.getpid()) + sum(held(number) for number, line in processes.items() if line != own)


def ended(draw: int) -> bool:
    """Whether a drawn equation is completed in time; a refusal is ``False``."""
    import dgltree

    text = drawn_equation(random.Random(draw))
    since = time.process_time()
    try:
        dgltree.complete(text, seconds=SECONDS / 5)
    except ValueError:
        return False
    finally:
        assert time.process_time() - since < MOST_SECONDS, f"{text} goes on when its time is over"
    return True


def equation_targets() -> dict[str, Target]:
    """By name."""
    return {"hostile equations": Target(st.integers(0, 2**62), ended, together=5)}


if __name__ == "__main__":
    print_calls(*map(int, sys.argv[1:]))
