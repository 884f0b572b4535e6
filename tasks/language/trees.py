"""Trees that a language model finds, layer by layer, beside the given ones and those that look at nothing.

``python -m tasks.language parse --model FILE --trees PATH`` and ``python -m tasks.language baselines --trees PATH``.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from dgltree import Tree
from dgltree.induction.binary_trees import tree_from_distances
from dgltree.induction.sentences import Parsing, score_sentences
from dgltree.models import LanguageModel, load_language_model
from dgltree.read.words import read_word_trees, words_of
from tasks.baselines import made
from tasks.tables import table

TAGS = ("ADJP", "NP", "PP", "INTJ")
"""Of the paper's table 2."""
DRAWS = 5
"""Random trees of each sentence: their figures are means over them."""


def parsed(model: LanguageModel, given: Sequence[Tree]) -> list[list[Tree]]:
    """Of each layer, from below, the trees that it finds over the words of the given ones.

    Raises ``ValueError`` for a model whose layers find no trees.
    """
    sentences = [words_of(tree) for tree in given]
    distances = model.distances(sentences)
    layers = range(distances[0].shape[1])
    pairs = list(zip(sentences, distances, strict=True))
    return [[tree_from_distances(words, d[:, layer]) for words, d in pairs] for layer in layers]


def read_given(path: Path, longest: int | None) -> list[Tree]:
    """Word trees of a file or folder, of up to ``longest`` words; says how many trees have no word.

    Raises ``ValueError`` where none is as short, and as :func:`dgltree.read.words.read_word_trees` does.
    """
    trees, empty = read_word_trees(path)
    if empty:
        print(f"{path}: {empty} trees without a word are left out")
    kept = [tree for tree in trees if longest is None or len(words_of(tree)) <= longest]
    if not kept:
        raise ValueError(f"{path}: none of {len(trees)} sentences has {longest} words or fewer")
    return kept


def report(found: dict[str, Parsing]) -> list[str]:
    """A Markdown table, a row for each kind of tree."""
    header = ["trees", "F1", "EVALB", "depth", *TAGS]
    rows = []
    for name, of in found.items():
        tags = [f"{of.recall[tag]:.1f}" if tag in of.recall else "" for tag in TAGS]
        rows.append([name, f"{of.f1:.1f}", f"{of.evalb_f1:.1f}", f"{of.depth:.1f}", *tags])
    return table(header, rows)


def main(command: str, arguments: list[str]) -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog=f"python -m tasks.language {command}", description=__doc__)
    parser.add_argument("--trees", type=Path, required=True, help="a bracketed file, or a folder of *.mrg files")
    parser.add_argument(
        "--longest", type=int, metavar="N", help="sentences of up to N words, such as 10 (default: all)"
    )
    if command == "parse":
        parser.add_argument("--model", type=Path, required=True, help="model.safetensors of a training")
    else:
        parser.add_argument("--seed", type=int, default=0, help="random seed of the random trees (default 0)")
    options = parser.parse_args(arguments)
    given = read_given(options.trees, options.longest)
    if command == "parse":
        layers = parsed(load_language_model(options.model), given)
        found = {f"layer {number}": trees for number, trees in enumerate(layers, 1)}
    else:
        found = made(map(words_of, given), options.seed)
        found["random"] = made(map(words_of, given * DRAWS), options.seed)["random"]
    scores = {name: score_sentences(given * (len(trees) // len(given)), trees) for name, trees in found.items()}
    print(f"{len(given):,} sentences")
    print("\n".join(report(scores)))
