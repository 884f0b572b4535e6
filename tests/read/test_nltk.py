"""Trees of NLTK: lists with a label."""

import pytest

from dgltree import Tree
from dgltree.datasets.objects import read_objects
from dgltree.datasets.settings import Reading

nltk = pytest.importorskip("nltk")


def tree(text: str) -> nltk.Tree:
    return nltk.Tree.fromstring(text)


def test_a_tree_of_two_words_is_one_tree_and_not_a_pair() -> None:
    cat = Tree("NP", (Tree("word", token="the"), Tree("word", token="cat")))
    assert read_objects([tree("(NP the cat)")], Reading()) == [cat]
    assert read_objects([(tree("(NP the cat)"), cat)], Reading()) == [(cat, cat)]


@pytest.mark.parametrize(
    "text", ["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))", "( (S (NP (PRP I)) (VP (VBP am)) (. .)) )"]
)
def test_a_treebanks_tree_is_what_its_text_is(text: str) -> None:
    [found] = read_objects([tree(text)], Reading())
    assert found == read_objects([text], Reading(notation="treebank"))[0]
    assert [node.token for node in found.preorder() if node.token] == tree(text).leaves()


def test_a_chain_of_a_hundred_thousand_nodes() -> None:
    deep = nltk.Tree("X", ["a"])
    for _ in range(100_000):
        deep = nltk.Tree("X", [deep])
    [found] = read_objects([deep], Reading())
    assert isinstance(found, Tree)
    assert found.size == 100_001
    while len(deep) and isinstance(deep[0], nltk.Tree):  # nested lists are freed by recursion
        deep = deep.pop()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: tree("(NP the cat)"), "found a single tree"),
        (lambda: [nltk.Tree("NP", [])], "tree 1: the node 'NP' of an nltk.Tree has no children"),
        (lambda: [nltk.Tree("NP", [3, "a"])], "tree 1: found 3 in an nltk.Tree"),
        (lambda: [nltk.Tree("", ["a", "b"])], "tree 1: a node of an nltk.Tree has no label"),
    ],
)
def test_what_is_no_tree_is_refused(given, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_objects(given(), Reading())
