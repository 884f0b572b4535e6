"""A user's variables and literals in a model's vocabulary, and back."""

import re
from collections.abc import Iterable
from fractions import Fraction

from dgltree.batching.vocabulary import Vocabulary
from dgltree.equations.expressions.names import VARIABLE, variables
from dgltree.read.notation import DIGITS, FRACTION, MINUS_ONE, number
from dgltree.trees.equation import Equation, substitute
from dgltree.trees.tree import Tree

EXACT = ("Integer", "Rational", "Half")
_EXACT_TEXT = re.compile(f"-?[0-9]+|{FRACTION.pattern}")


class Names:
    """The variables of one equation as a model names them: by first appearance, left side first.

    A name that the model knows ("var_3", or "x" if it was trained on x) stands for itself; any other gets the
    first name of the model that is free.

    Args:
        equation: in the user's names.
        vocabulary: of the model; see :func:`model_variables`.
        further: names of variables that the equation may lack, named after its own.

    Raises ``ValueError`` for more variables than the model has.
    """

    def __init__(self, equation: Equation, vocabulary: Vocabulary, further: Iterable[str] = ()) -> None:
        known = model_variables(vocabulary)
        own = variables(*equation)
        names = list(dict.fromkeys([*own, *further]))
        free = [token for token in known if token not in names]
        new = [name for name in names if name not in known]
        if len(new) > len(free):
            raise ValueError(f"{len(names)} variables ({', '.join(names)}); this model knows {len(known)} at once")
        self.vocabulary = vocabulary
        self.to_model = {name: name for name in names if name in known} | dict(zip(new, free, strict=False))
        renamed = [(_variable(user), _variable(model)) for user, model in self.to_model.items() if user != model]
        self._to_model = dict(renamed)
        self._from_model = {model: user for user, model in renamed}
        self.present = {*own, *(self.to_model[name] for name in own)}
        """Names of the equation's variables, its own and the model's."""

    def encode(self, tree: Tree) -> Tree:
        """``tree`` in the model's names and literals."""
        tree = spell(tree, self.vocabulary)
        return substitute(tree, self._to_model) if self._to_model else tree

    def decode(self, tree: Tree) -> Tree:
        """``tree`` in the equation's names; a variable that the equation lacks keeps the name it has."""
        return substitute(tree, self._from_model) if self._from_model else tree


def model_variables(vocabulary: Vocabulary) -> list[str]:
    """The variables that a model knows: ``var_0``, ``var_1``, ..., or, if it has none of these, all names.

    A function's name is none: constants such as ``pi`` are leaves with their own name as token in a data set.
    """
    numbered = [token for token in vocabulary.tokens if token.startswith("var_")]
    functions = {name for name, _ in vocabulary.functions}
    return numbered or [token for token in vocabulary.tokens if token.isidentifier() and token not in functions]


def _variable(name: str) -> Tree:
    return Tree(VARIABLE, token=name)


def spell(tree: Tree, vocabulary: Vocabulary) -> Tree:
    """``tree`` with the literals that a vocabulary lacks written by those it has.

    -n becomes Mul(-1, n), and p/q becomes Mul(p, Pow(q, -1)). Batching refuses what stays unknown, and a token that is
    not a number, by name.
    """
    unknown = {
        node: _spelled(node, vocabulary)
        for node in tree.distinct()
        if node.function in EXACT and not node.children and not vocabulary.knows_token(node.token or "")
    }
    return substitute(tree, unknown) if unknown else tree


def _spelled(leaf: Tree, vocabulary: Vocabulary) -> Tree:
    text = leaf.token or ""
    if len(text) > DIGITS or not _EXACT_TEXT.fullmatch(text):  # Fraction would compute 1e999999999
        return leaf
    value = Fraction(text)
    if value < 0:
        return Tree("Mul", (MINUS_ONE, spell(number(str(-value)), vocabulary)))
    if value.denominator > 1:
        p, q = (number(str(part)) for part in (value.numerator, value.denominator))
        return Tree("Mul", (p, Tree("Pow", (q, MINUS_ONE))))
    return leaf
