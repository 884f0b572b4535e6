"""The vocabulary of all generated equations."""

from dgltree import Vocabulary
from tasks.equations.store import NUMBER, SYMBOLS


def vocabulary(numbers: bool = False) -> Vocabulary:
    """Of all generated equations: every function and literal, and ten variables; with ``numbers``, number leaves."""
    symbols = (*SYMBOLS, NUMBER) if numbers else SYMBOLS
    functions = dict.fromkeys((function, arity) for function, arity, _ in symbols)
    return Vocabulary(sorted(functions), sorted(token for _, _, token in SYMBOLS if token is not None))
