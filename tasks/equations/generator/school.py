"""True equations of random polynomials and of random numbers, as schoolbooks write them."""

from collections.abc import Callable, Sequence
from math import gcd
from random import Random

from dgltree import read_equation
from tasks.equations.generator.rewrite import in_growing
from tasks.equations.words import Word

UNARY = ("sin", "cos", "tan", "exp", "log", "sinh", "cosh", "sqrt")


def school(random: Random) -> Word:
    """A random equation of :func:`school_text` whose literals are all known."""
    while True:
        try:
            return in_growing(read_equation(school_text(random)))
        except KeyError:  # a literal that is not a symbol of ours
            continue


def school_text(random: Random) -> str:
    """Return an equation as text, in the variables x, y, z and w."""
    return random.choice(_KINDS)(random)


def polynomial(coefficients: Sequence[int], variable: str) -> str:
    """In falling powers, the last coefficient the constant one: ``x^2 - 5*x + 6``."""
    terms: list[str] = []
    for power, coefficient in zip(range(len(coefficients) - 1, -1, -1), coefficients, strict=True):
        if coefficient:
            factor = {0: "", 1: variable}.get(power, f"{variable}^{power}")
            size = "" if abs(coefficient) == 1 and factor else str(abs(coefficient))
            sign = ("- " if coefficient < 0 else "+ ") if terms else ("-" if coefficient < 0 else "")
            terms.append(sign + "*".join(filter(None, (size, factor))))
    return " ".join(terms) or "0"


def _variable(random: Random) -> str:
    return random.choice("xxxyzw")


def _small(random: Random, most: int = 6) -> int:
    """Not 0, more often positive."""
    return random.randint(1, most) * (1 if random.random() < 0.6 else -1)


def _quadratic(random: Random) -> str:
    v = _variable(random)
    a = _small(random)
    b = _small(random)
    c = random.choice((1, 1, 1, 2, 3))
    product = polynomial((c, a + b * c, a * b), v)
    factors = [f"({polynomial((1, b), v)})", f"({polynomial((c, a), v)})"]
    random.shuffle(factors)
    way = random.randrange(5)
    if way == 0:
        return f"({product})/{factors[0]} = {factors[1][1:-1]}"
    return f"{product} = {'*'.join(factors)}" if way < 3 else f"{'*'.join(factors)} = {product}"


def _square(random: Random) -> str:
    v = _variable(random)
    a = _small(random, 9)
    if random.random() < 0.4:
        return f"{polynomial((1, 0, -a * a), v)} = ({polynomial((1, abs(a)), v)})*({polynomial((1, -abs(a)), v)})"
    if random.random() < 0.4:
        return f"{polynomial((1, 2 * a, 0), v)} = ({polynomial((1, a), v)})^2 - {a * a}"
    return f"({polynomial((1, a), v)})^2 = {polynomial((1, 2 * a, a * a), v)}"


def _cube(random: Random) -> str:
    v = _variable(random)
    a = _small(random, 3)
    if random.random() < 0.5:
        return f"({polynomial((1, a), v)})^3 = {polynomial((1, 3 * a, 3 * a * a, a**3), v)}"
    return f"{polynomial((1, 0, 0, -(a**3)), v)} = ({polynomial((1, -a), v)})*({polynomial((1, a, a * a), v)})"


def _linear(random: Random) -> str:
    v, w = random.sample("xyz", 2)
    a = _small(random)
    b = _small(random)
    c = random.randint(2, 6)
    ways = [
        f"{polynomial((a, 0), v)} + {polynomial((abs(b), 0), v)} = {polynomial((a + abs(b), 0), v)}",
        f"{c}*({polynomial((1, a), v)}) = {polynomial((c, c * a), v)}",
        f"{c}*({polynomial((2, a), v)}) = {polynomial((2 * c, c * a), v)}",
        f"{c}*({v} + {w}) = {c}*{v} + {c}*{w}",
        f"{v}*({polynomial((1, a), v)}) = {polynomial((1, a, 0), v)}",
        f"{v}*({w} + {c}) = {v}*{w} + {c}*{v}",
        f"{polynomial((1, abs(a)), v)} + {polynomial((c, b), v)} = {polynomial((c + 1, abs(a) + b), v)}",
        f"{polynomial((c, c * a), v)} = {c}*({polynomial((1, a), v)})",
    ]
    return random.choice(ways)


def _numbers(random: Random) -> str:
    a = random.randint(1, 12)
    b = random.randint(1, 12)
    ways = [f"{a} + {b} = {a + b}", f"{a + b} - {b} = {a}", f"{a}*{b} = {a * b}", f"{a * b}/{b} = {a}"]
    ways += [f"{a} - {b} = {a - b}", f"{a}^2 = {a * a}", f"sqrt({a * a}) = {a}", f"2^{a} = {2**a}"]
    ways += [f"{a} + {b} = {b} + {a}", f"{a}*{b} + {a} = {a * (b + 1)}", f"-{a} - {b} = -{a + b}"]
    return random.choice(ways)


def _fractions(random: Random) -> str:
    a = random.randint(2, 6)
    b = random.randint(2, 6)
    v = _variable(random)
    g = gcd(a, b)
    ways = [
        f"1/{a} + 1/{b} = {a + b}/{a * b}",
        f"1/{a}*1/{b} = 1/{a * b}",
        f"{v}/{a} + {v}/{b} = {a + b}/{a * b}*{v}",
        f"{a}*{v}/{a} = {v}",
        f"{a * b}*{v}/{a} = {b}*{v}",
        f"({v} + {b})/{a} = {v}/{a} + {b}/{a}",
        f"{a}/{v} + {b}/{v} = {a + b}/{v}",
        f"1/{v} + 1/({v} + {a}) = (2*{v} + {a})/({v}*({v} + {a}))",
        f"{a // g}*{v}/({b // g}*{v}^2) = {a // g}/({b // g}*{v})",
    ]
    return random.choice(ways)


def _powers(random: Random) -> str:
    v = _variable(random)
    a = random.randint(1, 5)
    b = random.randint(2, 4)
    x_a = v if a == 1 else f"{v}^{a}"
    ways = [
        f"{x_a}*{v}^{b} = {v}^{a + b}",
        f"{v}^{a + b}/{v}^{b} = {x_a}",
        f"({v}^{b})^{a} = {v}^{a * b}",
        f"({a}*{v})^{b} = {a**b}*{v}^{b}",
        f"{a}*{v}*{b}*{v} = {a * b}*{v}^2",
        f"({a}*{v}^{b})*({b}*{v}) = {a * b}*{v}^{b + 1}",
        f"{a * b}*{v}^{a + 1}/({b}*{v}^{a}) = {a}*{v}",
    ]
    return random.choice(ways)


def _exponentials(random: Random) -> str:
    v = _variable(random)
    a = random.randint(2, 5)
    b = random.randint(1, 4)
    av = polynomial((a, 0), v)
    bv = polynomial((b, 0), v)
    c = polynomial((a + b, 0), v)
    ways = [
        f"exp({av})*exp({bv}) = exp({c})",
        f"exp({c})/exp({bv}) = exp({av})",
        f"exp({v})^{a} = exp({av})",
        f"exp({v} + {b}) = e^{b}*exp({v})",
        f"e^{v}*e^{a} = e^({v} + {a})",
        f"{a}^{v}*{a} = {a}^({v} + 1)",
        f"log({a}) + log({b}) = log({a * b})",
        f"log({a * b}) - log({b}) = log({a})",
        f"log({2**a}, 2) = {a}",
        f"log({a}^{b}) = {b}*log({a})",
        f"log({a}*{v}) = log({a}) + log({v})",
        f"exp({a}*log({v})) = {v}^{a}",
        f"exp({av}) = exp({v})^{a}",
    ]
    return random.choice(ways)


def _of_function(random: Random) -> str:
    """A polynomial identity of a function's value."""
    v = _variable(random)
    a = _small(random, 4)
    b = _small(random, 4)
    f = f"{random.choice(UNARY)}({v})"
    ways = [
        f"({polynomial((1, a), f)})*({polynomial((1, b), f)}) = {polynomial((1, a + b, a * b), f)}",
        f"({polynomial((1, a), f)})^2 = {polynomial((1, 2 * a, a * a), f)}",
        f"{polynomial((abs(a), 0), f)} + {polynomial((abs(b), 0), f)} = {polynomial((abs(a) + abs(b), 0), f)}",
        f"{polynomial((1, 0, -a * a), f)} = ({polynomial((1, a), f)})*({polynomial((1, -a), f)})",
        f"{f}*{f} = {f}^2",
        f"{polynomial((1, a, 0), f)} = {f}*({polynomial((1, a), f)})",
    ]
    return random.choice(ways)


_KINDS: tuple[Callable[[Random], str], ...] = (
    *(_quadratic, _quadratic, _square, _cube, _linear, _linear),
    *(_numbers, _fractions, _powers, _exponentials, _of_function),
)
