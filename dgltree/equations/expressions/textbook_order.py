"""An expression in the order in which a textbook prints it: ``x^2 - 3*x + 2``, ``2*x*(x + 1)``, ``sin(x)*cos(y)``.

The tree is written again from its canonical form: one tree for all that differ in order, grouping and collecting. Terms
come in falling degree and factors as number, constants, variables, functions, brackets; both then by name. A sum does
not begin with a minus if it can begin without (``1 - x``), and a number is in front of circular functions
(``1 + cos(x)``). Next to an equation its variables come in the order of the equation, and a sum is written as there.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from dgltree.equations.expressions.canonical_form import NUMBER, CanonicalForm, canonical
from dgltree.equations.expressions.variables import variables
from dgltree.equations.expressions.written_form import Memo
from dgltree.read.functions import Use, names
from dgltree.read.notation import EXP1, IMAGINARY_UNIT, MINUS_ONE, NUMBERS, number
from dgltree.trees.tree import Tree

REMEMBERED = 20_000  # forms
MAX_ORDERED_SIZE = 60  # nodes of a sum that is written as in the equation; characters that order two parts
LITERAL, CONSTANT, VARIABLE, FUNCTION, BRACKET = range(5)
"""Kinds of factors, in the order of a product."""
CIRCULAR = frozenset(names("circular", "hyperbolic", inverse=False))
RANKS = ("exp", "log", *names("circular", "hyperbolic", inverse=False, least=Use.COMMON))
"""Functions of one argument in the order in which they come; all others follow by name."""
ONE = Fraction(1)


class Written(NamedTuple):
    """A part as it is written, and what its place among others depends on."""

    tree: Tree
    place: tuple[Any, ...]
    """Orders the factors of a product: the kind first."""
    degree: Fraction
    """The degree in variables, of which a function counts as one."""
    is_constant: bool
    text: str
    """Orders arguments."""
    value: Fraction
    """The number in front."""
    factors: "tuple[Power, ...]"
    """Factors in order; empty for a part that is not a product."""


class Power(NamedTuple):
    """A factor with its whole exponent."""

    base: Written
    exponent: Fraction

    @property
    def tree(self) -> Tree:
        """The factor without the sign of its exponent."""
        size = abs(self.exponent)
        return self.base.tree if size == 1 else Tree("Pow", (self.base.tree, number(str(size))))


def textbook_order(tree: Tree) -> Tree:
    """The tree of an equal value whose terms and factors are in printing order.

    What :func:`dgltree.equations.expressions.canonical_form.canonical` collects is collected: equal terms, equal
    factors, numbers. As ``x/x`` becomes 1, the new tree may have a value at more points.
    """
    return _ALONE(tree)


class TextbookOrder:
    """:func:`textbook_order` next to an equation.

    Args:
        sides: of the equation; none for expressions alone.
    """

    def __init__(self, sides: Sequence[Tree] = ()) -> None:
        self._names = {name: place for place, name in enumerate(variables(*sides))}
        self._sums = {canonical(node): node for side in sides for node in _whole_sums(side)}
        self._written: Memo[CanonicalForm, Written] = Memo(_parts, self._write, REMEMBERED)

    def __call__(self, tree: Tree) -> Tree:
        return self._written(canonical(tree)).tree

    def _write(self, form: CanonicalForm, parts: list[Written]) -> Written:
        if form.function == NUMBER:
            return Written(number(str(form.value)), (LITERAL,), Fraction(0), True, str(form.value), form.value, ())
        if form.function == "Symbol":
            text = f"{self._names.get(form.text, len(self._names)):4} {form.text.lower()} {form.text}"
            return _part(form, Tree("Symbol", token=form.text), (VARIABLE, text), ONE, text)
        if form.function == "Mul":
            return _product(form.value, [Power(*pair) for pair in zip(parts, form.counts, strict=True)])
        if form.function == "Add":
            found = _sum(form, parts)
            return found._replace(tree=self._sums[form]) if form in self._sums else found
        return _call(form, parts) if parts else _leaf(form)


def _whole_sums(side: Tree) -> list[Tree]:
    """The short sums of a side that are not part of another sum."""
    sums = [node for node in side.distinct() if node.function == "Add"]
    inner = {id(child) for node in sums for child in node.children}
    return [node for node in sums if id(node) not in inner and node.size <= MAX_ORDERED_SIZE]


def _parts(form: CanonicalForm) -> tuple[CanonicalForm, ...]:
    return form.parts


def _leaf(form: CanonicalForm) -> Written:
    tree = Tree(form.function, token=form.text or None)
    return _part(form, tree, (LITERAL if form.function in NUMBERS else CONSTANT, 0, form.text), Fraction(0), form.text)


def _call(form: CanonicalForm, parts: list[Written]) -> Written:
    """A function, a root, or a power whose exponent is not a whole number."""
    trees = [part.tree for part in parts]
    tree = Tree(form.function, [*trees, EXP1] if form.function == "log" and len(trees) == 1 else trees)
    inner = ",".join(part.text for part in parts)
    text = f"{inner} {form.function}"
    constant = all(part.is_constant for part in parts)
    if constant and form.function == "Pow":
        return _part(form, tree, (CONSTANT, 2 if tree == IMAGINARY_UNIT else 1, text), Fraction(0), text)
    rank = RANKS.index(form.function) if form.function in RANKS else len(RANKS)
    exponent = parts[1].value if form.function == "Pow" and form.parts[1].function == NUMBER else None
    degree = Fraction(not constant) if exponent is None else parts[0].degree * exponent
    return _part(form, tree, (FUNCTION, parts[0].value < 0, inner, rank, form.function), degree, text, constant)


def _part(
    form: CanonicalForm, tree: Tree, place: tuple[Any, ...], degree: Fraction, text: str, constant: bool = False
) -> Written:
    return Written(tree, place, degree, constant or place[0] <= CONSTANT, _short(form, text), ONE, ())


def _short(form: CanonicalForm, text: str) -> str:
    return text if len(text) <= MAX_ORDERED_SIZE else text[: MAX_ORDERED_SIZE // 2] + form.key.hex()


def _product(value: Fraction, factors: Sequence[Power]) -> Written:
    ordered = tuple(sorted(factors, key=lambda factor: (factor.base.place, -factor.exponent)))
    degree = sum((factor.base.degree * factor.exponent for factor in ordered), Fraction(0))
    text = " ".join(f"{base.text}^{exponent}" if exponent != 1 else base.text for base, exponent in ordered)
    constant = all(base.is_constant for base, _ in ordered)
    text = f"{text} {value}" if value != 1 else text
    place = (FUNCTION, value < 0, text[:MAX_ORDERED_SIZE], len(RANKS), "")  # of what is not a factor itself
    return Written(_fraction(value, ordered), place, degree, constant, text[:MAX_ORDERED_SIZE], value, ordered)


def _fraction(value: Fraction, factors: Sequence[Power]) -> Tree:
    """``3*x/(4*y)``, ``x/2``, ``3/4*x``, ``5*pi/6``, ``-x``."""
    size = abs(value)
    above = [factor.tree for factor in factors if factor.exponent > 0]
    below = [factor.tree for factor in factors if factor.exponent < 0]
    top = number(str(size.numerator))
    bottom = number(str(size.denominator))
    in_front = bool(above) and not below and size.numerator > 1 and not factors[0].base.is_constant
    if in_front or not (above or below):  # 3/4*x
        return _joined([number(str(value)), *above])
    if size.numerator != 1 or not above:
        above.insert(0, top)
    if size.denominator > 1:
        below.insert(0, bottom)
    if value < 0:
        above[0] = negate(above[0])
    whole = _joined(above)
    return Tree("Mul", (whole, Tree("Pow", (_joined(below), MINUS_ONE)))) if below else whole


def negate(tree: Tree) -> Tree:
    """A minus in front of what is not a product."""
    if tree.function in NUMBERS and tree.token:
        return number(tree.token.removeprefix("-") if tree.token.startswith("-") else f"-{tree.token}")
    return Tree("Mul", (MINUS_ONE, tree))


def _joined(factors: Sequence[Tree]) -> Tree:
    whole = factors[0]
    for factor in factors[1:]:
        whole = Tree("Mul", (whole, factor))
    return whole


class _Term(NamedTuple):
    """A term of a sum without its coefficient."""

    coefficient: Fraction
    degree: Fraction
    factors: tuple[Power, ...]

    @classmethod
    def of(cls, part: Written, count: Fraction) -> "_Term":
        is_product = part.factors and part.value == 1
        return cls(count, part.degree, part.factors if is_product else (Power(part, ONE),))

    @property
    def key(self) -> tuple[Any, ...]:
        named = [factor for factor in self.factors if not factor.base.is_constant]
        names = [(factor.base.place, -factor.exponent) for factor in named]
        constants = [(factor.base.place, -factor.exponent) for factor in self.factors if factor.base.is_constant]
        return (-self.degree, not named, names, constants)

    @property
    def is_fraction(self) -> bool:
        """Whether it is no larger for larger variables, as ``h/x`` and ``exp(-x)``."""
        falling = any(factor.base.tree.function == "exp" and factor.base.place[1] for factor in self.factors)
        return (self.degree <= 0 or falling) and not all(factor.base.is_constant for factor in self.factors)

    @property
    def is_circular(self) -> bool:
        """Whether it has no variable but in circular functions."""
        return all(factor.base.tree.function in CIRCULAR for factor in self.factors if not factor.base.is_constant)


def _sum(form: CanonicalForm, parts: list[Written]) -> Written:
    terms = [_Term.of(part, count) for part, count in zip(parts, form.counts, strict=True)]
    terms.sort(key=lambda term: term.key)
    if form.value:
        terms.insert(_place_of_number(form.value, terms), _Term(form.value, Fraction(0), ()))
    if terms[0].coefficient < 0 and (len(terms) == 2 or not _is_polynomial(terms)) and not _is_complex(terms):
        positive = next((place for place, term in enumerate(terms) if term.coefficient > 0), 0)
        terms.insert(0, terms.pop(positive))
    tree = _fraction(terms[0].coefficient, terms[0].factors)
    for term in terms[1:]:
        size = _fraction(abs(term.coefficient), term.factors)
        tree = Tree("Add", (tree, Tree("Mul", (MINUS_ONE, size)) if term.coefficient < 0 else size))
    text = " + ".join(part.text for part in sorted(parts, key=lambda part: part.place))
    highest = max(term.degree for term in terms)
    place = (BRACKET, highest, len(terms), _short(form, text), form.value, form.key)
    return _part(form, tree, place, highest, text, all(part.is_constant for part in parts))


def _place_of_number(value: Fraction, terms: Sequence[_Term]) -> int:
    """Behind variables, before roots of numbers and fractions, and before circular functions if it is positive."""
    if all(factor.base.is_constant for term in terms for factor in term.factors):
        return 0
    if value > 0 and all(term.is_circular for term in terms):
        return 0
    return next((place for place, term in enumerate(terms) if term.is_fraction), len(terms))


def _is_complex(terms: Sequence[_Term]) -> bool:
    """Whether it is a number with an imaginary part: -1 + 2*i."""
    return any(factor.base.tree == IMAGINARY_UNIT for term in terms for factor in term.factors)


def _is_polynomial(terms: Sequence[_Term]) -> bool:
    """Whether it is one of a single variable, which keeps its falling powers."""
    names = {factor.base.place for term in terms for factor in term.factors}
    return len(names) == 1 and all(term.factors or not term.degree for term in terms)


_ALONE = TextbookOrder()
