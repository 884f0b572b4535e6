"""Infix texts of many equations that share most of their parts: only what is new is written."""

from collections.abc import Sequence

from dgltree import Tree
from dgltree.read.infix_writer import phrase
from tasks.equations.generator.places import Places
from tasks.equations.words import NAMES, SYMBOLS, Word

CACHED = 100_000  # subtrees remembered; all are forgotten when there are more
STANDINS = "αβγδεζηθικ"  # for the variables while texts are put together: one letter, in no other text


class EquationTexts:
    """Writes as ``dgltree.read.infix_writer.write_equation`` does, with the variables renamed."""

    def __init__(self) -> None:
        self._trees: dict[Word, Tree] = {}
        self._phrases: dict[Tree, tuple[int, str]] = {}

    def text(self, equation: Places, names: Sequence[int], swapped: bool) -> str:
        """The infix of an equation with variable i called ``names[i]``, its right side first if ``swapped``."""
        if len(self._trees) > CACHED:
            self._trees.clear()
            self._phrases.clear()
        left, right = (self._phrases[self._tree(equation, side)][1] for side in equation.children(0))
        text = f"{right} = {left}" if swapped else f"{left} = {right}"
        return text.translate({ord(STANDINS[old]): NAMES[new].token for old, new in enumerate(names)})

    def _tree(self, equation: Places, place: int) -> Tree:
        """The tree of a subtree whose text is known afterwards."""
        word = equation.at(place)
        tree = self._trees.get(word)
        if tree is None:
            function, _, token = SYMBOLS[word[0]]
            token = STANDINS[word[0]] if word[0] < len(NAMES) else token
            tree = Tree(function, [self._tree(equation, child) for child in equation.children(place)], token)
            rule, pieces = phrase(tree)
            parts = [piece if isinstance(piece, str) else self._bracketed(*piece) for piece in pieces]
            self._trees[word] = tree
            self._phrases[tree] = (rule, "".join(parts))
        return tree

    def _bracketed(self, tree: Tree, loosest: int) -> str:
        rule, text = self._phrases[tree]
        return text if rule >= loosest else f"({text})"
