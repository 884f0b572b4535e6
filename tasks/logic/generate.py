"""Draw new pairs of formulas of the same kind as the published pairs.

``python -m tasks.logic.generate --out DIR --seed S --scale X`` writes train0 to train12 and test0 to test12 in the
form of the published files, with X times as many pairs each. As there, a pair has at most four different variables, no
formula is a tautology or a contradiction, the longer one has k operators and the other mostly none or one, and no pair
comes twice, in one part or in both.
"""

import argparse
from functools import cache
from pathlib import Path
from random import Random

from tasks.logic.files import MAX_FILE_NUMBER, PARTS, Pair, Part, write_pairs
from tasks.logic.language import TABLES, VARIABLES

PUBLISHED: dict[Part, tuple[int, ...]] = {
    "train": (30, 2319, 12451, 23252, 30373, 34152, 32952, 26671, 18962, 12634, 8181, 4894, 4831),
    "test": (6, 410, 2198, 4104, 5361, 6027, 5816, 4707, 3347, 2230, 1444, 864, 853),
}
"""Pairs of each published file."""
SCALE = 0.25
"""Scale of the generated data that a model learns from by default: 33,883 pairs of up to 6 operators."""
MOST_VARIABLES = 4
NEGATION = 0.45  # share of the operators that are `not`
SHORT_SHARE = (0.45, 0.75)  # share of pairs whose shorter formula has no operator; that has none or one


def pairs(seed: int, scale: float = SCALE) -> dict[tuple[Part, int], tuple[Pair, ...]]:
    """The pairs of each file, (part, k): the same for a seed and a scale. Raises ``ValueError`` for another scale."""
    if not 0 < scale <= 1:
        raise ValueError(f"scale is {scale}; it must be above 0 and at most 1, the size of the published files")
    return dict(_pairs(seed, scale))


@cache
def _pairs(seed: int, scale: float) -> dict[tuple[Part, int], tuple[Pair, ...]]:
    made: dict[tuple[Part, int], tuple[Pair, ...]] = {}
    for k in range(MAX_FILE_NUMBER + 1):
        random = Random(f"logic {seed} {k}")
        counts = {part: max(1, round(scale * PUBLISHED[part][k])) for part in PARTS}
        drawn: dict[Pair, None] = {}  # a set that keeps its order
        while len(drawn) < sum(counts.values()):
            pair = _pair(k, random)
            if pair is not None:
                drawn[pair] = None
        all_of_k = list(drawn)
        made["train", k] = tuple(all_of_k[: counts["train"]])
        made["test", k] = tuple(all_of_k[counts["train"] :])
    return made


def _pair(k: int, random: Random) -> Pair | None:
    """A pair whose longer formula has k operators, or None if one of them is always or never true."""
    names = random.sample(VARIABLES, MOST_VARIABLES)
    sides = [formula(n, names, random) for n in (k, _shorter(k, random))]
    if any(table in (0, TABLES.always) for _, table in sides):
        return None
    random.shuffle(sides)
    (left, left_table), (right, right_table) = sides
    return Pair(TABLES.relation(left_table, right_table), left, right, k)


def _shorter(k: int, random: Random) -> int:
    share = random.random()
    if share < SHORT_SHARE[0]:
        return 0
    return min(1, k) if share < SHORT_SHARE[1] else random.randint(min(2, k), k)


def formula(operators: int, names: list[str], random: Random) -> tuple[str, int]:
    """A formula with so many operators over these variables, and its truth table."""
    if not operators:
        name = random.choice(names)
        return name, TABLES.of_variables[name]
    if random.random() < NEGATION:
        text, table = formula(operators - 1, names, random)
        return f"( not {text} )", TABLES.always ^ table
    of_left = random.randrange(operators)
    left, left_table = formula(of_left, names, random)
    right, right_table = formula(operators - 1 - of_left, names, random)
    if random.random() < 0.5:
        return f"( {left} ( and {right} ) )", left_table & right_table
    return f"( {left} ( or {right} ) )", left_table | right_table


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.logic.generate", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the pairs (default 0)")
    parser.add_argument(
        "--scale",
        type=float,
        default=SCALE,
        help=f"number of pairs, as a multiple of the published number (default {SCALE})",
    )
    options = parser.parse_args()
    made = pairs(options.seed, options.scale)
    options.out.mkdir(parents=True, exist_ok=True)
    for (part, number), of_file in made.items():
        write_pairs(options.out, part, number, of_file)
    print(f"{sum(map(len, made.values())):,} pairs in {len(made)} files -> {options.out}")


if __name__ == "__main__":
    main()
