"""The forms that an answer may be asked for: each checks a tree as it is written, and says what it still lacks.

Factors are compared as polynomials, in which anything but a sum, a product or a whole power is a variable of its own.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import gcd, lcm, prod
from typing import Any

from flint import fmpq, fmpq_mpoly_ctx

from dgltree.equations.expressions.tree_parts import factors, terms
from dgltree.equations.marking.marks import Lack
from dgltree.equations.search.written_operations import fraction
from dgltree.equations.truth.exact import exact, exact_value
from dgltree.read.infix_writer import write_infix
from dgltree.read.notation import MINUS_ONE
from dgltree.trees.tree import Tree

MOST_VARIABLES = 12
MOST_TERMS = 60
"""A larger one is no polynomial here: forms such as "expanded" are asked of the answers of people."""
MAX_EXPONENT = 40
"""A whole exponent."""
MAX_BEFORE_ROOT = 1000
"""Up to which a whole number is taken out of a root."""
MAX_PLACED_NODES = 400
"""Nodes of an answer in which the place of a part is looked for."""
Poly = Any
"""``fmpq_mpoly``"""


def exact_numbers(tree: Tree) -> Lack | None:
    """The decimal that an exact answer must not have."""
    decimal = next((node.token for node in tree.distinct() if node.function == "Float"), None)
    return None if decimal is None else _lack("decimal", part=decimal)


def is_expanded(tree: Tree) -> Lack | None:
    """The bracket to multiply out, or that there are terms to add."""
    written = terms(tree)
    for term in written:
        parts = [(base, exponent) for base, exponent in _factors(term) if exponent > 0]
        bases = [base for base, _ in parts]
        numbers = [exponent for base, exponent in parts if exact(base) not in (None, -1)]
        powers = [factor.children[0] for factor in factors(term) if (_whole_exponent(factor) or 0) > 0]
        if (
            any(base.function == "Add" for base in bases)
            or sum(numbers) > 1
            or any(base.function in ("Mul", "Pow") for base in powers)
            or len({*bases}) < len(bases)
        ):
            return _lack("multiply-out", part=_text(term))
    whole = Polynomials().of(tree)
    return _lack("add-terms") if whole is not None and len(whole) < len(written) else None


def is_factored(tree: Tree) -> Lack | None:
    """The factor that has factors itself, over the rational numbers."""
    parts = list(_factors(tree))
    top, bottom = _quotient(parts)
    if top is not None and bottom is not None and not top.gcd(bottom).is_constant():
        return _lack("common-factor")
    for base, _ in parts:
        if base.function != "Add":
            continue
        if any(_is_quotient(node) and exact(node.children[0]) is None for node in base.distinct()):
            return _lack("fraction-with-variable", part=_text(base))
        poly = Polynomials().of(base)
        if poly is None:
            return _lack("too-long-to-factor", part=_text(base))
        if poly.is_constant():
            return _lack("number", part=_text(base))
        if common_factor(poly) != 1:
            return _lack("factor", part=_text(base), factor=str(common_factor(poly)))
        if [exponent for _, exponent in poly.factor()[1]] != [1]:
            return _lack("factorable", part=_text(base))
    return None


def one_fraction(tree: Tree) -> Lack | None:
    """The sum with a fraction in it, a fraction in another, or a decimal."""
    if (lack := exact_numbers(tree)) is not None:
        return lack
    below = [factor.children[0] for factor in factors(tree) if _is_quotient(factor)]
    if any(map(_has_quotient, below)) or any(_has_quotient(base) for base, _ in _factors(tree)):
        return _lack("nested-fraction")
    if sum(_is_quotient(factor) for factor in factors(tree)) > 1:
        return _lack("several-fractions")
    return None


def lowest_terms(tree: Tree) -> Lack | None:
    """The common factor of numerator and denominator, or whatever keeps it from being one fraction."""
    lack = one_fraction(tree)
    if lack is not None:
        return lack
    parts = list(_factors(tree))
    top, bottom = _quotient(parts)
    if top is None or bottom is None:
        return _lack("too-long-to-reduce")
    for base, _ in parts:
        if base.function == "Add" and exact_value(base) is not None:
            return _lack("add", part=_text(base))
        if _is_worked_out_easily(base):
            return _lack("work-out", part=_text(base))
    if sum((exact(base) or 0) < 0 for base, _ in parts) > 1:
        return _lack("several-signs")
    if any(sum(abs(e) for base, e in parts if e * way > 0 and abs(exact(base) or 1) != 1) > 1 for way in (1, -1)):
        return _lack("multiply")
    before_roots = prod(_before_root(base) ** abs(e) for base, e in parts if e > 0)
    common = gcd(int(content(top)) * before_roots, int(content(bottom)))
    if common > 1:
        return _lack("common-number", factor=str(common))
    if not top.gcd(bottom).is_constant():
        return _lack("common-factor")
    return _lack("denominator-one") if any(exact(base) == 1 and e < 0 for base, e in parts) else None


FORMS: Mapping[str, Callable[[Tree], Lack | None]] = {
    "expanded": is_expanded,
    "factored": is_factored,
    "lowest-terms": lowest_terms,
    "one-fraction": one_fraction,
    "exact": exact_numbers,
}
"""The checks by name. Each says what a tree lacks that was read as it is written (a fraction is a quotient)."""


def form_lack(form: str, tree: Tree, text: str) -> Lack | None:
    """The part of a form that an answer lacks, with its place in the tree as it is written, and in the text."""
    lack = FORMS[form](tree)
    if lack is None:
        return None
    part = lack.values.get("part")
    if part is None:
        return lack._replace(form=form)
    return lack._replace(form=form, path=_path(tree, part), span=_span(text, part))


def _lack(code: str, **values: str) -> Lack:
    return Lack(code, values)


def _path(tree: Tree, part: str) -> tuple[int, ...] | None:
    """The place of the first node, from the root down, that is written so."""
    waiting: list[tuple[Tree, tuple[int, ...]]] = [(tree, ())] if tree.size <= MAX_PLACED_NODES else []
    while waiting:
        node, path = waiting.pop(0)
        if _text(node) == part:
            return path
        waiting += [(child, (*path, place)) for place, child in enumerate(node.children)]
    return None


def _span(text: str, part: str) -> tuple[int, int] | None:
    """The place of a part in a text that may have other spaces and no ``*``, if it is there once."""
    places = [place for place, character in enumerate(text) if character not in " *"]
    bare = "".join(text[place] for place in places)
    wanted = re.sub("[ *]", "", part)
    first = bare.find(wanted)
    if not wanted or first < 0 or bare.find(wanted, first + 1) >= 0:
        return None
    return places[first], places[first + len(wanted) - 1] + 1


def _factors(tree: Tree) -> Iterator[tuple[Tree, int]]:
    """Bases and their whole exponents, below 0 in a denominator; what has another exponent is a base itself."""
    for factor in factors(tree):
        power = _whole_exponent(factor)
        if power is None:
            yield factor, 1
        else:
            yield from ((base, exponent * power) for base, exponent in _factors(factor.children[0]))


def _quotient(parts: list[tuple[Tree, int]]) -> tuple[Poly | None, Poly | None]:
    """Numerator and denominator, over the same variables; None for what would be too large."""
    polynomials = Polynomials()
    top, bottom = (polynomials.product([(base, abs(e)) for base, e in parts if e * way > 0]) for way in (1, -1))
    return top, bottom


def _text(tree: Tree) -> str:
    """A tree that was read as it is written: what is a quotient of numbers there is written as one."""

    def joined(node: Tree, children: list[Tree]) -> Tree:
        if node.function == "Mul" and len(children) == 2 and _is_quotient(children[1]):
            top = exact(children[0])
            bottom = exact(children[1].children[0])
            if children[1].children[1] == MINUS_ONE and top is not None and bottom:
                return (
                    fraction(top / bottom) if (top / bottom).denominator == bottom else node.replace(children=children)
                )
        return node.replace(children=children)

    return write_infix(tree.fold(joined))


def _whole_exponent(node: Tree) -> int | None:
    exponent = exact(node.children[1]) if node.function == "Pow" and len(node.children) == 2 else None
    return None if exponent is None or exponent.denominator > 1 else int(exponent)


def _is_quotient(node: Tree) -> bool:
    exponent = exact(node.children[1]) if node.function == "Pow" and len(node.children) == 2 else None
    return exponent is not None and exponent < 0


def _has_quotient(part: Tree) -> bool:
    """Whether a quotient is in it, outside of functions and exponents."""
    inside = part.children[:1] if part.function == "Pow" else part.children if part.function in ("Add", "Mul") else ()
    return _is_quotient(part) or any(_has_quotient(child) for child in inside)


def _is_worked_out_easily(node: Tree) -> bool:
    """Whether it is the absolute value of a number, or a root that is rational, as of 9 or 4/9."""
    number = exact(node.children[0]) if node.children else None
    if node.function != "Pow" or number is None:
        return node.function == "abs" and number is not None
    exponent = exact(node.children[1])
    if exponent is None or exponent.denominator == 1 or number < 0:
        return False
    return all(_is_power(part, exponent.denominator) for part in (number.numerator, number.denominator))


def _before_root(node: Tree) -> int:
    """The whole number that comes before a root when it is worked out as far as it can be: 2 of sqrt(8)."""
    number = exact(node.children[0]) if node.function == "Pow" and node.children else None
    exponent = exact(node.children[1]) if node.function == "Pow" else None
    if number is None or exponent is None or number.denominator > 1 or not 1 < number < 10**12:
        return 1
    if exponent.numerator != 1 or exponent.denominator == 1:
        return 1
    return max(k for k in range(1, MAX_BEFORE_ROOT) if number % k**exponent.denominator == 0)


def _is_power(number: int, exponent: int) -> bool:
    return number < 10**12 and round(number ** (1 / exponent)) ** exponent == number


class Polynomials:
    """Makes polynomials of trees, with the same variable for the same part."""

    def __init__(self) -> None:
        self._context = fmpq_mpoly_ctx.get([f"v{k}" for k in range(MOST_VARIABLES)], "lex")
        self._variables: dict[Tree, int] = {}

    def of(self, tree: Tree) -> Poly | None:
        """The polynomial of a tree; None if it would be too large."""
        try:
            return tree.fold(self._made)
        except OverflowError:
            return None

    def product(self, factors: list[tuple[Tree, int]]) -> Poly | None:
        """The product of trees to whole powers from 1; None if it would be too large."""
        found: Poly = self._context.constant(1)
        try:
            for tree, power in factors:
                found = _bounded(found * _power(tree.fold(self._made), power))
        except OverflowError:
            return None
        return found

    def _made(self, node: Tree, below: list[Poly]) -> Poly:
        number = exact(node)
        if number is not None:
            return self._context.constant(fmpq(number.numerator, number.denominator))
        if node.function == "Add":
            return _bounded(sum(below[1:], below[0]))
        if node.function == "Mul":
            product = below[0]
            for factor in below[1:]:
                product = _bounded(product * factor)
            return product
        exponent = exact(node.children[1]) if node.function == "Pow" and len(node.children) == 2 else None
        if exponent is not None and exponent.denominator == 1:
            if exponent >= 0:
                return _power(below[0], int(exponent))
            if below[0].is_constant() and not below[0].is_zero():  # the denominator of a fraction of numbers
                return _power(self._context.constant(1) / below[0], -int(exponent))
        place = self._variables.setdefault(node, len(self._variables))
        if place >= MOST_VARIABLES:
            raise OverflowError
        return self._context.gens()[place]


def content(poly: Poly) -> Fraction:
    """The greatest number by which all coefficients can be divided without new fractions; 0 for 0."""
    if poly.is_zero():
        return Fraction(0)
    tops, bottoms = zip(*((abs(int(number.p)), int(number.q)) for number in poly.coeffs()), strict=True)
    return Fraction(gcd(*tops), lcm(*bottoms))


def common_factor(poly: Poly) -> Fraction:
    """The number that all coefficients have in common as they are written: of x/2 + 1/2 a half, of x - 1/2 one."""
    tops, bottoms = zip(*((abs(int(number.p)), int(number.q)) for number in poly.coeffs()), strict=True)
    return Fraction(gcd(*tops), gcd(*bottoms))


def _power(poly: Poly, exponent: int) -> Poly:
    if exponent > MAX_EXPONENT:
        raise OverflowError
    power = poly**0
    for _ in range(exponent):
        power = _bounded(power * poly)
    return power


def _bounded(poly: Poly) -> Poly:
    if len(poly) > MOST_TERMS:
        raise OverflowError
    return poly
