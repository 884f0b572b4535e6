"""Number equations: values of functions such as sin(0.7) = 0.644218, and decimal expansions such as
0.72 = 0*10^0 + 7*10^-1 + 2*10^-2 (the two kinds of Arabshahi et al. 2019, arXiv 1911.01545).

``python -m tasks.equations number-sets --out DIR --seed S`` writes ``train.parquet`` (every tenth equation for
validation) and ``test.parquet``. Together they hold all equations there are: sin, cos, tan, csc, sec and cot of the
numbers of two decimals from -3.14 to 3.14 without 0, where the value is from -10 to 10, rounded to six decimals; and
the expansions of the numbers of two decimals from 0.01 to 3.14. An equation is for training or for tests by its digest
alone; the seed changes the order, the sides, and which equations are for validation.
"""

import argparse
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from dgltree import Equation, Tree
from tasks.equations import store
from tasks.equations.canonical import digest
from tasks.equations.fillers import literal
from tasks.equations.generator.presets import Part, is_validation, part_of
from tasks.equations.store import EquationRow, row_of
from tasks.equations.verification.numbers import number

FUNCTIONS = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "csc": lambda x: 1 / math.sin(x),
    "sec": lambda x: 1 / math.cos(x),
    "cot": lambda x: 1 / math.tan(x),
}
HUNDREDTHS = range(1, 315)
LARGEST = 10  # near a pole values have no bound, and the squared error would be theirs alone
DECIMALS = 6  # well within the tolerance of 1e-3


def evaluations() -> Iterator[Equation]:
    """The values of the functions."""
    for name, function in FUNCTIONS.items():
        for hundredths in HUNDREDTHS:
            for x in (hundredths / 100, -hundredths / 100):
                value = round(function(x), DECIMALS)
                if abs(value) <= LARGEST:
                    yield Equation(Tree(name, (number(x),)), number(value))


def expansions() -> Iterator[Equation]:
    """The numbers as sums of digits times powers of ten, highest first."""
    for hundredths in HUNDREDTHS:
        terms = [
            Tree("Mul", (literal(digit), Tree("Pow", (literal("10"), literal(power)))))
            for digit, power in zip(f"{hundredths:03}", ("0", "-1", "-2"), strict=True)
        ]
        first, second, third = terms
        yield Equation(number(hundredths / 100), Tree("Add", (Tree("Add", (first, second)), third)))


def rows(seed: int) -> dict[Part, list[EquationRow]]:
    """All number equations, each with label 1, for training and for tests."""
    random = Random(f"numbers {seed}")
    equations = [*evaluations(), *expansions()]
    random.shuffle(equations)
    parts: dict[Part, list[EquationRow]] = {"train": [], "test": []}
    for equation in equations:
        key = digest(equation)
        part = part_of(key, depth=1)  # a quarter for tests, as of the other equations of which there are few
        split = "validation" if part == "train" and is_validation(len(parts[part]), depth=1) else part
        sides = equation if random.random() < 0.5 else Equation(*equation[::-1])
        parts[part].append(row_of(sides, 1, split, key))
    return parts


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations number-sets", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--seed", type=int, default=0, help="random seed; another one gives another order (default 0)")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    for part, made in rows(options.seed).items():
        store.write(options.out / f"{part}.parquet", store.number_table(made))
        print(f"{part}: {dict(Counter(row.split for row in made))} -> {options.out / part}.parquet")
