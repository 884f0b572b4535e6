"""A completion as a row of texts and numbers, which JSON and tables hold."""

from collections.abc import Callable
from typing import Any

from dgltree.equations.completion.completer import Completion, Filler
from dgltree.read.infix_writer import write_equation, write_infix
from dgltree.read.latex_writer import write_latex, write_latex_equation
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree


def described(found: Completion, latex: bool = False) -> dict[str, Any]:
    """What was understood, the fillers, best first, and the effort; equations in infix, or in LaTeX."""
    write_one, write_whole = writers(latex)

    def row(filler: Filler) -> dict[str, Any]:
        text = ", ".join(map(write_one, filler.trees))
        codes = {"grade": filler.verdict.grade.value, "domain": filler.verdict.domain.value}
        scored = {} if filler.score is None else {"score": filler.score}
        return {"filler": text, **scored, "verdict": filler.verdict.place, **codes, "source": filler.source}

    return {
        "understood": write_whole(found.equation),
        "blanks": found.blanks,
        "found": found.found,
        "fillers": list(map(row, found.fillers)),
        "tried": found.tried,
        "seconds": round(found.seconds, 4),
        "stopped": found.stopped,
    }


def writers(latex: bool) -> tuple[Callable[[Tree], str], Callable[[Equation], str]]:
    """What writes a filler, and what writes an equation: in infix, or in LaTeX."""
    return (write_latex, write_latex_equation) if latex else (write_infix, write_equation)
