"""Equations that hold in part, or no longer: the generator's with one node changed."""

from random import Random

from dgltree import Equation
from tasks.equations.generator.growth import begun, grown
from tasks.equations.generator.identities import WORLDS
from tasks.equations.generator.places import Places
from tasks.equations.generator.vary import varied
from tasks.equations.words import CALLED, Word, tree

VARIED = 0.4
"""Share of mutations as in the training data; the others put what is the same on a part in place of a node."""
GROWN = 0.4
"""Share of equations that are changed truly once before."""
WIDENING = 0.3
LARGEST = 40
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
        places = begun(random, random.choice(WORLDS))
        if random.random() < GROWN and (word := grown(places, random, WIDENING, "elementary")) is not None:
            places = Places(word)
        word = varied(places, random) if random.random() < VARIED else _bent(places, random)
        if len(word) <= LARGEST:
            left, right = Places(word).sides()
            return Equation(tree(left), tree(right))


def _bent(places: Places, random: Random) -> Word:
    """With something around a node that changes nothing on a part of the numbers."""
    place = places.any_place(random)
    before, behind = random.choice(_AROUND)
    return places.replaced(place, before + places.at(place) + behind)
