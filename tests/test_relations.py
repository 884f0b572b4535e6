"""What takes several things takes each for itself: alone, in parts and in another order it has the same results."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from helpers import random_tree
from relations import check_ways

import dgltree
from dgltree import Ranker, TreeDataset, Vocabulary, batch
from dgltree.encoders import linearize
from dgltree.induction.evalb import read_forests, score
from dgltree.models import LanguageModel
from dgltree.read.bracket import write_treebank

TREES = [random_tree(depth, 3, depth) for depth in (0, 4, 2, 4, 1)]
KNOWN = Vocabulary.from_trees(TREES[2:])
EQUATIONS = [dgltree.read_equation(text) for text in ("sin(x)^2 + _ = 1", "x*y = y*_", "_ + z = z", "cos(0) = _")]
SENTENCES = [["the", "cat"], ["cat"], ["the", "cat", "the", "cat", "the"], []]
PARSES = ["(S (A (P this)) (B is))", "(S (P a))", "(S (A (P this) (Q is)) (R (T a) (U test)))"]
Ways = tuple[Callable[[list[Any]], Sequence[Any]], Sequence[Any]]


def of_language(ask: str) -> Ways:
    torch.manual_seed(0)
    words = Vocabulary((), ["<eos>", "the", "cat"])
    model = LanguageModel(words, "on_lstm", (6, 4), {"chunk_size": 2}).double().eval()
    return lambda sentences: [*getattr(model, ask)(sentences)], SENTENCES


def of_files(suffix: str, lines: list[str], header: str = "") -> Ways:
    """Each line in a file, or in several."""

    def compute(given: list[str]) -> list[Any]:
        with TemporaryDirectory() as folder:
            path = Path(folder, f"trees.{suffix}")
            path.write_text("".join(f"{line}\n" for line in [*filter(None, [header]), *given]), encoding="utf-8")
            data = TreeDataset.from_file(path, cached=False)
            return [(*data[i], data.ids[i]) for i in range(len(data))]

    return compute, lines


def of_vocabulary() -> Ways:
    def compute(trees: list[Any]) -> list[Any]:
        data = TreeDataset([*trees, TREES[2]]).within(KNOWN)
        bad = {each.line: each.message for each in data.bad}
        read = iter([data[i] for i in range(len(data))])
        return [bad[line] if line in bad else next(read) for line in range(1, len(trees) + 1)]

    return compute, TREES


def of_sequences(trees: list[Any]) -> list[Any]:
    ids, lengths = linearize(batch(trees, Vocabulary.from_trees(TREES)), "bracketed", Vocabulary.from_trees(TREES))
    return [row[:length].tolist() for row, length in zip(ids, lengths.tolist(), strict=True)]


def of_parses(pairs: list[Any]) -> list[Any]:
    gold, test = ([read_forests(text)[0] for text in texts] for texts in zip(*pairs, strict=True))
    return list(score(gold, test).sentences)


def of_ranker() -> Ways:
    ranker = Ranker(dgltree.open_model(), [dgltree.read_infix(text) for text in ("1", "x", "cos(x)^2", "0", "-x")])
    return lambda equations: [[*map(str, found.fillers)] for found in ranker.rank(equations)], EQUATIONS


CALLS: dict[str, Callable[[], Ways]] = {
    "probabilities of sentences": lambda: of_language("log_probabilities"),
    "distances of words": lambda: of_language("distances"),
    "a table": lambda: of_files("tsv", ["x+y\ta\t1", "x*y\tb\t2", "sin(x)\ta\t3", "x\tb\t4"], "tree\tlabel\tid"),
    "trees in brackets": lambda: of_files("mrg", [write_treebank(tree) for tree in TREES[1:]]),
    "documents": lambda: of_files("jsonl", [f'{{"tree": "x{"+x" * i}", "label": "{i % 2}"}}' for i in range(5)]),
    "trees in a vocabulary": of_vocabulary,
    "sequences": lambda: (of_sequences, TREES),
    "scores of parses": lambda: (of_parses, [*zip(PARSES, PARSES, strict=True)]),
    "a ranker": of_ranker,
}


@pytest.mark.parametrize("name", CALLS)
def test_each_of_several_has_the_result_that_it_has_alone(name: str) -> None:
    compute, things = CALLS[name]()
    check_ways(compute, things, name, 1e-9)
