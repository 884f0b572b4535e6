"""Random answers as textbooks write them, in several variables: number first, then letters in the alphabet's order.

Lines of textbooks have too few of these to learn the order from.
"""

from random import Random

from dgltree import BLANK, Equation, Tree, read_infix

SWAPPED = 0.5  # share of the sums and products of the other side that are turned round


def phrase(random: Random) -> str:
    """A random answer, in the variables x, y, z, w."""
    v, w = sorted(random.sample("xyz", 2))
    c, d, n = random.randint(2, 9), random.randint(2, 9), random.randint(2, 4)
    f, g = random.choice((("sin", "cos"), ("sinh", "cosh"), ("exp", "sin"), ("exp", "cos"), ("tan", "sec")))
    k = random.choice(("sin", "cos", "tan", "log", "sinh", "cosh"))
    h = random.choice(("sin", "cos", "tan", "exp", "log", "sinh", "cosh", "sqrt", "atan"))
    sign = random.choice("+-")
    ways = [
        *(
            f"{c}*{v}*{w}",
            f"{c}*{v}*{w}",
            f"{v}*{w}",
            f"{v}^{n}*{w}",
            f"{v}*{w}^{n}",
            f"{c}*{v}^2*{w}",
            f"-{c}*{v}*{w}",
        ),
        *(
            f"{v} {sign} {w}",
            f"{v}^2 {sign} {w}^2",
            f"{c}*{v} {sign} {d}*{w}",
            f"{v} {sign} {c}*{w}",
            f"{c}*{v} {sign} {w}",
        ),
        *(f"{v}*{w} {sign} {c}", f"{v}^2 {sign} {v}*{w}", f"{v}^2 + {c}*{v}*{w} + {w}^2", f"{v}*({v} {sign} {w})"),
        *(
            f"{v} {sign} {c}",
            f"{c}*{v} {sign} {d}",
            f"{v}^2 {sign} {c}",
            f"{v}^2 {sign} {c}*{v}",
            f"{c}*{v}^2",
            f"{c} - {v}",
        ),
        *(f"{f}({v})*{g}({w})", f"{f}({v})*{g}({v})", f"{c}*{f}({v})*{g}({v})", f"{k}({v})*{k}({w})"),
        *(
            f"{c}*{h}({v})",
            f"{v}*{h}({v})",
            f"{w}*{h}({v})",
            f"{c}*{v}*{h}({v})",
            f"{v}^2*{h}({v})",
            f"{h}({v}) {sign} {h}({w})",
        ),
        *(
            f"{h}({v} {sign} {w})",
            f"{h}({c}*{v})",
            f"{h}({v}*{w})",
            f"{h}({v}) {sign} {c}",
            f"1 - {h}({v})",
            f"{k}({v})^2",
        ),
        *(f"{v}/{w}", f"{c}*{v}/{w}", f"{v}/{c}", f"({v} {sign} {w})/{c}", f"1/({v}*{w})", f"{c}/{v}", f"{v}*{w}/{c}"),
        *(f"({v} {sign} {w})^2", f"({v} {sign} {c})^2", f"{c}*({v} {sign} {w})", f"{v}*sqrt({w})", f"{c}*sqrt({v})"),
        *(f"e^{c}", f"pi/{c}", f"{c}*pi", f"sqrt({v}^2 + {w}^2)", f"{h}({v})/{w}", f"{k}({v})/{k}({w})", f"{v}*e^{w}"),
    ]
    return random.choice(ways)


def asked(random: Random) -> tuple[Equation, Tree]:
    """An equation with a blank and the answer: the other side says the same in a random order."""
    answer, term = (read_infix(phrase(random)) for _ in range(2))
    function = random.choice(("Add", "Add", "Mul"))
    sides = [Tree(function, (term, BLANK)), turned(Tree(function, (term, answer)), random)]
    if random.random() < 0.5:
        sides[0] = Tree(function, (BLANK, term))
    random.shuffle(sides)
    return Equation(*sides), answer


def turned(tree: Tree, random: Random) -> Tree:
    """A tree with some of its sums and products turned round."""

    def combine(node: Tree, children: list[Tree]) -> Tree:
        if node.function in ("Add", "Mul") and random.random() < SWAPPED:
            children = children[::-1]
        return node.replace(children=children) if children else node

    return tree.fold(combine)
