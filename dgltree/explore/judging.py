"""Equations of the page are searched, judged and plotted here, in a process of its own, which the page may end.

``python -m dgltree.explore.judging`` reads a JSON line, the name of a work and the fields of a request, and writes JSON
lines: pieces of the answer, and at last that it is done, why it is refused, or a mistake of ours. Only the
guesses of a search that finds nothing need torch.
"""

import json
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dgltree.equations.completion.completer import Listener
from dgltree.equations.completion.result import Completion, Filler
from dgltree.equations.completion.verification import verify
from dgltree.equations.expressions.variables import variables
from dgltree.equations.search.clock import Clock
from dgltree.equations.search.points import Points, value
from dgltree.equations.truth.elementary import Array
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.verdict import Doubt, Grade, Verdict, undecided
from dgltree.equations.typed import Question, read_question, read_typed_expression
from dgltree.equations.typed.latex_writer import write_latex, write_latex_equation
from dgltree.explore.request_fields import RequestFields
from dgltree.ranking.completion import completer
from dgltree.read.infix_writer import write_equation, write_infix
from dgltree.read.json_text import write_json
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

MAX_EQUATION_LENGTH = 1000
"""Characters of an equation."""
TOP = 12
SECONDS, JUDGED_SECONDS = 20.0, 15.0
"""Seconds of an open search, and of the verdicts of one request; what is not judged by then is undecided."""
PLOT_POINTS = 401
WINDOW = 5.0
"""The curves go from minus this to this, and farther if a part of the line ends outside."""
APART = 1e-6
"""Relative difference of the sides that is shown."""
DONE, PIECE, REFUSED, MISTAKE = "done", "piece", "refused", "mistake"
"""The kinds of lines that are written."""
Send = Callable[[dict[str, Any]], None]


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        name, fields = json.loads(line)
        try:
            WORKS[name](RequestFields(fields), lambda piece: _say(PIECE, piece))
            _say(DONE, None)
        except ValueError as error:
            _say(REFUSED, str(error))
        except Exception:
            _say(MISTAKE, traceback.format_exc())


def _say(kind: str, what: Any) -> None:
    print(write_json([kind, what]), flush=True)


def judge_fillers(asked: RequestFields, send: Send) -> None:
    """Send the verdicts on the equation with each of some fillers in its one blank, as far as there is time."""
    typed = read_question_of(asked)
    fillers = [read_filler(text, typed) for text in asked.texts("fillers", TOP, MAX_EQUATION_LENGTH)]
    judge = Judge()
    clock = Clock(JUDGED_SECONDS)
    verdicts = [clock.in_time(partial(judge.verdict, typed.equation.fill(filler))) for filler in fillers]
    not_judged = undecided("not checked for lack of time", Doubt.NO_TIME)
    send({"verdicts": [_verdict(verdict or not_judged) for verdict in verdicts]})


def judge_own(asked: RequestFields, send: Send) -> None:
    """Send the verdict on the equation with a filler of the user's own."""
    typed = read_question_of(asked)
    filler = read_filler(asked.text("filler", MAX_EQUATION_LENGTH), typed)
    send(_verdict(Judge().verdict(typed.equation.fill(filler))))


def verify_equation(asked: RequestFields, send: Send) -> None:
    """Send the verdict on an equation without a blank."""
    found = verify(read_question_of(asked).equation)
    against = None if found.counterexample is None else str(found.counterexample)
    send({**_verdict(found.verdict), "against": against})


def plot_equation(asked: RequestFields, send: Send) -> None:
    """Send both sides as curves, with the blank filled if there is one; nothing for several variables."""
    typed = read_question_of(asked)
    filler = asked.text("filler", MAX_EQUATION_LENGTH)
    equation = typed.equation.fill(read_filler(filler, typed)) if filler else typed.equation
    send({"plot": plot(equation, verify(equation).verdict), **write_both(equation)})


def search(asked: RequestFields, send: Send) -> None:
    """Send fillers as the search finds them, and at last all of them."""
    found = completer("default", seconds=SECONDS).answer(read_question_of(asked), TOP, _Reader(send))
    send(_found(found) | {"done": True})


WORKS: Mapping[str, Callable[[RequestFields, Send], None]] = {
    "judge": judge_fillers,
    "own": judge_own,
    "verify": verify_equation,
    "plot": plot_equation,
    "search": search,
}


def plot(equation: Equation, verdict: Verdict) -> dict[str, Any] | None:
    """The values of both sides at equidistant points, None if a side is not real, and the stretches where they part.

    ``apart`` has the first and the last point of each stretch at which the sides differ or one of them alone is real;
    ``part`` has the ends of the intervals of the verdict. None for another number of variables than one, and for a side
    without a value.
    """
    names = variables(*equation)
    if len(names) != 1:
        return None
    ends = [abs(end.value) for piece in verdict.part for end in (piece.low, piece.high) if end is not None]
    reach = max([WINDOW, *(1.25 * end for end in ends if end < 1e6)])
    x = np.linspace(-reach, reach, PLOT_POINTS)
    points = Points("plot", {names[0]: x}, PLOT_POINTS)
    try:
        with np.errstate(all="ignore"):
            left, right = (np.broadcast_to(value(side, points, {}), x.shape) for side in equation)
    except ValueError:
        return None
    return {
        "variable": names[0],
        "x": np.round(x, 6).tolist(),
        "left": _numbers(left),
        "right": _numbers(right),
        "apart": _stretches(_apart(left, right)),
        "part": [[piece.low and piece.low.value, piece.high and piece.high.value] for piece in verdict.part],
    }


def _apart(left: Array, right: Array) -> Array:
    """(P,) whether the sides differ, or just one has a value."""
    there = np.isfinite(left), np.isfinite(right)
    size = np.maximum(np.abs(left), np.abs(right))
    with np.errstate(invalid="ignore"):
        differ = np.abs(left - right) > APART * np.maximum(1.0, size)
    apart: Array = np.where(there[0] & there[1], differ, there[0] != there[1])
    return apart


def _stretches(flags: Array) -> list[list[int]]:
    """The first and the last place of each run of flags."""
    steps = np.diff(np.concatenate([[0], flags.astype(int), [0]]))
    return [[int(a), int(b) - 1] for a, b in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True)]


def _numbers(values: Array) -> list[float | None]:
    return [float(f"{v:.6g}") if np.isfinite(v) else None for v in values]


class _Reader(Listener):
    """A browser, which is sent what there is by now. If it leaves, the process is ended."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def hear(self, found: Completion) -> None:
        self._send(_found(found) | {"done": False})


def read_question_of(asked: RequestFields) -> Question:
    """The equation of a request."""
    return _question(asked.text("text", MAX_EQUATION_LENGTH))


_question = lru_cache(maxsize=128)(read_question)
"""The page asks several things of one text."""


def read_filler(text: str, typed: Question) -> Tree:
    """A filler, in the names of the equation."""
    return read_typed_expression(text, variables(*typed.equation))


def write_both(equation: Equation) -> dict[str, str]:
    """An equation as text and in LaTeX."""
    return {"text": write_equation(equation), "latex": write_latex_equation(equation)}


def _found(found: Completion) -> dict[str, Any]:
    return {
        "fillers": [_row(filler) for filler in found.fillers],
        "blanks": found.blanks,
        "tried": found.tried,
        "seconds": round(found.seconds, 3),
        "stopped": found.stopped,
        "found": found.found,
    }


def _row(filler: Filler) -> dict[str, Any]:
    return {
        "texts": [write_infix(tree) for tree in filler.trees],
        "latex": [write_latex(tree) for tree in filler.trees],
        "forms": [write_infix(tree) for tree in filler.forms],
        **_verdict(filler.verdict),
        "source": filler.source,
        "score": filler.score,
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {"verdict": verdict.short, "holds": verdict.holds, "undecided": verdict.grade is Grade.UNDECIDED}


if __name__ == "__main__":
    main()
