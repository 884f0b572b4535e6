"""How many of the published equations, all labelled correct, are true at random complex points.

``python -m tasks.equations published-truth --blanks DIR``. An identity that holds on part of the domain only is false.
"""

import argparse
from collections import Counter
from pathlib import Path

from tqdm import tqdm

from dgltree.equations.truth.evaluator import Evaluator
from tasks.equations.blanks import read_folder


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations published-truth", description=__doc__)
    parser.add_argument("--blanks", type=Path, required=True, help="folder of the blanked equations")
    parser.add_argument("--limit", type=int, help="only the first N equations")
    options = parser.parse_args(arguments)
    examples = [blank.example for blank in read_folder(options.blanks)[: options.limit]]
    evaluator = Evaluator()
    filled = (
        example.equation.fill(example.filler) for example in tqdm(examples, unit="equation", delay=2, disable=None)
    )
    counts = Counter(evaluator.truth(equation).name.lower() for equation in filled)
    print(", ".join(f"{count} {truth}" for truth, count in counts.most_common()))
