"""Trees of the generator's symbols as bytes: the preorder of symbol ids, which is what data sets hold.

A symbol has one number of children, so the bytes alone say where a subtree ends. Equal trees are equal bytes, a part is
replaced by slicing and variables by ``bytes.translate``: many times faster than with :class:`~dgltree.trees.tree.Tree`.
"""

from collections.abc import Sequence

from dgltree import Equation, Tree
from tasks.equations.fillers import BINARY, FURTHER_FUNCTIONS, FURTHER_LITERALS, LITERALS, TRIGONOMETRIC

Word = bytes
Symbol = tuple[str, int, str | None]
"""(function, number of children, token)"""
NAMES = tuple(Tree("Symbol", token=f"var_{i}") for i in range(10))
PAPER_SYMBOLS: tuple[Symbol, ...] = (
    *((leaf.function, 0, leaf.token) for leaf in (*NAMES, *LITERALS)),
    *((function, 1, None) for function in TRIGONOMETRIC),
    *((function, 2, None) for function in BINARY),
)
"""Symbols of the papers' equations, and of all presets of ``generate``."""
SYMBOLS: tuple[Symbol, ...] = (
    *PAPER_SYMBOLS,
    *((leaf.function, 0, leaf.token) for leaf in FURTHER_LITERALS),
    *((function, 1, None) for function in FURTHER_FUNCTIONS),
    ("log", 2, None),
)
"""Data sets hold positions in this list: whatever is new goes to its end."""
EQUAL, BLANK = len(SYMBOLS), len(SYMBOLS) + 1  # the root of an equation, and what stands for a filler; in no data set
ARITIES = (*(arity for _, arity, _ in SYMBOLS), 2, 0)
LEAVES = tuple(number for number, (_, arity, _) in enumerate(SYMBOLS) if not arity)
"""The symbols that are leaves, variables first."""
VARIABLES = bytes(range(len(NAMES)))
OTHERS = bytes(range(len(NAMES), BLANK + 1))
SINGLE = tuple(bytes([symbol]) for symbol in range(BLANK + 1))
"""The words of one symbol."""
CALLED = {token or function: SINGLE[number] for number, (function, _, token) in enumerate(SYMBOLS)}
"""Characters by the names of symbols: ``CALLED["Pow"] + CALLED["var_0"] + CALLED["2"]`` is the word of a square."""
_IDS = {symbol: number for number, symbol in enumerate(SYMBOLS)}


def word(tree: Tree) -> Word:
    """The preorder of ``tree``. Raises ``KeyError`` for a symbol that is none of ``SYMBOLS``."""
    return bytes([_IDS[node.function, len(node.children), node.token] for node in tree.preorder()])


def equation_word(equation: Equation) -> Word:
    """Both sides below ``EQUAL``."""
    return SINGLE[EQUAL] + word(equation.left) + word(equation.right)


def tree(preorder: Word) -> Tree:
    """The tree of a word."""
    done: list[Tree] = []
    for number in reversed(preorder):
        function, arity, token = SYMBOLS[number]
        done.append(Tree(function, [done.pop() for _ in range(arity)], token))
    return done[0]


def variables(word: Word) -> list[int]:
    """The distinct variables in order of appearance."""
    return list(dict.fromkeys(word.translate(None, OTHERS)))


def rename_variables(word: Word, variables: Sequence[int], names: Sequence[int]) -> Word:
    """``word`` with each of ``variables`` replaced by its one of ``names``."""
    return word.translate(bytes.maketrans(bytes(variables), bytes(names)))


def with_words(word: Word, replacements: dict[int, Word]) -> Word:
    """``word`` with variables replaced by subtrees."""
    return b"".join([replacements.get(symbol) or SINGLE[symbol] for symbol in word])
