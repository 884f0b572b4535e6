"""One chunk of labelled equations, grown from the identities with a random stream of its own.

A pool holds known correct equations, at first the identities. Again and again one is taken, usually changed into a new
correct one that joins the pool, and then varied locally into a wrong candidate. Every label is the numeric decision.
"""

import functools
from collections import Counter
from random import Random
from typing import NamedTuple

from dgltree.equation import Equation
from dgltree.tree import Tree
from dgltree.truth import Evaluator, Truth
from tasks.equations.canonical import canonical_key
from tasks.equations.fillers import VARIABLES, fillers
from tasks.equations.leaves import variables, with_leaves
from tasks.equations.places import Places
from tasks.equations.rewrite import (
    IDENTITIES,
    LETTERS,
    TEXTBOOK,
    Rules,
    operated,
    read_lines,
    specialised,
)
from tasks.equations.vary import varied

SHARES = {1: 0.01, 2: 0.07, 3: 0.19, 4: 0.24, 5: 0.21, 6: 0.14, 7: 0.09, 8: 0.05}
"""Wanted shares of the depths, for correct and wrong equations alike."""
_DEPTHS, _WEIGHTS = list(SHARES), list(SHARES.values())
LOOSE = 1.15  # a depth may take so much more than its share, where others cannot be filled
LEAD = 4  # neither label gets further ahead of the other at a depth, so that depth does not tell the label
NAMES = tuple(Tree("Symbol", token=f"var_{i}") for i in range(10))
USUAL = 4  # equations have four variables at most; mostly they bear the first four names
RARE = 0.15  # share of equations whose variables bear any of the ten names, so that all of them are learned
LARGEST = 60  # nodes of both sides
FRESH = 0.3  # share of turns that begin with an identity instead of an equation grown before
GROWING = 0.7  # share of turns that make a new correct equation before the variations
VARIATIONS = 2
PATIENCE = 60  # turns per wanted equation before a chunk ends short


class Made(NamedTuple):
    """One labelled equation, its canonical key, and the names that its variables x, y, z, w are to have."""

    label: int
    key: str
    equation: Equation
    names: dict[Tree, Tree]


class Chunk:
    """Makes ``wanted`` labelled equations without repetition; ``counts`` says what happened on the way."""

    def __init__(self, wanted: int, seed: int, index: int) -> None:
        self.wanted = wanted
        self.counts: Counter[str] = Counter()
        self.made: list[Made] = []
        self._random = Random(f"equations {seed} {index}")
        self._evaluator = Evaluator()
        self._seen: set[str] = set()
        self._filled: Counter[tuple[int, int]] = Counter()  # (label, depth) -> equations made
        self._pool: dict[int, list[Tree]] = {depth: [] for depth in SHARES}

    def run(self) -> list[Made]:
        """The labelled equations, in the order in which they were made."""
        identities = read_lines(IDENTITIES)
        self._rules = Rules(identities)
        seeds = [Tree("=", identity) for identity in identities]
        for seed in seeds:
            self._consider(seed)
        seeds = [seed for seed in seeds if variables(seed)]
        random, turns = self._random, 0
        while len(self.made) < self.wanted and turns < PATIENCE * self.wanted:
            turns += 1
            equation = random.choice(seeds) if random.random() < FRESH else self._known()
            if random.random() < GROWING:
                grown = self._grown(equation)
                if grown is None or self._consider(grown) is not Truth.TRUE:
                    continue
                equation = grown
            places = Places(equation)
            depth = equation.depth
            for _ in range(VARIATIONS):
                if self._has_room(0, depth):  # a variation has about the depth of what it varies
                    self._consider(varied(places, random))
        return self.made

    def _known(self) -> Tree:
        depth = self._random.choices(_DEPTHS, _WEIGHTS)[0]
        return self._random.choice(self._pool[depth] or self._pool[2])

    def _grown(self, equation: Tree) -> Tree | None:
        way = self._random.random()
        if way < 0.12:
            return operated(equation, self._random)
        if way < 0.3:
            return specialised(equation, self._random)
        return self._rules.rewrite(equation, self._random)

    def _consider(self, tree: Tree) -> Truth | None:
        """Decide ``tree``; keep it if it is correct and new, and make it an example if there is room for its kind.

        None if it is too large, a repetition, or of a depth that is full.
        """
        equation = Equation(*tree.children)
        depth = equation.depth
        if depth not in SHARES or tree.size > LARGEST + 1:
            self.counts["too large"] += 1
            return None
        if not self._has_room(0, depth) and not self._has_room(1, depth):
            return None
        key = canonical_key(equation)
        if key in self._seen:
            self.counts["repeated"] += 1
            return None
        truth = self._evaluator.truth(equation)
        if truth is Truth.UNDECIDED:
            self.counts["undecided"] += 1
            return truth
        self._seen.add(key)
        if truth is Truth.TRUE:
            self._pool[depth].append(tree)
        if key in held_out():
            self.counts["held out"] += 1
        elif self._has_room(truth.value, depth):
            self._filled[truth.value, depth] += 1
            self.made.append(self._kept(truth, key, equation))
        return truth

    def _has_room(self, label: int, depth: int) -> bool:
        same, other = self._filled[label, depth], self._filled[1 - label, depth]
        return same <= other + LEAD and same < LOOSE * SHARES[depth] * self.wanted / 2

    def _kept(self, truth: Truth, key: str, equation: Equation) -> Made:
        choice = NAMES if self._random.random() < RARE else NAMES[:USUAL]
        names = dict(zip(LETTERS, self._random.sample(choice, len(LETTERS)), strict=True))
        swapped = self._random.random() < 0.5
        return Made(truth.value, key, Equation(*equation[::-1]) if swapped else equation, names)


@functools.cache
def held_out() -> frozenset[str]:
    """Keys of the textbook equations with every shipped filler in the blank, the right ones and the wrong ones.

    Leaving out the wrong ones too means that not one candidate that a textbook line is ranked on was trained on.
    """
    keys: set[str] = set()
    for line in read_lines(TEXTBOOK):
        present = variables(Tree("=", line))
        renamed = Equation(*(with_leaves(side, dict(zip(present, VARIABLES, strict=False))) for side in line))
        keys.update(canonical_key(renamed.fill(filler)) for filler in fillers())
    return frozenset(keys)
