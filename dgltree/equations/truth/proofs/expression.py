"""Expressions in one real variable as tuples, and what has to be so for one to have a real value.

``("x",)``, ``("pi",)``, ``("number", q)``, ``("+", a, b)``, ``("*", a, b)``, ``("^", a, n)`` with a whole number n,
``("root", a, n)`` with an odd n, ``("power", a, b)`` with any exponent, and ``(function, a)``. All other functions are
made of these by their definition in the table.
"""

from collections.abc import Container, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import fmpz

from dgltree.equations.expressions.definitions import expression as table_expression
from dgltree.equations.truth.elementary import is_continued
from dgltree.equations.truth.exact import exact, exact_value
from dgltree.read.functions import BY_NAME, kind_of
from dgltree.trees.tree import Tree

Expression = tuple[Any, ...]
Signs = frozenset[int]
"""The signs that a value may have: a subset of -1, 0 and 1."""

FUNCTIONS = ("abs", "sqrt", "exp", "log", "sin", "cos", "asin", "acos", "atan")
ENCLOSED = (*FUNCTIONS, "tanh", "asinh", "acosh")
"""Functions with an enclosure of their own; that of log(x + sqrt(x^2 + 1)) is everything for negative numbers."""
POSITIVE, NEGATIVE, ZERO, NONZERO = frozenset({1}), frozenset({-1}), frozenset({0}), frozenset({-1, 1})
NOT_NEGATIVE, NOT_POSITIVE, ANY = frozenset({0, 1}), frozenset({-1, 0}), frozenset({-1, 0, 1})
LARGEST_POWER = 200
MAX_RATIONAL_BITS = 4000
"""Bits of a rational value."""
CACHED = 4096
"""Expressions whose derivatives and domains are kept: subtrees of one equation come again and again."""
MAX_NODES, MAX_DEPTH = 400, 60
"""Nodes and levels of an expression."""


class Unsupported(ValueError):  # noqa: N818 - a reason, which is shown
    """An expression that the checker does not read."""


X: Expression = ("x",)
PI: Expression = ("pi",)
E: Expression = ("e",)
"""The number e, which occurs in written text only."""


def number(q: Fraction | int) -> Expression:
    return ("number", Fraction(q))


ONE = number(1)


def negative(a: Expression) -> Expression:
    return ("*", number(-1), a)


def minus(a: Expression, b: Expression) -> Expression:
    return ("+", a, negative(b))


def from_tree(
    tree: Tree, letters: Mapping[str, Expression], school: bool = True, functions: Container[str] = FUNCTIONS
) -> Expression:
    """The expression of a tree whose names are among ``letters``. Raises ``Unsupported``.

    Args:
        school: whether odd roots of negative numbers are real; else they have no real value.
        functions: that are not replaced by their definitions.
    """
    if tree.size > MAX_NODES or tree.depth > MAX_DEPTH:
        raise Unsupported("it is too large")

    def combine(node: Tree, parts: list[Expression]) -> Expression:
        return _combined(node, parts, school, functions) if parts else _leaf(node, letters)

    return tree.fold(combine)


def _leaf(leaf: Tree, letters: Mapping[str, Expression]) -> Expression:
    if leaf.function == "Symbol" and leaf.token is not None and leaf.token in letters:
        return letters[leaf.token]
    if leaf.function == "Pi":
        return PI
    if leaf.function == "Exp1":
        return ("exp", ONE)
    value = exact(leaf)
    if value is None:
        raise Unsupported(f"{leaf.token} has no value here")
    return number(value)


def _combined(node: Tree, parts: list[Expression], school: bool, functions: Container[str]) -> Expression:
    name = node.function
    if name in ("Add", "Mul"):
        whole = parts[0]
        for part in parts[1:]:
            whole = ("+" if name == "Add" else "*", whole, part)
        return whole
    if name == "Pow" and len(parts) == 2:
        exponent = exact_value(node.children[1])
        if node.children[0].function == "Exp1":
            return ("exp", parts[1])
        return ("power", *parts) if exponent is None else _rational_power(parts[0], exponent, school)
    if name == "log" and len(parts) == 2:
        return ("log", parts[0]) if parts[1] == ("exp", ONE) else ("*", ("log", parts[0]), ("^", ("log", parts[1]), -1))
    if len(parts) == 1 and name in functions:
        return (name, parts[0])
    record = BY_NAME.get(name)
    text = "" if record is None else record.definition
    if record is not None and not text and kind_of(record) == "hyperbolic":
        text = record.exponential  # of real functions
    if record is None or not text or len(parts) != 1 or is_continued(record.name):
        raise Unsupported(f"there are no rules for {name}")
    return from_tree(table_expression(text), {"x": parts[0]}, school, functions)


def _rational_power(a: Expression, exponent: Fraction, school: bool) -> Expression:
    """A whole power of roots."""
    top = exponent.numerator
    bottom = exponent.denominator
    if abs(top) > LARGEST_POWER or bottom > LARGEST_POWER:
        raise Unsupported("a large power")
    while bottom % 2 == 0:
        a = ("sqrt", a)
        bottom = bottom // 2
    if bottom > 1:
        a = ("root", a if school else ("^", ("sqrt", a), 2), bottom)
    return a if top == 1 else ("^", a, top)


def to_text(t: Expression, name: str = "x") -> str:
    """Strict infix with few brackets."""
    return _written(t, name)[0]


def _written(t: Expression, name: str) -> tuple[str, int]:
    """The text, and how tightly its last operation binds."""

    def inside(part: Expression, least: int) -> str:
        text, binds = _written(part, name)
        return text if binds >= least else f"({text})"

    match t:
        case ("x",):
            return name, 4
        case ("pi" | "e" as constant,):
            return constant, 4
        case ("number", q):
            return str(q), 4 if q >= 0 and q.denominator == 1 else 0 if q < 0 else 2
        case ("+", a, ("*", ("number", q), b)) if q == -1:
            return f"{inside(a, 1)} - {inside(b, 2)}", 1
        case ("+", a, ("number", q)) if q < 0:
            return f"{inside(a, 1)} - {inside(number(-q), 2)}", 1
        case ("+", a, b):
            return f"{inside(a, 1)} + {inside(b, 1)}", 1
        case ("*", ("number", q), b) if q == -1:
            return f"-{inside(b, 2)}", 0
        case ("*", ("number", q), b) if q < 0 and q != -1:
            return f"-{inside(('*', number(-q), b), 2)}", 0
        case ("*", ("number", q), b) if q.denominator > 1:
            top = b if q.numerator == 1 else ("*", number(q.numerator), b)
            return _written(("*", top, ("^", number(q.denominator), -1)), name)
        case ("*", a, ("^", b, -1)):
            return f"{inside(a, 2)}/{inside(b, 3)}", 2
        case ("*", a, b):
            return f"{inside(a, 2)}*{inside(b, 3)}", 2
        case ("^", a, -1):
            return f"1/{inside(a, 3)}", 2
        case ("^", a, n):
            return f"{inside(a, 4)}^{n if n > 0 else f'({n})'}", 3
        case ("root", a, n):
            return f"{inside(a, 4)}^(1/{n})", 3
        case ("power", a, b):
            return f"{inside(a, 4)}^{inside(b, 4)}", 3
        case ("exp", ("number", q)):
            return _written(("power", E, number(q)), name) if q != 1 else ("e", 4)
        case (function, a):
            return f"{function}({_written(a, name)[0]})", 4
    raise Unsupported(f"no expression: {t!r}")


def parts_of(t: Expression) -> Iterator[Expression]:
    """The arguments of the last operation that are expressions."""
    return (part for part in t[1:] if isinstance(part, tuple))


def subexpressions(t: Expression) -> Iterator[Expression]:
    """All, the inner ones first."""
    for part in parts_of(t):
        yield from subexpressions(part)
    yield t


Condition = tuple[Expression, Signs]
"""An expression that has to have one of these signs."""


@lru_cache(maxsize=CACHED)
def domain(t: Expression) -> tuple[Condition, ...]:
    """The conditions of a real value, the inner ones first."""
    conditions = dict.fromkeys(one for part in parts_of(t) for one in domain(part))
    conditions |= dict.fromkeys(last_conditions(t))
    return tuple(conditions)


def last_conditions(t: Expression) -> list[Condition]:
    """Return the conditions of the last operation."""
    match t:
        case ("sqrt", a):
            return [(a, NOT_NEGATIVE)]
        case ("log", a) | ("power", a, _):
            return [(a, POSITIVE)]
        case ("asin" | "acos", a):
            return [(("+", a, ONE), NOT_NEGATIVE), (minus(ONE, a), NOT_NEGATIVE)]
        case ("^", a, n) if n <= 0:
            return [(a, NONZERO)]
        case ("acosh", a):
            return [(minus(a, ONE), NOT_NEGATIVE)]
    return []


@lru_cache(maxsize=CACHED)
def at_number(t: Expression, q: Fraction) -> Expression:
    """The expression with a number for x, worked out where that is rational."""
    if len(t) == 1 or t[0] == "number":
        return number(q) if t == X else t
    parts = [at_number(part, q) if isinstance(part, tuple) else part for part in t[1:]]
    values = [part[1] if isinstance(part, tuple) and part[0] == "number" else part for part in parts]
    if any(isinstance(value, tuple) for value in values):
        return _power_of_number(t[0], parts)
    exact = _rational_value(t[0], values)
    return (t[0], *parts) if exact is None else number(exact)


def _power_of_number(name: str, parts: list[Any]) -> Expression:
    """A number for exp(n*log(a))."""
    match parts:
        case [("*", ("number", n), ("log", ("number", a)))] if name == "exp" and a > 0 and n.denominator == 1:
            value = _rational_value("^", [a, int(n)])
            return (name, *parts) if value is None else number(value)
        case [("number", q), a] | [a, ("number", q)] if name == "*" and q == 0:
            return number(0) if not domain(a) else (name, *parts)
        case [("number", q), a] | [a, ("number", q)] if (name, q) in (("*", 1), ("+", 0)):
            return a
    return (name, *parts)


_SPECIAL = {("exp", 0): 1, ("log", 1): 0, ("sin", 0): 0, ("cos", 0): 1, ("asin", 0): 0, ("acos", 1): 0, ("atan", 0): 0}


def _rational_value(name: str, values: list[Any]) -> Fraction | None:
    if name == "+":
        return values[0] + values[1]
    if name == "*":
        return values[0] * values[1]
    if name == "^" and (values[0] or values[1] > 0) and _bits(values[0]) * abs(values[1]) <= MAX_RATIONAL_BITS:
        return values[0] ** values[1]
    if name == "abs":
        return abs(values[0])
    if name == "power" and values[1].denominator == 1:
        return _rational_value("^", [values[0], int(values[1])])
    if name == "power" and values[0] == 0 and values[1] > 0:
        return Fraction(0)
    if (name, values[0]) in _SPECIAL:
        return Fraction(_SPECIAL[name, values[0]])
    if name in ("sqrt", "root"):
        return _exact_root(values[0], 2 if name == "sqrt" else values[1])
    return None


def _exact_root(q: Fraction, n: int) -> Fraction | None:
    if (q < 0 and n == 2) or _bits(q) > MAX_RATIONAL_BITS:
        return None
    top, bottom = (int(fmpz(abs(part)).root(n)) for part in (q.numerator, q.denominator))
    root = Fraction(top, bottom) * (-1 if q < 0 else 1)
    return root if root**n == q else None


def _bits(q: Fraction) -> int:
    return max(q.numerator.bit_length(), q.denominator.bit_length())


@lru_cache(maxsize=CACHED)
def derivative(t: Expression) -> Expression:
    """Return the derivative where it exists. Raises ``Unsupported``."""
    match t:
        case ("number", _) | ("pi",):
            return number(0)
        case ("x",):
            return ONE
        case ("+", a, b):
            return ("+", derivative(a), derivative(b))
        case ("*", ("number", _) as a, b):
            return ("*", a, derivative(b))
        case ("*", a, b):
            return ("+", ("*", derivative(a), b), ("*", a, derivative(b)))
        case ("power", a, b):
            return derivative(("exp", ("*", b, ("log", a))))
    a = t[1]
    return ("*", _outer_derivative(t, a, minus(ONE, ("^", a, 2))), derivative(a))


def _outer_derivative(t: Expression, a: Expression, rest: Expression) -> Expression:
    match t[0]:
        case "^":
            return ("*", number(t[2]), ("^", a, t[2] - 1))
        case "root":
            return ("*", number(Fraction(1, t[2])), ("^", t, 1 - t[2]))
        case "exp":
            return t
        case "log":
            return ("^", a, -1)
        case "sqrt":
            return ("*", number(Fraction(1, 2)), ("^", t, -1))
        case "abs":
            return ("*", a, ("^", t, -1))
        case "sin":
            return ("cos", a)
        case "cos":
            return negative(("sin", a))
        case "atan":
            return ("^", ("+", ONE, ("^", a, 2)), -1)
        case "tanh":
            return minus(ONE, ("^", t, 2))
        case "asinh":
            return ("^", ("sqrt", ("+", ("^", a, 2), ONE)), -1)
        case "acosh":
            return ("^", ("*", ("sqrt", ("+", a, ONE)), ("sqrt", minus(a, ONE))), -1)
        case "asin":
            return ("^", ("sqrt", rest), -1)
        case "acos":
            return negative(("^", ("sqrt", rest), -1))
    raise Unsupported(f"no derivative of {t[0]}")
