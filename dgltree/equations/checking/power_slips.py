"""Slips with powers, roots and exponents: rules for one node, each from the node to what is written in its place."""

from collections.abc import Iterator
from fractions import Fraction

from dgltree.equations.checking.tree_parts import factors, make_sum, negate, power, product, terms, whole
from dgltree.equations.truth.exact import exact
from dgltree.read.notation import MINUS_ONE
from dgltree.trees.tree import Tree


def distributed_power(node: Tree) -> Iterator[Tree]:
    """(a + b)^n as a^n + b^n, sqrt(a + b) as sqrt(a) + sqrt(b), 1/(a + b) as 1/a + 1/b."""
    if node.function == "Pow" and len(terms(node.children[0])) > 1:
        base, exponent = node.children
        yield make_sum([_signed_power(term, exponent) for term in terms(base)])


def power_of_the_whole(node: Tree) -> Iterator[Tree]:
    """x^3 + 27 as (x + 3)^3."""
    two = terms(node)
    number = exact(two[-1])
    if len(two) != 2 or number is None or two[0].function != "Pow":
        return
    base, exponent = two[0].children
    degree = exact(exponent)
    if degree is None or degree.denominator > 1 or not 2 <= degree <= 9:
        return
    root = next((k for k in range(1, 21) if k**degree == abs(number)), None)
    if root is not None:
        yield Tree("Pow", (make_sum([base, whole(root if number > 0 else -root)]), exponent))


def half_square(node: Tree) -> Iterator[Tree]:
    """(a + b)^2 as a^2 + a*b + b^2 and as a^2 + 2*a*b - b^2."""
    if node.function == "Pow" and exact(node.children[1]) == 2 and len(terms(node.children[0])) == 2:
        a, b = terms(node.children[0])
        middle = product([a, b])
        yield make_sum([power(a, 2), middle, power(b, 2)])
        yield make_sum([power(a, 2), product([whole(2), middle]), negate(power(b, 2))])


def power_of_one_factor(node: Tree) -> Iterator[Tree]:
    """(2*x)^3 as 2*x^3, and as 6*x^3."""
    if node.function == "Pow" and node.children[0].function == "Mul":
        base, exponent = node.children
        *first, last = factors(base)
        raised = Tree("Pow", (last, exponent))
        yield product([*first, raised])
        if exact(first[0]) is not None and exact(exponent) is not None:
            yield product([first[0], exponent, *first[1:], raised])


def number_out_of_a_root(node: Tree) -> Iterator[Tree]:
    """4*sqrt(3) for 2*sqrt(3), and 12*sqrt(3)."""
    parts = factors(node)
    roots = [part for part in parts if part.function == "Pow" and exact(part.children[1]) == Fraction(1, 2)]
    for place, part in enumerate(parts):
        number = exact(part)
        if roots and number is not None and abs(number) > 1:
            yield product([*parts[:place], whole(number * number), *parts[place + 1 :]])


def exponent_as_factor(node: Tree) -> Iterator[Tree]:
    """x^n as n*x, sqrt(x) as x/2, x^-n as -x^n, x^0 as 0."""
    number = exact(node.children[1]) if node.function == "Pow" else None
    if number is None:
        return
    base = node.children[0]
    if number == 0:
        yield whole(0)
    elif number < 0 and number != -1:
        yield negate(power(base, -number))
    elif number != -1:
        yield product([base, whole(number)])


def dropped_power(node: Tree) -> Iterator[Tree]:
    """x for x^2 and for sqrt(x), x^2 for sqrt(x)."""
    number = exact(node.children[1]) if node.function == "Pow" else None
    if number is not None and number not in (-1, 0):
        yield node.children[0] if number > 0 else power(node.children[0], -1)


def exponents_combined(node: Tree) -> Iterator[Tree]:
    """x^a*x^b as x^(a*b), x^a/x^b as x^(a/b), 2^a*2^b as 4^(a + b), a^n*b^n as (a*b)^(2n), (x^a)^b as x^(a + b)."""
    if node.function == "Pow" and node.children[0].function == "Pow":
        (base, inner), outer = node.children[0].children, node.children[1]
        yield Tree("Pow", (base, make_sum([inner, outer])))
    if node.function == "exp" and len(terms(node.children[0])) > 1:
        yield Tree("exp", (product(list(terms(node.children[0]))),))
    two = factors(node)
    if len(two) != 2:
        return
    (a, m), (b, n) = map(_base_and_exponent, two)
    if a == b and exact(m) is not None and exact(n) is not None:
        up, down = exact(m), exact(n)
        assert up is not None and down is not None
        yield Tree("Pow", (a, whole(up / -down if down < 0 else up * down)))
        if exact(a) is not None:
            yield Tree("Pow", (whole((exact(a) or 0) ** 2), whole(up + down)))
    elif m == n and exact(m) not in (1, -1):
        yield Tree("Pow", (product([a, b]), make_sum([m, n])))
    elif two[0].function == two[1].function == "exp":
        yield Tree("exp", (product([two[0].children[0], two[1].children[0]]),))


def _signed_power(term: Tree, exponent: Tree) -> Tree:
    """Of a term: its sign stays in front."""
    if factors(term)[0] == MINUS_ONE:
        return negate(Tree("Pow", (negate(term), exponent)))
    return Tree("Pow", (term, exponent))


def _base_and_exponent(factor: Tree) -> tuple[Tree, Tree]:
    return (factor.children[0], factor.children[1]) if factor.function == "Pow" else (factor, whole(1))
