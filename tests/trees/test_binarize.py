"""Binarized trees have at most two children at a node, keep what they hold, and come back as the trees they were.

It takes linear time, unchanged parts stay the objects they are, and what no call makes is not taken apart.
"""

import pytest
from helpers import braid
from hypothesis import given
from hypothesis import strategies as st

from dgltree import Tree, Vocabulary, binarize, unbinarize
from dgltree.read.bracket import read_treebank

BOTH = pytest.mark.parametrize("branching", ["left", "right"])
FIELDS = {
    "function": st.sampled_from(["NP", "VP", "a|b", "|x"]),
    "token": st.none() | st.sampled_from(["the", "|"]),
    "value": st.none() | st.sampled_from([0.0, 2.5]),
    "label": st.none() | st.integers(0, 4) | st.just("|"),
}


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Nodes of up to six children, drawn from the nodes before them, so that some objects are shared."""
    made = [Tree("NP")]
    for _ in range(draw(st.integers(0, 8))):
        children = draw(st.lists(st.sampled_from(range(len(made))), max_size=6))
        made.append(Tree(children=[made[i] for i in children], **draw(st.fixed_dictionaries(FIELDS))))
    return made[-1]


def wide(width: int) -> Tree:
    return Tree("NP", [Tree("N", token=str(i)) for i in range(width)], label=1)


@pytest.mark.parametrize(
    ("branching", "expected"),
    [
        ("right", "(NP (A a) (NP| (B b) (NP| (C c) (D d))))"),
        ("left", "(NP (NP| (NP| (A a) (B b)) (C c)) (D d))"),
    ],
)
def test_a_node_of_four_children_gets_two_intermediate_nodes(branching: str, expected: str) -> None:
    assert binarize(read_treebank("(NP (A a) (B b) (C c) (D d))"), branching) == read_treebank(expected)


@BOTH
def test_the_node_keeps_its_fields_and_intermediate_nodes_have_none(branching: str) -> None:
    tree = binarize(wide(3).replace(token="t", value=1.0), branching)
    assert tree.fields == ("NP", "t", 1.0, 1)
    assert [node.fields for node in tree.children if node.children] == [("NP|", None, None, None)]


@BOTH
@given(tree=trees())
def test_no_node_has_more_than_two_children_and_the_way_back_gives_the_tree(branching: str, tree: Tree) -> None:
    binary = binarize(tree, branching)
    assert all(len(node.children) <= 2 for node in binary.distinct())
    assert binary.size == tree.fold(lambda node, below: 1 + sum(below) + max(0, len(below) - 2))
    back = unbinarize(binary)
    assert back == tree
    assert len(list(back.distinct())) == len(list(tree.distinct())), "shared objects stay shared"
    assert (binary is tree) == (max(len(node.children) for node in tree.distinct()) <= 2)


@BOTH
def test_unchanged_parts_are_the_same_objects(branching: str) -> None:
    small = read_treebank("(NP (A a) (B b))")
    tree = Tree("S", (small, wide(5), small))
    binary = binarize(tree, branching)
    kept = {id(node) for node in tree.distinct() if len(node.children) <= 2}
    assert kept <= {id(node) for node in binary.distinct()}
    assert kept <= {id(node) for node in unbinarize(binary).distinct()}
    assert unbinarize(binary).children[0] is unbinarize(binary).children[2]
    assert unbinarize(small) is small


@BOTH
def test_deep_wide_and_shared_trees_take_linear_time(branching: str) -> None:
    deep = Tree("N", token="n")
    for _ in range(5_000):
        deep = Tree("NP", (Tree("N", token="a"), deep, Tree("N", token="b")))
    shared = Tree("N", token="n")
    for _ in range(60):
        shared = Tree("NP", (shared, shared, shared))
    for tree, depth in (deep, 10_000), (wide(20_000), 19_999), (shared, 120), (braid(60), 60):
        binary = binarize(tree, branching)
        assert binary.depth == depth
        assert unbinarize(binary) == tree


@BOTH
def test_a_vocabulary_of_binarized_trees_has_the_intermediate_functions(branching: str) -> None:
    functions = Vocabulary.from_trees([binarize(wide(5), branching)]).functions
    assert functions == (("N", 0), ("NP", 2), ("NP|", 2))


def test_what_cannot_be_binarized_is_named() -> None:
    with pytest.raises(ValueError, match="branching is 'up'; it must be 'left' or 'right'"):
        binarize(wide(3), "up")
    for tree in (Tree("NP|"), Tree("S", (Tree("NP|", (Tree("N"), Tree("N"))),)), binarize(wide(3), "left")):
        with pytest.raises(ValueError, match=r"the function 'NP\|' ends with '\|'"):
            binarize(tree, "left")


a, b, c = (Tree("N", token=token) for token in "abc")
part = Tree("NP|", (a, b))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (part, r"the root is the intermediate node 'NP\|'"),
        (Tree("VP", (part, c)), r"an intermediate node 'NP\|' is a child of 'VP'"),
        (Tree("NP", (Tree("VP|", (part, c)), c)), r"an intermediate node 'NP\|' is a child of 'VP\|'"),
        (Tree("NP", (Tree("NP||", (a, b)), c)), r"an intermediate node 'NP\|\|' is a child of 'NP'"),
        (Tree("NP", (part.replace(token="t"), c)), "has a token, a value or a label: .*token='t'"),
        (Tree("NP", (part.replace(value=1), c)), "has a token, a value or a label: .*value=1.0"),
        (Tree("NP", (part.replace(label=0), c)), "has a token, a value or a label: .*label=0"),
        (Tree("NP", (Tree("NP|"), c)), r"expected two children here.*Tree\('NP\|'\)"),
        (Tree("NP", (part,)), "expected two children here"),
        (Tree("NP", (a, b, part)), "expected two children here"),
        (Tree("NP", (part, part)), "at most one of them an intermediate node"),
    ],
)
def test_what_binarize_does_not_make_is_not_undone(tree: Tree, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unbinarize(tree)
