"""The list of fillers that the shipped model ranks: the published shapes and what textbooks need beyond them.

``python -m tasks.equations fillers --out FILE`` writes it, one infix expression a line.
"""

import argparse
from pathlib import Path

from dgltree import Tree, write_infix
from dgltree.read.notation import CONSTANTS as NAMED
from dgltree.read.notation import EXP1, number
from dgltree.support.files import replacing

TRIGONOMETRIC = ("sin", "cos", "tan", "csc", "sec", "cot")
BINARY = ("Add", "Mul", "Pow")
VARIABLES = tuple(Tree("Symbol", token=f"var_{i}") for i in range(5))


def literal(text: str) -> Tree:
    """The leaf that the infix reader makes of a literal, such as ``-1``, ``1/2``, ``0.7`` or ``pi``."""
    return NAMED[text] if text in NAMED else number(text)


CONSTANTS = tuple(map(literal, ("-1", "pi", "1", "1/2", "0", "2", "3", "4", "10", "-2", "-3", "2/5", "-1/2", "0.7")))
"""The constants of the published fillers."""
LITERALS = (*CONSTANTS, *map(literal, ("5", "6", "7", "8", "9")))
"""All constants that the papers' equations may contain."""
_WHOLE = (*range(11, 31), 32, 36, 48, 49, 50, 60, 64, 81, 90, 100)
_FURTHER = (
    *("e", "-4", "-5", "-6", *map(str, _WHOLE)),
    *(
        "1/3",
        "2/3",
        "1/4",
        "3/4",
        "3/2",
        "5/2",
        "4/3",
        "1/5",
        "1/6",
        "5/6",
        "1/7",
        "1/8",
        "1/9",
        "1/10",
        "-1/3",
        "-1/4",
        "-2/3",
    ),
    *("0.5", "0.25", "0.1", "0.2", "1.5", "2.5"),
)
FURTHER_LITERALS = tuple(map(literal, _FURTHER))
"""The constants that equations of elementary functions may contain as well."""
FURTHER_FUNCTIONS = (
    *("exp", "abs", "asin", "acos", "atan", "sinh", "cosh", "tanh", "csch", "sech", "coth"),
    *("asinh", "acosh", "atanh"),
)
"""Functions of one argument that equations of elementary functions may contain as well; of two arguments ``log``."""
LEAVES = (*VARIABLES, *CONSTANTS)

_MINUS, _ONE, _TWO, _HALF = map(literal, ("-1", "1", "2", "1/2"))


def fillers() -> list[Tree]:
    """The fillers without repetition: leaves, then depth 1, then the common forms of depth 2."""
    return list(dict.fromkeys([*LEAVES, *depth_one(LEAVES), *common_forms(VARIABLES)]))


def depth_one(leaves: tuple[Tree, ...]) -> list[Tree]:
    """The trigonometric functions of every leaf, and sum, product and power of every ordered pair."""
    unary = [Tree(f, (leaf,)) for f in TRIGONOMETRIC for leaf in leaves]
    return unary + [Tree(f, (a, b)) for f in BINARY for a in leaves for b in leaves]


def common_forms(variables: tuple[Tree, ...]) -> list[Tree]:
    """Textbook expressions beyond depth 1: ``sin(x)^2``, ``-x^2``, ``cos(x)*sin(y)``, ``x - y``, ``2*x*y`` ..."""
    forms = []
    for v in variables:
        forms += _of_one(v)
        for w in variables:
            if v is not w:
                forms += _of_two(v, w)
    return forms


def _of_one(v: Tree) -> list[Tree]:
    forms = [_negative(_power(v, "2")), _negative(_power(v, "3")), _negative(_power(v, "-1"))]
    forms += [_product(literal(k), _power(v, "2")) for k in ("2", "3", "4")]
    forms += [_product(literal(k), _power(v, "-1")) for k in ("1", "2")]
    forms += [Tree("Add", (_power(v, "2"), c)) for c in (_ONE, _MINUS)]
    forms += [_power(Tree("Add", (v, c)), "2") for c in (_ONE, _MINUS)]
    forms += [Tree("Add", (c, _negative(v))) for c in (_ONE, _TWO, literal("pi"))]
    for f in TRIGONOMETRIC:
        of_v = Tree(f, (v,))
        forms += [_power(of_v, n) for n in ("2", "3", "-1", "-2")]
        forms += [_negative(of_v), _product(_TWO, of_v), _product(_HALF, of_v)]
        forms += [Tree(f, (_negative(v),)), Tree(f, (_product(_TWO, v),)), Tree(f, (_product(_HALF, v),))]
        forms += [Tree("Add", (_ONE, of_v))]
    sine, cosine = (Tree(f, (v,)) for f in ("sin", "cos"))
    forms += [_product(sine, cosine), _product(cosine, sine), Tree("Add", (sine, cosine)), Tree("Add", (cosine, sine))]
    return forms


def _of_two(v: Tree, w: Tree) -> list[Tree]:
    forms = [_product(f, g) for f in _waves(v) for g in _waves(w)]
    forms += [Tree(f, (Tree("Add", (v, w)),)) for f in ("sin", "cos")]
    forms += [Tree("Add", (v, _negative(w))), _product(v, _power(w, "-1")), _product(_product(_TWO, v), w)]
    forms += [_product(_TWO, _product(v, w)), _negative(_product(v, w)), _product(_negative(v), w)]
    forms += [_power(Tree("Add", (v, w)), "2"), _power(_product(v, w), "2")]
    forms += [Tree("Add", (_power(v, "2"), _power(w, "2"))), _product(_power(v, "2"), w), _product(v, _power(w, "2"))]
    return forms


def further_fillers() -> list[Tree]:
    """Expressions that textbooks need beyond :func:`fillers` where all elementary functions occur."""
    leaves = [*FURTHER_LITERALS, *(literal(text) for text in ("5", "6", "7", "8", "9"))]
    forms = [*leaves, *map(_negative, leaves), *(Tree("Pow", (leaf, _HALF)) for leaf in leaves), *_of_numbers()]
    for v in VARIABLES:
        forms += _further_of_one(v)
        for w in VARIABLES:
            if v is not w:
                forms += _further_of_two(v, w)
    known = set(fillers())
    return [form for form in dict.fromkeys(forms) if form not in known]


def _of_numbers() -> list[Tree]:
    """``log(2)``, ``2*sqrt(2)``, ``pi/6``, ``e^2`` ..."""
    digits = [literal(str(n)) for n in range(2, 11)]
    forms = [log(n) for n in digits] + [log(_TWO, base) for base in digits[1:]]
    forms += [_product(_TWO, log(n)) for n in digits[:4]] + [_negative(log(n)) for n in digits[:4]]
    forms += [_product(n, _power(m, "1/2")) for n in digits[:4] for m in digits[:4]]
    forms += [_quotient(literal("pi"), n) for n in digits] + [_product(n, literal("pi")) for n in digits[:3]]
    forms += [Tree("exp", (n,)) for n in (_ONE, _TWO, _MINUS)] + [Tree("Pow", (EXP1, n)) for n in (_TWO, _MINUS)]
    forms += [_quotient(_power(n, "1/2"), m) for n in digits[:2] for m in digits[:2]]
    return forms + [_quotient(_ONE, n) for n in digits] + [_quotient(_ONE, _power(n, "1/2")) for n in digits[:2]]


def _further_of_one(v: Tree) -> list[Tree]:
    numbers = [literal(str(n)) for n in range(1, 11)]
    forms = [_difference(v, n) for n in numbers] + [Tree("Add", (v, n)) for n in numbers]
    forms += (
        [_difference(n, v) for n in numbers[:4]]
        + [_product(n, v) for n in numbers]
        + [_quotient(v, n) for n in numbers]
    )
    forms += [_negative(_product(n, v)) for n in numbers[1:6]] + [_product(literal(n), v) for n in ("-2", "-3", "-4")]
    forms += [Tree("Add", (_product(_TWO, v), n)) for n in numbers[:5]]
    forms += [_difference(_product(_TWO, v), n) for n in numbers[:5]]
    squared = [_power(v, str(n)) for n in range(2, 7)]
    forms += [*squared, *map(_negative, squared), *(_product(n, squared[0]) for n in numbers[1:9])]
    forms += [Tree("Add", (squared[0], n)) for n in numbers[:4]] + [_difference(squared[0], n) for n in numbers[:4]]
    forms += [_difference(_ONE, squared[0]), Tree("Add", (_ONE, squared[0])), *(_product(_TWO, p) for p in squared)]
    forms += [Tree("Add", (squared[0], v)), _difference(squared[0], v)]
    forms += [_power(f, "1/2") for f in (v, _difference(_ONE, squared[0]), Tree("Add", (_ONE, squared[0])))]
    forms += [_power(f, "1/2") for f in (Tree("Add", (squared[0], _ONE)), _difference(squared[0], _ONE))]
    forms += [_power(Tree("Add", (v, n)), "2") for n in numbers[:5]] + [
        _power(_difference(v, n), "2") for n in numbers[:5]
    ]
    forms += [
        _quotient(_ONE, f) for f in (v, squared[0], Tree("Add", (v, _ONE)), _difference(v, _ONE), _power(v, "1/2"))
    ]
    forms += [Tree("Pow", (n, v)) for n in (*numbers[1:], EXP1)] + [Tree("Pow", (_TWO, _negative(v)))]
    for f in [Tree(name, (v,)) for name in FURTHER_FUNCTIONS] + [log(v)]:
        forms += [f, _power(f, "2"), _negative(f), _product(_TWO, f), _quotient(f, _TWO), _quotient(_ONE, f)]
        forms += [_power(f, "-1"), Tree("Add", (f, _ONE)), _difference(f, _ONE), _product(v, f)]
    for name in (*TRIGONOMETRIC, *FURTHER_FUNCTIONS):
        forms += [
            Tree(name, (a,)) for a in (_negative(v), _product(_TWO, v), _product(literal("3"), v), _quotient(v, _TWO))
        ]
    forms += [log(v, base) for base in (_TWO, literal("10"), literal("3"))]
    forms += [log(Tree("Add", (v, _ONE))), log(_product(_TWO, v)), log(squared[0]), log(_power(v, "1/2"))]
    forms += [_product(n, log(v)) for n in numbers[2:4]]
    sinh = Tree("sinh", (v,))
    cosh = Tree("cosh", (v,))
    return [*forms, _product(sinh, cosh), _product(cosh, sinh), Tree("Add", (cosh, sinh)), _difference(cosh, sinh)]


def _further_of_two(v: Tree, w: Tree) -> list[Tree]:
    sums = [Tree("Add", (v, w)), _difference(v, w), _product(v, w), _quotient(v, w)]
    forms = [Tree(name, (a,)) for name in ("tan", "exp", "sinh", "cosh", "tanh") for a in sums[:2]]
    forms += [Tree("exp", (sums[2],)), *map(log, sums), *(_power(a, "1/2") for a in sums), log(v, w)]
    forms += [_product(Tree(f, (v,)), Tree(g, (w,))) for f in ("sinh", "cosh") for g in ("sinh", "cosh")]
    forms += [
        _product(Tree("exp", (v,)), Tree("exp", (w,))),
        Tree("Add", (log(v), log(w))),
        _difference(log(v), log(w)),
    ]
    forms += [
        _product(w, log(v)),
        _product(Tree("tan", (v,)), Tree("tan", (w,))),
        _power(sums[1], "2"),
        _power(sums[3], "2"),
    ]
    forms += [_product(n, sums[2]) for n in map(literal, "3456")] + [Tree("Pow", (v, Tree("Add", (w, _ONE))))]
    forms += [_difference(_power(v, "2"), _power(w, "2")), _negative(_power(w, "2")), _quotient(_ONE, sums[0])]
    forms += [_product(_power(v, "1/2"), _power(w, "1/2")), Tree("Add", (_power(v, "1/2"), _power(w, "1/2")))]
    return [*forms, _quotient(_ONE, sums[2]), _product(_TWO, sums[0]), _quotient(sums[0], _TWO), _product(v, sums[0])]


def _waves(v: Tree) -> list[Tree]:
    return [Tree("sin", (v,)), Tree("cos", (v,))]


def _negative(a: Tree) -> Tree:
    return Tree("Mul", (_MINUS, a))


def _difference(a: Tree, b: Tree) -> Tree:
    return Tree("Add", (a, _negative(b)))


def _quotient(a: Tree, b: Tree) -> Tree:
    return number(f"{a.token}/{b.token}") if _whole(a) and _whole(b) else Tree("Mul", (a, _power(b, "-1")))


def _whole(a: Tree) -> bool:
    return (a.token or "").isdigit()


def log(a: Tree, base: Tree = EXP1) -> Tree:
    """The logarithm as the infix reader makes it."""
    return Tree("log", (a, base))


def _product(a: Tree, b: Tree) -> Tree:
    return Tree("Mul", (a, b))


def _power(a: Tree, n: str) -> Tree:
    return Tree("Pow", (a, literal(n)))


def main(arguments: list[str] | None = None) -> None:
    """Write the shipped list: the published shapes, what textbooks need beyond them, and elementary functions."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations fillers", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="file to write, one infix expression per line")
    out: Path = parser.parse_args(arguments).out
    trees = [*fillers(), *further_fillers()]
    with replacing(out) as beside:
        beside.write_text("".join(f"{write_infix(tree)}\n" for tree in trees), encoding="utf-8")
    print(f"{len(trees)} fillers -> {out}")
