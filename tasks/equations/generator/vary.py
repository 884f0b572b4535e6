"""Local changes of an equation that mostly make it wrong: the wrong candidates of the training data."""

from random import Random

from tasks.equations.fillers import common_forms
from tasks.equations.generator.places import Places
from tasks.equations.generator.rewrite import BINARY, LITERALS, MUL, POW, TRIGONOMETRIC, leaf, shallow
from tasks.equations.words import ARITIES, CALLED, NAMES, SINGLE, Word, rename_variables, variables, word

_FORMS = [word(form) for form in common_forms(NAMES[:2])]  # renamed to variables of the equation


def vary(places: Places, random: Random) -> Word:
    """An equation with one random node below the root changed."""
    place = places.any_place(random)
    symbol = places.word[place]
    children = places.children(place)
    way = random.random()
    if way < 0.5:
        new = filler(places, random)
    elif way < 0.72:
        new = other_symbol(places, place, random)
    elif way < 0.82 and children:
        new = places.at(random.choice(children))
    elif way < 0.9 and symbol == POW[0]:
        base, exponent = map(places.at, children)
        new = POW + exponent + base
    else:
        new = grow_node(places, place, random)
    return places.replaced(place, new)


def filler(places: Places, random: Random) -> Word:
    """A random expression of the shapes of the shipped fillers, mostly in variables of the equation."""
    way = random.random()
    new = leaf(random) if way < 0.3 else shallow(random) if way < 0.65 else random.choice(_FORMS)
    return _in_variables_of(places, new, random)


def other_symbol(places: Places, place: int, random: Random) -> Word:
    """The subtree of ``place`` with another function of the same number of children, or another leaf."""
    old = places.at(place)
    arity = ARITIES[old[0]]
    if not arity:
        present = places.variables
        return SINGLE[random.choice(present)] if present and random.random() < 0.5 else random.choice(LITERALS)
    functions = BINARY if arity == 2 else TRIGONOMETRIC
    return random.choice([function for function in functions if function[0] != old[0]]) + old[1:]


def grow_node(places: Places, place: int, random: Random) -> Word:
    """A function of the subtree of ``place``, with a random second argument if it takes two."""
    old = places.at(place)
    if random.random() < 0.4:
        return random.choice(TRIGONOMETRIC) + old
    if random.random() < 0.3:
        return MUL + CALLED["-1"] + old
    other = _in_variables_of(places, leaf(random), random)
    return random.choice(BINARY) + (old + other if random.random() < 0.6 else other + old)


def _in_variables_of(places: Places, new: Word, random: Random) -> Word:
    """``new`` with its variables replaced by random ones of the equation, now and then kept."""
    present = places.variables
    if not present or random.random() < 0.1:
        return new
    old = variables(new)
    return rename_variables(new, old, [random.choice(present) for _ in old]) if old else new
