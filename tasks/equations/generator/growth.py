"""How correct equations grow: which identities they begin with, and how often which true change is made."""

from functools import cache
from random import Random
from typing import NamedTuple

from dgltree import read_equation
from tasks.equations.fillers import FURTHER_FUNCTIONS, TRIGONOMETRIC
from tasks.equations.generator.identities import WORLDS, World, identities
from tasks.equations.generator.places import Places
from tasks.equations.generator.rewrite import ELEMENTARY, PAPER, Atoms, Rules, in_growing, operate, specialise
from tasks.equations.generator.school import school
from tasks.equations.words import CALLED, Word, variables

OPERATED, SPECIALISED = 0.08, 0.06  # shares of changes; all others are rewrites by an identity
WIDENINGS = (0.1, 0.3, 0.6)  # shares of rewrites whose pattern is a bare variable, such as x -> x + 0
LITERAL = 0.4  # chance to rewrite a literal if one was met
WAVY = 2  # how much more often an identity of trigonometry begins; and by its size: long ones are harder
PLAIN = 8  # how much rarer 2 -> sec(pi/3) is than 2 -> 1 + 1,
NEUTRAL = 16  # and than the smallest steps:
NEUTRALS = tuple(map(read_equation, ("x = x + 0", "x = 0 + x", "x = x*1", "x = 1*x", "x = x^1")))
MAX_REPEATS = {"paper": 1, "elementary": 2, "positive": 12}  # how much more often an identity of the world's own begins
SCHOOL = 0.3  # share of beginnings with an equation of a random polynomial or of random numbers, beyond the papers'

_WAVES = frozenset(CALLED[name][0] for name in (*TRIGONOMETRIC, *FURTHER_FUNCTIONS, "log"))


class Grammar(NamedTuple):
    """The material from which equations grow."""

    rules: Rules
    """Rare ones are in its lists less often."""
    identities: list[Places]
    seeds: list[Places]
    """The identities with variables."""
    weights: list[int]
    """How often each seed begins."""
    atoms: Atoms
    """The new part of a change."""


@cache
def grammar(world: World = "paper") -> Grammar:
    """Return the grammar of the identities of a world and of those before it."""
    files = [
        [Places(in_growing(identity)) for identity in identities(known)] for known in WORLDS[: WORLDS.index(world) + 1]
    ]
    everything = [identity for file in files for identity in file]
    plain = [identity for identity in everything if not any(map(_of_constants, identity.sides()))]
    neutrals = [Places(in_growing(neutral)) for neutral in NEUTRALS]
    atoms = PAPER if world == "paper" else ELEMENTARY
    rules = Rules([identity.word for identity in [*everything, *(PLAIN - 1) * plain, *NEUTRAL * neutrals]], atoms)
    seeds = []
    weights = []
    for file in files:
        latest = MAX_REPEATS[world] if file is files[-1] else 1
        for seed in file:
            if seed.variables:
                seeds.append(seed)
                weights.append(len(seed.word) * (WAVY if _WAVES & set(seed.word) else 1) * latest)
    return Grammar(rules, everything, seeds, weights, atoms)


def draw_identity(random: Random, world: World = "paper") -> Places:
    """An identity to grow from."""
    if world != "paper" and random.random() < SCHOOL:
        return Places(school(random))
    _, _, seeds, weights, _ = grammar(world)
    [seed] = random.choices(seeds, weights)
    return seed


def grow_equation(equation: Places, random: Random, widening: float, world: World = "paper") -> Word | None:
    """``equation`` after one true change, or None if none was found."""
    way = random.random()
    if way < OPERATED:
        return operate(equation, random, grammar(world).atoms)
    if way < OPERATED + SPECIALISED:
        return specialise(equation, random, grammar(world).atoms)
    return grammar(world).rules.rewrite(equation, random, widening, LITERAL)


def _of_constants(side: Word) -> bool:
    """Such as sec(pi/3)."""
    return not variables(side) and bool(_WAVES & set(side))
