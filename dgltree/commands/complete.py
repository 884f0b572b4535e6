"""``dgltree complete`` fills the blanks of equations, in this process or in several.

Questions that several processes answer are answered in the order in which they came.
"""

import argparse
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from dgltree.commands.equation_input import (
    EquationCommand,
    EquationInput,
    add_assumptions,
    count,
    parse_arguments,
    parser,
)
from dgltree.commands.main import COMMANDS
from dgltree.commands.on_ray import add_ray, answer, say_rows
from dgltree.commands.options import check_input
from dgltree.commands.signals import within
from dgltree.equations.typed import Question
from dgltree.ranking.completion import BatchCompletion, each
from dgltree.ranking.pretrained_files import model_file
from dgltree.read.json_text import write_json
from dgltree.support.workers import cores, result_of, workers

if TYPE_CHECKING:
    from dgltree.equations.completion.result import Completion

MAX_IN_ONE_PROCESS = 4
"""Equations of a command line that are not worth further processes."""
MIN_FOR_NUMBA = 32
"""Equations from which on Numba is worth loading, if what it compiled is at hand."""
SPENT = 0.5
"""Seconds for which questions are answered here: the other processes take one or two to begin."""
AHEAD = 16
"""Questions for each process that are read before they are due."""
EXAMPLES = """\
examples:
  dgltree complete "sin(x)^2 + _ = 1"
  dgltree complete "x^2 - 5x + 6 = (x - 2)_" --top 3 --json
  dgltree complete "\\frac{1}{x} - \\frac{1}{x+1} = \\frac{1}{\\square}" --latex
  dgltree complete "x^2 - 5x + 6 = (x - _1)(x - _2)"
  dgltree complete "x^2 - 2x - 1 = 0, x = _" "A = 1/2 g h, h = _"
  dgltree complete "(x + 1)^3 = _" "factor x^4 - 1" "expand cos(x + y)"
  dgltree complete "tan(x)*_ = sin(x)" --order score
  cat equations.txt | dgltree complete - --seconds 1
  dgltree complete equations.parquet --out answers --ray

Type or paste equations as usual: 2x, sin^2 x, √x, |x|, LaTeX. Write a blank as _ or ?, several blanks as _1, _2.
After an equation, ", x = _" asks for its solutions; expand, factor and simplify ask for a form.

A search finds candidates, one line per value. Arithmetic decides where the equation holds with each candidate:
everywhere (at complex points), on the reals, on the positive reals, or on part of the real line. With --order score or
--fillers, the command instead prints the network's ranking of a list, in which candidates may be right or wrong.
"""
NEEDS = ()


def prepare(name: str, arguments: list[str]) -> argparse.Namespace:
    """The options. Raises ``FileNotFoundError``."""
    made = parser(name, COMMANDS[name][1], EXAMPLES)
    made.add_argument("--top", type=count, default=10, metavar="N", help="show this many candidates (default: 10)")
    made.add_argument("--latex", action="store_true", help="print equations and candidates in LaTeX")
    made.add_argument("--forms", action="store_true", help="print other forms of each value below it")
    made.add_argument(
        "--seconds",
        type=_seconds,
        metavar="S",
        help="stop searching after this many seconds and show the results so far",
    )
    made.add_argument(
        "--budget",
        type=count,
        metavar="N",
        help="keep at most this many values in a search, which tries several expressions for each (default: 250000)",
    )
    made.add_argument(
        "--order",
        choices=("textbook", "score"),
        default="textbook",
        help="textbook searches, and lists valid candidates in the order of a textbook (default); score ranks a list "
        "by the network's score",
    )
    made.add_argument(
        "--fillers",
        metavar="FILE",
        help="rank the candidates in this file by score; one infix expression per line",
    )
    made.add_argument(
        "--any-variables",
        action="store_true",
        help="with --order score or --fillers: also rank candidates with variables that are not in the equation",
    )
    made.add_argument(
        "--processes",
        type=count,
        metavar="N",
        help="complete many equations in up to N processes, at most one per core (default: one per core)",
    )
    add_assumptions(made)
    add_ray(made, "the equations")
    made.add_argument("--out", metavar="DIR", help="with --ray: write the answers to Parquet files in this folder")
    made.add_argument("--column", metavar="NAME", help="with --ray: the column of the equations (default: equation)")
    made.add_argument("--strict", action="store_true", help="with --ray: stop at an equation that cannot be completed")
    options = parse_arguments(made, arguments)
    if options.any_variables and not (options.fillers or options.order == "score"):
        made.error(
            "--any-variables needs --order score or --fillers, because a search uses only the variables of the equation"
        )
    if options.json and (options.latex or options.forms):
        made.error("--latex and --forms are for printed answers; --json contains infix, LaTeX and all forms")
    if options.ray and options.assume:
        made.error("--assume cannot be combined with --ray")
    check_input(options.fillers)
    if options.model != "default":
        model_file(options.model)
    if not options.ray:
        if options.out or options.column or options.strict:
            made.error("--out, --column and --strict are for --ray; without --ray, solutions are printed")
        return options
    if options.latex or options.forms:
        made.error("--latex and --forms are for printed answers; the files of --ray contain infix, LaTeX and all forms")
    if not options.out:
        made.error("--ray writes Parquet files: give the folder for them as --out DIR")
    if len(options.equations) > 1:
        made.error("with --ray, give one Parquet file or folder in place of the equations")
    return options


def run(_: str, options: argparse.Namespace) -> int:
    """Run the command; the exit code."""
    return _on_ray(options) if options.ray else CompleteCommand(options).run(options.equations)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"{text.strip()!r} is not a time in seconds, above 0 and below 1,000,000")
    return seconds


def _completing(options: argparse.Namespace) -> dict[str, Any]:
    """Settings of :class:`dgltree.ranking.completion.BatchCompletion`, the model apart."""
    from dgltree.ranking.pretrained_files import read_fillers

    return {
        "top": options.top,
        "seconds": options.seconds,
        "budget": options.budget,
        "by_score": bool(options.fillers) or options.order == "score",
        "fillers": tuple(read_fillers(options.fillers)) if options.fillers else None,
        "any_variables": options.any_variables,
    }


class CompleteCommand(EquationCommand):
    """Reads questions, completes them and prints what was found."""

    def __init__(self, options: argparse.Namespace) -> None:
        from dgltree.equations.completion.assumptions import read_assumptions

        self.assumed = read_assumptions(options.assume)
        self.options = options
        self._spent = 0.0
        self.completing = BatchCompletion(options.model, **_completing(options))
        super().__init__(options.json, options.names, self.completing.together)

    def answers(self, asked: Iterator[EquationInput]) -> Iterator[tuple[EquationInput, Any]]:
        """The equations with their answers, those of a search for several equations by several processes."""
        processes = min(self.options.processes or cores(), cores())
        texts = self.options.equations
        if self.completing.by_score or processes == 1 or (len(texts) <= MAX_IN_ONE_PROCESS and "-" not in texts):
            yield from super().answers(asked)
            return

        def read(one: EquationInput) -> "ReadQuestion | ValueError":
            return one.typed if isinstance(one.typed, ValueError) else ReadQuestion(one.typed, self._spent)

        yield from answer_each(self.completing, ((one, read(one)) for one in asked), processes)

    def read(self, text: str) -> list[tuple[str, Question]]:
        from dgltree.equations.completion.assumptions import check_assumptions
        from dgltree.equations.expressions.variables import variables
        from dgltree.equations.typed import read_question

        begun = time.monotonic()
        try:
            question = read_question(text, self.names)
            check_assumptions(self.assumed, [*variables(*question.equation), *filter(None, [question.unknown])])
            return [(text, question)]
        finally:
            self._spent = time.monotonic() - begun

    def answer(self, block: list[EquationInput]) -> "list[Completion]":
        with within(None if self.completing.by_score else self.options.seconds):
            return self.completing.answer([asked.typed for asked in block], self._spent)

    def show(self, asked: EquationInput, found: "Completion") -> None:
        from dgltree.equations.completion.assumptions import as_assumed
        from dgltree.equations.marking.numerals import decimal_mark
        from dgltree.equations.typed.latex_writer import write_latex, write_latex_equation
        from dgltree.read.infix_writer import write_equation, write_infix

        found = as_assumed(found, self.assumed)
        latex = self.options.latex
        write: Callable[[Any], str] = write_latex if latex else write_infix
        equation: Callable[[Any], str] = write_latex_equation if latex else write_equation
        if not latex and decimal_mark(asked.text) == "comma":  # as in the question
            write = _with_commas(write)
            equation = _with_commas(equation)
        if self.as_json:
            self._show_json(asked, found)
            return
        notes = [f"      ({note})" for note in asked.typed.notes]
        understood = found.understood(equation)
        print("\n".join([asked.place + understood, *found.lines(write, self.options.forms), *notes]), flush=True)

    def _show_json(self, asked: EquationInput, found: "Completion") -> None:
        from dgltree.equations.completion.result import describe_completion

        print(write_json({"equation": asked.text, **asked.line, **describe_completion(found, asked.typed.notes)}))

    def run(self, texts: list[str]) -> int:
        with self._kernels(texts) if self.completing.by_score else nullcontext():
            return super().run(texts)

    def _kernels(self, texts: list[str]) -> AbstractContextManager[None]:
        from dgltree.engine.kernels.dispatch import kernels

        return kernels("cached" if len(texts) >= MIN_FOR_NUMBA or "-" in texts else "off")


def _with_commas(write: Callable[[Any], str]) -> Callable[[Any], str]:
    """A writer whose decimals have commas."""
    from dgltree.equations.marking.sentences import with_decimal_commas

    return lambda written: with_decimal_commas(write(written))


def _on_ray(options: argparse.Namespace) -> int:
    from dgltree.scale import Complete

    job = Complete(options.column or "equation", options.model, **_completing(options))
    return say_rows(answer(job, options.equations[0].strip(), options, "cpu"), options)


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
        spent = 0.0
        ended = False
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


class _Pool:
    """Processes that answer what is begun."""

    def __init__(self, completing: BatchCompletion, executor: ProcessPoolExecutor) -> None:
        self.completing = completing
        self._executor = executor

    def begin(self, task: Any) -> Any:
        """Begin a task, if it is not begun yet."""
        return self._executor.submit(_answer, task) if isinstance(task, ReadQuestion) else task

    def result(self, found: Any) -> Any:
        if isinstance(found, ReadQuestion):
            return _answered(self.completing, found)
        return result_of(found, "answers") if isinstance(found, Future) else found


def _read(asked: Iterator[Any], coming: "Queue[Any]") -> None:
    try:
        for one in asked:
            coming.put(one)
    except BaseException as error:
        coming.put(error)
    else:
        coming.put(None)


def _answered(completing: BatchCompletion, task: ReadQuestion) -> Any:
    """The completion, or the ``ValueError`` that says why there is none."""
    with within(completing.seconds):
        [found] = each(lambda several: completing.answer(several, task.spent), [task.question])
    return found


_settings: list[BatchCompletion] = []
"""The settings of a process that answers."""


def _begin(completing: BatchCompletion) -> None:
    _settings[:] = [completing]


def _answer(task: ReadQuestion) -> Any:
    return _answered(_settings[0], task)
