"""Sums and products of digits modulo 10 as data sets, by depth (Csordás, Irie and Schmidhuber 2022, 2110.07732)."""

from collections.abc import Sequence
from random import Random

from dgltree import Tree, TreeDataset, Vocabulary
from dgltree.datasets import Reading
from tasks.fit_cli import Sets

DIGITS = tuple("0123456789")
OPERATIONS = "+*"
TRAINED, VALIDATED, TESTED = (3, 4, 5, 6), (7,), (8, 9)
"""Depths; a digit has 1, an operation one more than the deeper of its parts."""
MAX_LENGTH = 50
"""Characters of an expression, brackets included."""
PUBLISHED_COUNT, OF_TRAINED_DEPTH, VALIDATION, OF_TESTED_DEPTH = 25_000, 250, 1_000, 500
"""Expressions of each depth to train and to test on, those to validate on, and those of each deeper depth."""
SHALLOW, DEEP = 0.2, 0.3
"""Probabilities of an operation where a digit could be."""
Expression = str | tuple["Expression", str, "Expression"]


class Arithmetic:
    """Expressions of depth up to 6 to train on; those of depth 7 choose the epoch, and 8 and 9 are tested.

    The test also has expressions of depths 2 to 6 (``trained_depths``); each depth is measured by itself.

    Args:
        count: of each depth from 3 to 6 to train on, next to the 200 of one operation.
        seed: of the expressions.

    Raises ``ValueError`` for a count below 1.
    """

    def __init__(self, count: int = PUBLISHED_COUNT, seed: int = 0) -> None:
        if count < 1:
            raise ValueError(f"count is {count}; it must be at least 1")
        self.count = count
        self.seed = seed

    def sets(self) -> Sets:
        random = Random(f"arithmetic {self.seed}")
        single: list[Expression] = [(a, sign, b) for sign in OPERATIONS for a in DIGITS for b in DIGITS]
        train = [*single, *(one for d in TRAINED for one in _distinct(random, d, max(TRAINED), SHALLOW, self.count))]
        validation = _distinct(random, VALIDATED[0], VALIDATED[0], DEEP, VALIDATION)
        groups = {f"depth_{d}": _distinct(random, d, max(TRAINED), SHALLOW, OF_TRAINED_DEPTH) for d in TRAINED}
        groups = {"depth_2": single, **groups}
        groups |= {f"depth_{d}": _distinct(random, d, max(TESTED), DEEP, OF_TESTED_DEPTH) for d in TESTED}
        test = [one for group in groups.values() for one in group]
        parts = {}
        start = 0
        for name, group in groups.items():
            parts[name] = range(start, start + len(group))
            start += len(group)
        parts["trained_depths"] = range(parts[f"depth_{TESTED[0]}"].start)
        parts["deeper"] = range(parts["trained_depths"].stop, start)
        return Sets(_data(train), _data(validation), {"test": _data(test)}, VOCABULARY, DIGITS, parts)


def _data(expressions: Sequence[Expression]) -> TreeDataset:
    labels = [DIGITS[value(one)] for one in expressions]
    return TreeDataset([tree(one) for one in expressions], labels, reading=Reading(numbers=False))


def value(of: Expression) -> int:
    """Modulo 10."""
    if isinstance(of, str):
        return int(of)
    a = value(of[0])
    b = value(of[2])
    return (a + b if of[1] == "+" else a * b) % 10


def depth(of: Expression) -> int:
    return 1 if isinstance(of, str) else 1 + max(depth(of[0]), depth(of[2]))


def text(of: Expression) -> str:
    """Write an expression with a bracket around each operation: ``((4*3)+7)``."""
    return of if isinstance(of, str) else f"({text(of[0])}{of[1]}{text(of[2])})"


def tree(of: Expression) -> Tree:
    """Phrases of three words or phrases, which read without labels are the text."""
    if isinstance(of, str):
        return Tree("word", token=of)
    return Tree("phrase", (tree(of[0]), Tree("word", token=of[1]), tree(of[2])))


VOCABULARY = Vocabulary.from_trees([tree((digit, sign, digit)) for digit in DIGITS for sign in OPERATIONS])


def _distinct(random: Random, wanted: int, limit: int, share: float, count: int) -> list[Expression]:
    """Different expressions of a depth, in the order drawn."""
    found: dict[str, Expression] = {}
    while len(found) < count:
        drawn = _drawn(random, wanted, limit, share)
        if depth(drawn) == wanted and len(text(drawn)) <= MAX_LENGTH:
            found[text(drawn)] = drawn
    return list(found.values())


def _drawn(random: Random, least: int, limit: int, share: float) -> Expression:
    """A tree from level 1, wrapped in operations until it is deep enough."""
    found = _tree(random, 1, limit, share)
    while depth(found) < least:
        found = (_tree(random, 2, limit, share), random.choice(OPERATIONS), found)
    return found


def _tree(random: Random, level: int, limit: int, share: float) -> Expression:
    if level == limit or random.random() > share:
        return random.choice(DIGITS)
    return _tree(random, level + 1, limit, share), random.choice(OPERATIONS), _tree(random, level + 1, limit, share)
