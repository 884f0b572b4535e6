"""Equations that hold in part, or no longer: the generator's with one node changed."""

from random import Random

from dgltree import Equation, Tree, read_infix
from tasks.equations.generator.growth import draw_identity, grow_equation
from tasks.equations.generator.identities import WORLDS
from tasks.equations.generator.places import Places
from tasks.equations.generator.vary import vary
from tasks.equations.words import CALLED, Word, tree

VARIED = 0.4
"""Share of mutations as in the training data; the others put what is the same on a part in place of a node."""
GROWN = 0.4
"""Share of equations that are changed truly once before."""
WIDENING = 0.3
MAX_SYMBOLS = 40
"""Symbols of an equation."""
_POW, _LOG = CALLED["Pow"], CALLED["log"]
_AROUND = [
    *[(CALLED[outer] + CALLED[inner], b"") for outer, inner in (
        ("asin", "sin"), ("acos", "cos"), ("atan", "tan"), ("acosh", "cosh"), ("asinh", "sinh"), ("atanh", "tanh"),
        ("sin", "asin"), ("cos", "acos"), ("cosh", "acosh"), ("tanh", "atanh"),
    )],
    (CALLED["abs"], b""),
    (CALLED["exp"] + _LOG, CALLED["e"]),
    (_LOG + CALLED["exp"], CALLED["e"]),
    (CALLED["exp"] + CALLED["abs"] + _LOG, CALLED["e"]),
    *[(_POW * 2, CALLED[inner] + CALLED[outer]) for inner, outer in (
        ("2", "1/2"), ("1/2", "2"), ("3", "1/3"), ("1/3", "3"), ("-1", "-1"), ("4", "1/4"), ("-2", "-1/2"),
    )],
]  # fmt: skip
"""Text before a node and after it: the node itself where it is positive, or real, or small."""


def equation(number: int, seed: int) -> Equation:
    """The equation of a number, always the same: from an identity of any world, with one mutation."""
    random = Random(f"verdicts {seed} {number}")
    while True:
        places = draw_identity(random, random.choice(WORLDS))
        if random.random() < GROWN and (word := grow_equation(places, random, WIDENING, "elementary")) is not None:
            places = Places(word)
        word = vary(places, random) if random.random() < VARIED else _bent(places, random)
        if len(word) <= MAX_SYMBOLS:
            left, right = Places(word).sides()
            return Equation(tree(left), tree(right))


def _bent(places: Places, random: Random) -> Word:
    """With something around a node that changes nothing on a part of the numbers."""
    place = places.any_place(random)
    before, behind = random.choice(_AROUND)
    return places.replaced(place, before + places.at(place) + behind)


def extreme(number: int, seed: int) -> Equation:
    """The same with numbers around a node that are huge or tiny, a high power, or a function with a period."""
    asked, random = equation(number, seed), Random(f"extremes {seed} {number}")
    nodes = [node for side in asked for node in side.distinct_preorder()]
    chosen, around = random.choice(nodes), random.choice(_EXTREMES)
    power, whole = str(random.choice((20, 50, 100, 300, 400))), str(random.choice((15, 40, 99, 1000)))
    numbers = {"k": power, "n": whole}
    around = around.fold(lambda node, parts: _numbered(node, numbers) if not parts else node.replace(children=parts))

    def bent(node: Tree, parts: list[Tree]) -> Tree:
        if node != chosen:
            return node.replace(children=parts) if parts else node
        inside = node.replace(children=parts) if parts else node
        return around.fold(lambda leaf, below: inside if leaf == _NODE else leaf.replace(children=below))

    return Equation(*(side.fold(bent) for side in asked))


def _numbered(leaf: Tree, numbers: dict[str, str]) -> Tree:
    return read_infix(numbers[leaf.token]) if leaf.token in numbers else leaf


_NODE = Tree("Symbol", token="t")
_EXTREMES = [
    read_infix(text)
    for text in (
        "t + 10^k - 10^k", "t*10^k/10^k", "t + 10^(-k)", "t*(1 + 10^(-k))", "t^n/t^(n - 1)", "(t^n)^(1/n)",
        "t + (1/2)^n", "(10^(-k)*t)*10^k", "asin(sin(t))", "t + sin(n*pi)", "t + cos(t)^n",
        "t*cos(2*pi*n)", "t + abs(sin(t)) - sin(abs(t))", "acos(cos(t))", "t + 10^k*sin(t)", "t + 10^(-k)*cos(t)",
    )
]  # fmt: skip
"""A node t with something around it: k and n are large whole numbers."""
