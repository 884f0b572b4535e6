"""An order of merges gives the trees that joining neighbours gives, as trees and as one batch; others are refused."""

from itertools import permutations, product
from random import Random

import pytest
import torch
from torch import Tensor

from dgltree import Tree, Vocabulary, batch, unbatch
from dgltree.induction.merges import build_nodes, merged_batch, merged_trees

WORDS = [["a"], ["b", "a"], ["a", "a", "b", "c", "a"], ["c", "b", "a"], ["a", "b", "c", "a", "b", "c", "b"]]
LENGTHS = torch.tensor([len(words) for words in WORDS])
VOCABULARY = Vocabulary([("phrase", 2), ("word", 0)], ["a", "b", "c"])


def orders(seed: int) -> Tensor:
    random, rows = Random(seed), []
    for words in WORDS:
        gaps = list(range(len(words) - 1))
        random.shuffle(gaps)
        rows.append(gaps + [-1] * (6 - len(gaps)))
    return torch.tensor(rows)


def slow(words: list[str], order: list[int]) -> Tree:
    parts = [(Tree("word", token=word), t) for t, word in enumerate(words)]  # with each its last word
    for gap in order[: len(words) - 1]:
        i = [end for _, end in parts].index(gap)
        (left, _), (right, end) = parts[i : i + 2]
        parts[i : i + 2] = [(Tree("phrase", (left, right)), end)]
    [(tree, _)] = parts
    return tree


@pytest.mark.parametrize("seed", range(5))
def test_merges_make_the_trees_that_joining_neighbours_makes(seed: int) -> None:
    order = orders(seed)
    expected = [slow(words, row) for words, row in zip(WORDS, order.tolist(), strict=True)]
    assert merged_trees(WORDS, order) == expected
    token = torch.zeros(5, 7, dtype=torch.int64)
    for row, words in enumerate(WORDS):
        token[row, : len(words)] = torch.tensor([VOCABULARY.token_id(word) for word in words])
    found, right = merged_batch(token, order, LENGTHS, VOCABULARY), batch(expected, VOCABULARY)
    assert unbatch(found) == expected
    for name in ("function", "token", "child_ptr", "child_index", "level", "roots", "sizes", "label"):
        assert torch.equal(getattr(found, name), getattr(right, name)), name


def test_a_sentence_of_one_word_has_no_merge() -> None:
    none = torch.zeros(1, 0, dtype=torch.int64)
    assert merged_trees([["a"]], none) == [Tree("word", token="a")]
    flat = merged_batch(torch.tensor([[0]]), none, torch.tensor([1]), VOCABULARY)
    assert unbatch(flat) == [Tree("word", token="a")]


@pytest.mark.parametrize(
    ("order", "lengths", "error"),
    [
        (
            [[0, 0]],
            [3],
            r"sequence 0 has 3 words, but the merges \[0, 0\]; merges must close each of the gaps 0 to 1 once",
        ),
        (
            [[0, 1], [0, 1]],
            [3, 2],
            r"sequence 1 has 2 words, but the merges \[0, 1\]; merges must close each of the gaps 0 to 0",
        ),
        ([[0, 2]], [3], r"the merges \[0, 2\]"),
        ([[0, -1]], [3], r"the merges \[0, -1\]"),
        ([[1, 0]], [0], "sequence 0 has 0 words"),
        ([[1, 0], [0, 1]], [3, 4], "sequence 1 has 4 words"),
        (
            [0, 1],
            [3],
            r"merges are \(2,\) torch.int64 and lengths are \(1,\) torch.int64; the shapes must be \(B, T - 1\) and",
        ),
        ([[0, 1]], [2.5], r"lengths are \(1,\) torch.float32; the shapes must be .*, int64"),
        ([[False]], [2], "torch.bool and lengths"),
        ([[0, 2]], [2], r"sequence 0 has 2 words, but the merges \[0, 2\]"),
        ([[2, 0]], [2], r"the merges \[2, 0\]"),
        ([[2, -1]], [2], r"the merges \[2, -1\]"),
        ([[2, -1]], [1], r"the merges \[2, -1\]"),
        ([[-1, 0]], [2], r"the merges \[-1, 0\]"),
    ],
)
def test_what_is_no_order_of_the_gaps_is_refused(order: list, lengths: list[int], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        build_nodes(torch.tensor(order), torch.tensor(lengths))


def test_an_empty_batch_is_refused_for_what_it_is() -> None:
    none = torch.zeros(0, 3, dtype=torch.int64)
    for make in (lambda: build_nodes(none, torch.zeros(0, dtype=torch.int64)), lambda: merged_trees([], none)):
        with pytest.raises(ValueError, match="a batch without sentences has no trees: give at least one"):
            make()


def test_every_row_that_is_not_an_order_is_refused() -> None:
    """All rows of three numbers, among them those that the check itself fills rows with."""
    for length in (1, 2, 3, 4):
        taken = [row for row in product(range(-2, 5), repeat=3) if _is_taken(row, length)]
        assert taken == [(*gaps, *[-1] * (4 - length)) for gaps in permutations(range(length - 1))]


def _is_taken(row: tuple[int, ...], length: int) -> bool:
    try:
        build_nodes(torch.tensor([row]), torch.tensor([length]))
    except ValueError:
        return False
    return True


def test_a_vocabulary_without_phrases_is_refused() -> None:
    with pytest.raises(ValueError, match="phrase"):
        merged_batch(torch.tensor([[0]]), torch.zeros(1, 0).long(), torch.tensor([1]), Vocabulary([("word", 0)], ["a"]))
