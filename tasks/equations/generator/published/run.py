"""One run of the published process: from the seeds to so many new correct equations, and a change of each."""

from collections import Counter
from collections.abc import Collection, Iterator
from random import Random
from typing import NamedTuple

from tasks.equations.fillers import literal
from tasks.equations.generator.places import Places
from tasks.equations.generator.published.rules import PatternTree
from tasks.equations.generator.published.seeds import FAULTS, Fault, seeds
from tasks.equations.generator.rewrite import BINARY, TRIGONOMETRIC
from tasks.equations.words import ARITIES, NAMES, SINGLE, Word, word

# Changes of an equation: the same done to both sides, which keeps it true, and that of a node, mostly not.
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
    function = random.choice(BINARY)
    first = random.random() < 0.5
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


MAX_SYMBOLS = 250  # symbols of an equation; what batches can hold
BARREN = 20_000  # draws in a row without a new equation, after which the run ends as it is


class GrownEquation(NamedTuple):
    """An equation, and whether it is correct by construction; else it is one with a node changed."""

    equation: Places
    grown: bool


class EquationGrowth:
    """Grows equations from the seeds; ``counts`` says what was dropped and why.

    A node of a known equation is rewritten by a known equation, or the same is done to both sides at the root; what is
    new is correct by construction and known from then on. One node of each is changed as well.

    Args:
        name: names the random stream.
        correct: how many equations are grown; the seeds are not among them.
        limit: the largest depth.
        faults: of the published process.
    """

    def __init__(self, name: str, correct: int, limit: int, faults: Collection[Fault] = FAULTS) -> None:
        self.counts: Counter[str] = Counter()
        self._random = Random(f"published {name}")
        self._correct = correct
        self._limit = limit
        self._rules = PatternTree(checked="matching" not in faults)
        self._known: list[Places] = []
        self._met: set[Word] = set()
        self._seeds = seeds(faults)

    def run(self) -> Iterator[GrownEquation]:
        """Each correct equation, the seeds first, with the change of it if that is new."""
        for equation in self._correct_ones():
            yield GrownEquation(equation, grown=True)
            change = self._new(mutate(equation, self._random))
            if change is not None:
                yield GrownEquation(change, grown=False)

    def _correct_ones(self) -> Iterator[Places]:
        self._met.update(self._seeds)
        first = [Places(seed) for seed in self._seeds]
        for seed in first:
            self._learn(seed)
        yield from first
        for _ in range(self._correct):
            grown = self._grown()
            if grown is None:
                self.counts["runs without further equations"] += 1
                return
            self._learn(grown)
            yield grown

    def _learn(self, equation: Places) -> None:
        self._known.append(equation)
        self._rules.add(equation)

    def _grown(self) -> Places | None:
        """A new correct equation; None if many draws find none."""
        random = self._random
        for _ in range(BARREN):
            equation = self._known[int(random.random() * len(self._known))]
            place = int(random.random() * len(equation.word))
            word = self._rules.rewritten(equation, place, random) if place else operate(equation, random)
            if word is not None and (new := self._new(word)) is not None:
                return new
        return None

    def _new(self, word: Word) -> Places | None:
        """An equation that was not met and is not too large; it is met then."""
        if word in self._met:
            return None
        self._met.add(word)
        equation = Places(word)
        if equation.depth <= self._limit and len(word) <= MAX_SYMBOLS:
            return equation
        self.counts["too large"] += 1
        return None
