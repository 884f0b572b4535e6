"""Claims about an equation's solutions against the roots that a grid shows."""

import os
from typing import Any, NamedTuple

import mpmath

from benchmarks.solutions import oracle
from benchmarks.solutions.claims import Claims, claims, read, shifted
from benchmarks.solutions.drawn import CIRCULAR
from benchmarks.verdicts.shapes import DrawnEquation

LOST, FALSE, MORE, LOST_WITH_A_WORD = (
    "lost without a word", "false", '"may be more" though all were found', "lost with a word",
)  # fmt: skip
KINDS = (LOST, FALSE, MORE, LOST_WITH_A_WORD)
SAME = 1e-9
WAVES = 7.0
"""Half of the window in which the roots of equations with circular functions are looked for."""


class SolutionFault(NamedTuple):
    """A kind, and the number that shows it."""

    kind: str
    number: str


def row(drawn: DrawnEquation) -> dict[str, Any]:
    """The claims about a drawn equation, the fault if there is one, and the CPU time of it all, children included."""
    begun = _seconds()
    said = claims(str(drawn))
    seconds = _seconds() - begun
    fault = fault_of(drawn, said)
    return {
        "family": drawn.family,
        "equation": str(drawn),
        "fault": fault and fault._asdict(),
        "more": said.more,
        "seconds": round(seconds, 3),
        "answer": said.text,
    }


def _seconds() -> float:
    """CPU time of this process and of those that it ended."""
    return sum(os.times()[:4])


def fault_of(drawn: DrawnEquation, said: Claims) -> SolutionFault | None:
    """The first fault."""
    with mpmath.workdps(oracle.DIGITS):
        return _fault(drawn, said)


def _fault(drawn: DrawnEquation, said: Claims) -> SolutionFault | None:
    half = WAVES if any(name in str(drawn) for name in CIRCULAR) else oracle.FAR
    window = -half, half
    true = oracle.roots(drawn, *window)
    named: list[Any] = []
    for text, rounded in said.numbers:
        try:
            x = oracle.value(read(text), 0)
        except (ValueError, IndexError, oracle.NotRealError):
            if true.numbers:
                return SolutionFault(FALSE, f"{text}, which is not real")
            continue
        exact = oracle.near(drawn, float(x)) if rounded else x
        if exact is None or not oracle.is_root(drawn, exact):
            return SolutionFault(FALSE, text)
        named.append(exact)
    if said.none and (true.numbers or true.has_interval):
        return SolutionFault(
            LOST, "no real solution, it says: " + (_short(true.numbers[0]) if true.numbers else "an interval")
        )
    if true.has_interval:
        return None if said.not_single or said.more else SolutionFault(LOST, "an interval")
    if said.not_single:
        return None
    if said.period:
        turn = oracle.value(read(said.period), 0)
        named = [x for one in named for x in shifted(one, turn, *window)]
    lost = [x for x in true.numbers if not any(oracle.same(x, one, SAME) for one in named)]
    if lost and not said.more:
        return SolutionFault(LOST, _short(lost[0]))
    if lost:
        return SolutionFault(LOST_WITH_A_WORD, _short(lost[0]))
    return SolutionFault(MORE, "") if said.more else None


def _short(x: Any) -> str:
    return str(mpmath.nstr(x, 12))
