"""The canonical form of an expression: the same for all trees that differ only in order, grouping and collecting.

A sum is a multiset of terms, each with a rational coefficient; a product one of factors, each with a whole exponent.
So ``x + x`` is ``2*x``, ``x*x*x`` is ``x^3``, ``(x^6)^6`` is ``x^36`` and ``x + 2 - 5`` is ``-3 + x``. Nothing is
expanded, and no power or number is spread over the parts of a product or a sum: ``(x + y)^2``, ``(x*y)^2`` and
``2*(x + y)`` stay as they are. Numbers of more than ``BITS`` bits are not worked out: ``7^5000`` is a factor 7 and its
exponent. Time and memory grow as the number of distinct nodes, whatever the powers.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import blake2b

from dgltree.equations.expressions.written_form import Memo, symbols
from dgltree.read.notation import EXP1, NUMBERS
from dgltree.trees.tree import Tree

BITS = 1600
REMEMBERED = 20_000  # forms
LONGER = 4  # nodes that a rearranged side may have more
NUMBER = "number"
EXACT = ("Integer", "NegativeOne", "Half", "Rational")


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalForm:
    """One node. Equal forms have equal keys, in every process.

    Args:
        function: ``Add``, ``Mul``, ``number``, or any other function or leaf of a tree.
        parts: the terms of a sum and the factors of a product, by their keys; the arguments of another function.
        counts: the coefficient of each term, the exponent of each factor.
        value: of a number; of a sum the number that is added, of a product the number in front.
        text: of a leaf.
    """

    function: str
    parts: tuple["CanonicalForm", ...] = ()
    counts: tuple[Fraction, ...] = ()
    value: Fraction = Fraction(0)
    text: str = ""
    key: bytes = field(init=False)

    def __post_init__(self) -> None:
        numbers = [f"{n.numerator:x}/{n.denominator:x}" for n in (self.value, *self.counts)]
        hashed = blake2b(repr((self.function, self.text, numbers)).encode("utf-8", "surrogatepass"), digest_size=16)
        for part in self.parts:
            hashed.update(part.key)
        object.__setattr__(self, "key", hashed.digest())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CanonicalForm) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


Counted = tuple[CanonicalForm, Fraction | int]
"""A term and its coefficient, or a factor and its exponent."""


def canonical(tree: Tree) -> CanonicalForm:
    """The canonical form of a tree."""
    return _FORMS(tree)


def restates(tree: Tree, whole: Tree) -> bool:
    """Whether ``whole``, which is not a leaf, is a part of ``tree``, at most rearranged or with all signs changed.

    Not if it is plainer there, or collected: ``2*x`` does not restate ``x + x``.
    """
    if not whole.children:
        return False
    length = symbols(whole)
    form = canonical(whole)
    wanted = (form, _opposite(form)) if form.function == "Add" else (form,)
    alike = (node for node in tree.distinct() if node.children and node.size <= whole.size + LONGER)
    leaves = _leaves(whole)
    return any(symbols(node) >= length and canonical(node) in wanted and _leaves(node) == leaves for node in alike)


def _leaves(tree: Tree) -> set[str | None]:
    """The texts of the leaves, without those of signs and of fractions' lines."""
    return {node.token for node in tree.distinct() if not node.children} - {"-1", "1"}


def _opposite(form: CanonicalForm) -> CanonicalForm:
    """A sum with all signs changed."""
    return replace(form, counts=tuple(-count for count in form.counts), value=-form.value)


def _number(value: Fraction | int) -> CanonicalForm:
    return CanonicalForm(NUMBER, value=Fraction(value))


def _fits(value: Fraction | int) -> bool:
    return max(value.numerator.bit_length(), value.denominator.bit_length()) <= BITS


def _operands(node: Tree) -> dict[int, tuple[Tree, int]]:
    """The parts of a sum in sums, or of a product in products, each distinct one with how often it occurs."""
    name = node.function
    if name not in ("Add", "Mul"):
        return {id(child): (child, 1) for child in node.children}
    chain: list[Tree] = []  # the nodes joined, below before above
    met: set[int] = set()
    stack = [(node, False)]
    while stack:
        inner, done = stack.pop()
        if done:
            chain.append(inner)
        elif id(inner) not in met:
            met.add(id(inner))
            stack.append((inner, True))
            stack.extend((child, False) for child in inner.children if child.function == name and child.children)
    times = dict.fromkeys(met, 0) | {id(node): 1}
    found: dict[int, tuple[Tree, int]] = {}
    for inner in reversed(chain):
        for child in inner.children:
            if id(child) in times:
                times[id(child)] += times[id(inner)]
            else:
                found[id(child)] = child, found.get(id(child), (child, 0))[1] + times[id(inner)]
    return found


def _form(node: Tree, parts: list[CanonicalForm]) -> CanonicalForm:
    name = node.function
    operands = _operands(node)
    if not node.children:
        return _leaf(node)
    if name in ("Add", "Mul"):
        counted = [(part, times) for part, (_, times) in zip(parts, operands.values(), strict=True)]
        return (_sum if name == "Add" else _product)(sorted(counted, key=_key))
    by_id = dict(zip(operands, parts, strict=True))
    arguments = [by_id[id(child)] for child in node.children]
    if name == "Pow" and len(arguments) == 2:
        return _power(*arguments)
    if name == "log" and node.children[1:] == (EXP1,):
        arguments = arguments[:1]
    return CanonicalForm(name, tuple(arguments))


def _leaf(leaf: Tree) -> CanonicalForm:
    text = leaf.token or ("" if leaf.value is None else repr(leaf.value))
    if leaf.function in EXACT and len(text) < BITS and _fits(value := Fraction(text)):
        return _number(value)
    if leaf.function in NUMBERS and text.startswith("-"):
        return _product([(_number(-1), 1), (CanonicalForm(leaf.function, text=text[1:]), 1)])
    return CanonicalForm(leaf.function, text=text)


def _sum(operands: Iterable[Counted]) -> CanonicalForm:
    terms: dict[CanonicalForm | None, Fraction] = {}  # None for what is a number alone
    for operand, times in operands:
        for term, count in _terms(operand):
            total = terms.get(term, Fraction(0)) + count * times
            if not _fits(total):  # not worked out: a term of its own
                term = _number(count) if term is None else CanonicalForm("Mul", (term,), (Fraction(1),), count)
                total = terms.get(term, Fraction(0)) + times
            terms[term] = total
    number = terms.pop(None, Fraction(0))
    kept = sorted(((term, count) for term, count in terms.items() if term and count), key=_key)
    if len(kept) > 1 or (kept and number):
        return _multiset("Add", kept, number)
    return _product([(_number(kept[0][1]), 1), (kept[0][0], 1)]) if kept else _number(number)


def _terms(form: CanonicalForm) -> list[tuple[CanonicalForm | None, Fraction]]:
    """The terms that a form adds to a sum, with their coefficients."""
    if form.function == NUMBER:
        return [(None, form.value)]
    if form.function == "Add":
        return [(None, form.value), *zip(form.parts, form.counts, strict=True)]
    if form.function == "Mul" and form.value not in (0, 1):  # 0/0 is not left out of a sum
        alone = len(form.parts) == 1 and form.counts == (1,)
        return [(form.parts[0] if alone else replace(form, value=Fraction(1)), form.value)]
    return [(form, Fraction(1))]


def _product(operands: Iterable[Counted]) -> CanonicalForm:
    value = Fraction(1)
    factors: dict[CanonicalForm, Fraction] = {}
    for operand, times in operands:
        inside = [(operand, Fraction(1))]
        if operand.function == "Mul":
            inside = [(_number(operand.value), Fraction(1)), *zip(operand.parts, operand.counts, strict=True)]
        for factor, count in inside:
            power = _worked_out(factor, int(count * times))
            if power is not None and _fits(value * power):
                value *= power
            else:
                factors[factor] = factors.get(factor, Fraction(0)) + count * times
    kept = sorted(((factor, count) for factor, count in factors.items() if count), key=_key)
    if not kept:
        return _number(value)
    if value == 1 and len(kept) == 1 and kept[0][1] == 1:
        return kept[0][0]
    return _multiset("Mul", kept, value)


def _worked_out(form: CanonicalForm, exponent: int) -> Fraction | None:
    """A number to a power; None for no number, for one that is too large, and for 1/0."""
    if form.function != NUMBER or (not form.value and exponent < 0):
        return None
    bits = max(form.value.numerator.bit_length(), form.value.denominator.bit_length())
    return form.value**exponent if (bits - 1) * abs(exponent) <= BITS else None


def _power(base: CanonicalForm, exponent: CanonicalForm) -> CanonicalForm:
    if exponent.function in (NUMBER, "Mul") and exponent.value < 0:
        return _product([(_power(base, _product([(_number(-1), 1), (exponent, 1)])), -1)])
    if exponent.function != NUMBER or exponent.value.denominator > 1 or not exponent.value:
        one = exponent == _number(0) and base != _number(0)
        return _number(1) if one else CanonicalForm("Pow", (base, exponent))
    n = exponent.value
    if base.function == NUMBER:
        return _product([(base, int(n))])
    if base.function == "Mul" and len(base.parts) == 1 and base.value == 1 and _fits(base.counts[0] * n):
        base, n = base.parts[0], base.counts[0] * n
    return base if n == 1 else CanonicalForm("Mul", (base,), (n,), Fraction(1))


def _multiset(function: str, counted: list[tuple[CanonicalForm, Fraction]], value: Fraction) -> CanonicalForm:
    return CanonicalForm(function, tuple(form for form, _ in counted), tuple(count for _, count in counted), value)


def _key(counted: Counted) -> bytes:
    return counted[0].key


_FORMS = Memo(lambda node: [tree for tree, _ in _operands(node).values()], _form, REMEMBERED)
