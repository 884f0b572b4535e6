"""True changes of a true equation: identities as rewrite rules, substitution, one operation on both sides."""

from collections import defaultdict
from random import Random

from dgltree import Equation, Tree
from tasks.equations import fillers
from tasks.equations.generator.places import Places
from tasks.equations.leaves import with_leaves
from tasks.equations.words import (
    ARITIES,
    CALLED,
    EQUAL,
    NAMES,
    SINGLE,
    VARIABLES,
    Word,
    equation_word,
    variables,
    with_words,
    word,
)

LETTERS = tuple(Tree("Symbol", token=name) for name in "xyzw")
"""The variables of the identities."""
GROWING = SINGLE[: len(LETTERS)]
"""The variables of equations while they grow."""
TRIGONOMETRIC, BINARY = ([CALLED[name] for name in names] for names in (fillers.TRIGONOMETRIC, fillers.BINARY))
CONSTANTS, LITERALS = ([word(leaf) for leaf in leaves] for leaves in (fillers.CONSTANTS, fillers.LITERALS))
EXPONENTS = [CALLED[text] for text in ("2", "2", "3", "-1", "1/2", "-2")]
FACTORS = [CALLED[text] for text in ("-1", "-1", "2", "2", "3", "1/2")]
ADD, MUL, POW, TWO = (CALLED[name] for name in ("Add", "Mul", "Pow", "2"))
CONCRETE = 0.7  # share of constants that are not substituted for a variable after all
TRIES = 12


def in_growing(equation: Equation) -> Word:
    """An equation in ``LETTERS`` in the variables that equations have while they grow."""
    names = dict(zip(LETTERS, NAMES, strict=False))
    return equation_word(Equation(*(with_leaves(side, names) for side in equation)))


class Rules:
    """Every identity in both directions, found by what the pattern begins with."""

    def __init__(self, identities: list[Word]) -> None:
        self._wide: list[tuple[Word, Word]] = []
        self._by_start: dict[int, list[tuple[Word, Word]]] = defaultdict(list)
        for identity in identities:
            left, right = Places(identity).sides()
            for pattern, result in ((left, right), (right, left)):
                start = pattern[0]
                (self._wide if start in VARIABLES else self._by_start[start]).append((pattern, result))

    def rewrite(self, equation: Places, random: Random, widening: float, literal: float) -> Word | None:
        """``equation`` with one random node rewritten by a random rule that fits, or None if none was found.

        ``widening`` is the share of rules whose pattern is a bare variable, ``literal`` the chance that a literal which
        was met is rewritten: most nodes are.
        """
        wide = random.random() < widening
        for _ in range(TRIES):
            place = equation.any_place(random)
            symbol = equation.word[place]
            rules = self._wide if wide else self._by_start.get(symbol)
            if not rules or (ARITIES[symbol] == 0 and random.random() > literal):
                continue
            pattern, result = random.choice(rules)
            bound = match(pattern, equation, place)
            if bound is None:
                continue
            for variable in variables(result):
                if variable not in bound:
                    present = random.random() < 0.5
                    bound[variable] = equation.at(equation.any_place(random)) if present else small(random)
            return equation.replaced(place, with_words(result, bound))
        return None


def match(pattern: Word, equation: Places, place: int) -> dict[int, Word] | None:
    """What the variables of ``pattern`` stand for if the subtree of a place is an instance of it, else None."""
    bound: dict[int, Word] = {}
    for symbol in pattern:
        if symbol in VARIABLES:
            part = equation.at(place)
            if bound.setdefault(symbol, part) != part:
                return None
            place = equation.ends[place]
        elif symbol != equation.word[place]:
            return None
        else:
            place += 1
    return bound


def small(random: Random) -> Word:
    """A random leaf or expression of depth 1."""
    return leaf(random) if random.random() < 0.5 else shallow(random)


def leaf(random: Random) -> Word:
    """A random variable, constant of the published fillers, or other literal."""
    return random.choice(GROWING if random.random() < 0.6 else CONSTANTS if random.random() < 0.9 else LITERALS)


def shallow(random: Random) -> Word:
    """A random expression of depth 1."""
    if random.random() < 0.5:
        return random.choice(TRIGONOMETRIC) + leaf(random)
    function = random.choice(BINARY)
    if function == POW and random.random() < 0.7:
        return POW + leaf(random) + random.choice(EXPONENTS)
    if function == MUL and random.random() < 0.5:
        return MUL + random.choice(FACTORS) + leaf(random)
    return function + leaf(random) + leaf(random)


def specialised(equation: Places, random: Random) -> Word | None:
    """``equation`` with one of its variables replaced everywhere by a small expression."""
    if not equation.variables:
        return None
    new = small(random)
    if random.random() < CONCRETE and not variables(new):
        new = random.choice(TRIGONOMETRIC) + random.choice(GROWING)
    return with_words(equation.word, {random.choice(equation.variables): new})


def operated(equation: Places, random: Random) -> Word:
    """The same done to both sides: added, multiplied, put in the exponent or under it; or the sides swapped."""
    left, right = equation.sides()
    way = random.randrange(5)
    if way == 0:
        return SINGLE[EQUAL] + right + left
    t = small(random) if way < 3 else TWO if random.random() < 0.3 else leaf(random)
    function = (ADD, MUL, POW, POW)[way - 1]
    first = way == 4 or (way < 3 and random.random() < 0.5)
    left, right = (function + (t + side if first else side + t) for side in (left, right))
    return SINGLE[EQUAL] + left + right
