"""Score the trees that a language model induces, layer by layer, and trees that ignore the words.

``python -m tasks.language parse --model FILE [FILE ...] --trees PATH`` and ``python -m tasks.language baselines --trees
PATH``. For several models, such as seeds, metrics are mean ± sample standard deviation.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from dgltree import Tree
from dgltree.induction.binary_trees import tree_from_distances
from dgltree.induction.sentences import Parsing, score_sentences
from dgltree.models import LanguageModel, load_language_model
from dgltree.read.words import read_word_trees, words_of
from tasks.baselines import make_trees
from tasks.tables import Spread, table

TAGS = ("ADJP", "NP", "PP", "INTJ")
"""Labels of the paper's table 2."""
DRAWS = 5
"""Random trees of each sentence, whose metrics are averaged."""


def parse_layers(model: LanguageModel, given: Sequence[Tree]) -> list[list[Tree]]:
    """Return for each layer, from below, the trees that it finds over the words of the given ones.

    Raises ``ValueError`` for a model whose layers find no trees.
    """
    sentences = [words_of(tree) for tree in given]
    distances = model.distances(sentences)
    layers = range(distances[0].shape[1])
    pairs = list(zip(sentences, distances, strict=True))
    return [[tree_from_distances(words, d[:, layer]) for words, d in pairs] for layer in layers]


def read_given(path: Path, longest: int | None) -> list[Tree]:
    """Word trees of a file or folder, of up to ``longest`` words; says how many trees have no word.

    Raises ``ValueError`` if none is as short, and as :func:`dgltree.read.words.read_word_trees` does.
    """
    trees, empty = read_word_trees(path)
    if empty:
        print(f"{path}: {empty} trees without a word are left out")
    kept = [tree for tree in trees if longest is None or len(words_of(tree)) <= longest]
    if not kept:
        raise ValueError(f"{path}: none of {len(trees)} sentences has {longest} words or fewer")
    return kept


def report(found: dict[str, list[Parsing]]) -> list[str]:
    """A Markdown table, a row for each kind of tree, with the spread over its parsings."""
    header = ["trees", "F1", "EVALB", "depth", *TAGS]
    rows = []
    for name, parsings in found.items():
        columns = [[of.f1 for of in parsings], [of.evalb_f1 for of in parsings], [of.depth for of in parsings]]
        columns += [[of.recall[tag] for of in parsings if tag in of.recall] for tag in TAGS]
        rows.append([name, *(Spread.over(values).text() if values else "" for values in columns)])
    return table(header, rows)


def found_trees(files: Sequence[Path], given: Sequence[Tree]) -> dict[str, list[Parsing]]:
    """Return for each layer the scores of each model's trees."""
    found: dict[str, list[Parsing]] = defaultdict(list)
    for file in files:
        for number, trees in enumerate(parse_layers(load_language_model(file), given), 1):
            found[f"layer {number}"].append(score_sentences(given, trees))
    return found


def baselines(given: Sequence[Tree], seed: int) -> dict[str, list[Parsing]]:
    """Trees that ignore the words scored; the random ones as ``DRAWS`` copies of the sentences."""
    found = {name: [score_sentences(given, trees)] for name, trees in make_trees(map(words_of, given), seed).items()}
    copies = [*given] * DRAWS
    found["random"] = [score_sentences(copies, make_trees(map(words_of, copies), seed)["random"])]
    return found


def main(command: str, arguments: list[str]) -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog=f"python -m tasks.language {command}", description=__doc__)
    parser.add_argument("--trees", type=Path, required=True, help="a bracketed file, or a folder of *.mrg files")
    parser.add_argument(
        "--longest", type=int, metavar="N", help="use only sentences of up to N words, such as 10 (default: all)"
    )
    if command == "parse":
        parser.add_argument("--model", nargs="+", type=Path, required=True, help="model.safetensors of trainings")
    else:
        parser.add_argument("--seed", type=int, default=0, help="random seed of the random trees (default 0)")
    options = parser.parse_args(arguments)
    given = read_given(options.trees, options.longest)
    scored = found_trees(options.model, given) if command == "parse" else baselines(given, options.seed)
    print(f"{len(given):,} sentences")
    print("\n".join(report(scored)))
