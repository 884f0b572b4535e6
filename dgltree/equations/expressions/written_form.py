"""The written form of an expression: its length in symbols, and what makes two forms the same.

Trees have one form if they differ only in the grouping of sums and of products, in ``1/x`` or ``x^-1``, ``x - 3`` or
``x + -1*3``, ``exp(x)/2`` or ``1/2*exp(x)``, ``sqrt(x)`` or ``x^(1/2)``, or in a factor 1. The order of summands and of
factors counts: ``3 + x`` is another form than ``x + 3``; canonical_form.py is for what does not depend on it.
"""

from collections.abc import Callable, Hashable, Sequence
from hashlib import blake2b
from typing import Generic, NamedTuple, TypeVar

from dgltree.read.notation import EXP1, FRACTION
from dgltree.trees.tree import Tree

# A rolling hash (Karp and Rabin 1987): two rows of n codes collide at a random base with a probability of n / PRIME.
PRIME = 2**127 - 1
BASE = 0x2545F4914F6CDD1D9E3779B97F4A7C15
REMEMBERED = 50_000  # forms: the fillers that a search finds share most of their parts


def form(tree: Tree) -> "Form":
    """The form of a tree, to be compared with others."""
    return _FORMS(tree)


def symbols(tree: Tree) -> int:
    """How long an expression is as one writes it: its operators, functions, names and numbers; brackets are free.

    ``x - 3`` has 3, ``sqrt(x)`` 2, ``1/x`` 3, ``-x`` 2, whatever the tree that says so.
    """
    return _FORMS(tree).symbols


class Operands(NamedTuple):
    """Factors or summands in their order: as much of them as a form needs, of one size whatever their number."""

    size: int = 0
    symbols: int = 0
    """How long all are together as one writes them."""
    signs: int = 0
    """How many have a sign in front."""
    code: int = 0
    """The polynomial of their codes at ``BASE``, modulo ``PRIME``: the same for any grouping, not for any order."""
    digits: str = ""
    """The digits, if there is nothing but one whole number."""
    terms: "Operands | None" = None
    """The summands, if there is nothing but a sum."""

    def then(self, other: "Operands") -> "Operands":
        """This row and the other one after it."""
        if not self.size or not other.size:
            return self if self.size else other
        code = (self.code * pow(BASE, other.size, PRIME) + other.code) % PRIME
        return Operands(self.size + other.size, self.symbols + other.symbols, self.signs + other.signs, code)


EMPTY = Operands()


class Form(NamedTuple):
    """A sign and the factors above and below a fraction's line; forms are compared with ``==``."""

    negative: bool = False
    above: Operands = EMPTY
    below: Operands = EMPTY

    @property
    def symbols(self) -> int:
        factors = max(1, self.above.size) + self.below.size
        return max(1, self.above.symbols) + self.below.symbols + factors - 1 + self.negative

    @property
    def codes(self) -> tuple[int, ...]:
        """Numbers that are the same for equal forms, and differ for others."""
        return self.negative, self.above.size, self.above.code, self.below.size, self.below.code

    @property
    def is_number(self) -> bool:
        """Whether it is one whole number or fraction."""
        rows = self.above, self.below
        return all(row.digits or not row.size for row in rows) and self.below.digits.strip("0") == self.below.digits


def _form(node: Tree, parts: list[Form]) -> Form:
    name = node.function
    if not parts:
        return _leaf(node)
    if name == "Add":
        return _sum(parts)
    if name == "Mul":
        above = EMPTY
        below = EMPTY
        for part in parts:
            above = above.then(part.above)
            below = below.then(part.below)
        return Form(sum(part.negative for part in parts) % 2 == 1, above, below)
    if name == "Pow" and len(parts) == 2:
        return _power(*parts)
    if name == "log" and node.children[1:] == (EXP1,):
        parts = parts[:1]
    return _call(name, parts)


def _leaf(leaf: Tree) -> Form:
    text = leaf.token or leaf.function
    negative = text[0] == "-"
    text = text.removeprefix("-")
    if not FRACTION.fullmatch(text):
        return Form(negative, _named(text))
    top, bottom = text.split("/")
    return Form(negative, _named(top), _named(bottom))


def _named(text: str) -> Operands:
    """A name or a number; a factor 1 is not written."""
    return EMPTY if text == "1" else Operands(1, 1, 0, _code(text), text if text.isascii() and text.isdigit() else "")


def _sum(parts: list[Form]) -> Form:
    terms = EMPTY
    for part in parts:
        inner = None if part.negative or part.below.size else part.above.terms  # a sum in a sum needs no brackets
        terms = terms.then(inner or Operands(1, part.symbols, int(part.negative), _code(part.codes)))
    between = terms.size - 1 - terms.signs + (terms.signs == terms.size)  # a sign is the operator before its term
    return Form(above=Operands(1, terms.symbols + between, 0, _code(("+", terms.size, terms.code)), terms=terms))


def _power(base: Form, exponent: Form) -> Form:
    if exponent.is_number and exponent.negative:
        above = _power(base, exponent._replace(negative=False))
        return Form(above.negative, above.below, above.above)
    if exponent == Form():
        return base
    if not exponent.negative and not exponent.above.size and exponent.below.digits == "2":
        return _call("sqrt", [base])
    return _call("^", [base, exponent])


def _call(name: str, parts: list[Form]) -> Form:
    code = _code((name, *(part.codes for part in parts)))
    return Form(above=Operands(1, sum(part.symbols for part in parts) + 1, 0, code))


def _code(of: object) -> int:
    return int.from_bytes(blake2b(repr(of).encode("utf-8", "surrogatepass"), digest_size=16).digest(), "big") % PRIME


N = TypeVar("N", bound=Hashable)
T = TypeVar("T")


class Memo(Generic[N, T]):
    """Remembers ``combine(node, results of its parts)``, computed from the leaves to the root without recursion.

    Args:
        parts: the nodes below a node that ``combine`` needs, each once.
        combine: the result of a node from those of its parts, in their order.
        most: results that are kept; all are forgotten when there are more.
    """

    def __init__(
        self,
        parts: Callable[[N], Sequence[N]],
        combine: Callable[[N, list[T]], T],
        most: int,
    ) -> None:
        self._parts = parts
        self._combine = combine
        self._most = most
        self._known: dict[N, T] = {}

    def __call__(self, tree: N) -> T:
        known = self._known  # this dictionary to the end, even if another thread puts a new one in its place
        if len(known) > self._most:
            known = self._known = {}
        below: dict[int, Sequence[N]] = {}
        stack = [tree]
        while stack:
            node = stack[-1]
            if node in known:
                stack.pop()
            elif id(node) not in below:
                below[id(node)] = self._parts(node)
                stack.extend(part for part in below[id(node)] if part not in known)
            else:
                stack.pop()
                known[node] = self._combine(node, [known[part] for part in below[id(node)]])
        return known[tree]


_FORMS = Memo(lambda node: node.children, _form, REMEMBERED)
