"""Draw new expressions by the published process.

A place is a list with probability 1/4, while it is less than 20 deep, and a digit otherwise; a list has two to five
places and one of the four operators; all choices are uniform. Expressions are collected until there are enough, each
of them once.

``python -m tasks.listops.generate --out FILE --count N --seed S`` writes such expressions in the form of the published
test set.
"""

import argparse
from functools import cache
from pathlib import Path
from random import Random

from dgltree.read.listops import DIGITS, END, OPERATORS
from tasks.listops.files import Expression, write_expressions

PUBLISHED_COUNT = 100_000
"""The number of published expressions."""
LISTS = 0.25  # share of lists among the places that may be one
MAX_DEPTH = 20
MIN_PLACES, MAX_PLACES = 2, 5  # places of a list
BARREN = 200  # draws for each expression found, after which there are taken to be no more
_NAMES = tuple(OPERATORS)


@cache
def expressions(count: int, seed: int, longest: int | None = None) -> tuple[Expression, ...]:
    """Different expressions of up to ``longest`` words, in an order that depends on the seed alone.

    The first of a larger count are those of a smaller one. Raises ``ValueError`` for a count or a length below 1, and
    for more than there are: 10 of one word, 410 of up to four.
    """
    if count < 1 or (longest is not None and longest < 1):
        raise ValueError(f"count is {count} and longest is {longest}; both must be 1 or more")
    random = Random(f"listops {seed}")
    found: dict[Expression, None] = {}  # a set that keeps its order
    drawn = 0
    while len(found) < count:
        words, value = _place(1, random)
        drawn += 1
        if longest is None or len(words) <= longest:
            found[Expression(" ".join(words), value)] = None
        if drawn > BARREN * (len(found) + 1000):
            raise ValueError(f"found {len(found):,} expressions of up to {longest} words; {count:,} are too many")
    return tuple(found)


def _place(depth: int, random: Random) -> tuple[list[str], int]:
    """The words of what occurs at a place, and what it is worth."""
    if depth >= MAX_DEPTH or random.random() >= LISTS:
        digit = random.choice(DIGITS)
        return [digit], int(digit)
    operator = random.choice(_NAMES)
    places = [_place(depth + 1, random) for _ in range(random.randint(MIN_PLACES, MAX_PLACES))]
    words = [operator, *(word for words, _ in places for word in words), END]
    return words, OPERATORS[operator]([value for _, value in places])


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.listops.generate", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    parser.add_argument(
        "--count", type=int, default=PUBLISHED_COUNT, help=f"number of expressions (default {PUBLISHED_COUNT})"
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed of the expressions (default 0)")
    options = parser.parse_args()
    made = expressions(options.count, options.seed)
    write_expressions(options.out, made)
    mean = sum(expression.length for expression in made) / len(made)
    short = sum(expression.length < 20 for expression in made) / len(made)
    print(f"{len(made):,} expressions of {mean:.1f} words on average, {short:.1%} under 20 -> {options.out}")


if __name__ == "__main__":
    main()
