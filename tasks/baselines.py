"""``python -m tasks.baselines logic|listops|sentiment [--data PATH]``: F1 of trees that ignore the words.

Scores balanced, left-branching, right-branching and random trees on the task's test data, for comparison with induced
trees.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

from dgltree import Tree
from dgltree.encoders.bracket_scores import PARAMETERS
from dgltree.induction.binary_trees import balanced, left_branching, random_tree, right_branching
from dgltree.induction.evalb import score
from dgltree.read.bracket import read_unlabelled
from dgltree.read.words import words_of
from tasks.listops.data import ListOps
from tasks.listops.language import tree
from tasks.logic.data import LogicPairs
from tasks.sentiment.data import SentimentTreebank

Make = Callable[[list[str]], Tree]


def make_trees(sentences: Iterable[list[str]], seed: int) -> dict[str, list[Tree]]:
    """The trees over the words of each sentence, by the name of the baseline."""
    random = Random(seed)
    makers: dict[str, Make] = {
        "balanced": balanced,
        "left-branching": left_branching,
        "right-branching": right_branching,
        "random": lambda words: random_tree(words, random),
    }
    every = list(sentences)
    return {name: [make(words) for words in every] for name, make in makers.items()}


def f1(given: list[Tree], seed: int = 0) -> dict[str, float]:
    """Unlabelled F1 of all brackets together, in percent, by the name of the baseline."""
    found = make_trees(map(words_of, given), seed)
    return {name: score(given, trees, PARAMETERS).f1 for name, trees in found.items()}


def load_trees(task: str, data: Path | None) -> Iterator[Tree]:
    """Yield the trees of the test data: a folder of logic or sentiment, or a file of ListOps; by default own ones."""
    if task == "logic":
        for pair in LogicPairs(data).test:
            yield from map(read_unlabelled, pair[1:3])
    elif task == "sentiment":
        yield from SentimentTreebank(data).test
    else:
        yield from (tree(expression.text.split()) for expression in ListOps(data).test)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.baselines", description=__doc__)
    parser.add_argument("task", choices=["logic", "listops", "sentiment"])
    parser.add_argument(
        "--data",
        type=Path,
        help="the folder of logic or sentiment, or the test file of ListOps (default: own data; DGLTREE_DATA/sst)",
    )
    options = parser.parse_args(arguments)
    try:
        for name, score in f1(list(load_trees(options.task, options.data))).items():
            print(f"{name:16} {score:5.1f}")
    except (ValueError, FileNotFoundError) as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
