"""Chains of table look-ups as data sets, as Csordás, Irie and Schmidhuber drew them (2022, arXiv 2110.07732).

Each of 11 functions, a to k, permutes the 8 values 000 to 111; "101 d a" is a of d of 101. Functions j and k occur in
training by themselves alone, and some compositions not at all.
"""

from collections.abc import Iterator, Sequence
from math import ceil
from random import Random
from typing import Literal, NamedTuple, get_args

import numpy

from dgltree import Tree, TreeDataset, Vocabulary
from dgltree.datasets import Reading
from tasks.fit_cli import Sets

Direction = Literal["forward", "backward"]
VALUES = tuple(f"{value:03b}" for value in range(8))
COMPOSED, ALONE = "abcdefghi", "jk"
TABLE_SEED = 0x12345678
MAX_TRAINED, LONGER_VALIDATION, LONGER_TEST = 5, (6, 8), (9, 10)
"""Functions of a chain."""
PUBLISHED_COUNT, HELD_OUT, FEW = 53_136, 4_000, 1_000
"""Chains of 2 to 5 functions to train on, and to test on, and chains of each further kind."""
RESERVED, REPEATS = 200, 30
"""Compositions of a length that training never has, at most, and how often j and k are trained on again."""


class Chain(NamedTuple):
    """A value and the functions that are applied to it, the first one first."""

    value: int
    functions: str


class Lookup:
    """Chains to train and test on; the longer ones of 6 to 8 functions choose the epoch.

    The test has, also measured by themselves, the 88 single look-ups (``basic``), chains of 2 to 5 functions
    (``trained_lengths``), chains with j or k (``function_j``, ``function_k``), compositions that training never has
    (``reserved``), and chains of 9 and 10 functions (``longer``).

    Args:
        direction: of the sequence: "forward", the value first and the functions as they are applied, or "backward".
        count: chains of 2 to 5 functions to train on.
        seed: of the chains; the table and the reserved compositions are always the same.
        basic_copies: how often each single look-up is trained on in an epoch; 13 make them 3 % of the chains.

    Raises ``ValueError`` for another direction, a count below 1 or above the published one, and copies below 1.
    """

    def __init__(
        self, direction: Direction = "forward", count: int = PUBLISHED_COUNT, seed: int = 0, basic_copies: int = 1
    ) -> None:
        if direction not in get_args(Direction):
            raise ValueError(f"direction is {direction!r}; it must be forward or backward")
        if not 1 <= count <= PUBLISHED_COUNT:
            raise ValueError(f"count is {count}; it must be from 1 to {PUBLISHED_COUNT:,}")
        if basic_copies < 1:
            raise ValueError(f"basic_copies is {basic_copies}; it must be 1 or more")
        self.direction = direction
        self.count = count
        self.seed = seed
        self.basic_copies = basic_copies

    def sets(self) -> Sets:
        random = Random(f"lookup {self.seed}")
        reserved = reserved_compositions()
        basic = [Chain(value, name) for name in COMPOSED + ALONE for value in range(len(VALUES))]
        drawn = list(self._trained_lengths(random, set(reserved)))
        again = [chain for chain in basic if chain.functions in ALONE] * REPEATS
        parts = {
            "basic": basic,
            "trained_lengths": drawn[:HELD_OUT],
            "function_j": _with_function(random, "j"),
            "function_k": _with_function(random, "k"),
            "reserved": [Chain(random.randrange(len(VALUES)), functions) for functions in reserved],
            "longer": _longer(random, LONGER_TEST),
        }
        test = [chain for part in parts.values() for chain in part]
        rows: dict[str, Sequence[int]] = {}
        for name, part in parts.items():
            start = sum(map(len, rows.values()))
            rows[name] = range(start, start + len(part))
        for length in (*range(1, MAX_TRAINED + 1), *LONGER_TEST):
            rows[f"functions_{length:02}"] = [k for k, chain in enumerate(test) if len(chain.functions) == length]
        train = self._data([*basic * self.basic_copies, *drawn[HELD_OUT:], *again])
        return Sets(
            train,
            self._data(_longer(random, LONGER_VALIDATION)),
            {"test": self._data(test)},
            VOCABULARY,
            VALUES,
            rows,
        )

    def _trained_lengths(self, random: Random, reserved: set[str]) -> Iterator[Chain]:
        there: set[Chain] = set()
        while len(there) < self.count + HELD_OUT:
            functions = "".join(random.choices(COMPOSED, k=random.randint(2, MAX_TRAINED)))
            chain = Chain(random.randrange(len(VALUES)), functions)
            if functions not in reserved and chain not in there:
                there.add(chain)
                yield chain

    def _data(self, chains: Sequence[Chain]) -> TreeDataset:
        trees = [tree(chain, self.direction) for chain in chains]
        return TreeDataset(trees, [VALUES[result(chain)] for chain in chains], reading=Reading(numbers=False))


def tables() -> dict[str, tuple[int, ...]]:
    """The permutation of each function."""
    random = numpy.random.RandomState(TABLE_SEED)
    return {name: tuple(map(int, random.permutation(len(VALUES)))) for name in COMPOSED + ALONE}


TABLES = tables()


def result(chain: Chain) -> int:
    """The number of the value of a chain."""
    value = chain.value
    for name in chain.functions:
        value = TABLES[name][value]
    return value


def tree(chain: Chain, direction: Direction) -> Tree:
    """Phrases of two parts, what is known and the next function, in the order of the sequence."""
    found = Tree("word", token=VALUES[chain.value])
    for name in chain.functions:
        function = Tree("word", token=name)
        found = Tree("phrase", (found, function) if direction == "forward" else (function, found))
    return found


VOCABULARY = Vocabulary.from_trees([tree(Chain(value, COMPOSED + ALONE), "forward") for value in range(len(VALUES))])


def reserved_compositions() -> list[str]:
    """Return a fourth of the compositions of 0 to 5 functions each, at most 200: 608 in all."""
    random = Random("reserved compositions")
    found: dict[str, None] = {}
    for length in range(MAX_TRAINED + 1):
        count = ceil(min(RESERVED, len(COMPOSED) ** length / 4))
        of_length: set[str] = set()
        while len(of_length) < count:
            of_length.add("".join(random.choices(COMPOSED, k=length)))
        found |= dict.fromkeys(sorted(of_length))
    return list(found)


def _with_function(random: Random, name: str) -> list[Chain]:
    """Chains of 2 to 5 functions of which one is this one."""
    there: dict[Chain, None] = {}
    while len(there) < FEW:
        functions = random.choices(COMPOSED, k=random.randint(1, MAX_TRAINED - 1))
        functions.insert(random.randint(0, len(functions)), name)
        there[Chain(random.randrange(len(VALUES)), "".join(functions))] = None
    return list(there)


def _longer(random: Random, lengths: tuple[int, int]) -> list[Chain]:
    there: dict[Chain, None] = {}
    while len(there) < FEW:
        functions = "".join(random.choices(COMPOSED, k=random.randint(*lengths)))
        there[Chain(random.randrange(len(VALUES)), functions)] = None
    return list(there)
