"""Infix text with the trees that it reads as, and random trees: of the strict reader and of typed text."""

from hypothesis import strategies as st

from dgltree.trees.equation import BLANK
from dgltree.trees.tree import Tree


def symbol(name):
    return Tree("Symbol", token=name)


def integer(n):
    return Tree("NegativeOne" if n == -1 else "Integer", token=str(n))


def add(a, b):
    return Tree("Add", (a, b))


def mul(a, b):
    return Tree("Mul", (a, b))


def power(a, b):
    return Tree("Pow", (a, b))


x, y, z = map(symbol, "xyz")
one, two, three, minus_one, minus_two = map(integer, (1, 2, 3, -1, -2))
half = Tree("Half", token="1/2")
pi, e, oo, nan = (Tree(f, token=t) for f, t in (("Pi", "pi"), ("Exp1", "e"), ("Infinity", "oo"), ("NaN", "nan")))


def rational(text):
    return Tree("Rational", token=text)


def decimal(text):
    return Tree("Float", token=text)


def inverse(a):
    return power(a, minus_one)


READINGS = {
    # leaves
    "x": x,
    "var_0": symbol("var_0"),
    "α_ñ": symbol("α_ñ"),
    "x1": symbol("x1"),
    "__": symbol("__"),
    "_": BLANK,
    "_ + _": add(BLANK, BLANK),
    "_1 + _02": add(Tree("_", token="_1"), Tree("_", token="_02")),
    "_x": symbol("_x"),
    "abs(x)": Tree("abs", (x,)),
    "2": two,
    "-2": minus_two,
    "- 2": minus_two,
    "10": integer(10),
    "007": integer(7),
    "-0": integer(0),
    "-1": minus_one,
    "0.7": decimal("0.7"),
    "-0.70": decimal("-0.70"),
    ".5": decimal(".5"),
    "2.": decimal("2."),
    "1e5": decimal("1e5"),
    "1.5E-3": decimal("1.5E-3"),
    "pi": pi,
    "e": e,
    "oo": oo,
    "nan": nan,
    "-oo": mul(minus_one, oo),
    # one literal out of two integers
    "1/2": half,
    "2/4": half,
    "2/5": rational("2/5"),
    "4/6": rational("2/3"),
    "4/2": two,
    "-2/2": minus_one,
    "0/5": integer(0),
    "-1/2": rational("-1/2"),
    "2/0": mul(two, inverse(integer(0))),
    "1/2/3": mul(half, inverse(three)),
    "1/2*x": mul(half, x),
    "-1/2*x": mul(rational("-1/2"), x),
    "1/-2": mul(one, inverse(minus_two)),
    "(1)/2": mul(one, inverse(two)),
    "(1/2)": half,
    "2/3^2": mul(two, inverse(power(three, two))),
    "2^3/4": mul(power(two, three), inverse(integer(4))),
    "x*1/2": mul(mul(x, one), inverse(two)),
    "x*-1/2": mul(mul(x, minus_one), inverse(two)),
    "x^1/2": mul(power(x, one), inverse(two)),
    "0.5/2": mul(decimal("0.5"), inverse(two)),
    "pi/2": mul(pi, inverse(two)),
    # sums and products
    "x + y + z": add(add(x, y), z),
    "x + (y + z)": add(x, add(y, z)),
    "x*y*z": mul(mul(x, y), z),
    "x + y*z": add(x, mul(y, z)),
    "(x + y)*z": mul(add(x, y), z),
    "x - y": add(x, mul(minus_one, y)),
    "x - y - z": add(add(x, mul(minus_one, y)), mul(minus_one, z)),
    "x - y*z": add(x, mul(minus_one, mul(y, z))),
    "x - 2": add(x, mul(minus_one, two)),
    "x - -2": add(x, mul(minus_one, minus_two)),
    "x + -2": add(x, minus_two),
    "x - 1/2": add(x, mul(minus_one, half)),
    "x / y": mul(x, inverse(y)),
    "x/y/z": mul(mul(x, inverse(y)), inverse(z)),
    "x/(y*z)": mul(x, inverse(mul(y, z))),
    "-x": mul(minus_one, x),
    "--x": mul(minus_one, mul(minus_one, x)),
    "--2": mul(minus_one, minus_two),
    "-(2)": mul(minus_one, two),
    "-1*2": mul(minus_one, two),
    "-x*y": mul(mul(minus_one, x), y),
    "-(x*y)": mul(minus_one, mul(x, y)),
    "x*-y": mul(x, mul(minus_one, y)),
    # powers
    "x^y^z": power(x, power(y, z)),
    "x**y": power(x, y),
    "x ** y ^ z": power(x, power(y, z)),
    "(x^y)^z": power(power(x, y), z),
    "-2^x": mul(minus_one, power(two, x)),
    "-0.5^x": mul(minus_one, power(decimal("0.5"), x)),
    "(-2)^x": power(minus_two, x),
    "2^-1": inverse(two),
    "2^-x": power(two, mul(minus_one, x)),
    "2^-x^2": power(two, mul(minus_one, power(x, two))),
    "x^-2^y": power(x, mul(minus_one, power(two, y))),
    "e^x": power(e, x),
    # functions
    "sin(x)^2": power(Tree("sin", (x,)), two),
    "acoth ( x )": Tree("acoth", (x,)),
    "exp(x)": Tree("exp", (x,)),
    "sqrt(x)": power(x, half),
    "sqrt(2)": power(two, half),
    "log(x)": Tree("log", (x, e)),
    "log(x, 2)": Tree("log", (x, two)),
    "Add(x, y, z)": Tree("Add", (x, y, z)),
    "Add(x, y)": add(x, y),
    "Mul(-2)": Tree("Mul", (minus_two,)),
    "Pow(1/2, 2, 3)": Tree("Pow", (half, two, three)),
    "\n x\t+\n y ": add(x, y),
}

LEAVES = [x, y, BLANK, pi, e, oo, nan, half, minus_one, minus_two, *map(integer, (0, 1, 2, 3, -3, 10))]
LEAVES += [*map(rational, ("2/5", "-1/2", "-2/5", "1/3")), *map(decimal, ("0.7", "-0.7", "1e5", ".5", "2.", "-1.0E-3"))]


def trees(nodes, leaves=LEAVES):
    """Random trees, bottom up: each item is a leaf to push, or a node that pops its children."""

    def assemble(items):
        stack = [x]
        for item in items:
            if isinstance(item, Tree):
                stack.append(item)
            elif len(stack) >= item[1]:
                function, arity = item
                stack[-arity:] = [Tree(function, stack[-arity:])]
        while len(stack) > 1:
            stack[-2:] = [mul(*stack[-2:])]
        return stack[0]

    # the lookalikes of literals and the shapes that the writer abbreviates come often
    operators = st.sampled_from(nodes + [("Add", 2), ("Mul", 2), ("Pow", 2)] * 3)
    nasty = st.sampled_from([minus_one, minus_one, one, two, half])
    return st.lists(st.one_of(st.sampled_from(leaves), nasty, operators, operators), max_size=40).map(assemble)
