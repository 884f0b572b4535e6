"""Of which degree the polynomial is whose roots are the solutions of an equation, in its other variables."""

from collections.abc import Sequence

from dgltree.equations.truth.field_extension import Again, Units
from dgltree.equations.truth.proof import difference
from dgltree.equations.truth.rational_functions import NoValue, TooLarge
from dgltree.equations.truth.region import Region
from dgltree.trees.equation import BLANK, Equation, substitute
from dgltree.trees.tree import Tree


def degree(equation: Equation, unknown: str, names: Sequence[str]) -> int | None:
    """The least degree of an irreducible polynomial of which a solution is a root; None if it is none of one.

    Args:
        equation: with the blank in the place of the unknown.
        unknown: its variable.
        names: of the other variables.
    """
    variable = Tree("Symbol", token=unknown)
    asked = Equation(*(substitute(side, {BLANK: variable}) for side in equation))
    try:
        found = difference(asked, [unknown, *names], Region("complex"), Units())
        places = [found.translation.ring.involved(value.num)[0] for value in found.kernels.variables.values()]
        if not set(found.translation.ring.involved(found.value.num)) <= set(places):
            return None
        factors = found.value.num.factor()[1]
    except (Again, TooLarge, NoValue, ArithmeticError, RecursionError):
        return None
    degrees = [int(factor.degrees()[places[0]]) for factor, _ in factors]
    return min(filter(None, degrees), default=None)
