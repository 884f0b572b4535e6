"""Trees as rational functions of kernels."""

from flint import fmpq

from dgltree.equations.expressions.definitions import X, expression
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.field_extension import FieldExtension
from dgltree.equations.truth.functions import Functions
from dgltree.equations.truth.rational_functions import RationalFunction, TooLarge
from dgltree.read.functions import BY_NAME
from dgltree.trees.tree import Tree


class Translator:
    """Makes values of trees.

    Raises ``TooLarge`` and ``NoValue`` as the ring does, and ``Again`` for another unit.
    """

    def __init__(self, kernels: FieldExtension) -> None:
        self.kernels, self.ring, self.functions = kernels, kernels.ring, Functions(kernels)
        self._known: dict[Tree, RationalFunction] = {}

    def of(self, tree: Tree) -> RationalFunction:
        return self._of(tree, self._known)

    def _of(self, tree: Tree, known: dict[Tree, RationalFunction]) -> RationalFunction:
        for node in tree.distinct():
            if node not in known:
                known[node] = self._value(node, [known[child] for child in node.children])
        return known[tree]

    def _value(self, node: Tree, below: list[RationalFunction]) -> RationalFunction:
        name = node.function
        if not below:
            return self._leaf(node)
        if name == "Add":
            total = below[0]
            for term in below[1:]:
                total = self.ring.add(total, term)
            return total
        if name == "Mul":
            return self.ring.mul(*below)
        if name == "Pow" and len(below) == 2:
            return self.functions.power(*below)
        if name == "log" and len(below) <= 2:
            logs = [self.functions.log(one) for one in below]
            return self.ring.div(*logs) if len(logs) == 2 else logs[0]
        record = BY_NAME.get(name)
        text = "" if record is None or len(below) != 1 else record.exponential or record.definition
        if name in ("exp", "abs") and len(below) == 1:
            return self.functions.exp(below[0]) if name == "exp" else self.functions.abs(below[0])
        if not text:
            raise TooLarge
        return self._of(expression(text), {X: below[0], _UNIT: self.kernels.i})

    def _leaf(self, leaf: Tree) -> RationalFunction:
        if leaf.function == "Symbol" and leaf.token in self.kernels.variables:
            return self.kernels.variables[leaf.token]
        if leaf.function == "Pi":
            return self.kernels.pi
        if leaf.function == "Exp1":
            return self.functions.exp(self.ring.one)
        number = exact(leaf)
        if number is None:
            raise TooLarge
        return self.ring.number(fmpq(number.numerator, number.denominator))


_UNIT = Tree("Symbol", token="i")
"""The imaginary unit in the table of functions."""
