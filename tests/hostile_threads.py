"""Many threads call the public functions and share the public objects: each answer is that of a call alone.

``scripts/fuzz --only threads`` draws the calls. A thread that waits for ever is a defect, too.
"""

import random
import threading
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import torch
from fuzzing import SlowTarget
from own_trees import table

import dgltree
from dgltree.equations.completion.completer import Completer
from dgltree.equations.marking.checker import Checker
from dgltree.equations.truth.judge import Judge
from dgltree.equations.typed import read_question
from dgltree.ranking.filler_list import FillerList

THREADS, CALLS = 8, 6
LONGEST = 300.0
"""Seconds of all threads together, on a busy machine."""
TREES = ("sin(x + y)*z", "x*(y + z)^2", "x", "exp(x*y) - z")
EQUATIONS = ("sqrt(x^2) = x", "sin(2x) = 2 sin x cos x", "abs(x) + abs(y) = abs(x + y)", "x^2 = 2", "log(x*y) = log(x)")
QUESTIONS = ("x^2 - 9 = (x - 3)_", "sin(x)^2 + _ = 1", "x^2 = 2, x = _", "factor x^2 - 4")


@lru_cache(maxsize=1)
def shared_calls() -> dict[str, Callable[[], Any]]:
    """By name, a call of a function or of an object that all threads share."""
    checker, completer, judge = Checker("x^2 = 2, x = _"), Completer(), Judge()
    model = dgltree.open_model()
    fillers = FillerList(model, dgltree.shipped_fillers()[:200])
    trees = [dgltree.read_infix(text) for text in TREES]
    batch = dgltree.batch(trees, model.cell.vocabulary.__class__.from_trees(trees))
    cell = dgltree.cells.TreeLSTM(dgltree.Vocabulary.from_trees(trees), 8).eval()
    plan = dgltree.plan(batch, cell)
    _, *rows = (line.split("\t") for line in table(60).splitlines())
    texts, labels = [dgltree.read_infix(row[1]) for row in rows], [row[2] for row in rows]
    classifier = dgltree.TreeClassifier(hidden_size=4, epochs=1).fit(texts, labels)
    read = {f"read {text}": (lambda text=text: repr(dgltree.read_infix(text))) for text in TREES}
    verified = {f"verify {text}": (lambda text=text: str(dgltree.verify(text))) for text in EQUATIONS}
    judged = {
        f"judge {text}": (lambda text=text: str(judge.verdict(read_question(text).equation))) for text in EQUATIONS
    }
    completed = {
        f"complete {text}": (lambda text=text: _fillers(completer.answer(read_question(text), top=3)))
        for text in QUESTIONS
    }
    marked = {f"mark {text}": (lambda text=text: checker.mark(text).record) for text in ("sqrt(2)", "±sqrt(2)", "1.41")}
    networks: dict[str, Callable[[], Any]] = {
        "rank": lambda: repr(fillers.rank([dgltree.read_equation("sin(y)^2 + _ = 1")], 3)[0].fillers),
        "propagate": lambda: _states(lambda: cell(batch)),
        "propagate a plan": lambda: _states(lambda: cell(plan)),
        "predict": lambda: classifier.predict(texts).tolist(),
        "check": lambda: dgltree.check("x + _ = 2x", "x").record,
        "check in time": lambda: dgltree.check("x + _ = 2x", "x", seconds=60).record,
    }
    return read | verified | judged | completed | marked | networks


def _fillers(found: Any) -> list[tuple[str, str]]:
    return [(repr(filler.trees), str(filler.verdict)) for filler in found.fillers]


def _states(run: Callable[[], Any]) -> list[float]:
    with torch.no_grad():
        states = run()
    return (states["h"] if isinstance(states, dict) else states).flatten().tolist()


@cache
def _alone(name: str) -> Any:
    return shared_calls()[name]()


def called(lists: list[list[str]]) -> bool:
    """Whether each of the threads had the answers of calls alone; it always has, or there is a defect."""
    wanted = {name: _alone(name) for names in lists for name in names}
    wrong: list[str] = []

    def work(names: list[str]) -> None:
        for name in names:
            try:
                found = shared_calls()[name]()
            except Exception as error:  # to be shown with its name
                found = repr(error)
            if found != wanted[name]:
                wrong.append(f"{name}: {found!r:.200} in threads, {wanted[name]!r:.200} alone")

    threads = [threading.Thread(target=work, args=(names,), daemon=True) for names in lists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST / len(threads))
    assert not any(thread.is_alive() for thread in threads), f"threads wait for ever: {lists}"
    assert not wrong, "\n".join(wrong)
    return True


def _drawn(draw: random.Random) -> list[list[str]]:
    names = list(shared_calls())
    return [draw.choices(names, k=CALLS) for _ in range(THREADS)]


def thread_targets() -> dict[str, SlowTarget]:
    """By name."""
    return {"threads": SlowTarget(_drawn, called)}
