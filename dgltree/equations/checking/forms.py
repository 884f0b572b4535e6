"""Whether an answer has the form that was asked for, and what it still lacks."""

from collections.abc import Callable, Iterator, Mapping
from math import gcd

from dgltree.equations.checking.polynomial import Poly, Polynomials, common_factor, content
from dgltree.equations.checking.tree_parts import factors, terms, whole
from dgltree.equations.truth.exact import exact, exact_value
from dgltree.read.infix_writer import write_infix
from dgltree.read.notation import MINUS_ONE
from dgltree.trees.tree import Tree

Lack = str | None
"""The missing part as a message; None if nothing is missing."""


def exact_numbers(tree: Tree) -> Lack:
    """No decimal."""
    return next((f"{node.token} is a decimal" for node in tree.distinct() if node.function == "Float"), None)


def is_expanded(tree: Tree) -> Lack:
    """No bracket to multiply out, and no terms to add."""
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
            return f"{_text(term)} can be multiplied out"
    whole = Polynomials().of(tree)
    return "some terms can be added" if whole is not None and len(whole) < len(written) else None


def is_factored(tree: Tree) -> Lack:
    """A product whose factors have no factors themselves, over the rational numbers."""
    parts = list(_factors(tree))
    top, bottom = _quotient(parts)
    if top is not None and bottom is not None and not top.gcd(bottom).is_constant():
        return "numerator and denominator have a common factor"
    for base, _ in parts:
        if base.function != "Add":
            continue
        if any(_is_quotient(node) and exact(node.children[0]) is None for node in base.distinct()):
            return f"{_text(base)} has a fraction with a variable"
        poly = Polynomials().of(base)
        if poly is None:
            return f"{_text(base)} is too long to look for factors"
        if poly.is_constant():
            return f"{_text(base)} is a number"
        if common_factor(poly) != 1:
            return f"{_text(base)} has the factor {common_factor(poly)}"
        if [exponent for _, exponent in poly.factor()[1]] != [1]:
            return f"{_text(base)} can be factored"
    return None


def one_fraction(tree: Tree) -> Lack:
    """No sum with a fraction in it, no fraction in another, and no decimal."""
    if (lack := exact_numbers(tree)) is not None:
        return lack
    below = [factor.children[0] for factor in factors(tree) if _is_quotient(factor)]
    if any(map(_has_quotient, below)) or any(_has_quotient(base) for base, _ in _factors(tree)):
        return "there is a fraction in a sum or in a fraction"
    if sum(_is_quotient(factor) for factor in factors(tree)) > 1:
        return "there is more than one fraction"
    return None


def lowest_terms(tree: Tree) -> Lack:
    """One fraction, of which numerator and denominator have no common factor."""
    lack = one_fraction(tree)
    if lack is not None:
        return lack
    parts = list(_factors(tree))
    top, bottom = _quotient(parts)
    if top is None or bottom is None:
        return "it is too long to look for common factors"
    for base, _ in parts:
        if base.function == "Add" and exact_value(base) is not None:
            return f"{_text(base)} can be added"
        if _is_worked_out_easily(base):
            return f"{_text(base)} can be worked out"
    if sum((exact(base) or 0) < 0 for base, _ in parts) > 1:
        return "there is more than one minus sign"
    if any(sum(abs(e) for base, e in parts if e * way > 0 and abs(exact(base) or 1) != 1) > 1 for way in (1, -1)):
        return "some numbers can be multiplied"
    common = gcd(int(content(top)), int(content(bottom)))
    if common > 1:
        return f"numerator and denominator have the factor {common}"
    if not top.gcd(bottom).is_constant():
        return "numerator and denominator have a common factor"
    return "the denominator is 1" if any(exact(base) == 1 and e < 0 for base, e in parts) else None


FORMS: Mapping[str, Callable[[Tree], Lack]] = {
    "expanded": is_expanded,
    "factored": is_factored,
    "lowest-terms": lowest_terms,
    "one-fraction": one_fraction,
    "exact": exact_numbers,
}
"""By name: what a tree that was read as it is written lacks (a fraction of numbers is a quotient)."""
NAMES = {
    "expanded": "expanded",
    "factored": "factored",
    "lowest-terms": "in lowest terms",
    "one-fraction": "one fraction",
    "exact": "exact",
}
"""In a sentence that an answer is not so."""


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
            top, bottom = exact(children[0]), exact(children[1].children[0])
            if children[1].children[1] == MINUS_ONE and top is not None and bottom:
                return whole(top / bottom) if (top / bottom).denominator == bottom else node.replace(children=children)
        return node.replace(children=children)

    return write_infix(tree.fold(joined))


def _whole_exponent(node: Tree) -> int | None:
    exponent = exact(node.children[1]) if node.function == "Pow" and len(node.children) == 2 else None
    return None if exponent is None or exponent.denominator > 1 else int(exponent)


def _is_worked_out_easily(node: Tree) -> bool:
    """Whether it is the absolute value of a number, or a root that is rational, as of 9 or 4/9."""
    number = exact(node.children[0]) if node.children else None
    if node.function != "Pow" or number is None:
        return node.function == "abs" and number is not None
    exponent = exact(node.children[1])
    if exponent is None or exponent.denominator == 1 or number < 0:
        return False
    return all(_is_power(part, exponent.denominator) for part in (number.numerator, number.denominator))


def _is_power(number: int, exponent: int) -> bool:
    return number < 10**12 and round(number ** (1 / exponent)) ** exponent == number


def _is_quotient(node: Tree) -> bool:
    exponent = exact(node.children[1]) if node.function == "Pow" and len(node.children) == 2 else None
    return exponent is not None and exponent < 0


def _has_quotient(part: Tree) -> bool:
    """Whether a quotient is in it, outside of functions and exponents."""
    inside = part.children[:1] if part.function == "Pow" else part.children if part.function in ("Add", "Mul") else ()
    return _is_quotient(part) or any(_has_quotient(child) for child in inside)
