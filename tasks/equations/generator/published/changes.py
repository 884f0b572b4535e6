"""Changes of an equation: the same done to both sides, which keeps it true, and that of a node, mostly not."""

from random import Random

from tasks.equations.fillers import literal
from tasks.equations.generator.places import Places
from tasks.equations.generator.rewrite import BINARY, TRIGONOMETRIC
from tasks.equations.words import ARITIES, NAMES, SINGLE, Word, word

KINDS = tuple(
    [word(literal(text)) for text in texts.split()] for texts in ("-1", "pi", "1", "1/2", "0 2 3 4 10", "2/5", "0.7")
)
"""Constants by kind; a new one is of a kind drawn first."""
VARIABLES = 5
"""The published equations have no more."""


def operate(equation: Places, random: Random) -> Word | None:
    """A sum, product or power made of both sides, with a new variable or a constant; None if no variable is left."""
    if random.random() < 0.5:
        new = max(equation.variables, default=-1) + 1
        if new >= VARIABLES:
            return None
        other = SINGLE[new]
    else:
        other = random.choice(random.choice(KINDS))
    function, first = random.choice(BINARY), random.random() < 0.5
    left, right = (function + (other + side if first else side + other) for side in equation.sides())
    return equation.word[:1] + left + right


def mutate(equation: Places, random: Random) -> Word:
    """An equation with one node below the root grown, shrunk or replaced; now and then it is the same."""
    place = equation.any_place(random)
    old = equation.at(place)
    new = random.choice((_grown, _shrunk, _replaced))(equation, place, random)
    if new == old:
        new = _replaced(equation, place, random)
    return equation.replaced(place, new)


def _grown(equation: Places, place: int, random: Random) -> Word:
    old = equation.at(place)
    if random.random() < 0.5:
        return random.choice(TRIGONOMETRIC) + old
    if equation.variables and random.random() < 0.5:
        return random.choice(BINARY) + old + SINGLE[random.choice(equation.variables)]
    return random.choice(BINARY) + old + random.choice(random.choice(KINDS))


def _shrunk(equation: Places, place: int, random: Random) -> Word:
    return equation.at(random.choice(equation.children(place) or [place]))


def _replaced(equation: Places, place: int, random: Random) -> Word:
    """Another variable of the equation, another kind of constant, or another function of the same children."""
    old = equation.at(place)
    if ARITIES[old[0]]:
        functions = BINARY if ARITIES[old[0]] == 2 else TRIGONOMETRIC
        return random.choice([function for function in functions if function[0] != old[0]]) + old[1:]
    if old[0] < len(NAMES):
        others = [variable for variable in equation.variables if variable != old[0]]
        return SINGLE[random.choice(others)] if others else SINGLE[(old[0] + 1) % VARIABLES]
    return random.choice(random.choice([kind for kind in KINDS if old not in kind]))
