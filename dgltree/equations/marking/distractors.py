"""``dgltree.distractors`` gives plausible wrong answers for multiple choice, each shown to be wrong by the judge.

A slip is a rule for one node: a function from the node to the trees that people write in its place by mistake. Which
slips are most frequent is the order of ``SLIPS``. Wrong answers have the form of the right one: a decimal among
fractions would give it away.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import islice

from dgltree.equations.expressions.canonical_form import CanonicalForm, canonical
from dgltree.equations.expressions.textbook_order import TextbookOrder
from dgltree.equations.expressions.variables import variables
from dgltree.equations.marking.checker import Checker
from dgltree.equations.marking.marks import Mark
from dgltree.equations.marking.tree_parts import (
    conjugate,
    factors,
    make_sum,
    negate,
    over,
    power,
    product,
    quotient,
    terms,
)
from dgltree.equations.search.written_operations import fraction
from dgltree.equations.truth.exact import exact, exact_value
from dgltree.equations.truth.judged_equation import JudgedEquation
from dgltree.equations.truth.precision import one_thread_at_a_time
from dgltree.equations.truth.sample_points import points
from dgltree.read.functions import RECORDS, Use, names
from dgltree.read.notation import MINUS_ONE
from dgltree.support.refusal import Refusal
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

Slip = Callable[[Tree], Iterator[Tree]]
MAX_NODES = 60
"""Nodes of an expression that slips are made in."""
MAX_PER_SLIP = 12
"""Wrong answers of one slip in one expression."""
REPEAT_COST, NODE_COST, LOST_PART_COST = 2.0, 0.5, 8.0
"""How much less likely, in places of ``SLIPS``, each further place of a slip makes an answer, each node more or less
than the right one has, and each variable that is lost."""
TRIED = 20
"""Points at which two wrong answers are compared."""
JUDGED = 60
"""Candidates that the judge looks at."""
SWAPPED = {record.name: record.partner for record in RECORDS if record.partner}
LINEAR = {"log", "abs", *names("exponential", "circular", "hyperbolic", inverse=False, least=Use.KNOWN)}
"""Functions of which a sum or a factor of the argument is taken out by mistake."""


@one_thread_at_a_time
def distractors(equation: str | Equation, answer: str | Tree, count: int = 3) -> list[Tree]:
    """Wrong answers of the kinds that people give: ``distractors("(x + 3)^2 = _", "x^2 + 6x + 9")``.

    Examples:
        >>> import dgltree
        >>> wrong = dgltree.distractors("(x + 3)^2 = _", "x^2 + 6x + 9", 2)
        >>> [dgltree.write_infix(tree) for tree in wrong]
        ['x^2 + 9', '(x - 3)^2']

    Slips are made in the right answer, and in the other side if the blank is alone: a sign, a dropped root, a power
    that is distributed, an inverted fraction, a forgotten factor.

    Args:
        equation: with one blank, as a person types it, or read already.
        answer: the right one; of several solutions one.
        count: how many, at most.

    Each is refuted by the judge, no two are equal, and if the right one is a number, they are numbers of its form:
    decimals with as many places, fractions, or whole numbers. Raises ``ValueError`` if the equation has not one blank
    or the answer is not right.
    """
    checker = Checker(equation)
    if len(checker.asked.blanks) != 1:
        raise Refusal(f"wrong answers need exactly one blank, but the equation has {len(checker.asked.blanks)}")
    key = _key(checker, answer)
    form = KeyForm(key)
    candidates = [form.written(candidate) for candidate in _candidates(checker.asked.equation, key)]
    found: list[Tree] = []
    for candidate in [*candidates, *form.near()]:
        if len(found) == count:
            break
        if candidate is None or not _is_wrong(checker, candidate):
            continue
        if all(_differ(candidate, other) for other in found):
            found.append(candidate)
    return found


def _key(checker: Checker, answer: str | Tree) -> Tree:
    """The right answer. Raises ``ValueError`` for what is not right, and for what is not one expression."""
    checked = checker.check(answer)
    is_one_solution = checked.mark is Mark.INCOMPLETE and len(checked.solutions) == 1
    if checked.mark is not Mark.RIGHT and not is_one_solution:
        raise Refusal(f"wrong answers are made from a right one; {checked.answer} is {checked}")
    if len(checked.solutions) > 1:
        raise Refusal(f"wrong answers are made from one solution; give one of {checked.answer}")
    if isinstance(answer, Tree):
        return answer
    if checker.asked.unknown is not None and not checked.solutions:
        raise Refusal(f"wrong answers are made from a number or an expression; {checked.answer!r} is neither")
    return checker.read(checked.answer)


def _candidates(equation: Equation, key: Tree) -> list[Tree]:
    """Slips in the question and in the answer, from the most to the least likely, each form once."""
    sides = [key]
    if BLANK in equation:
        sides.insert(0, equation[1 - equation.index(BLANK)])
    order = TextbookOrder([*equation, key])
    printed_key = order(key)
    known = {canonical(side) for side in sides}
    found: dict[CanonicalForm, tuple[float, Tree]] = {}
    for rank, tree in _slipped([side for side in sides if side.size <= MAX_NODES]):
        try:
            printed = order(tree)
        except (ArithmeticError, ValueError):  # a division by zero
            continue
        form = canonical(printed)
        rank += NODE_COST * abs(printed.size - printed_key.size)
        rank += LOST_PART_COST * len(set(variables(key)) - set(variables(printed)))
        if form not in known and rank < found.get(form, (float("inf"), tree))[0]:
            found[form] = (rank, printed)
    return [tree for _, tree in sorted(found.values(), key=lambda one: one[0])][:JUDGED]


def _slipped(sides: Sequence[Tree]) -> Iterator[tuple[float, Tree]]:
    """Trees with one slip, and how unlikely that is."""
    for number, slip in enumerate(SLIPS):
        for side in sides:
            yield from (
                (number + REPEAT_COST * place, tree)
                for place, tree in enumerate(islice(_everywhere(side, slip), MAX_PER_SLIP))
            )


def _everywhere(tree: Tree, slip: Slip) -> Iterator[Tree]:
    """The tree with a slip at one of its nodes, the root first."""
    yield from slip(tree)
    if slip is opposite:
        return
    for place, child in enumerate(tree.children):
        for changed in _everywhere(child, slip):
            yield tree.replace(children=[*tree.children[:place], changed, *tree.children[place + 1 :]])


def _is_wrong(checker: Checker, candidate: Tree) -> bool:
    try:
        return checker.check(candidate).mark is Mark.WRONG
    except ValueError:
        return False


def _differ(one: Tree, other: Tree) -> bool:
    """Whether there is a real point at which two expressions are sure to have different real values."""
    case = JudgedEquation(Equation(one, other))
    return case.trial("real", islice(points(case.names, "real"), TRIED), "positive").against is not None


class KeyForm:
    """The form of a right answer that is a number: a whole one, a fraction, or a decimal with so many places.

    Args:
        key: the right answer.
    """

    def __init__(self, key: Tree) -> None:
        self._value = exact(key)
        point = (key.token or "").lower()
        self._places = len(point.partition(".")[2]) if key.function == "Float" and "e" not in point else None

    def written(self, candidate: Tree) -> Tree | None:
        """A wrong answer in this form; None of a number of another form. If the right one has letters, it stays."""
        value = exact_value(candidate)
        if self._value is None:
            return candidate
        if value is None:
            return None
        if self._places is not None:
            return _decimal(value, self._places)
        return fraction(value) if (value.denominator == 1) == (self._value.denominator == 1) else None

    def near(self) -> Iterator[Tree]:
        """Numbers of this form next to the right one: slips in the last digit, in the sign, and in the point."""
        if self._value is None:
            return
        value, unit = self._value, Fraction(1)
        if self._places is not None:
            unit = Fraction(1, 10**self._places)
        elif value.denominator > 1:
            unit = Fraction(1, value.denominator)
        for number in (value + unit, value - unit, -value, value * 10, value + 10 * unit, value + 2 * unit):
            tree = self.written(fraction(number))
            if tree is not None:
                yield tree


def _decimal(value: Fraction, places: int) -> Tree | None:
    """A number as a decimal, rounded to so many places."""
    rounded = round(value * 10**places)
    digits = str(abs(rounded)).rjust(places + 1, "0")
    text = f"{'-' if rounded < 0 else ''}{digits[: len(digits) - places]}.{digits[len(digits) - places :]}"
    return Tree("Float", token=text) if places else None


def distributed_power(node: Tree) -> Iterator[Tree]:
    """(a + b)^n as a^n + b^n, sqrt(a + b) as sqrt(a) + sqrt(b), 1/(a + b) as 1/a + 1/b."""
    if node.function == "Pow" and len(terms(node.children[0])) > 1:
        base, exponent = node.children
        yield make_sum([_signed_power(term, exponent) for term in terms(base)])


def first_and_last_only(node: Tree) -> Iterator[Tree]:
    """(a + b)*(c + d) as a*c + b*d."""
    two = [terms(factor) for factor in factors(node)]
    if len(two) == 2 and all(len(inside) > 1 for inside in two):
        yield make_sum([product([two[0][0], two[1][0]]), product([two[0][-1], two[1][-1]])])


def fractions_added(node: Tree) -> Iterator[Tree]:
    """a/b + c/d as (a + c)/(b + d)."""
    parts = [quotient(term) for term in terms(node)]
    if len(parts) > 1 and all(bottom != fraction(1) for _, bottom in parts):
        top, bottom = make_sum([top for top, _ in parts]), make_sum([bottom for _, bottom in parts])
        yield over(top, bottom)
        yield over(fraction(1), bottom)


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
        yield Tree("Pow", (a, fraction(up / -down if down < 0 else up * down)))
        if exact(a) is not None:
            yield Tree("Pow", (fraction((exact(a) or 0) ** 2), fraction(up + down)))
    elif m == n and exact(m) not in (1, -1):
        yield Tree("Pow", (product([a, b]), make_sum([m, n])))
    elif two[0].function == two[1].function == "exp":
        yield Tree("exp", (product([two[0].children[0], two[1].children[0]]),))


def _base_and_exponent(factor: Tree) -> tuple[Tree, Tree]:
    return (factor.children[0], factor.children[1]) if factor.function == "Pow" else (factor, fraction(1))


def _signed_power(term: Tree, exponent: Tree) -> Tree:
    """The power of a term whose sign stays in front."""
    if factors(term)[0] == MINUS_ONE:
        return negate(Tree("Pow", (negate(term), exponent)))
    return Tree("Pow", (term, exponent))


def wrong_sign(node: Tree) -> Iterator[Tree]:
    """A sum with the sign of one term changed."""
    parts = terms(node)
    for place in reversed(range(len(parts))) if len(parts) > 1 else ():
        yield make_sum([negate(part) if number == place else part for number, part in enumerate(parts)])


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


def exponent_as_factor(node: Tree) -> Iterator[Tree]:
    """x^n as n*x, sqrt(x) as x/2, x^-n as -x^n, x^0 as 0."""
    number = exact(node.children[1]) if node.function == "Pow" else None
    if number is None:
        return
    base = node.children[0]
    if number == 0:
        yield fraction(0)
    elif number < 0 and number != -1:
        yield negate(power(base, -number))
    elif number != -1:
        yield product([base, fraction(number)])


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
            yield product([*parts[:place], fraction(number * number), *parts[place + 1 :]])


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
        yield Tree("Pow", (make_sum([base, fraction(root if number > 0 else -root)]), exponent))


def part_of_a_sum_divided(node: Tree) -> Iterator[Tree]:
    """(a + b)/c as a/c + b and as b, (a + c)/c as a, a + b/c as a + b."""
    top, bottom = quotient(node)
    parts = terms(top)
    if bottom != fraction(1) and len(parts) > 1:
        yield from (make_sum([part for part in parts if part != bottom]) for one in parts if one == bottom)
        for place, part in enumerate(parts):
            rest = [other for number, other in enumerate(parts) if number != place]
            yield make_sum([over(part, bottom), *rest])
            yield make_sum(rest)
    if len(parts) > 1 and any(quotient(part)[1] != fraction(1) for part in parts):
        yield make_sum([quotient(part)[0] for part in parts])


def half_square(node: Tree) -> Iterator[Tree]:
    """(a + b)^2 as a^2 + a*b + b^2 and as a^2 + 2*a*b - b^2."""
    if node.function == "Pow" and exact(node.children[1]) == 2 and len(terms(node.children[0])) == 2:
        a, b = terms(node.children[0])
        middle = product([a, b])
        yield make_sum([power(a, 2), middle, power(b, 2)])
        yield make_sum([power(a, 2), product([fraction(2), middle]), negate(power(b, 2))])


def inverted_fraction(node: Tree) -> Iterator[Tree]:
    """b/a for a/b."""
    top, bottom = quotient(node)
    if bottom != fraction(1):
        yield over(bottom, top)


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


def dropped_power(node: Tree) -> Iterator[Tree]:
    """x for x^2 and for sqrt(x), x^2 for sqrt(x)."""
    number = exact(node.children[1]) if node.function == "Pow" else None
    if number is not None and number not in (-1, 0):
        yield node.children[0] if number > 0 else power(node.children[0], -1)


def opposite(node: Tree) -> Iterator[Tree]:
    """-a for a, where a is the whole answer."""
    yield negate(node)


def wrong_number(node: Tree) -> Iterator[Tree]:
    """Twice and half of a number, its square, and one more or less."""
    number = exact(node)
    if number is not None and number not in (0, -1):
        yield fraction(number * 2)
        yield fraction(number / 2)
        if number > 1:
            yield fraction(number * number)
            yield fraction(number + 1)
            yield fraction(number - 1)


def swapped_function(node: Tree) -> Iterator[Tree]:
    """cos for sin, cot for tan."""
    if node.function in SWAPPED:
        yield node.replace(function=SWAPPED[node.function])


def forgotten_term(node: Tree) -> Iterator[Tree]:
    """A sum without one of its terms."""
    parts = terms(node)
    for place in reversed(range(len(parts))) if len(parts) > 1 else ():
        yield make_sum([other for number, other in enumerate(parts) if number != place])


def both_parts_multiplied(node: Tree) -> Iterator[Tree]:
    """2*(3/5) as 6/10."""
    top, bottom = quotient(node)
    number = next((factor for factor in factors(top) if exact(factor) not in (None, 1, -1)), None)
    if number is not None and bottom != fraction(1):
        yield over(top, product([number, bottom]))


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
"""The slips, from what people do most to what they do least."""
