"""One chunk of labelled equations, grown from the identities with a random stream of its own.

A pool holds known correct equations, at first the identities. Again and again one is taken, usually changed into a new
correct one that joins the pool, and then varied locally into wrong candidates. Every label is the numeric decision.
"""

from collections import Counter
from random import Random

import numpy as np

from dgltree.equations.truth.evaluator import Truth
from tasks.equations.canonical import word_digest
from tasks.equations.generator.growth import WIDENINGS, draw_identity, grammar, grow_equation
from tasks.equations.generator.held_out import held_out
from tasks.equations.generator.places import Places
from tasks.equations.generator.presets import Part, Quotas, part_of
from tasks.equations.generator.rewrite import GROWING
from tasks.equations.generator.texts import EquationTexts
from tasks.equations.generator.values import WordValues
from tasks.equations.generator.vary import vary
from tasks.equations.store import Made
from tasks.equations.words import VARIABLES, rename_variables

USUAL = 4  # equations have four variables at most; mostly they bear the first four names
RARE = 0.15  # share of equations whose variables bear any of the ten names, so that all of them are learned
FRESH = 0.1  # share of turns that begin with an identity instead of an equation grown before
GROWTH = 0.7  # share of turns that make a new correct equation before the variations
TURNS = 64, 512  # at once, at least and at most: what is evaluated together is fast,
NEW = 1 / 8  # but more than this share of what is known would grow too many equations from the same few
VARIATIONS = 2
ROOM = 4  # depth up to which equations may grow, even if only shallower ones are wanted
BARREN = 2000  # turns in a row that bring nothing, after which what is missing is taken to be exhausted


def largest(depth: int) -> int:
    """Nodes of both sides that an equation may have: somewhat more than 95 % of the published ones have."""
    return 20 + 3 * depth


class ChunkGenerator:
    """Makes equations of one part without repetition, up to ``quotas``; ``counts`` says what happened on the way.

    Args:
        quotas: how many of each label and depth.
        part: for training or for tests; equations of the other part help to grow and are not given.
        name: names the random stream.
    """

    def __init__(self, quotas: Quotas, part: Part, name: str) -> None:
        self.quotas = quotas
        self.part = part
        self.counts: Counter[str] = Counter()
        self.made: list[Made] = []
        self._missing = Counter(quotas)
        self._deepest = max(ROOM, *(depth for _, depth in quotas))
        self._random = Random(f"equations {name}")
        self._values = WordValues()
        self._texts = EquationTexts()
        self._seen: set[int] = set()
        self._pool: dict[int, list[Places]] = {depth: [] for depth in range(1, self._deepest + 1)}

    def run(self) -> list[Made]:
        """The labelled equations, in the order in which they were made."""
        with np.errstate(all="ignore"):
            self._grow()
        return self.made

    def _grow(self) -> None:
        self._consider(grammar().identities)
        barren = 0
        while (missing := {kind: number for kind, number in self._missing.items() if number > 0}) and barren < BARREN:
            before = len(self.made)
            turns = max(TURNS[0], min(int(NEW * sum(map(len, self._pool.values()))), TURNS[1]))
            self._turns(turns, [depth for _, depth in missing], list(missing.values()))
            barren = barren + turns if len(self.made) == before else 0

    def _turns(self, turns: int, depths: list[int], weights: list[int]) -> None:
        """Some new correct equations, and variations of them and of others."""
        random = self._random
        changed = []
        origins = []
        for wanted in random.choices(depths, weights, k=turns):
            equation = draw_identity(random) if random.random() < FRESH else self._known(wanted)
            if random.random() >= GROWTH:
                origins.append(equation)
            elif (word := grow_equation(equation, random, random.choice(WIDENINGS))) is not None:
                changed.append(Places(word))
        origins += self._consider(changed)
        variations = []
        for equation in origins:
            # a variation has about the depth of its origin
            if self._missing[0, equation.depth] > 0 or self._missing[0, equation.depth - 1] > 0:
                variations += [Places(vary(equation, random)) for _ in range(VARIATIONS)]
        self._consider(variations, to_grow=False)

    def _known(self, wanted: int) -> Places:
        """A correct equation of the wanted depth, or the deepest below it, or the shallowest above, or a seed."""
        for depth in (*range(wanted, 0, -1), *range(wanted + 1, self._deepest + 1)):
            if self._pool[depth]:
                return self._random.choice(self._pool[depth])
        return draw_identity(self._random)

    def _consider(self, equations: list[Places], to_grow: bool = True) -> list[Places]:
        """Decide equations; make those examples of whose kind some are missing, and grow from those that are correct.

        Returns the correct ones, without those that are too large, repetitions, or of no use.
        """
        new = [(equation, number) for equation in equations if (number := self._new(equation, to_grow)) is not None]
        correct = []
        for (equation, number), truth in zip(new, self._values.truths([equation for equation, _ in new]), strict=True):
            if truth is Truth.UNDECIDED:
                self.counts["undecided"] += 1
                continue
            if truth is Truth.TRUE:
                correct.append(equation)
                if to_grow:
                    self._pool[equation.depth].append(equation)
            if self._missing[truth.value, equation.depth] > 0 and self._wanted(number, equation.depth):
                self._missing[truth.value, equation.depth] -= 1
                self.made.append(self._named(equation, truth, number))
        return correct

    def _new(self, equation: Places, to_grow: bool) -> int | None:
        """The digest of an equation that is to be decided."""
        depth = equation.depth
        if depth > self._deepest or len(equation.word) > largest(depth) + 1:
            self.counts["too large"] += 1
            return None
        number = word_digest(*equation.sides())
        if number in self._seen:
            self.counts["repeated"] += 1
            return None
        self._seen.add(number)
        return number if to_grow or self._wanted(number, depth) else None

    def _wanted(self, number: int, depth: int) -> bool:
        return part_of(number, depth) == self.part and number not in held_out()

    def _named(self, equation: Places, truth: Truth, number: int) -> Made:
        choice = VARIABLES if self._random.random() < RARE else VARIABLES[:USUAL]
        names = self._random.sample(choice, len(GROWING))
        swapped = self._random.random() < 0.5
        left, right = (rename_variables(side, range(len(GROWING)), names) for side in equation.sides())
        if swapped:
            left, right = right, left
        text = self._texts.text(equation, names, swapped)
        return Made(truth.value, number, equation.depth, left, right, text)
