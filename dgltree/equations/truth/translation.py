"""Trees as rational functions of kernels."""

from collections.abc import Callable

from flint import fmpq

from dgltree.equations.truth.elementary import RECIPROCALS
from dgltree.equations.truth.exact import exact
from dgltree.equations.truth.functions import Functions
from dgltree.equations.truth.kernels import Kernels
from dgltree.equations.truth.rational import Fraction, TooLarge
from dgltree.trees.tree import Tree


class Translation:
    """Makes values of trees.

    Raises ``TooLarge`` and ``NoValue`` as the ring does, ``Again`` for another unit, and ``Split`` as the region does.
    """

    def __init__(self, kernels: Kernels) -> None:
        self.kernels, self.ring, self.functions = kernels, kernels.ring, Functions(kernels)
        self._known: dict[Tree, Fraction] = {}
        ring, of = self.ring, self.functions
        self._made: dict[str, Callable[[Fraction], Fraction]] = {
            "abs": of.abs,
            "exp": of.exp,
            "sin": lambda a: self._circular(a, -1),
            "cos": lambda a: self._circular(a, 1),
            "sinh": lambda a: self._hyperbolic(a, -1),
            "cosh": lambda a: self._hyperbolic(a, 1),
            "asin": self._asin,
            "acos": lambda a: ring.sub(self._half(self.kernels.pi), self._asin(a)),
            "atan": self._atan,
            "asinh": lambda a: of.log(ring.add(a, self._sqrt(ring.add(ring.mul(a, a), ring.one)))),
            "acosh": self._acosh,
            "atanh": lambda a: self._half(ring.sub(of.log(ring.add(ring.one, a)), of.log(ring.sub(ring.one, a)))),
        }
        quotients = {"tan": ("sin", "cos"), "cot": ("cos", "sin"), "tanh": ("sinh", "cosh"), "coth": ("cosh", "sinh")}
        for name, (top, bottom) in quotients.items():
            self._made[name] = self._quotient(top, bottom)
        for name, bottom in {"sec": "cos", "csc": "sin", "sech": "cosh", "csch": "sinh"}.items():
            self._made[name] = self._quotient(None, bottom)
        for name, inverse in RECIPROCALS.items():
            self._made[name] = self._of_reciprocal(inverse)

    def of(self, tree: Tree) -> Fraction:
        for node in tree.distinct():
            if node not in self._known:
                self._known[node] = self._value(node, [self._known[child] for child in node.children])
        return self._known[tree]

    def _value(self, node: Tree, below: list[Fraction]) -> Fraction:
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
            self._cut_at_poles(node, below[0])
            return self.functions.power(*below)
        if name == "log" and len(below) <= 2:
            logs = [self.functions.log(one) for one in below]
            return self.ring.div(*logs) if len(logs) == 2 else logs[0]
        if name not in self._made or len(below) != 1:
            raise TooLarge
        return self._made[name](below[0])

    def _cut_at_poles(self, node: Tree, base: Fraction) -> None:
        """In a cell ask for the sign of a denominator, so that its zeros are ends of cells."""
        exponent = exact(node.children[1])
        if self.kernels.region.kind == "cell" and exponent is not None and exponent < 0:
            self.kernels.poly_sign(base.num)

    def _leaf(self, leaf: Tree) -> Fraction:
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

    def _half(self, a: Fraction) -> Fraction:
        return self.ring.mul(self.ring.number(fmpq(1, 2)), a)

    def _sqrt(self, a: Fraction) -> Fraction:
        return self.functions.power(a, self.ring.number(fmpq(1, 2)))

    def _circular(self, a: Fraction, sign: int) -> Fraction:
        found = self._hyperbolic(self.ring.mul(self.kernels.i, a), sign)
        return found if sign > 0 else self.ring.div(found, self.kernels.i)

    def _hyperbolic(self, a: Fraction, sign: int) -> Fraction:
        up = self.functions.exp(a)
        down = self.ring.div(self.ring.one, up)
        return self._half(self.ring.add(up, down) if sign > 0 else self.ring.sub(up, down))

    def _asin(self, a: Fraction) -> Fraction:
        root = self._sqrt(self.ring.sub(self.ring.one, self.ring.mul(a, a)))
        log = self.functions.log(self.ring.add(self.ring.mul(self.kernels.i, a), root))
        return self.ring.neg(self.ring.mul(self.kernels.i, log))

    def _atan(self, a: Fraction) -> Fraction:
        turned = self.ring.mul(self.kernels.i, a)
        logs = [self.functions.log(add(self.ring.one, turned)) for add in (self.ring.sub, self.ring.add)]
        return self._half(self.ring.mul(self.kernels.i, self.ring.sub(*logs)))

    def _acosh(self, a: Fraction) -> Fraction:
        roots = [self._sqrt(add(a, self.ring.one)) for add in (self.ring.add, self.ring.sub)]
        return self.functions.log(self.ring.add(a, self.ring.mul(*roots)))

    def _quotient(self, top: str | None, bottom: str) -> Callable[[Fraction], Fraction]:
        def quotient(a: Fraction) -> Fraction:
            return self.ring.div(self.ring.one if top is None else self._made[top](a), self._made[bottom](a))

        return quotient

    def _of_reciprocal(self, name: str) -> Callable[[Fraction], Fraction]:
        return lambda a: self._made[name](self.ring.div(self.ring.one, a))
