"""How correct equations grow: which identities they begin with, and how often which true change is made."""

from functools import cache
from random import Random
from typing import NamedTuple

from dgltree import read_equation
from tasks.equations.fillers import TRIGONOMETRIC
from tasks.equations.generator.identities import IDENTITIES, read_lines
from tasks.equations.generator.places import Places
from tasks.equations.generator.rewrite import Rules, in_growing, operated, specialised
from tasks.equations.words import CALLED, Word, variables

OPERATED, SPECIALISED = 0.08, 0.06  # shares of changes; all others are rewrites by an identity
WIDENINGS = (0.1, 0.3, 0.6)  # shares of rewrites whose pattern is a bare variable, such as x -> x + 0
LITERAL = 0.4  # chance to rewrite a literal where one was met
WAVY = 2  # how much more often an identity of trigonometry begins; and by its size: long ones are harder
PLAIN = 8  # how much rarer 2 -> sec(pi/3) is than 2 -> 1 + 1,
NEUTRAL = 16  # and than the smallest steps:
NEUTRALS = tuple(map(read_equation, ("x = x + 0", "x = 0 + x", "x = x*1", "x = 1*x", "x = x^1")))

_WAVES = frozenset(CALLED[name][0] for name in TRIGONOMETRIC)


class Grammar(NamedTuple):
    """What equations grow from."""

    rules: Rules
    """Rare ones stand in its lists less often."""
    identities: list[Places]
    seeds: list[Places]
    """The identities with variables."""
    weights: list[int]
    """How often each seed begins."""


@cache
def grammar() -> Grammar:
    """That of ``identities.txt``."""
    identities = [Places(in_growing(identity)) for identity in read_lines(IDENTITIES)]
    plain = [identity for identity in identities if not any(map(_of_constants, identity.sides()))]
    neutrals = [Places(in_growing(neutral)) for neutral in NEUTRALS]
    rules = Rules([identity.word for identity in [*identities, *(PLAIN - 1) * plain, *NEUTRAL * neutrals]])
    seeds = [identity for identity in identities if identity.variables]
    weights = [len(seed.word) * (WAVY if _WAVES & set(seed.word) else 1) for seed in seeds]
    return Grammar(rules, identities, seeds, weights)


def begun(random: Random) -> Places:
    """An identity to grow from."""
    _, _, seeds, weights = grammar()
    [seed] = random.choices(seeds, weights)
    return seed


def grown(equation: Places, random: Random, widening: float) -> Word | None:
    """``equation`` after one true change, or None where none was found."""
    way = random.random()
    if way < OPERATED:
        return operated(equation, random)
    if way < OPERATED + SPECIALISED:
        return specialised(equation, random)
    return grammar().rules.rewrite(equation, random, widening, LITERAL)


def _of_constants(side: Word) -> bool:
    """Such as sec(pi/3)."""
    return not variables(side) and bool(_WAVES & set(side))
