"""Print the rank of a right candidate for each of twenty textbook identities, which no model was trained on.

``python -m tasks.equations textbook [--model NAME_OR_FILE]``. A candidate is right if it makes the equation true at
random complex points. The candidates are the shipped list.
"""

import argparse

from dgltree import Equation, Ranking, open_model, rank, shipped_fillers, write_equation, write_infix
from dgltree.equations.truth.evaluator import Evaluator, Truth
from tasks.equations.generator.identities import TEXTBOOK, read_lines


def right_rank(equation: Equation, ranking: Ranking) -> int | None:
    """The place, from 1, of the first filler that makes the equation true; None if none does."""
    evaluator = Evaluator()
    for place, filler in enumerate(ranking.fillers, start=1):
        if evaluator.truth(equation.fill(filler)) is Truth.TRUE:
            return place
    return None


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations textbook", description=__doc__)
    parser.add_argument("--model", default="default", help="a shipped model or a file (default: the shipped model)")
    equations = read_lines(TEXTBOOK)
    rankings = rank(open_model(parser.parse_args(arguments).model), equations, shipped_fillers(), any_variables=False)
    places = []
    print(f"{'equation':40} {'rank':>5}  {'first right filler':20} model's first")
    for equation, ranking in zip(equations, rankings, strict=True):
        place = right_rank(equation, ranking)
        right = "none" if place is None else write_infix(ranking.fillers[place - 1])
        places.append(place or float("inf"))
        print(f"{write_equation(equation):40} {place or '-':>5}  {right:20} {write_infix(ranking.fillers[0])}")
    first, five = (sum(place <= limit for place in places) for limit in (1, 5))
    mrr = sum(1 / place for place in places) / len(places)
    print(f"top-1 {first} of {len(places)}, top-5 {five} of {len(places)}, mean reciprocal rank {mrr:.3f}")
