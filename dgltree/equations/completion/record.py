"""A completion as texts and numbers, which JSON and tables hold; ``dgltree/data/completion.schema.json`` says which."""

from collections.abc import Sequence
from typing import Any

from dgltree.equations.completion.result import Completion, Filler
from dgltree.read.infix_writer import write_equation, write_infix
from dgltree.read.latex_writer import write_latex, write_latex_equation
from dgltree.trees.tree import Tree


def describe_completion(found: Completion, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The reading, the fillers, best first, with an expression for each blank, and the effort.

    ``notes`` are those of the question, as :class:`dgltree.read.typed.Question` has them.
    """
    return {
        "understood": found.understood(write_equation),
        "understood_latex": found.understood(write_latex_equation),
        "blanks": list(found.blanks),
        "unknown": found.unknown,
        "imaginary_unit": found.unit,
        "notes": list(notes),
        "found": found.found,
        **({"reason": found.reason} if found.reason else {}),
        **({"period": _written(found.period)} if found.period is not None and found.fillers else {}),
        **({"more": True} if found.more and found.found else {}),
        "fillers": [_row(filler, found.blanks) for filler in found.fillers],
        "tried": found.tried,
        "seconds": round(found.seconds, 6),
        "stopped": found.stopped,
    }


def _row(filler: Filler, blanks: tuple[str, ...]) -> dict[str, Any]:
    scored = {} if filler.score is None else {"score": filler.score}
    return {
        "blanks": [{"name": name, **_written(tree)} for name, tree in zip(blanks, filler.trees, strict=True)],
        "forms": list(map(_written, filler.forms)),
        **filler.verdict.described,
        **scored,
        "source": filler.source,
    }


def _written(tree: Tree) -> dict[str, str]:
    return {"infix": write_infix(tree), "latex": write_latex(tree)}
