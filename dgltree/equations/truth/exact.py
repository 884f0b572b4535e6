"""Equations of rational numbers alone, in whole numbers: no size at which a float would round."""

from fractions import Fraction

from dgltree.equations.expressions.variables import Path
from dgltree.read.notation import NUMBERS
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

MAX_DIGITS = 400  # digits of a number that is worked out
WRITTEN = 14_000  # bits of a sum: Python writes integers of up to 4,300 digits
Value = Fraction | None
"""The value of a number; None for what is not a rational number, or one of more than MAX_DIGITS digits."""


def exact(tree: Tree) -> Fraction | None:
    """The value of an integer, fraction or decimal, None for another node; a decimal is what it says."""
    text = tree.token or ""
    if tree.children or tree.function not in NUMBERS or len(text) > MAX_DIGITS:
        return None
    _, marked, exponent = text.lower().partition("e")
    return None if marked and abs(int(exponent)) > MAX_DIGITS else Fraction(text)


def exact_value(tree: Tree) -> Value:
    """The value of sums, products and whole powers of integers and fractions."""

    def combine(node: Tree, children: list[Value]) -> Value:
        return _applied(node.function, children) if children else exact(node)

    return tree.fold(combine)


def exact_blank(equation: Equation, path: Path) -> Value:
    """The value of the blank at the end of ``path``, if each step back is a sum, a product or a whole power."""
    target = exact_value(equation[1 - path.side])
    for node, slot in reversed(path.steps):
        other = _applied(node.function, [exact_value(child) for k, child in enumerate(node.children) if k != slot])
        if (
            target is None
            or other is None
            or node.function not in ("Add", "Mul")
            or (node.function == "Mul" and not other)
        ):
            return None
        target = _bounded(target - other if node.function == "Add" else target / other, WRITTEN)
    return target


def _applied(function: str, values: list[Value]) -> Value:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    if function == "Add":
        return _bounded(sum(known, Fraction(0)), WRITTEN)
    if function == "Mul":
        product = Fraction(1)
        for factor in known:
            product = _bounded(product * factor) or Fraction(0)
        return product if product or 0 in known else None
    if function == "Pow" and len(known) == 2:
        return _power(*known)
    return None


def _power(base: Fraction, exponent: Fraction) -> Value:
    if exponent.denominator > 1 or (not base and exponent <= 0):
        return None
    digits = max(len(str(abs(base.numerator))), len(str(base.denominator)))
    return _bounded(base ** int(exponent)) if abs(exponent) * digits <= MAX_DIGITS else None


def _bounded(value: Fraction, bits: int = 4 * MAX_DIGITS) -> Value:
    return value if max(value.numerator.bit_length(), value.denominator.bit_length()) <= bits else None
