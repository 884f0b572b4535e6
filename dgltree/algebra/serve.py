"""The process that runs SymPy: a JSON line with a question on its input, a JSON line with the answer on its output.

``python -m dgltree.algebra.serve``. Expressions are infix text. It ends with its input, and by itself when a question
takes more CPU time, or longer, than was said.
"""

import json
import resource
import signal
import sys
from typing import Any

from dgltree.algebra.rewriting import forms, solutions
from dgltree.read.infix import read_infix
from dgltree.read.infix_writer import write_infix
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

BYTES = 2 << 30
"""Of memory."""


def answer(question: dict[str, Any]) -> Any:
    """The answer of :mod:`dgltree.algebra.rewriting` to a question, as texts."""
    trees = [read_infix(text) for text in question["trees"]]
    if question["what"] == "forms":
        return {name: _texts(found) for name, found in forms(trees[0]).items()}
    return _texts(solutions(Equation(*trees)))


def _texts(trees: list[Tree]) -> list[str]:
    return [write_infix(tree) for tree in trees]


def main() -> None:
    """Answer until the input ends; null for a question that SymPy cannot answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    import sympy  # noqa: F401 - loaded before the first question

    print(flush=True)  # ready
    for line in sys.stdin:
        question = json.loads(line)
        signal.alarm(question["wait"])
        signal.setitimer(signal.ITIMER_PROF, question["seconds"])
        try:
            found = answer(question)
        except Exception:  # SymPy raises errors of many kinds
            found = None
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
