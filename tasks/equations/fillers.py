"""The list of fillers that the shipped model ranks: the published shapes and what textbooks need beyond them.

``python -m tasks.equations fillers --out FILE`` writes it, one infix expression a line.
"""

import argparse
from pathlib import Path

from dgltree import Tree, write_infix
from dgltree.files import replacing
from dgltree.read.notation import CONSTANTS as NAMED
from dgltree.read.notation import number

TRIGONOMETRIC = ("sin", "cos", "tan", "csc", "sec", "cot")
BINARY = ("Add", "Mul", "Pow")
VARIABLES = tuple(Tree("Symbol", token=f"var_{i}") for i in range(5))


def literal(text: str) -> Tree:
    """The leaf that the infix reader makes of a literal, such as ``-1``, ``1/2``, ``0.7`` or ``pi``."""
    return NAMED[text] if text in NAMED else number(text)


CONSTANTS = tuple(map(literal, ("-1", "pi", "1", "1/2", "0", "2", "3", "4", "10", "-2", "-3", "2/5", "-1/2", "0.7")))
"""The constants of the published fillers."""
LITERALS = (*CONSTANTS, *map(literal, ("5", "6", "7", "8", "9")))
"""All constants that equations may contain."""
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
    """What stands in textbooks beyond depth 1: ``sin(x)^2``, ``-x^2``, ``cos(x)*sin(y)``, ``x - y``, ``2*x*y`` ..."""
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


def _waves(v: Tree) -> list[Tree]:
    return [Tree("sin", (v,)), Tree("cos", (v,))]


def _negative(a: Tree) -> Tree:
    return Tree("Mul", (_MINUS, a))


def _product(a: Tree, b: Tree) -> Tree:
    return Tree("Mul", (a, b))


def _power(a: Tree, n: str) -> Tree:
    return Tree("Pow", (a, literal(n)))


def main(arguments: list[str] | None = None) -> None:
    """Write the list to a file."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations fillers", description=fillers.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="file to write, one infix expression a line")
    out: Path = parser.parse_args(arguments).out
    trees = fillers()
    with replacing(out) as beside:
        beside.write_text("".join(f"{write_infix(tree)}\n" for tree in trees), encoding="utf-8")
    print(f"{len(trees)} fillers -> {out}")
