"""A sum with fractions in it as one fraction: its numerator has no poles."""

from dgltree.equations.expressions.definitions import X, expression
from dgltree.equations.truth.exact import exact
from dgltree.read.functions import BY_NAME
from dgltree.read.notation import number
from dgltree.trees.equation import substitute
from dgltree.trees.tree import Tree

ONE = number("1")
Fraction = tuple[Tree, Tree]


def one_fraction(tree: Tree) -> Fraction:
    """The numerator and the denominator, neither of which divides by an expression with a variable."""

    def of(node: Tree, parts: list[Fraction]) -> Fraction:
        if node.function == "Add":
            return _sum(parts)
        if node.function == "Mul":
            return _times(*(part[0] for part in parts)), _times(*(part[1] for part in parts))
        if node.function == "Pow":
            return _power(node, parts)
        over = Tree(node.function, tuple(map(_over, parts)), node.token) if parts else node
        record = BY_NAME.get(node.function)
        if record is not None and record.definition and parts and _divides(expression(record.definition)):
            return one_fraction(substitute(expression(record.definition), {X: _over(parts[0])}))
        return over, ONE

    return tree.fold(of)


def _divides(definition: Tree) -> bool:
    """Whether a definition is a fraction: sin(x)/cos(x), cos(x)^(-1); not atan(x^(-1))."""
    return definition.function in ("Mul", "Pow")


def _over(part: Fraction) -> Tree:
    top, bottom = part
    return top if bottom == ONE else Tree("Mul", (top, Tree("Pow", (bottom, number("-1")))))


def _times(*factors: Tree) -> Tree:
    rest = [factor for factor in factors if factor != ONE]
    return ONE if not rest else rest[0] if len(rest) == 1 else Tree("Mul", tuple(rest))


def _sum(parts: list[Fraction]) -> Fraction:
    bottoms = list(dict.fromkeys(bottom for _, bottom in parts if bottom != ONE))
    tops = [_times(top, *(other for other in bottoms if other != bottom)) for top, bottom in parts]
    return Tree("Add", tuple(tops)), _times(*bottoms)


def _power(node: Tree, parts: list[Fraction]) -> Fraction:
    n = exact(node.children[1])
    (top, bottom), exponent = parts[0], node.children[1]
    if n is None or n.denominator != 1:
        return Tree("Pow", (_over(parts[0]), _over(parts[1]))), ONE
    if n < 0:
        top, bottom, exponent = bottom, top, number(str(-n))
    if n == -1:
        return top, bottom
    return (top if top == ONE else Tree("Pow", (top, exponent))), (
        bottom if bottom == ONE else Tree("Pow", (bottom, exponent))
    )
