"""The vocabularies of generated equations."""

from dgltree import Vocabulary
from tasks.equations.words import PAPER_SYMBOLS, SYMBOLS, Symbol


def vocabulary() -> Vocabulary:
    """Return the vocabulary of the papers' equations: every function and literal, and ten variables."""
    return _vocabulary(PAPER_SYMBOLS)


def elementary_vocabulary() -> Vocabulary:
    """Return the vocabulary of all generated equations; a literal that is none of theirs is ``<unk>``."""
    return _vocabulary(SYMBOLS, unk=True)


def _vocabulary(symbols: tuple[Symbol, ...], unk: bool = False) -> Vocabulary:
    functions = dict.fromkeys((function, arity) for function, arity, _ in symbols)
    return Vocabulary(sorted(functions), sorted(token for _, _, token in symbols if token is not None), unk=unk)
