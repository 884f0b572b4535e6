"""Trees become the sequences that the docstring describes."""

import pytest
import torch
from helpers import ANY, EDGE_CASES, VOCABULARY, braid, chain, random_dag, random_tree, square, with_inner_tokens

from dgltree import Tree, TreeBatch, Vocabulary, batch
from dgltree.encoders import linearize
from dgltree.encoders.sequence import linearization
from dgltree.encoders.sequence.linearization import FIRST_FUNCTION, PADDING, symbol_count

NAMES = ["", "(", ")", *(name for name, _ in VOCABULARY.functions), *VOCABULARY.tokens]
TREES = {
    **EDGE_CASES,
    "braid": [braid(6)],
    "random": [random_tree(depth, 4, depth) for depth in (6, 0, 3, 7, 1)],
    "dags": [random_dag(12, 3, seed) for seed in range(4)],
}


def written(tree: Tree, order: str) -> list[str]:
    """The oracle: a plain recursion."""
    if not tree.children:
        return [tree.function if tree.token is None else tree.token]
    inside = [text for child in tree.children for text in written(child, order)]
    return {
        "leaves": inside,
        "unlabelled": ["(", *inside, ")"],
        "preorder": [tree.function, *inside],
        "bracketed": ["(", tree.function, *inside, ")"],
    }[order]


@pytest.mark.parametrize("order", ["leaves", "bracketed", "unlabelled", "preorder"])
@pytest.mark.parametrize("name", TREES)
def test_trees_are_written_as_a_recursion_writes_them(name: str, order: str) -> None:
    ids, lengths = linearize(batch(TREES[name], VOCABULARY), order, VOCABULARY)
    expected = [written(tree, order) for tree in TREES[name]]
    assert ids.dtype == lengths.dtype == torch.int64
    assert lengths.tolist() == [len(row) for row in expected]
    assert ids.shape == (len(expected), max(lengths))
    for row, length, texts in zip(ids.tolist(), lengths.tolist(), expected, strict=True):
        assert [NAMES[i] for i in row[:length]] == texts
        assert set(row[length:]) <= {PADDING}


def test_the_example_of_the_docstring() -> None:
    x, y = Tree("Symbol", token="x"), Tree("Symbol", token="y")
    tree = Tree("Add", (x, Tree("sin", (y,))))
    vocabulary = Vocabulary.from_trees([tree])
    names = ["", "(", ")", *(name for name, _ in vocabulary.functions), *vocabulary.tokens]
    assert len(names) == symbol_count(vocabulary)
    [ids], _ = linearize(batch([tree], vocabulary), "bracketed", vocabulary)
    assert " ".join(names[i] for i in ids) == "( Add x ( sin y ) )"


def test_a_leaf_without_a_token_is_its_function() -> None:
    vocabulary = Vocabulary([("plus", 2), ("e", 0)], ["x"])
    ids, _ = linearize(batch([Tree("plus", (Tree("e"), Tree("e", token="x")))], vocabulary), "leaves", vocabulary)
    assert ids.tolist() == [[FIRST_FUNCTION + 1, FIRST_FUNCTION + 2]]


def test_the_same_name_at_two_arities_has_two_ids_and_a_function_of_any_arity_one() -> None:
    x = Tree("var", token="x")
    trees = [Tree("call", (x,) * 4), Tree("call", (x,) * 5)]
    for vocabulary, count in ((VOCABULARY, 2), (ANY, 1)):
        ids, _ = linearize(batch(trees, vocabulary), "bracketed", vocabulary)
        assert len(set(ids[:, 1].tolist())) == count


def test_the_numbering_of_the_nodes_does_not_matter() -> None:
    # var_1 x, sin of it, and add of both, numbered from the leaves up, as a user's graph may be
    function = [VOCABULARY.function_id(*known) for known in (("var", 0), ("sin", 1), ("add", 2))]
    upward = TreeBatch(
        function=torch.tensor(function),
        token=torch.tensor([VOCABULARY.token_id("x"), -1, -1]),
        child_ptr=torch.tensor([0, 0, 1, 3]),
        child_index=torch.tensor([0, 1, 0]),
        level=torch.tensor([0, 1, 2]),
        roots=torch.tensor([2]),
        sizes=torch.tensor([3]),
        label=torch.full((3,), -100),
    )
    [ids], _ = linearize(upward, "bracketed", VOCABULARY)
    assert [NAMES[i] for i in ids] == ["(", "add", "(", "sin", "x", ")", "x", ")"]


def test_deep_chains_are_written() -> None:
    ids, lengths = linearize(batch([chain(20_000)], VOCABULARY), "bracketed", VOCABULARY)
    assert lengths.tolist() == [60_001]
    assert NAMES[ids[0, 40_000]] == "x"


def test_of_several_wrong_nodes_the_first_is_named() -> None:
    x, number = Tree("var", token="x"), Tree("num", value=1.0)
    marked = Tree("sin", (Tree("neg", (Tree("sin", (x,), token="y"),), token="z"),))
    with pytest.raises(ValueError, match=r"^tree 2, node 2 is an inner node with a token"):
        linearize(batch([x, marked, with_inner_tokens(square())], VOCABULARY), "leaves", VOCABULARY)
    with pytest.raises(ValueError, match=r"^tree 2, node 3 carries a number"):
        linearize(batch([x, Tree("if", (x, number, number)), number], VOCABULARY), "leaves", VOCABULARY)


def test_what_would_be_lost_or_is_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    x = Tree("var", token="x")
    with pytest.raises(ValueError, match="order is 'words'; it must be one of leaves, bracketed, unlabelled"):
        linearize(batch([x], VOCABULARY), "words", VOCABULARY)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tree 2, node 1 is an inner node with a token"):
        linearize(batch([x, with_inner_tokens(square())], VOCABULARY), "leaves", VOCABULARY)
    with pytest.raises(ValueError, match="tree 1, node 1 carries a number"):
        linearize(batch([Tree("num", value=1.0)], VOCABULARY), "leaves", VOCABULARY)
    with pytest.raises(ValueError, match="input vectors x"):
        linearize(batch([x], VOCABULARY, x=torch.zeros(1, 2)), "leaves", VOCABULARY)
    with pytest.raises(ValueError, match="a different vocabulary from the encoder's"):
        linearize(batch([x], VOCABULARY), "leaves", ANY)
    monkeypatch.setattr(linearization, "MOST_NODES", 1000)
    with pytest.raises(
        ValueError, match="tree 2 unfolds to more than 1,000 nodes, because it shares too many children"
    ):
        linearize(batch([x, braid(60)], VOCABULARY), "bracketed", VOCABULARY)
