"""One chunk of labelled equations, grown from the identities with a random stream of its own.

A pool holds known correct equations, at first the identities. Again and again one is taken, usually changed into a new
correct one that joins the pool, and then varied locally into wrong candidates. Every label is the numeric decision.
"""

from collections import Counter
from random import Random
from typing import NamedTuple

from dgltree.equation import Equation
from dgltree.tree import Tree
from dgltree.truth import Evaluator, Truth
from tasks.equations.canonical import digest
from tasks.equations.held_out import held_out
from tasks.equations.leaves import variables, with_leaves
from tasks.equations.places import Places
from tasks.equations.presets import Part, Quotas, part_of
from tasks.equations.rewrite import IDENTITIES, LETTERS, Rules, operated, read_lines, specialised
from tasks.equations.vary import varied

NAMES = tuple(Tree("Symbol", token=f"var_{i}") for i in range(10))
USUAL = 4  # equations have four variables at most; mostly they bear the first four names
RARE = 0.15  # share of equations whose variables bear any of the ten names, so that all of them are learned
FRESH = 0.1  # share of turns that begin with an identity instead of an equation grown before
GROWING = 0.7  # share of turns that make a new correct equation before the variations
VARIATIONS = 2
ROOM = 4  # depth up to which equations may grow, even where only shallower ones are wanted
BARREN = 4000  # turns in a row that bring nothing, after which what is missing is taken to be exhausted


class Made(NamedTuple):
    """One labelled equation in the model's names of variables, and its digest."""

    label: int
    digest: int
    equation: Equation


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
        self._evaluator = Evaluator()
        self._seen: set[int] = set()
        self._pool: dict[int, list[Tree]] = {depth: [] for depth in range(1, self._deepest + 1)}

    def run(self) -> list[Made]:
        """The labelled equations, in the order in which they were made."""
        identities = read_lines(IDENTITIES)
        self._rules = Rules(identities)
        seeds = [Tree("=", identity) for identity in identities]
        for seed in seeds:
            self._consider(seed)
        self._seeds = [seed for seed in seeds if variables(seed)]
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
            if random.random() < GROWING:
                grown = self._grown(equation)
                if grown is None or self._consider(grown) is not Truth.TRUE:
                    continue
                equation = grown
            self._vary(equation)
        return self.made

    def _vary(self, equation: Tree) -> None:
        """Candidates that are mostly wrong, while such are missing: a variation has about the depth of its origin."""
        depth = Equation(*equation.children).depth
        if self._missing[0, depth] > 0 or self._missing[0, depth - 1] > 0:
            places = Places(equation)
            for _ in range(VARIATIONS):
                self._consider(varied(places, self._random), to_grow=False)

    def _known(self, depths: list[int], weights: list[int]) -> Tree:
        """A correct equation of a depth that is wanted, or the deepest below it, or the shallowest above, or a seed."""
        wanted = self._random.choices(depths, weights)[0]
        for depth in (*range(wanted, 0, -1), *range(wanted + 1, self._deepest + 1)):
            if self._pool[depth]:
                return self._random.choice(self._pool[depth])
        return self._random.choice(self._seeds)

    def _grown(self, equation: Tree) -> Tree | None:
        way = self._random.random()
        if way < 0.12:
            return operated(equation, self._random)
        if way < 0.3:
            return specialised(equation, self._random)
        return self._rules.rewrite(equation, self._random)

    def _consider(self, tree: Tree, to_grow: bool = True) -> Truth | None:
        """Decide ``tree``; make it an example if one of its kind is missing, and grow from it if it is correct.

        None if it is too large, a repetition, or of no use.
        """
        equation = Equation(*tree.children)
        depth = equation.depth
        if depth > self._deepest or tree.size > largest(depth) + 1:
            self.counts["too large"] += 1
            return None
        number = digest(equation)
        if number in self._seen:
            self.counts["repeated"] += 1
            return None
        self._seen.add(number)
        wanted = part_of(number, depth) == self.part and number not in held_out()
        if not wanted and not to_grow:
            return None
        truth = self._evaluator.truth(equation)
        if truth is Truth.UNDECIDED:
            self.counts["undecided"] += 1
            return truth
        if truth is Truth.TRUE and to_grow:
            self._pool[depth].append(tree)
        if wanted and self._missing[truth.value, depth] > 0:
            self._missing[truth.value, depth] -= 1
            self.made.append(Made(truth.value, number, self._named(equation)))
        return truth

    def _named(self, equation: Equation) -> Equation:
        choice = NAMES if self._random.random() < RARE else NAMES[:USUAL]
        names = dict(zip(LETTERS, self._random.sample(choice, len(LETTERS)), strict=True))
        left, right = (with_leaves(side, names) for side in equation)
        return Equation(right, left) if self._random.random() < 0.5 else Equation(left, right)
