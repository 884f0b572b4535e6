"""``python -m tasks.equations wrong-answers``: whether any of many distractors is right after all.

The questions are left sides of the generator's equations, the right answers their right sides. A distractor is right
if no value of 90 digits at 12 points is another than the key's.
"""

import argparse
from collections.abc import Iterator
from random import Random

import mpmath
from tqdm import tqdm

from benchmarks.verdicts.mpmath_values import agrees
from dgltree import BLANK, Equation, distractors, write_equation, write_infix
from dgltree.equations.expressions.variables import variables
from dgltree.trees.tree import Tree
from tasks.equations.generator.growth import draw_identity
from tasks.equations.words import tree

EACH = 10
"""Wrong answers to a question."""
POINTS = 12


def make_questions(seed: int) -> Iterator[tuple[Equation, Tree, Tree]]:
    """Questions, their keys, and wrong answers."""
    random = Random(f"wrong answers {seed}")
    while True:
        left, right = map(tree, draw_identity(random, "elementary").sides())
        question = Equation(left, BLANK)
        try:
            wrong = distractors(question, right, EACH)
        except ValueError:  # the key is right on a part only
            continue
        yield from ((question, right, one) for one in wrong)


def is_right(key: Tree, answer: Tree, random: Random) -> bool:
    """Whether no point shows a difference."""
    names = variables(key, answer)
    for _ in range(POINTS if names else 1):
        point = {name: mpmath.mpf(random.randint(-40, 40)) / random.randint(1, 12) for name in names}
        if agrees(Equation(key, answer), point, school=True, real=False) is False:
            return False
    return True


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit status is 1 if a wrong answer is right."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations wrong-answers", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="wrong answers (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which equations (default: %(default)s)")
    options = parser.parse_args(arguments)
    random, bad, questions = Random(options.seed), 0, set()
    for _, (question, key, answer) in zip(
        tqdm(range(options.count), unit="answer", disable=None), make_questions(options.seed), strict=False
    ):
        questions.add(question)
        if is_right(key, answer, random):
            bad += 1
            print(f"{write_equation(question)}  key {write_infix(key)}  but {write_infix(answer)}")
    print(f"{options.count:,} wrong answers to {len(questions):,} questions, {bad} of them right")
    return int(bad > 0)
