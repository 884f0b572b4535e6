"""Equations in x, or x and y, drawn by shape, as text and as tuples: f(A*B) = f(A)*f(B), |A| = -A, true and false ones.

An expression is ``("x",)``, ``("y",)``, ``("pi",)``, ``("number", q)``, ``("+", a, b)``, ``("*", a, b)``,
``("/", a, b)``, ``("^", a, b)`` or ``(function, a)``: no code of the reader or of the judge is used.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

Expression = tuple[Any, ...]

X: Expression = ("x",)
Y: Expression = ("y",)
FUNCTIONS = (
    "sqrt", "log", "exp", "abs", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
    "atanh",
)  # fmt: skip
INVERSES = (
    ("sin", "asin"), ("cos", "acos"), ("tan", "atan"), ("sinh", "asinh"), ("cosh", "acosh"), ("tanh", "atanh"),
    ("exp", "log"), ("square", "sqrt"),
)  # fmt: skip


class DrawnEquation(NamedTuple):
    """An equation and the family that it is of."""

    family: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{text(self.left)} = {text(self.right)}"


def draw(number: int, seed: int, kept: bool = False, two: bool = False) -> DrawnEquation:
    """The equation of a number and a seed, always the same; B is in y or in both variables if there are two."""
    random = Random(f"shapes {seed} {number} {kept}" + " two" * two)
    families = KEPT if kept else FAMILIES
    name = random.choice(sorted(families))
    a, b = _inner(random), _inner(random)
    if two:
        b = replaced(b, X, random.choice((Y, Y, Y, ("*", X, Y), ("+", X, Y), ("/", Y, X))))
        a = replaced(a, X, random.choice((X, X, ("+", X, Y), ("*", X, Y), minus(X, Y))))
    sides = families[name](random, a, b)
    return DrawnEquation(name, *(sides if random.random() < 0.8 else reversed(sides)))


def text(e: Expression) -> str:
    """Strict infix with every bracket."""
    match e:
        case ("number", q):
            shown = str(abs(q.numerator)) + (f"/{q.denominator}" if q.denominator > 1 else "")
            return f"({'-' * (q < 0)}{shown})" if q < 0 or q.denominator > 1 else shown
        case ("x" | "y" | "pi" as name,):
            return name
        case ("+" | "*" | "/" | "^" as sign, a, b):
            return f"({text(a)} {sign} {text(b)})"
        case (function, a):
            return f"{function}({text(a)})"
    raise ValueError(e)


def number(q: Fraction | int | str) -> Expression:
    return ("number", Fraction(q))


def minus(a: Expression, b: Expression) -> Expression:
    return ("+", a, ("*", number(-1), b))


def power(a: Expression, n: Fraction | int | str) -> Expression:
    return ("^", a, number(n))


def _size(random: Random) -> Fraction:
    way = random.random()
    if way < 0.6:
        return Fraction(random.randint(1, 9))
    if way < 0.8:
        return Fraction(random.randint(1, 30), random.randint(2, 9))
    return Fraction(10) ** random.randint(-6, 6)


def _signed(random: Random) -> Fraction:
    return random.choice((-1, 1)) * _size(random)


def _line(random: Random) -> Expression:
    """X, shifted or scaled."""
    way = random.random()
    if way < 0.35:
        return X
    if way < 0.6:
        return ("+", X, number(_signed(random)))
    if way < 0.8:
        return ("*", number(_signed(random)), X)
    return ("+", ("*", number(_signed(random)), X), number(_signed(random)))


def _inner(random: Random) -> Expression:
    """An A or a B: a line, a power of one, or a function of one, shifted or scaled or multiplied by another."""
    way, a = random.random(), _line(random)
    if way < 0.25:
        found = a
    elif way < 0.4:
        found = ("+", power(a, random.choice((2, 2, 3, 4))), number(random.choice((0, -1, 1, -2, -4))))
    else:
        found = (random.choice(FUNCTIONS), a)
        if random.random() < 0.15:
            found = power(found, random.choice((2, 3)))
    if random.random() < 0.35:
        found = ("+", found, number(_signed(random)))
    if random.random() < 0.1:
        found = ("*", found, _line(random))
    return found


def in_other_words(e: Expression, random: Random) -> Expression:
    """The same expression, in which half of the numbers are written as an operation that is worth as much."""
    if e[0] != "number":
        return (e[0], *(in_other_words(part, random) for part in e[1:]))
    q, m = e[1], Fraction(random.randint(2, 9))
    pi: Expression = ("pi",)
    ways: list[Expression] = [
        ("+", number(q - m), number(m)),
        ("*", number(q / m), number(m)),
        minus(("+", e, pi), pi),
        ("*", e, ("/", pi, pi)),
        ("*", e, ("cos", number(0))),
        ("+", e, ("sin", pi)),
    ]
    if q > 0:
        ways += [("sqrt", number(q * q)), ("abs", number(-q))]
    if abs(q) < 10:
        ways.append(("log", ("exp", e)))
    return random.choice(ways) if random.random() < 0.5 else e


def replaced(e: Expression, old: Expression, new: Expression) -> Expression:
    """With one part for another, wherever that is."""
    if e == old:
        return new
    return (e[0], *(replaced(part, old, new) if isinstance(part, tuple) else part for part in e[1:]))


def contains(e: Expression, part: Expression) -> bool:
    return e == part or any(contains(one, part) for one in e[1:] if isinstance(one, tuple))


def _applied(name: str, a: Expression) -> Expression:
    return power(a, 2) if name == "square" else (name, a)


Sides = tuple[Expression, Expression]


def _of_product(random: Random, a: Expression, b: Expression) -> Sides:
    """F(A*B) and f(A)*f(B) or f(A) + f(B), also with A^2."""
    name = random.choice(("sqrt", "log", "abs", "exp", "sqrt", "log", "square"))
    squared = random.random() < 0.4
    first = power(a, 2) if squared else a
    outer: Expression = _applied(name, a)
    if squared and name != "square":
        outer = random.choice((a, ("abs", a))) if name == "sqrt" else ("*", number(2), outer)
    both = ("+" if name == "log" else "*", outer, _applied(name, b))
    return _applied(name, ("*", first, b)), both


def _out_of_root(random: Random, a: Expression, b: Expression) -> Sides:
    return ("*", ("sqrt", a), b), ("sqrt", ("*", a, power(b, 2)))


def _of_sum(random: Random, a: Expression, b: Expression) -> Sides:
    """A formula of sums, true or with a slip."""
    slip = random.random() < 0.25
    sin_a, cos_a, sin_b, cos_b = ("sin", a), ("cos", a), ("sin", b), ("cos", b)
    both = ("+", a, b)
    return random.choice(
        (
            (("exp", both), ("+" if slip else "*", ("exp", a), ("exp", b))),
            (("sin", both), ("+", ("*", sin_a, cos_b), ("*", cos_a, sin_a if slip else sin_b))),
            (("cos", both), (minus if not slip else _plus)(("*", cos_a, cos_b), ("*", sin_a, sin_b))),
            (("abs", both), ("+", ("abs", a), ("abs", b))),
            (("log", both), ("+", ("log", a), ("log", ("+", number(1), ("/", b, a))))),
            (("+", ("log", a), ("log", b)), ("log", ("*", a, b))),
            (("+", ("abs", a), a), ("*", number(2), a)),
            (("+", ("atan", a), ("atan", ("/", number(1), a))), ("/", ("pi",), number(2))),
            (("+", ("asin", a), ("acos", a)), ("/", ("pi",), number(2))),
        )
    )


def _plus(a: Expression, b: Expression) -> Expression:
    return ("+", a, b)


def _inverse(random: Random, a: Expression, b: Expression) -> Sides:
    """F(g(A)) = A, either way around, also with the absolute value."""
    outer, inner = random.sample(random.choice(INVERSES), 2)
    return _applied(outer, _applied(inner, a)), random.choice((a, a, a, ("abs", a), ("*", number(-1), a)))


def _powers(random: Random, a: Expression, b: Expression) -> Sides:
    exponents = (2, 3, 4, -1, -2, "1/2", "1/3", "2/3", "3/2", "1/4", "-1/2", 6)
    m, n = (Fraction(random.choice(exponents)) for _ in range(2))
    product = m * n
    return random.choice(
        (
            (power(power(a, m), n), power(a, product)),
            (("*", power(a, m), power(a, n)), power(a, m + n)),
            (power(("*", a, b), m), ("*", power(a, m), power(b, m))),
            (power(power(a, m), n), power(power(a, n), m)),
        )
    )


def _sign(random: Random, a: Expression, b: Expression) -> Sides:
    """|A| = A or -A, by itself or within something."""
    absolute, signed = ("abs", a), random.choice((a, ("*", number(-1), a)))
    around = random.choice((None, None, None, "*", "+", "sqrt", "exp"))
    if around is None:
        return absolute, signed
    if around in "*+":
        return (around, absolute, b), (around, signed, b)
    return (around, absolute), (around, signed)


def _extremum(random: Random, a: Expression, b: Expression) -> Sides:
    """The larger or the smaller one by |A - B|, said to be A or B; or |A + |B|| = A + B."""
    half = number("1/2")
    way = random.random()
    if way < 0.7:
        sign = random.choice((1, -1))
        found = ("*", half, ("+", ("+", a, b), ("*", number(sign), ("abs", minus(a, b)))))
        return found, random.choice((a, b))
    return ("abs", ("+", a, ("abs", b))), ("+", a, b)


def _parity(random: Random, a: Expression, b: Expression) -> Sides:
    name = random.choice(FUNCTIONS[3:])
    return (name, ("*", number(-1), a)), random.choice(((name, a), ("*", number(-1), (name, a))))


def _period(random: Random, a: Expression, b: Expression) -> Sides:
    name = random.choice(("sin", "cos", "tan"))
    turns = ("*", number(Fraction(random.randint(-4, 4), random.choice((1, 1, 2)))), ("pi",))
    sign = number(random.choice((1, -1)))
    right = random.choice((("*", sign, (name, a)), ("*", sign, ("cos" if name == "sin" else "sin", a))))
    return (name, ("+", a, turns)), right


Family = Callable[[Random, Expression, Expression], Sides]
FAMILIES: Mapping[str, Family] = {
    "f(A*B)": _of_product, "sqrt(A)*B": _out_of_root, "f(A+B)": _of_sum, "f(g(A))": _inverse, "(A^m)^n": _powers,
    "|A|": _sign, "max(A, B)": _extremum, "f(-A)": _parity, "f(A + period)": _period,
}  # fmt: skip


def _of_quotient(random: Random, a: Expression, b: Expression) -> Sides:
    name = random.choice(("sqrt", "log", "abs"))
    return (name, ("/", a, b)), (minus if name == "log" else _over)((name, a), (name, b))


def _over(a: Expression, b: Expression) -> Expression:
    return ("/", a, b)


def _nested_root(random: Random, a: Expression, b: Expression) -> Sides:
    """The square root of (sqrt(A) ± sqrt(B))^2 multiplied out."""
    sign = random.choice((1, -1))
    cross = ("*", number(2 * sign), ("*", ("sqrt", a), ("sqrt", b)))
    root = ("+", ("sqrt", a), ("*", number(sign), ("sqrt", b)))
    return ("sqrt", ("+", ("+", a, b), cross)), random.choice((root, ("abs", root)))


def _reduced(random: Random, a: Expression, b: Expression) -> Sides:
    """Fractions with a common factor."""
    square = minus(power(a, 2), power(b, 2))
    return random.choice(
        (
            (("/", square, minus(a, b)), ("+", a, b)),
            (("/", a, ("*", a, b)), ("/", number(1), b)),
            (("/", number(1), ("+", ("/", number(1), a), ("/", number(1), b))), ("/", ("*", a, b), ("+", a, b))),
            (("/", ("/", a, b), a), power(b, -1)),
        )
    )


def _by_another(random: Random, a: Expression, b: Expression) -> Sides:
    """A function by another of the same argument, as a triangle shows it."""
    one, square = number(1), power(a, 2)
    legs = [("sqrt", minus(one, square)), ("sqrt", ("+", one, square))]
    return random.choice(
        (
            (("sin", a), ("sqrt", minus(one, power(("cos", a), 2)))),
            (("cosh", a), ("sqrt", ("+", one, power(("sinh", a), 2)))),
            (("sinh", a), ("sqrt", minus(power(("cosh", a), 2), one))),
            (("atan", a), ("asin", ("/", a, legs[1]))),
            (("acos", a), ("atan", ("/", legs[0], a))),
            (("acos", a), ("asin", legs[0])),
            (("cos", ("asin", a)), legs[0]),
            (("tan", ("acos", a)), ("/", legs[0], a)),
            (("abs", ("tan", a)), ("sqrt", minus(power(("cos", a), -2), one))),
        )
    )


def _exponents(random: Random, a: Expression, b: Expression) -> Sides:
    """Laws of powers whose exponent is an expression, or a third."""
    return random.choice(
        (
            (("*", ("^", a, X), ("^", a, b)), ("^", a, ("+", X, b))),
            (("^", ("^", a, X), number(2)), ("^", a, ("*", number(2), X))),
            (("exp", ("*", b, ("log", a))), ("^", a, b)),
            (("log", ("^", a, b)), ("*", b, ("log", a))),
            (power(power(a, "1/3"), 3), a),
            (power(("*", a, b), "1/3"), ("*", power(a, "1/3"), power(b, "1/3"))),
            (("sqrt", power(a, "2/3")), power(a, "1/3")),
        )
    )


KEPT: Mapping[str, Family] = {
    "f(A/B)": _of_quotient, "sqrt(A + B + 2*sqrt(A*B))": _nested_root, "A*B/A": _reduced, "f by g": _by_another,
    "A^B": _exponents,
}  # fmt: skip
"""Written without a view of the judge, and first run when its proofs were done; the first result is in the notes."""
