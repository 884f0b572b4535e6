"""Trees from attention and distances against slow, literal forms of the papers' algorithms; the baselines."""

import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
import torch

from dgltree import Tree
from dgltree.induction.binary_trees import (
    balanced,
    left_branching,
    random_tree,
    right_branching,
    tree_from_attention,
    tree_from_distances,
    without_tokens,
)
from dgltree.read.bracket import read_unlabelled, write_unlabelled


def by_definition(tokens: list[str], d: list[int]) -> str:
    """Algorithm 2, a step a line; ``d`` counts slots from 1."""
    stack = [tokens[0]]
    head = d[0] - 1
    for token, slot in zip(tokens[1:], d[1:], strict=True):
        for _ in range(max(0, slot - head)):
            if len(stack) > 1:
                last, before = stack.pop(), stack.pop()
                stack.append(f"( {before} {last} )")
        stack.append(token)
        head = slot - 1
    while len(stack) > 1:
        last, before = stack.pop(), stack.pop()
        stack.append(f"( {before} {last} )")
    return stack[0]


def split_by_definition(tokens: list[str], d: list[float]) -> str:
    if len(tokens) == 1:
        return tokens[0]
    i = d.index(max(d))
    rest = tokens[i]
    if i + 1 < len(tokens):
        rest = f"( {rest} {split_by_definition(tokens[i + 1 :], d[i + 1 :])} )"
    return f"( {split_by_definition(tokens[:i], d[:i])} {rest} )" if i else rest


def test_attention_gives_the_tree_of_algorithm_2() -> None:
    random = Random(0)
    for _ in range(1000):
        T, N = random.randrange(1, 9), random.randrange(1, 6)
        tokens = [f"w{t}" for t in range(T)]
        # few different values, so that many rows have equal ones
        p = torch.tensor([[random.randrange(4) for _ in range(N)] for _ in range(T)], dtype=torch.float32)
        d = [row.index(max(row)) + 1 for row in p.tolist()]
        assert write_unlabelled(tree_from_attention(tokens, p)) == by_definition(tokens, d)


def test_the_first_tokens_attention_has_no_effect() -> None:
    p = torch.eye(5, dtype=torch.float64)[[0, 2, 1, 4]]
    trees = set()
    for first in range(5):
        p[0] = torch.eye(5)[first]
        trees.add(tree_from_attention(list("abcd"), p))
    assert [write_unlabelled(tree) for tree in trees] == ["( ( a ( b c ) ) d )"]


def test_distances_give_the_tree_of_the_largest_split() -> None:
    random = Random(0)
    for _ in range(1000):
        T = random.randrange(1, 10)
        tokens = [f"w{t}" for t in range(T)]
        d = [float(random.randrange(5)) for _ in range(T)]
        assert write_unlabelled(tree_from_distances(tokens, torch.tensor(d))) == split_by_definition(tokens, d)


def test_the_distance_of_the_first_word_counts() -> None:
    assert write_unlabelled(tree_from_distances(list("abcd"), torch.tensor([9.0, 1, 2, 0]))) == "( a ( b ( c d ) ) )"
    assert write_unlabelled(tree_from_distances(list("abcd"), torch.tensor([0.0, 1, 2, 0]))) == "( ( a b ) ( c d ) )"


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (balanced, "( ( a b ) ( c ( d e ) ) )"),
        (left_branching, "( ( ( ( a b ) c ) d ) e )"),
        (right_branching, "( a ( b ( c ( d e ) ) ) )"),
    ],
)
def test_baselines_branch_as_their_names_say(make, expected: str) -> None:
    assert write_unlabelled(make("abcde")) == expected
    assert make(["a"]) == Tree("word", token="a")


def test_a_random_tree_splits_anywhere_with_equal_chance() -> None:
    random = Random(0)
    counts: dict[str, int] = {}
    for _ in range(6000):
        text = write_unlabelled(random_tree("abcd", random))
        counts[text] = counts.get(text, 0) + 1
    expected = {
        "( a ( b ( c d ) ) )": 1000,
        "( a ( ( b c ) d ) )": 1000,
        "( ( a b ) ( c d ) )": 2000,
        "( ( a ( b c ) ) d )": 1000,
        "( ( ( a b ) c ) d )": 1000,
    }
    assert counts.keys() == expected.keys()
    assert all(abs(counts[text] - number) < 150 for text, number in expected.items())
    assert random_tree("abcdefgh", Random(1)) == random_tree("abcdefgh", Random(1))


def test_twenty_thousand_tokens_are_no_difficulty() -> None:
    T = 20_000
    tokens = ["a"] * T
    slot = torch.zeros(T, 3)
    slot[:, 2] = 1
    falling = torch.arange(T, 0, -1).double()
    trees = [
        tree_from_attention(tokens, slot),
        tree_from_distances(tokens, falling),
        tree_from_distances(tokens, -falling),
        balanced(tokens),
        random_tree(tokens, Random(0)),
    ]
    assert [tree.size for tree in trees] == [2 * T - 1] * 5
    assert trees[0] == trees[2] == left_branching(tokens)
    assert trees[1] == right_branching(tokens)
    assert trees[3].depth == 15


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("( ( [ a ) ( b ] ) )", "( a b )"),
        ("( a ( [ ( ] ( b [ ) ) ) )", "( a b )"),
        ("( ( ( a b ) ) )", "( a b )"),
        ("( ( a [ ) ( b ( ] c ) ) )", "( a ( b c ) )"),
        ("a", "a"),
    ],
)
def test_bracket_tokens_go_with_what_they_leave_empty_or_single(text: str, expected: str) -> None:
    assert without_tokens(read_unlabelled(text), "[]") == read_unlabelled(expected)


def test_a_text_of_dropped_tokens_is_one_token_per_character() -> None:
    """Not its parts: "" and "()" are parts of "()"."""
    tokens = ["", "(", "()", ")", None, "a"]
    tree = Tree("phrase", [Tree("word", token=token) for token in tokens])
    assert [leaf.token for leaf in without_tokens(tree, "()").children] == ["", "()", None, "a"]
    assert without_tokens(tree, ["()", ""]).size == 5


def test_a_tree_of_bracket_tokens_alone_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the tree has no token except '\(', '\)', so nothing is left"):
        without_tokens(left_branching(["(", ")", "("]), "()")


@pytest.mark.parametrize(
    ("make", "values", "error"),
    [
        (
            tree_from_attention,
            torch.zeros(3, 4),
            r"attention is \(3, 4\) torch.float32 for 2 tokens; it must be \(T, N\)",
        ),
        (tree_from_attention, torch.zeros(2, 0), r"attention is \(2, 0\)"),
        (tree_from_attention, torch.zeros(2, 4, dtype=torch.int64), r"attention is \(2, 4\) torch.int64"),
        (tree_from_attention, torch.tensor([[0.0], [float("nan")]]), r"attention at token 1 \('b'\) is not finite"),
        (
            tree_from_distances,
            torch.zeros(2, 1),
            r"distances is \(2, 1\) torch.float32 for 2 tokens; it must be \(T,\)",
        ),
        (tree_from_distances, torch.tensor([float("inf"), 0]), r"distances at token 0 \('a'\) is not finite"),
    ],
)
def test_wrong_shapes_and_values_are_refused(make, values, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        make(["a", "b"], values)


@pytest.mark.parametrize(
    "make",
    [
        balanced,
        left_branching,
        right_branching,
        lambda tokens: random_tree(tokens, Random(0)),
        lambda tokens: tree_from_attention(tokens, torch.zeros(0, 3)),
        lambda tokens: tree_from_distances(tokens, torch.zeros(0)),
    ],
)
def test_an_empty_sentence_is_refused(make) -> None:
    with pytest.raises(ValueError, match="an empty sentence has no tree"):
        make([])


@pytest.mark.slow
def test_the_examples_of_the_documentation_print_what_they_say() -> None:
    page = (Path(__file__).parents[2] / "docs" / "induction.md").read_text(encoding="utf-8")
    block = "".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=True, timeout=900)
    assert done.stdout.splitlines() == re.findall(r"print.*  # (.*)", block)
