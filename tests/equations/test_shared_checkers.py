"""Objects that a server shares among its threads keep nothing of a call, and answer as if each call were alone."""

import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from dgltree import Tree
from dgltree.equations.completion.completer import Completer, Listener
from dgltree.equations.marking.checker import Checker
from dgltree.equations.marking.marks import Mark
from dgltree.equations.truth.judge import Judge
from dgltree.equations.typed import Question, read_question
from dgltree.ranking.completion import completer
from dgltree.support.lazy import cached_property
from dgltree.support.refusal import attempt

THREADS = 4
CALLS = 120

REMEMBERS = (Judge,)
"""Verdicts are pure functions of the equation that they are given on, so a judge may remember them."""


class Shared(NamedTuple):
    """A public object that threads may share: how it is made, what is called, with which texts."""

    make: Callable[[], Any]
    call: Callable[[Any, str], Any]
    texts: tuple[str, ...]
    calls: int = CALLS


def marking(*texts: str, question: str, **settings: Any) -> Shared:
    """A checker of a question, and answers to it whose marks differ if one is mistaken for another."""
    return Shared(lambda: Checker(question, **settings), lambda checker, text: checker.mark(text).record, texts)


def completing(make: Callable[[], Completer], *texts: str) -> Shared:
    def fillers(shared: Completer, text: str) -> list[tuple[str, str]]:
        found = shared.answer(read_question(text), top=3)
        return [(repr(filler.trees), str(filler.verdict)) for filler in found.fillers]

    return Shared(make, fillers, texts, 12)


SHARED = {
    "units": marking("0.43 km", "428.571 m", "0.4286 km", "429 m", "3", question="3 km/7 = _", units=True, rounded=2),
    "rounded": marking("0.67", "0.667", "0.66", "2/3", "_", question="2/3 = _", rounded=True),
    "places": marking("1.41; -1.41", "±1.414", "sqrt(2)", "±sqrt(2)", question="x^2 = 2, x = _", rounded=2),
    "significant": marking("67 %", "66,7 %", "0,667", "2/3", question="2/3 = _", significant=3, decimal="comma"),
    "percent": marking("25 %", "0.25", "1/4", "25", question="1/4 = _"),
    "decimal": marking("1,5", "1.5", "1,5; 2", "2", question="2x = 3, x = _", decimal="comma"),
    "form": marking("(x-3)(x+3)", "x^2-9", "(x-3)^2", "y", question="x^2 - 9 = _", form="factored"),
    "mixed": marking("2 1/2", "5/2", "2 1/3", "2.5", question="5/2 = _", mixed=True),
    "assumptions": marking("x", "-x", "abs(x)", "2", question="sqrt(x^2) = _", assume=["x > 0"]),
    "a window": marking(
        "pi/6; 5pi/6", "30°; 150°", "pi/6", "pi/6 + 2*k*pi", "no solution",
        question="sin(x) = 1/2, x = _", assume=["x in [0, 2*pi)"],
    ),
    "all numbers": marking("all", "none", "R \\ {1}", "1", question="(x^2 - 1)/(x - 1) = x + 1, x = _"),
    "a completer": completing(Completer, "x^2 - 9 = (x - 3)_", "sin(x)^2 + _ = 1", "x^2 = 2, x = _"),
    "the completer of complete": completing(completer, "2x + 3 = 11, x = _", "factor x^2 - 4", "exp(x)^2 = _"),
}  # fmt: skip

each_shared = pytest.mark.parametrize("shared", SHARED.values(), ids=SHARED)


def state(value: Any) -> Any:
    """All that an object of the library holds, and what that holds, without what was computed of the question alone."""
    if isinstance(value, REMEMBERS):
        return type(value).__name__
    if isinstance(value, (Tree, str)):
        return repr(value)
    if isinstance(value, Mapping):
        return {key: state(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [state(item) for item in value]
    if not type(value).__module__.startswith("dgltree") or not hasattr(value, "__dict__"):
        return repr(value)
    lazy = {name for kind in type(value).__mro__ for name, what in vars(kind).items() if type(what) is cached_property}
    return {name: state(item) for name, item in vars(value).items() if name not in lazy}


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads that take turns a thousand times as often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@each_shared
def test_a_call_leaves_nothing_on_the_object(shared: Shared) -> None:
    if shared is SHARED["units"]:
        pytest.importorskip("pint", reason="the extra units is not installed")
    made = shared.make()
    before = state(made)
    for text in shared.texts:
        shared.call(made, text)
        assert state(made) == before, text


@each_shared
def test_threads_get_the_answers_that_one_thread_gets(shared: Shared, switching: None) -> None:
    if shared is SHARED["units"]:
        pytest.importorskip("pint", reason="the extra units is not installed")
    alone = {text: shared.call(shared.make(), text) for text in shared.texts}
    made = shared.make()
    texts = random.Random(5).choices(shared.texts, k=shared.calls)
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(lambda text: shared.call(made, text), texts))
    assert [(text, got) for text, got in zip(texts, found, strict=True) if got != alone[text]] == []


OPTIONS: list[dict[str, Any]] = [
    {"form": "factored", "names": ["ab"], "mixed": True, "decimal": "point", "assume": ["a > 0"]},
    {"rounded": 2, "mixed": True, "decimal": "comma", "assume": ["x > -5", "a > 0"]},
    {"significant": 3, "names": ["ab"], "decimal": "point"},
    {"rounded": True, "assume": ["0 <= a <= 3"]},
    {"units": True, "mixed": True, "rounded": True},
    {"form": "exact", "assume": ["a integer"]},
]
QUESTIONS = ("x^2 = a + 1, x = _", "sin(a x) = 1/2, x = _", "x^2 - a^2 = _", "3x/7 = 1, x = _")
ANSWERS = ("±sqrt(a + 1)", "(pi/6 + 2 k pi)/a, (5pi/6 + 2kpi)/a", "(x-a)(x+a)", "2,33", "7/3")


@pytest.mark.slow
def test_eight_threads_with_one_checker_and_one_completer_get_what_one_thread_gets(switching: None) -> None:
    """All options of a checker, several at a time, next to searches of one completer in the same threads."""
    pytest.importorskip("pint", reason="the extra units is not installed")
    made = [(question, options) for question in QUESTIONS for options in OPTIONS]
    checkers = [attempt(Checker, question, **options) for question, options in made]
    tasks = [(place, answer) for place in range(len(made)) for answer in ANSWERS]

    def done(checker: Any, shared: Completer, task: tuple[int, str]) -> Any:
        place, answer = task
        if place % 7 == 0:
            asked = attempt(read_question, made[place][0])
            if not isinstance(asked, Question):
                return str(asked)
            found = shared.answer(asked, 3)
            return [(repr(filler.trees), str(filler.verdict)) for filler in found.fillers]
        return checker.mark(answer).record if isinstance(checker, Checker) else str(checker)

    alone = [
        done(attempt(Checker, made[task[0]][0], **made[task[0]][1]), Completer(budget=2000), task) for task in tasks
    ]
    shared = Completer(budget=2000)
    order = random.Random(8).sample(range(len(tasks)), len(tasks))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda place: done(checkers[tasks[place][0]], shared, tasks[place]), order))
    differ = [(tasks[place], got, alone[place]) for place, got in zip(order, found, strict=True) if got != alone[place]]
    assert differ == []


def test_a_mark_does_not_wait_for_the_end_of_a_search() -> None:
    searching, marked = threading.Event(), threading.Event()

    class UntilMarked(Listener):
        def stops(self) -> bool:
            searching.set()
            return marked.is_set()

    checker = Checker("x^2 - 9 = _", form="factored")
    asked = read_question("x^y + log(x*y+1)*sin(y) = tan(x+1) + cos(_^2+x)*_")
    with ThreadPoolExecutor(1) as pool:
        search = pool.submit(Completer(budget=10**7, seconds=60).answer, asked, 3, UntilMarked())
        try:
            assert searching.wait(60)
            found = checker.mark("(x-3)(x+3)")
            assert not search.done()
        finally:
            marked.set()
    assert found.mark is Mark.RIGHT
