"""Whether two sides have real values at the same points, in any number of variables."""

from collections.abc import Sequence

from flint import ctx

from dgltree.equations.truth.proofs.expression import Expression, domain, from_tree
from dgltree.equations.truth.proofs.finder import REFUSALS
from dgltree.equations.truth.proofs.fractions import ValueRing
from dgltree.equations.truth.proofs.place import BITS, Place
from dgltree.trees.equation import Equation


def have_plainly_same_domain(equation: Equation, names: Sequence[str]) -> bool:
    """Whether the conditions of both sides are the same as they are written."""
    try:
        left, right = _sides(equation, names)
    except REFUSALS:
        return False
    return set(domain(left)) == set(domain(right))


def have_same_domain(equation: Equation, names: Sequence[str]) -> bool:
    """Whether each condition of one side is shown by those of the other, except for where an expression is 0."""
    try:
        with ctx.workprec(BITS):
            left, right = _sides(equation, names)
            return _implies(left, right) and _implies(right, left)
    except REFUSALS:
        return False


def _sides(equation: Equation, names: Sequence[str]) -> tuple[Expression, Expression]:
    letters = {name: (f"variable {name}",) for name in names}
    left, right = (from_tree(side, letters) for side in equation)
    return left, right


def _implies(here: Expression, there: Expression) -> bool:
    under = Place(ValueRing(), None, None).assuming(domain(here))
    for t, wanted in domain(there):
        if not under.signs(t) - wanted <= {0}:
            return False
        under = under.assuming(((t, wanted),))
    return True
