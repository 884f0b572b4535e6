"""``dgltree.distractors``: plausible wrong answers for multiple choice, each of which the judge shows to be wrong."""

from collections.abc import Iterator, Sequence
from itertools import islice

from dgltree.equations.checking.checker import Checker
from dgltree.equations.checking.key_form import KeyForm
from dgltree.equations.checking.marks import Mark
from dgltree.equations.checking.slips import SLIPS, Slip, opposite
from dgltree.equations.expressions.canonical_form import CanonicalForm, canonical
from dgltree.equations.expressions.names import variables
from dgltree.equations.expressions.textbook_order import TextbookOrder
from dgltree.equations.truth.judged_equation import JudgedEquation
from dgltree.equations.truth.sample_points import points
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

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
        raise ValueError(f"wrong answers need exactly one blank, but the equation has {len(checker.asked.blanks)}")
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
        raise ValueError(f"wrong answers are made from a right one; {checked.answer} is {checked}")
    if len(checked.solutions) > 1:
        raise ValueError(f"wrong answers are made from one solution; give one of {checked.answer}")
    if isinstance(answer, Tree):
        return answer
    if checker.asked.unknown is not None and not checked.solutions:
        raise ValueError(f"wrong answers are made from a number or an expression; {checked.answer!r} is neither")
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
