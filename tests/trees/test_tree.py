"""A tree is an immutable value: equality, hash, pickle and repr are those of its five fields.

Sharing objects changes nothing but the cost, which is that of the distinct objects. Nothing recurses, so a chain of a
million nodes is legal. Objects of a user's own are read once each, and anything else is refused with its position.
"""

import copy
import gc
import os
import pickle
import subprocess
import sys

import pytest
from helpers import braid, random_tree
from hypothesis import given
from hypothesis import strategies as st

from dgltree import Tree, Vocabulary, batch
from dgltree.read.bracket import read_treebank, write_treebank
from dgltree.trees.picture import tree_svg

DEEP = 10**6


@pytest.mark.parametrize(("most", "left_out"), [(4, True), (5, False), (6, False)])
def test_a_picture_has_all_nodes_up_to_the_most_of_them(most: int, left_out: bool) -> None:
    tree = Tree("f", [Tree(name) for name in "abcd"])
    found = tree_svg(tree, lambda node: node.function, lambda node: node.children, most)
    assert ("…" in found) == left_out
    assert all((f">{name}<" in found) != left_out for name in "abcd")


def x() -> Tree:
    return Tree("var", token="x")


def deep(size: int = DEEP) -> Tree:
    tree = x()
    for _ in range(size):
        tree = Tree("f", (tree,))
    return tree


def test_every_field_counts_in_equality_and_hash() -> None:
    same = Tree("f", [x(), x()], token="t", value=1, label=2)
    assert same == Tree("f", (x(), x()), token="t", value=1.0, label=2)
    assert hash(same) == hash(Tree("f", (x(), x()), token="t", value=1.0, label=2))
    others = [
        same.replace(function="g"),
        same.replace(children=[x()]),
        same.replace(token=None),
        same.replace(value=2),
        same.replace(label="2"),
    ]
    assert all(other != same for other in others)
    assert same != "f"


def test_a_tree_is_immutable() -> None:
    tree = x()
    with pytest.raises(AttributeError, match="immutable"):
        tree.token = "y"
    with pytest.raises(AttributeError, match="immutable"):
        del tree.token
    assert copy.copy(tree) is tree
    assert copy.deepcopy([tree])[0] is tree


def test_size_and_depth() -> None:
    tree = Tree("f", (x(), Tree("g", (x(),))))
    assert (tree.size, tree.depth) == (4, 2)
    assert [node.function for node in tree.preorder()] == ["f", "var", "g", "var"]
    assert tree.fold(lambda node, below: 1 + sum(below)) == 4


def test_repr_is_python_for_a_small_tree_and_short_for_a_large_one() -> None:
    tree = Tree("f", (x(), Tree("num", value=2.0, label=1)))
    assert repr(tree) == "Tree('f', (Tree('var', token='x'), Tree('num', value=2.0, label=1)))"
    assert repr(Tree("f", (x(),))) == "Tree('f', (Tree('var', token='x'),))"
    assert repr(deep(1000)) == "<Tree 'f': 1001 nodes, depth 1000>"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"function": ""}, ValueError),
        ({"function": None}, TypeError),
        ({"function": "f", "children": ["x"]}, TypeError),
        ({"function": "f", "token": 1}, TypeError),
        ({"function": "f", "value": float("nan")}, ValueError),
        ({"function": "f", "value": float("inf")}, ValueError),
    ],
)
def test_bad_fields_are_refused(arguments: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        Tree(**arguments)


def test_shared_objects_are_compared_pickled_and_batched_in_distinct_objects() -> None:
    def unfolded_to_2_60() -> Tree:
        tree = x()
        for _ in range(60):
            tree = Tree("f", (tree, tree))
        return tree

    tree = unfolded_to_2_60()
    assert tree.size == 2**61 - 1
    assert tree == unfolded_to_2_60()
    assert hash(tree) == hash(unfolded_to_2_60())
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert batch([tree], Vocabulary([("f", 2), ("var", 0)], ["x"])).num_nodes == 61


def test_objects_that_are_made_when_they_are_asked_for_are_told_apart() -> None:
    def below(path: list[int]) -> list[list[int]]:
        return [[*path, 0], [*path, 1]] if len(path) < 6 else []

    tree = Tree.from_object([], children=below, function=lambda path: "f", token=str)
    assert len({node.token for node in tree.preorder()}) == tree.size == 2**7 - 1


@pytest.mark.slow
def test_a_chain_of_a_million_nodes_is_legal() -> None:
    gc.disable()  # nothing here is garbage, and looking for it takes half of the time
    try:
        tree = deep()
        assert batch([tree], Vocabulary([("f", 1), ("var", 0)], ["x"])).num_nodes == DEEP + 1
        text = write_treebank(pickle.loads(pickle.dumps(tree)))
        assert text.startswith("(f (f (f")
        back = read_treebank(text)
        assert back is not tree
        assert len({tree, back}) == 1, "equal, and of equal hash, after being pickled, written and read"
        assert back != Tree("f", (tree,))
        assert tree != Tree("f", (back,))
        del tree, back
    finally:
        gc.enable()


def test_a_collision_of_hashes_does_not_make_trees_equal() -> None:
    one, two = Tree("f", (Tree("w", label=-1),)), Tree("f", (Tree("w", label=-2),))
    assert hash(-1) == hash(-2)
    assert hash(one) == hash(two)
    assert one != two


def test_the_order_of_children_counts() -> None:
    y = Tree("var", token="y")
    assert Tree("f", (x(), y)) != Tree("f", (y, x()))


def test_sharing_objects_does_not_change_what_a_tree_is() -> None:
    leaf = x()
    shared, apart = Tree("f", (leaf, leaf)), Tree("f", (x(), x()))
    assert shared == apart
    assert hash(shared) == hash(apart)
    assert repr(shared) == repr(apart)
    assert (len(list(shared.preorder())), len(list(shared.distinct()))) == (3, 2)


def test_fold_calls_once_for_each_distinct_object_children_first() -> None:
    calls: list[Tree] = []

    def count(node: Tree, below: list[int]) -> int:
        calls.append(node)
        return 1 + sum(below)

    tree = braid(60)
    assert tree.fold(count) == tree.size == 2**61 - 1
    assert len(calls) == 61
    assert calls == list(tree.distinct())
    assert [node.depth for node in calls] == list(range(61))


def test_distinct_preorder_is_preorder_without_what_was_met_before() -> None:
    for seed in range(20):
        tree = random_tree(8, 3, seed)
        assert [id(node) for node in tree.distinct_preorder()] == list(dict.fromkeys(map(id, tree.preorder())))
    assert [node.depth for node in braid(60).distinct_preorder()] == list(range(60, -1, -1))


@given(st.tuples(st.integers(0, 12), st.integers(1, 3), st.integers(0, 10**6)))
def test_repr_and_pickle_give_a_random_tree_back(drawn: tuple[int, int, int]) -> None:
    tree = random_tree(*drawn)
    back = pickle.loads(pickle.dumps(tree))
    assert back == tree
    assert hash(back) == hash(tree)
    assert len(list(back.distinct())) == len(list(tree.distinct())), "shared objects stay shared"
    if tree.size <= 200:
        assert eval(repr(tree), {"Tree": Tree}) == tree


def test_a_pickle_is_equal_in_a_process_with_another_hash_salt() -> None:
    program = (
        "import pickle, sys; from dgltree import Tree; tree = pickle.load(sys.stdin.buffer);"
        "assert tree == Tree('f', (Tree('w', token='t', value=1.0, label=2),)) and tree in {tree.replace()}"
    )
    tree = Tree("f", (Tree("w", token="t", value=1.0, label=2),))
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], input=pickle.dumps(tree), env=environment, check=True)


def test_replace_changes_what_is_named_and_keeps_the_rest() -> None:
    tree = Tree("f", (x(),), token="t", value=1, label=2)
    assert tree.replace() == tree
    assert tree.replace(children=(), label=None) == Tree("f", token="t", value=1)
    assert (tree.replace(children=()).size, tree.replace(children=()).depth) == (1, 0)
    with pytest.raises(TypeError, match="colour"):
        tree.replace(colour="red")


class Part:
    """An object of a caller."""

    def __init__(self, kind: object, *parts: object, text: str | None = None) -> None:
        self.kind, self.parts, self.text = kind, [*parts], text


def of_parts(root: object) -> Tree:
    return Tree.from_object(root, children="parts", function="kind", token="text")


def test_objects_are_read_by_attributes_or_functions_and_shared_ones_stay_shared() -> None:
    leaf = Part("var", text="x")
    root = Part("f", leaf, Part("g", leaf))
    tree = of_parts(root)
    assert tree == Tree("f", [x(), Tree("g", [x()])])
    assert tree.children[0] is tree.children[1].children[0]
    fresh = Tree.from_object(9, lambda n: [n // 2 + 0.0] if n > 1 else None, lambda n: f"n{n:.0f}", token=str)
    assert [node.token for node in fresh.preorder()] == ["9", "4.0", "2.0", "1.0"]
    assert Tree.from_object(root, "parts", "kind").children[0] == Tree("var")


def test_a_chain_and_a_braid_of_objects_are_read_in_distinct_objects() -> None:
    chain = Part("var", text="x")
    for _ in range(10**5):
        chain = Part("f", chain)
    assert of_parts(chain) == deep(10**5)
    braided = Part("var", text="x")
    for _ in range(60):
        braided = Part("f", braided, braided)
    tree = of_parts(braided)
    assert tree.size == 2**61 - 1 and len(list(tree.distinct())) == 61
    while chain.parts:  # Python frees a chain of objects by recursion
        chain = chain.parts.pop()


def cyclic() -> Part:
    inner = Part("g", Part("var"), Part("h"))
    inner.parts[1].parts.append(inner)
    return Part("f", Part("var"), inner)


@pytest.mark.parametrize(
    ("root", "error", "message"),
    [
        (cyclic(), ValueError, "^a cycle: the object at 1.1.0 is the same object as the object at 1, above it: <"),
        (Part("f", 3), ValueError, "^the object at 0, of type int, has no attribute 'parts' for its children"),
        (Part("f", None), ValueError, "^child 0 of the root is None; leave out"),
        (Part("f", Part("g"), Part("")), ValueError, "^the object at 1: a node's function is empty"),
        (Part(3), TypeError, "^the root: function and token must be strings, not 3 and None"),
    ],
)
def test_objects_that_are_no_tree_are_refused_with_their_place(
    root: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        of_parts(root)


def test_texts_and_numbers_are_no_children_and_a_number_is_no_way_to_read() -> None:
    with pytest.raises(ValueError, match="the children of the root are 'ab'; expected a list of objects, or None"):
        Tree.from_object(0, lambda _: "ab", str)
    with pytest.raises(TypeError, match="children is 3; give a function of an object, or the name of an attribute"):
        Tree.from_object(0, 3, str)
    with pytest.raises(ValueError, match=r"the object at \.\.\.(0\.){9}0 is the same object as the root"):
        chain = Part("f")
        lowest = chain
        for _ in range(20):
            lowest.parts.append(Part("f"))
            lowest = lowest.parts[0]
        lowest.parts.append(chain)
        of_parts(chain)
