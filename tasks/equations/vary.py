"""Local changes of an equation that mostly make it wrong: the wrong candidates of the training data."""

from random import Random

from dgltree.tree import Tree
from tasks.equations.fillers import BINARY, LITERALS, TRIGONOMETRIC, common_forms, literal
from tasks.equations.leaves import variables, with_leaves
from tasks.equations.places import Places
from tasks.equations.rewrite import LETTERS, leaf, shallow

_FORMS = common_forms(LETTERS[:2])  # of x and y; renamed to variables of the equation


def varied(places: Places, random: Random) -> Tree:
    """An equation (the ``places`` of a tree of "=" and two sides) with one random node below the root changed."""
    place = random.randrange(1, len(places.nodes))
    node = places.nodes[place]
    way = random.random()
    if way < 0.5:
        new = filler(places, random)
    elif way < 0.72:
        new = other_symbol(node, places, random)
    elif way < 0.82 and node.children:
        new = random.choice(node.children)
    elif way < 0.9 and node.function == "Pow":
        new = Tree("Pow", node.children[::-1])
    else:
        new = grown(node, places, random)
    return places.replaced(place, new)


def filler(places: Places, random: Random) -> Tree:
    """A random expression of the shapes of the shipped fillers, mostly in variables of the equation."""
    way = random.random()
    new = leaf(random) if way < 0.3 else shallow(random) if way < 0.65 else random.choice(_FORMS)
    return _in_variables_of(places, new, random)


def other_symbol(node: Tree, places: Places, random: Random) -> Tree:
    """``node`` with another function of the same number of children, or another leaf."""
    if not node.children:
        present = places.variables
        return random.choice(present) if present and random.random() < 0.5 else random.choice(LITERALS)
    functions = BINARY if len(node.children) == 2 else TRIGONOMETRIC
    return Tree(random.choice([f for f in functions if f != node.function]), node.children)


def grown(node: Tree, places: Places, random: Random) -> Tree:
    """A function of ``node``, with a random second argument where it takes two."""
    if random.random() < 0.4:
        return Tree(random.choice(TRIGONOMETRIC), (node,))
    if random.random() < 0.3:
        return Tree("Mul", (literal("-1"), node))
    other = _in_variables_of(places, leaf(random), random)
    return Tree(random.choice(BINARY), (node, other) if random.random() < 0.6 else (other, node))


def _in_variables_of(places: Places, new: Tree, random: Random) -> Tree:
    """``new`` with its variables replaced by random ones of the equation, now and then kept."""
    present = places.variables
    if not present or random.random() < 0.1:
        return new
    if not new.children:
        return random.choice(present) if new.function == "Symbol" else new
    return with_leaves(new, {variable: random.choice(present) for variable in variables(new)})
