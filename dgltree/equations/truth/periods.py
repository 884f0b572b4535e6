"""The period of an equation whose variable is in circular functions of multiples of it alone."""

from fractions import Fraction
from math import gcd, lcm, pi, prod
from typing import NamedTuple

from dgltree.equations.truth.exact import exact
from dgltree.read.functions import names
from dgltree.read.notation import CONSTANTS
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

PI = CONSTANTS["pi"]
CIRCULAR = frozenset(names("circular", inverse=False))
HALF_TURN = ("tan", "cot")


class Period(NamedTuple):
    """A rational number times a power of pi, divided by letters."""

    factor: Fraction
    power: int
    letters: tuple[Tree, ...] = ()
    """The factors of the variable that have letters, in order; none in an equation in one variable."""

    @property
    def value(self) -> float:
        return float(self.factor) * pi**self.power

    def __str__(self) -> str:
        """Write the period, as ``2*pi``."""
        unit = {0: "", 1: "pi"}.get(self.power, f"pi^{self.power}")
        top = self.factor.numerator
        bottom = self.factor.denominator
        above = "*".join(part for part in (str(top) if top != 1 or not unit else "", unit) if part)
        return above if bottom == 1 else f"{above}/{bottom}"


def period(equation: Equation, name: str | None = None) -> Period | None:
    """Return the period of both sides; None if a variable is outside of circular functions.

    Args:
        name: the variable; other letters are constants, but not factors of it. None: all letters are variables.
    """
    found: list[tuple[Period, bool]] = []
    if not all(_collect(side, found, name) for side in equation) or not found:
        return None
    kinds = {(one.power, one.letters) for one, _ in found}
    if len(kinds) > 1:
        return None
    turns = [one.factor / 2 if half else one.factor for one, half in found]
    top = lcm(*(turn.numerator for turn in turns))
    return Period(Fraction(top, gcd(*(turn.denominator for turn in turns))), *kinds.pop())


def _collect(tree: Tree, found: list[tuple[Period, bool]], name: str | None) -> bool:
    """Collect the periods of circular functions, and whether each is one half; False if a variable is elsewhere."""
    if tree.function == "Symbol":
        return not _has_variable(tree, name)
    if tree.function not in CIRCULAR or not _has_variable(tree, name):
        return all(_collect(child, found, name) for child in tree.children)
    slope = _slope(tree.children[0], name)
    if slope is None:  # a function of what has a period has that
        return _collect(tree.children[0], found, name)
    if not slope.factor:
        return False
    found.append((Period(2 / abs(slope.factor), 1 - slope.power, slope.letters), tree.function in HALF_TURN))
    return True


def _has_variable(tree: Tree, name: str | None) -> bool:
    return any(node.function == "Symbol" and name in (None, node.token) for node in tree.distinct())


def _slope(tree: Tree, name: str | None) -> Period | None:
    """The factor of the variable in a linear expression."""
    if tree.function == "Symbol":
        return Period(Fraction(1), 0)
    if tree.function == "Add":
        slopes = [_slope(child, name) for child in tree.children if _has_variable(child, name)]
        known = [slope for slope in slopes if slope is not None]
        if len(known) < len(slopes) or len({slope[1:] for slope in known}) != 1:
            return None
        return known[0]._replace(factor=sum((slope.factor for slope in known), Fraction(0)))
    if tree.function != "Mul":
        return None
    factor = Fraction(1)
    power = 0
    letters: list[Tree] = []
    variables = 0
    for child in tree.children:
        variables += _has_variable(child, name)
        part = _slope(child, name) if _has_variable(child, name) else _constant(child)
        if part is None or variables > 1:
            return None
        factor = factor * part.factor
        power = power + part.power
        letters += part.letters
    return Period(factor, power, tuple(sorted(letters, key=repr)))


def _constant(tree: Tree) -> Period | None:
    """A rational number, pi, a factor with letters, or a whole power of a number."""
    if any(node.function == "Symbol" for node in tree.distinct()) and tree.function != "Mul":
        return Period(Fraction(1), 0, (tree,))
    if tree == PI:
        return Period(Fraction(1), 1)
    if tree.function == "Pow" and (n := exact(tree.children[1])) is not None and n.denominator == 1:
        base = _constant(tree.children[0])
        return None if base is None or not base.factor else Period(base.factor ** int(n), base.power * int(n))
    if tree.function == "Mul":
        parts = [part for part in map(_constant, tree.children) if part is not None]
        factor = prod(part.factor for part in parts)
        power = sum(part.power for part in parts)
        letters = tuple(sorted((letter for part in parts for letter in part.letters), key=repr))
        return Period(Fraction(factor), power, letters) if len(parts) == len(tree.children) else None
    value = exact(tree)
    return None if value is None else Period(value, 0)
