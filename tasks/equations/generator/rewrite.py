"""True changes of a true equation: identities as rewrite rules, substitution, one operation on both sides."""

from collections import defaultdict
from random import Random
from typing import NamedTuple

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
CONSTANTS, LITERALS, FURTHER = (
    [word(leaf) for leaf in leaves] for leaves in (fillers.CONSTANTS, fillers.LITERALS, fillers.FURTHER_LITERALS)
)
EXPONENTS = [CALLED[text] for text in ("2", "2", "3", "-1", "1/2", "-2")]
FACTORS = [CALLED[text] for text in ("-1", "-1", "2", "2", "3", "1/2")]
ADD, MUL, POW, TWO = (CALLED[name] for name in ("Add", "Mul", "Pow", "2"))
CONCRETE = 0.7  # share of constants that are not substituted for a variable after all
TRIES = 12


class Atoms(NamedTuple):
    """The material of small expressions."""

    functions: list[tuple[Word, Word]]
    """Functions of one argument: the words before it and after it."""
    constants: list[Word]
    """The usual ones."""
    literals: list[Word]


PAPER = Atoms([(name, b"") for name in TRIGONOMETRIC], CONSTANTS, LITERALS)
_EXP, _LOG = (CALLED["exp"], b""), (CALLED["log"], CALLED["e"])
ELEMENTARY = Atoms(
    [
        *PAPER.functions,
        *[(CALLED[name], b"") for name in fillers.FURTHER_FUNCTIONS],
        *[_EXP, _EXP, _LOG, _LOG, _LOG, (CALLED["log"], CALLED["10"]), (CALLED["log"], CALLED["2"])],
    ],
    [CALLED[text] for text in ("-1", "pi", "1", "1/2", "0", "2", "3", "4", "5", "6", "10", "-2", "-3", "e", "1/3")],
    [*LITERALS, *FURTHER],
)


def in_growing(equation: Equation) -> Word:
    """An equation in ``LETTERS`` in the variables that equations have while they grow."""
    names = dict(zip(LETTERS, NAMES, strict=False))
    return equation_word(Equation(*(with_leaves(side, names) for side in equation)))


class Rules:
    """Every identity in both directions, found by what the pattern begins with.

    Args:
        identities: one for each time that it is in the lists.
        atoms: of what a variable stands for that one side lacks.
    """

    def __init__(self, identities: list[Word], atoms: Atoms = PAPER) -> None:
        self._atoms = atoms
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
                    bound[variable] = equation.at(equation.any_place(random)) if present else small(random, self._atoms)
            return equation.replaced(place, with_words(result, bound))
        return None


def match(pattern: Word, equation: Places, place: int) -> dict[int, Word] | None:
    """The values of the variables of ``pattern`` if the subtree of a place is an instance of it, else None."""
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


def small(random: Random, atoms: Atoms = PAPER) -> Word:
    """A random leaf or expression of depth 1."""
    return leaf(random, atoms) if random.random() < 0.5 else shallow(random, atoms)


def leaf(random: Random, atoms: Atoms = PAPER) -> Word:
    """A random variable, usual constant, or other literal."""
    return random.choice(
        GROWING if random.random() < 0.6 else atoms.constants if random.random() < 0.9 else atoms.literals
    )


def shallow(random: Random, atoms: Atoms = PAPER) -> Word:
    """A random expression of depth 1."""
    if random.random() < 0.5:
        before, behind = random.choice(atoms.functions)
        return before + leaf(random, atoms) + behind
    function = random.choice(BINARY)
    if function == POW and random.random() < 0.7:
        return POW + leaf(random, atoms) + random.choice(EXPONENTS)
    if function == MUL and random.random() < 0.5:
        return MUL + random.choice(FACTORS) + leaf(random, atoms)
    return function + leaf(random, atoms) + leaf(random, atoms)


def specialise(equation: Places, random: Random, atoms: Atoms = PAPER) -> Word | None:
    """``equation`` with one of its variables replaced everywhere by a small expression."""
    if not equation.variables:
        return None
    new = small(random, atoms)
    if random.random() < CONCRETE and not variables(new):
        before, behind = random.choice(atoms.functions)
        new = before + random.choice(GROWING) + behind
    return with_words(equation.word, {random.choice(equation.variables): new})


def operate(equation: Places, random: Random, atoms: Atoms = PAPER) -> Word:
    """Add to both sides, multiply them, put them in an exponent or under it; or swap them."""
    left, right = equation.sides()
    way = random.randrange(5)
    if way == 0:
        return SINGLE[EQUAL] + right + left
    t = small(random, atoms) if way < 3 else TWO if random.random() < 0.3 else leaf(random, atoms)
    function = (ADD, MUL, POW, POW)[way - 1]
    first = way == 4 or (way < 3 and random.random() < 0.5)
    left, right = (function + (t + side if first else side + t) for side in (left, right))
    return SINGLE[EQUAL] + left + right
