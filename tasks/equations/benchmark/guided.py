"""How many expressions have to be tried until one has the textbook's value: by size, and in a network's order.

``python -m tasks.equations guided --part reported``. The expressions are the first 10,000 values of a search's table
for the equation, each in its shortest form; the network's order is that of its logits for the filled equations.
"""

import argparse
from collections.abc import Sequence
from random import Random

import numpy as np
from tqdm import tqdm

from dgltree import Ranker, Tree, open_model
from dgltree.equations.expressions.names import variables
from dgltree.equations.search.arithmetic import value
from dgltree.equations.search.forms import Forms
from dgltree.equations.search.points import COUNT, points, regions
from dgltree.equations.search.table import ValueTable
from dgltree.equations.search.world import world
from dgltree.models import EquationModel
from tasks.equations.benchmark.problems import PARTS, Problem, read_problems

EXPRESSIONS = 10_000
WITHIN = (100, 1_000, 10_000)
ORDERS = ("size", "network", "chance")


def tries(problem: Problem, model: EquationModel) -> dict[str, int | None]:
    """By order, how many expressions are tried until the right one; None where it is not among them."""
    trees, right = expressions(problem)
    if right is None:
        return dict.fromkeys(ORDERS)
    try:
        [ranking] = Ranker(model, trees).rank([problem.equation])
        network = ranking.index.tolist().index(right) + 1
    except ValueError:  # a function that the network does not know
        network = right + 1
    chance = Random(problem.text).randrange(len(trees)) + 1
    return {"size": right + 1, "network": network, "chance": chance}


def expressions(problem: Problem) -> tuple[list[Tree], int | None]:
    """The expressions from short to long, and the place of that with the answer's value."""
    about, names = world(problem.equation), variables(*problem.equation)
    with np.errstate(all="ignore"):
        for region in regions():
            at = points(region, names, COUNT)
            answer = np.broadcast_to(value(problem.answer, at, {}), (COUNT,))
            if np.isfinite(answer).all():
                break
        table = ValueTable(about.leaves(at), about.operations(every=False), EXPRESSIONS).fill()
        found = table.lookup(answer[None])[1].tolist()
    forms = Forms(table)
    return [forms.shortest(entry) for entry in range(len(table))], found[0] if found else None


def table_of(found: Sequence[dict[str, int | None]]) -> list[str]:
    """Lines with the share of the equations solved within so many expressions."""
    lines = ["order    " + "".join(f"{f'within {limit:,}':>15}" for limit in WITHIN)]
    for order in ORDERS:
        shares = [np.mean([(tried[order] or np.inf) <= limit for tried in found]) for limit in WITHIN]
        lines.append(f"{order:9}" + "".join(f"{100 * share:14.1f}%" for share in shares))
    return lines


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations guided", description=__doc__)
    parser.add_argument("--part", choices=PARTS, default="reported", help="which equations (default: %(default)s)")
    parser.add_argument("--model", default="default", help="a shipped model or a file (default: the shipped model)")
    options = parser.parse_args(arguments)
    model = open_model(options.model)
    problems = read_problems(options.part)
    found = [tries(problem, model) for problem in tqdm(problems, unit="equation", disable=None)]
    print("\n".join([f"part {options.part}: {len(problems)} equations", *table_of(found)]))
