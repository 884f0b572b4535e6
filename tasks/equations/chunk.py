"""One chunk of labelled equations, grown from the identities with a random stream of its own.

A pool holds known correct equations, at first the identities. Again and again one is taken, usually changed into a new
correct one that joins the pool, and then varied locally into wrong candidates. Every label is the numeric decision.
"""

from collections import Counter
from random import Random
from typing import NamedTuple

import numpy as np

from dgltree.equation import Equation
from dgltree.truth import Truth
from tasks.equations.canonical import word_digest
from tasks.equations.held_out import held_out
from tasks.equations.places import Places
from tasks.equations.presets import Part, Quotas, part_of
from tasks.equations.rewrite import GROWING, IDENTITIES, Rules, in_growing, operated, read_lines, specialised
from tasks.equations.values import Values
from tasks.equations.vary import varied
from tasks.equations.words import VARIABLES, Word, renamed, tree

USUAL = 4  # equations have four variables at most; mostly they bear the first four names
RARE = 0.15  # share of equations whose variables bear any of the ten names, so that all of them are learned
FRESH = 0.1  # share of turns that begin with an identity instead of an equation grown before
GROWTH = 0.7  # share of turns that make a new correct equation before the variations
VARIATIONS = 2
ROOM = 4  # depth up to which equations may grow, even where only shallower ones are wanted
BARREN = 4000  # turns in a row that bring nothing, after which what is missing is taken to be exhausted


class Made(NamedTuple):
    """One labelled equation in the model's names of variables, its digest and depth."""

    label: int
    digest: int
    depth: int
    left: Word
    right: Word

    @property
    def equation(self) -> Equation:
        """As trees."""
        return Equation(tree(self.left), tree(self.right))


def largest(depth: int) -> int:
    """Nodes of both sides that an equation may have: somewhat more than 95 % of the published ones have."""
    return 20 + 3 * depth


class Chunk:
    """Makes equations of one part without repetition, up to ``quotas``; ``counts`` says what happened on the way.

    Args:
        quotas: how many of each label and depth.
        part: for training or for tests; equations of the other part help to grow and are not given.
        name: names the random stream.
    """

    def __init__(self, quotas: Quotas, part: Part, name: str) -> None:
        self.quotas, self.part = quotas, part
        self.counts: Counter[str] = Counter()
        self.made: list[Made] = []
        self._missing = Counter(quotas)
        self._deepest = max(ROOM, *(depth for _, depth in quotas))
        self._random = Random(f"equations {name}")
        self._values = Values()
        self._seen: set[int] = set()
        self._pool: dict[int, list[Places]] = {depth: [] for depth in range(1, self._deepest + 1)}

    def run(self) -> list[Made]:
        """The labelled equations, in the order in which they were made."""
        with np.errstate(all="ignore"):
            self._grow()
        return self.made

    def _grow(self) -> None:
        identities = [in_growing(identity) for identity in read_lines(IDENTITIES)]
        self._rules = Rules(identities)
        seeds = [Places(identity) for identity in identities]
        for seed in seeds:
            self._consider(seed)
        self._seeds = [seed for seed in seeds if seed.variables]
        random, turn, last, made = self._random, 0, 0, 0
        while turn - last < BARREN:
            if turn % 256 == 0:
                kinds = [(kind, number) for kind, number in self._missing.items() if number > 0]
                if not kinds:
                    break
                depths, weights = [depth for (_, depth), _ in kinds], [number for _, number in kinds]
            turn += 1
            if len(self.made) > made:
                last, made = turn, len(self.made)
            equation = random.choice(self._seeds) if random.random() < FRESH else self._known(depths, weights)
            if random.random() < GROWTH:
                word = self._grown(equation)
                if word is None:
                    continue
                equation = Places(word)
                if self._consider(equation) is not Truth.TRUE:
                    continue
            self._vary(equation)

    def _vary(self, equation: Places) -> None:
        """Candidates that are mostly wrong, while such are missing: a variation has about the depth of its origin."""
        if self._missing[0, equation.depth] > 0 or self._missing[0, equation.depth - 1] > 0:
            for _ in range(VARIATIONS):
                self._consider(Places(varied(equation, self._random)), to_grow=False)

    def _known(self, depths: list[int], weights: list[int]) -> Places:
        """A correct equation of a depth that is wanted, or the deepest below it, or the shallowest above, or a seed."""
        wanted = self._random.choices(depths, weights)[0]
        for depth in (*range(wanted, 0, -1), *range(wanted + 1, self._deepest + 1)):
            if self._pool[depth]:
                return self._random.choice(self._pool[depth])
        return self._random.choice(self._seeds)

    def _grown(self, equation: Places) -> Word | None:
        way = self._random.random()
        if way < 0.12:
            return operated(equation, self._random)
        if way < 0.3:
            return specialised(equation, self._random)
        return self._rules.rewrite(equation, self._random)

    def _consider(self, equation: Places, to_grow: bool = True) -> Truth | None:
        """Decide an equation; make it an example if one of its kind is missing, and grow from it if it is correct.

        None if it is too large, a repetition, or of no use.
        """
        depth = equation.depth
        if depth > self._deepest or len(equation.word) > largest(depth) + 1:
            self.counts["too large"] += 1
            return None
        left, right = equation.sides()
        number = word_digest(left, right)
        if number in self._seen:
            self.counts["repeated"] += 1
            return None
        self._seen.add(number)
        wanted = part_of(number, depth) == self.part and number not in held_out()
        if not wanted and not to_grow:
            return None
        truth = self._values.truth(equation)
        if truth is Truth.UNDECIDED:
            self.counts["undecided"] += 1
            return truth
        if truth is Truth.TRUE and to_grow:
            self._pool[depth].append(equation)
        if wanted and self._missing[truth.value, depth] > 0:
            self._missing[truth.value, depth] -= 1
            self.made.append(Made(truth.value, number, depth, *self._named(left, right)))
        return truth

    def _named(self, left: Word, right: Word) -> tuple[Word, Word]:
        choice = VARIABLES if self._random.random() < RARE else VARIABLES[:USUAL]
        names = self._random.sample(choice, len(GROWING))
        left, right = (renamed(side, range(len(GROWING)), names) for side in (left, right))
        return (right, left) if self._random.random() < 0.5 else (left, right)
