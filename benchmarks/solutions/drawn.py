"""Equations in x drawn by family, as tuples of ``benchmarks.verdicts.shapes``: no code of the reader is used."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from random import Random

from benchmarks.verdicts.shapes import DrawnEquation, Expression, X, number, power

Sides = tuple[Expression, Expression]
Family = Callable[[Random], Sides]
ZERO = number(0)


def draw(count: int, seed: int, families: Mapping[str, Family]) -> DrawnEquation:
    """The equation of a number and a seed, always the same; its sides are exchanged in one of five."""
    random = Random(f"solutions {seed} {count}")
    name = random.choice(sorted(families))
    sides = families[name](random)
    return DrawnEquation(name, *(sides if random.random() < 0.8 else reversed(sides)))


def add(*terms: Expression) -> Expression:
    return reduce(lambda a, b: ("+", a, b), terms)


def times(*factors: Expression) -> Expression:
    return reduce(lambda a, b: ("*", a, b), factors)


def over(a: Expression, b: Expression) -> Expression:
    return ("/", a, b)


def polynomial(coefficients: Sequence[int | Fraction], of: Expression = X) -> Expression:
    """The sum of ``coefficients[k] * of^k``, the highest power first."""
    terms: list[Expression] = []
    for k, c in reversed(list(enumerate(coefficients))):
        if c and k:
            base = of if k == 1 else power(of, k)
            terms.append(base if c == 1 else times(number(c), base))
        elif c:
            terms.append(number(c))
    return add(*terms) if terms else ZERO


def whole(random: Random, largest: int = 6) -> int:
    """A whole number that is not 0."""
    return random.choice((-1, 1)) * random.randint(1, largest)


def coefficients(random: Random, degree: int, largest: int = 6) -> list[int]:
    """Of a polynomial of this degree with a constant term."""
    return [whole(random, largest), *(random.randint(-largest, largest) for _ in range(degree - 1)), whole(random, 3)]


def product(first: Sequence[int], second: Sequence[int]) -> list[int]:
    found = [0] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        for k, b in enumerate(second):
            found[i + k] += a * b
    return found


def line(random: Random) -> Expression:
    return polynomial([whole(random), random.choice((1, 1, 2, -1, 3))])


def quadratic(random: Random) -> Expression:
    return polynomial(coefficients(random, 2))


def _product_multiplied_out(random: Random) -> Sides:
    """A simple root and a factor of degree 2 to 5, as one polynomial."""
    simple = random.choice(([0, 1], [0, 0, 1], [whole(random), 1], [whole(random, 3), 2]))
    return polynomial(product(simple, coefficients(random, random.randint(2, 5)))), ZERO


def _product_as_written(random: Random) -> Sides:
    factors = [line(random), polynomial(coefficients(random, random.randint(2, 5)))]
    if random.random() < 0.3:
        factors.append(quadratic(random))
    random.shuffle(factors)
    return times(*factors), ZERO


def _moved_over(random: Random) -> Sides:
    """Terms of a polynomial on both sides."""
    found = product(coefficients(random, random.randint(1, 2)), coefficients(random, random.randint(1, 3)))
    cut = random.randint(1, len(found) - 1)
    right = [-c for c in found[:cut]]
    return polynomial([0] * cut + found[cut:]), polynomial(right)


def _quotient(random: Random) -> Sides:
    """Fractions, some with a root of the numerator that is a pole."""
    shared = line(random)
    top = times(shared, quadratic(random)) if random.random() < 0.5 else polynomial(coefficients(random, 3))
    bottom = random.choice((shared, times(shared, line(random)), quadratic(random)))
    right = random.choice((ZERO, number(whole(random)), line(random), over(number(whole(random)), line(random))))
    return over(top, bottom), right


def _nested_root(random: Random) -> Sides:
    inner = add(line(random), ("sqrt", line(random)))
    right = random.choice((line(random), number(abs(whole(random))), ("sqrt", quadratic(random))))
    return ("sqrt", random.choice((inner, quadratic(random)))), right


def _root_times(random: Random) -> Sides:
    """A root that cuts the other factor's roots off."""
    inside = random.choice((line(random), quadratic(random)))
    return times(("sqrt", inside), polynomial(coefficients(random, random.randint(2, 3)))), ZERO


def _absolute(random: Random) -> Sides:
    left: Expression = ("abs", quadratic(random))
    way = random.random()
    if way < 0.25:
        left = ("abs", add(("abs", quadratic(random)), times(number(whole(random, 2)), X)))
    elif way < 0.45:
        left = add(("abs", line(random)), ("abs", line(random)))
    right = random.choice((("abs", line(random)), line(random), number(abs(whole(random))), ("abs", quadratic(random))))
    return left, right


def _logarithm(random: Random) -> Sides:
    way = random.random()
    if way < 0.4:
        return ("log", quadratic(random)), ("log", random.choice((line(random), quadratic(random))))
    if way < 0.7:
        return add(("log", line(random)), ("log", line(random))), random.choice(
            (("log", quadratic(random)), number(whole(random, 2)), ZERO)
        )
    return polynomial([whole(random), whole(random), 1], ("log", X)), ZERO


def _logarithm_times(random: Random) -> Sides:
    return times(polynomial(coefficients(random, random.randint(2, 3))), ("log", line(random))), ZERO


def _exponential(random: Random) -> Sides:
    e: Expression = random.choice((("exp", X), ("^", number(random.choice((2, 3, 5))), X)))
    way = random.random()
    if way < 0.5:
        return polynomial(coefficients(random, random.choice((2, 2, 3))), e), ZERO
    if way < 0.75:
        return e, random.choice((line(random), quadratic(random)))
    return times(e, quadratic(random)), random.choice((ZERO, e, times(e, line(random))))


def _power(random: Random) -> Sides:
    exponent = Fraction(random.choice(("1/3", "2/3", "3/2", "1/2", "4/3", "5/3", "-1/2", "1/4", "2/5")))
    left = power(random.choice((X, line(random), quadratic(random))), exponent)
    right = random.choice((number(abs(whole(random))), number(whole(random)), line(random), power(X, Fraction(1, 3))))
    return left, right


CIRCULAR = ("sin", "cos", "tan", "cot", "sec", "csc")


def _circular_polynomial(random: Random) -> Sides:
    f = (random.choice(CIRCULAR), random.choice((X, X, X, times(number(2), X))))
    degree = random.choice((1, 2, 2, 2, 3))
    found = [random.randint(-3, 3), *(random.randint(-5, 5) for _ in range(degree - 1)), random.choice((1, 1, 2))]
    return polynomial(found, f), ZERO


def _circular_mixed(random: Random) -> Sides:
    first, second = ((random.choice(CIRCULAR), X) for _ in range(2))
    way = random.random()
    if way < 0.4:
        return times(first, second), random.choice((number(whole(random, 2)), first, ZERO, second))
    if way < 0.7:
        return add(first, times(number(whole(random, 2)), second)), number(random.randint(-2, 2))
    return times(add(first, number(whole(random, 2))), add(second, number(whole(random, 2)))), ZERO


def _circular_angles(random: Random) -> Sides:
    name, other = random.choice((("sin", "cos"), ("cos", "sin"), ("sin", "sin"), ("tan", "cot"), ("tan", "tan")))
    first, second = random.sample((1, 2, 3, 4), 2)
    right = times(number(whole(random, 2)), (other, times(number(second), X) if second > 1 else X))
    return (name, times(number(first), X) if first > 1 else X), right


FAMILIES: Mapping[str, Family] = {
    "x*p multiplied out": _product_multiplied_out, "x*p": _product_as_written, "p = q": _moved_over,
    "p/q": _quotient, "sqrt(.. sqrt)": _nested_root, "sqrt*p": _root_times, "|p|": _absolute, "log": _logarithm,
    "log*p": _logarithm_times, "exp": _exponential, "x^(m/n)": _power, "p(tan)": _circular_polynomial,
    "tan and cos": _circular_mixed, "sin(nx)": _circular_angles,
}  # fmt: skip
