"""Slips of people, as rules for one node: what is written in its place by mistake.

A rule is a function from a node to trees. Which of them people make most is the order of ``SLIPS``.
"""

from collections.abc import Callable, Iterator

from dgltree.equations.checking.power_slips import (
    distributed_power,
    dropped_power,
    exponent_as_factor,
    exponents_combined,
    half_square,
    number_out_of_a_root,
    power_of_one_factor,
    power_of_the_whole,
)
from dgltree.equations.checking.tree_parts import (
    conjugate,
    factors,
    make_sum,
    negate,
    over,
    power,
    product,
    quotient,
    terms,
    whole,
)
from dgltree.equations.truth.exact import exact
from dgltree.read.functions import RECORDS, Use, names
from dgltree.trees.tree import Tree

Slip = Callable[[Tree], Iterator[Tree]]
SWAPPED = {record.name: record.partner for record in RECORDS if record.partner}
LINEAR = {"log", "abs", *names("exponential", "circular", "hyperbolic", inverse=False, least=Use.KNOWN)}
"""Functions of which a sum or a factor of the argument is taken out by mistake."""


def first_and_last_only(node: Tree) -> Iterator[Tree]:
    """(a + b)*(c + d) as a*c + b*d."""
    two = [terms(factor) for factor in factors(node)]
    if len(two) == 2 and all(len(inside) > 1 for inside in two):
        yield make_sum([product([two[0][0], two[1][0]]), product([two[0][-1], two[1][-1]])])


def fractions_added(node: Tree) -> Iterator[Tree]:
    """a/b + c/d as (a + c)/(b + d)."""
    parts = [quotient(term) for term in terms(node)]
    if len(parts) > 1 and all(bottom != whole(1) for _, bottom in parts):
        top, bottom = make_sum([top for top, _ in parts]), make_sum([bottom for _, bottom in parts])
        yield over(top, bottom)
        yield over(whole(1), bottom)


def inverted_fraction(node: Tree) -> Iterator[Tree]:
    """b/a for a/b."""
    top, bottom = quotient(node)
    if bottom != whole(1):
        yield over(bottom, top)


def part_of_a_sum_divided(node: Tree) -> Iterator[Tree]:
    """(a + b)/c as a/c + b and as b, (a + c)/c as a, a + b/c as a + b."""
    top, bottom = quotient(node)
    parts = terms(top)
    if bottom != whole(1) and len(parts) > 1:
        yield from (make_sum([part for part in parts if part != bottom]) for one in parts if one == bottom)
        for place, part in enumerate(parts):
            rest = [other for number, other in enumerate(parts) if number != place]
            yield make_sum([over(part, bottom), *rest])
            yield make_sum(rest)
    if len(parts) > 1 and any(quotient(part)[1] != whole(1) for part in parts):
        yield make_sum([quotient(part)[0] for part in parts])


def both_parts_multiplied(node: Tree) -> Iterator[Tree]:
    """2*(3/5) as 6/10."""
    top, bottom = quotient(node)
    number = next((factor for factor in factors(top) if exact(factor) not in (None, 1, -1)), None)
    if number is not None and bottom != whole(1):
        yield over(top, product([number, bottom]))


def product_of_one_term(node: Tree) -> Iterator[Tree]:
    """c*(a + b) as c*a + b, and -(a + b) as -a + b."""
    parts = factors(node)
    if sum(len(terms(part)) > 1 for part in parts) > 1:
        return
    for place, part in enumerate(parts):
        inside = terms(part)
        if len(inside) > 1 and len(parts) > 1:
            rest = [other for number, other in enumerate(parts) if number != place]
            yield make_sum([product([*rest, inside[0]]), *inside[1:]])
            yield make_sum([*inside[:-1], product([*rest, inside[-1]])])


def function_of_each(node: Tree) -> Iterator[Tree]:
    """f(a + b) as f(a) + f(b), f(a*b) as f(a)*f(b) or a*f(b), f(a)^n as f(a^n) and back."""
    name = node.function
    if name in LINEAR:
        argument, rest = node.children[0], node.children[1:]

        def of(tree: Tree) -> Tree:
            return Tree(name, (tree, *rest))

        if len(terms(argument)) > 1:
            yield make_sum([of(term) for term in terms(argument)])
            yield make_sum([of(terms(argument)[0]), *terms(argument)[1:]])
        if len(factors(argument)) > 1:
            number, *others = factors(argument)
            yield product([number, of(product(others))])
            yield product([of(factor) for factor in factors(argument)])
        if argument.function == "Pow":
            yield Tree("Pow", (of(argument.children[0]), argument.children[1]))
    if name == "Pow" and node.children[0].function in LINEAR:
        inner = node.children[0]
        yield inner.replace(children=[Tree("Pow", (inner.children[0], node.children[1])), *inner.children[1:]])


def logarithms_combined(node: Tree) -> Iterator[Tree]:
    """log(a) + log(b) as log(a + b) and as log(a)*log(b), log(a) - log(b) as log(a)/log(b) and as log(a - b)."""
    two = terms(node)
    bare = [factors(term)[-1] for term in two]
    if len(two) == 2 and all(part.function == "log" and len(part.children) == 2 for part in bare):
        a, b = bare
        minus = two[1] != b
        inside = make_sum([a.children[0], negate(b.children[0]) if minus else b.children[0]])
        yield a.replace(children=[inside, *a.children[1:]])
        yield over(a, b) if minus else product([a, b])


def wrong_sign(node: Tree) -> Iterator[Tree]:
    """A sum with the sign of one term changed."""
    parts = terms(node)
    for place in reversed(range(len(parts))) if len(parts) > 1 else ():
        yield make_sum([negate(part) if number == place else part for number, part in enumerate(parts)])


def signs_of_all_factors(node: Tree) -> Iterator[Tree]:
    """(x - 2)*(x - 3) for (x + 2)*(x + 3), and (x - 3)^2 for (x - 3)*(x + 3)."""
    parts = factors(node)
    sums = [part for part in parts if len(terms(part)) > 1]
    if len(sums) > 1:
        rest = [part for part in parts if len(terms(part)) == 1]
        yield product([*rest, *map(conjugate, sums)])
        yield product([*rest, power(sums[0], len(sums))])
        first, *others = sums
        yield product([*rest, first, *map(conjugate, others)])


def forgotten_factor(node: Tree) -> Iterator[Tree]:
    """A product without one of its factors."""
    parts = factors(node)
    for place, part in enumerate(parts):
        if len(parts) > 1 and exact(part) != -1:
            yield product([other for number, other in enumerate(parts) if number != place])


def forgotten_term(node: Tree) -> Iterator[Tree]:
    """A sum without one of its terms."""
    parts = terms(node)
    for place in reversed(range(len(parts))) if len(parts) > 1 else ():
        yield make_sum([other for number, other in enumerate(parts) if number != place])


def swapped_function(node: Tree) -> Iterator[Tree]:
    """cos for sin, cot for tan."""
    if node.function in SWAPPED:
        yield node.replace(function=SWAPPED[node.function])


def wrong_number(node: Tree) -> Iterator[Tree]:
    """Twice and half of a number, its square, and one more or less."""
    number = exact(node)
    if number is not None and number not in (0, -1):
        yield whole(number * 2)
        yield whole(number / 2)
        if number > 1:
            yield whole(number * number)
            yield whole(number + 1)
            yield whole(number - 1)


def opposite(node: Tree) -> Iterator[Tree]:
    """Of the whole answer."""
    yield negate(node)


SLIPS: tuple[Slip, ...] = (
    distributed_power,
    first_and_last_only,
    fractions_added,
    exponents_combined,
    wrong_sign,
    product_of_one_term,
    function_of_each,
    logarithms_combined,
    exponent_as_factor,
    power_of_one_factor,
    number_out_of_a_root,
    power_of_the_whole,
    part_of_a_sum_divided,
    half_square,
    inverted_fraction,
    signs_of_all_factors,
    forgotten_factor,
    dropped_power,
    opposite,
    wrong_number,
    swapped_function,
    forgotten_term,
    both_parts_multiplied,
)
"""From what people do most to what they do least."""
