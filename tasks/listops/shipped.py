"""``python -m tasks.listops.shipped [--data FILE]``: test the shipped Efficient Beam Tree.

Prints the accuracy, by the number of words, and the F1 of the induced brackets. The expressions come from a file in the
published form, or are drawn by the published process.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

from dgltree import batch
from dgltree.encoders import SequenceEncoder
from dgltree.induction.evalb import Parameters, score
from dgltree.models import TreeModel, evaluating
from dgltree.ranking.pretrained import listops_model
from dgltree.trees.tree import Tree
from tasks.listops import generate
from tasks.listops.files import Expression, read_expressions
from tasks.listops.language import tree

WORDS = 12_800
"""Words of a batch, padded."""
UPPER = (20, 40, 60, 80, 100, 200, 1000)
"""Words up to which accuracies are printed."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.listops.shipped", description=__doc__)
    parser.add_argument("--data", type=Path, metavar="FILE", help="expressions in the published form")
    parser.add_argument(
        "--count", type=int, default=500, help="without a file: draw this many new expressions (default: 500)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        help="random seed of the new expressions (default: 1; the model was trained on seed 0)",
    )
    options = parser.parse_args(arguments)
    try:
        expressions = (
            read_expressions(options.data) if options.data else generate.expressions(options.count, options.seed)
        )
    except (ValueError, FileNotFoundError) as error:
        raise SystemExit(str(error)) from None
    say(expressions)


def say(expressions: Sequence[Expression]) -> None:
    """Print a line for all, and one for each range of words."""
    model = listops_model()
    right, found, given = answer_all(model, expressions)
    f1 = score(given, found, Parameters(labelled=False)).f1
    print(f"{len(right):,} expressions: {100 * sum(right) / len(right):.1f} % right, F1 of the brackets {f1:.1f}")
    below = 0
    for upper in UPPER:
        part = [ok for ok, one in zip(right, expressions, strict=True) if below < one.length <= upper]
        if part:
            print(f"{below + 1:,} to {upper:,} words: {100 * sum(part) / len(part):.1f} % of {len(part):,}")
        below = upper


def answer_all(model: TreeModel, expressions: Sequence[Expression]) -> tuple[list[bool], list[Tree], list[Tree]]:
    """Return for each expression whether the answer is right, the tree that was found, and its own."""
    encoder = model.encoder
    assert isinstance(encoder, SequenceEncoder)
    given = [tree(one.text.split()) for one in expressions]
    right = [False] * len(given)
    found = list(given)
    with evaluating(model), torch.no_grad():
        for numbers in _batches(expressions):
            flat = batch([given[i] for i in numbers], encoder.vocabulary)
            encoded = encoder.encoded(flat)
            assert encoded.parse is not None
            answers = model.read_out(encoded.root).argmax(1).tolist()
            trees = encoded.parse.trees(encoder.words(flat))
            for i, answer, one in zip(numbers, answers, trees, strict=True):
                right[i] = model.classes[answer] == str(expressions[i].value)
                found[i] = one
    return right, found, given


def _batches(expressions: Sequence[Expression]) -> list[list[int]]:
    """Numbers of expressions of similar lengths."""
    batches: list[list[int]] = [[]]
    for i in sorted(range(len(expressions)), key=lambda i: expressions[i].length):
        if batches[-1] and (len(batches[-1]) + 1) * expressions[i].length > WORDS:
            batches.append([])
        batches[-1].append(i)
    return batches


if __name__ == "__main__":
    main()
