"""Data sets in memory: vocabularies, parts, batches, and DGL's view."""

import re

import numpy as np
import pytest
import torch
from helpers import random_tree
from torch.utils.data import DataLoader

from dgltree import Tree, TreeDataset, Vocabulary, unbatch
from dgltree.batching.vocabulary import ANY_ARITY, UNKNOWN
from dgltree.datasets import UNSEEN, Collate, Graphs, NodeBatches, Reading, label_numbers
from dgltree.datasets.describe import describe, draw
from dgltree.datasets.labels import with_labels
from dgltree.datasets.translation import MAX_LOOKED_UP, with_classes
from dgltree.encoders import make_encoder
from dgltree.read.bracket import read_sst

TREES = [random_tree(depth, 3, seed) for seed, depth in enumerate([0, 1, 2, 3, 4, 5, 3, 2])]


def test_trees_and_labels_come_back() -> None:
    data = TreeDataset(TREES, [i % 2 for i in range(8)], ids=list("abcdefgh"))
    assert [data[i] for i in range(8)] == [(tree, str(i % 2)) for i, tree in enumerate(TREES)]
    assert data[-1] == data[7]
    assert [tree for tree, _ in (data.select([5, 0])[i] for i in range(2))] == [TREES[5], TREES[0]]
    assert data.select([5, 0]).ids == ["f", "a"]
    with pytest.raises(IndexError):
        data[8]


def test_what_cannot_be_a_data_set_is_refused() -> None:
    with pytest.raises(ValueError, match="no trees"):
        TreeDataset([])
    with pytest.raises(ValueError, match="3 labels for 8 examples"):
        TreeDataset(TREES, ["a", "b", "c"])
    for mixed in ([TREES[0], (TREES[1], TREES[2]), TREES[3], TREES[4]], [TREES[0], (TREES[1],)]):
        with pytest.raises(ValueError, match="some examples are single trees and others are pairs; give one kind"):
            TreeDataset(mixed)
    for label in (float("nan"), float("inf"), np.float32("nan")):
        with pytest.raises(
            ValueError, match=r"labels\[1\] is (nan|inf); a label must be a string, a finite number or None"
        ):
            TreeDataset(TREES[:2], [1.0, label])


def test_leaves_without_a_token_get_the_name_of_their_function() -> None:
    data = TreeDataset([Tree("f", (Tree("Pass"), Tree("name", token="x")))])
    assert data[0][0] == Tree("f", (Tree("Pass", token="Pass"), Tree("name", token="x")))


def test_rare_tokens_and_with_unk_rare_functions_become_unk() -> None:
    common, rare = Tree("f", (Tree("w", token="a"),)), Tree("g", (Tree("w", token="b"),))
    data = TreeDataset([common, common, rare])
    assert data.vocabulary(min_count=2).functions == (("f", 1), ("g", 1), ("w", 0))
    vocabulary = data.vocabulary(min_count=2, unk=True)
    assert vocabulary.functions == ((UNKNOWN, 0), (UNKNOWN, 1), ("f", 1), ("w", 0))
    assert vocabulary.tokens == (UNKNOWN, "a")
    moved = data.within(vocabulary)
    unk = Tree(UNKNOWN, (Tree("w", token=UNKNOWN),))
    assert [moved[i][0] for i in range(3)] == [common, common, unk]
    new = TreeDataset([Tree("h", (Tree("w", token="c"),)), Tree("h", (common, common))]).within(vocabulary)
    assert new[0][0] == unk
    assert new.bad[0][:1] == (2,)
    assert "unknown function 'h'" in new.bad[0].message
    anywhere = data.vocabulary(any_arity=True, min_count=3, unk=True)
    assert anywhere.functions == ((UNKNOWN, ANY_ARITY), ("w", ANY_ARITY))


def test_what_a_model_does_not_know_is_left_out_with_what_would_help() -> None:
    vocabulary = Vocabulary.from_trees(TREES, unk=True)
    strange = Tree("cosh", (TREES[0],))
    data = TreeDataset([TREES[1], strange, TREES[2]]).within(vocabulary)
    assert [data[i][0] for i in range(2)] == TREES[1:3]
    assert data.lines == [1, 3]
    assert data.bad[0].line == 2
    assert "unknown function 'cosh'" in data.bad[0].message
    assert "trained with --no-unk" in data.bad[0].message
    with pytest.raises(ValueError, match="the model can read none of the trees: line 1: unknown function 'cosh'"):
        TreeDataset([strange]).within(vocabulary)


def test_the_first_unknown_functions_are_told_in_full_wherever_they_come() -> None:
    known = [Tree(f"known{i:02}", (TREES[0],)) for i in range(12)]
    strange = [Tree(f"knwon{i:02}", (TREES[0],)) for i in range(12)]
    bad = TreeDataset([*known, *strange]).within(Vocabulary.from_trees(known)).bad
    assert ["nearest known: known" in each.message for each in bad] == [True] * MAX_LOOKED_UP + [False] * 2


def test_labels_of_nodes_become_numbers_of_classes() -> None:
    flat = TreeDataset([read_sst("(3 (1 a) (4 b))")]).trees
    assert with_classes(flat, ["1", "3"]).label.tolist() == [1, 0, -100]


def test_batches_have_so_many_nodes_at_most_and_all_examples_once() -> None:
    sizes = torch.tensor([5, 1, 9, 3, 3, 20, 2])
    for seed in (None, 0):
        batches = list(NodeBatches(sizes, 10, seed))
        assert sorted(i for rows in batches for i in rows) == list(range(7))
        assert all(len(rows) == 1 or int(sizes[rows].sum()) <= 10 for rows in batches)
    assert list(NodeBatches(sizes, 10)) == [[0, 1], [2], [3, 4], [5], [6]]
    assert list(NodeBatches(sizes, 10, 0, epoch=0)) == list(NodeBatches(sizes, 10, 0, epoch=0))
    assert list(NodeBatches(sizes, 10, 0, epoch=0)) != list(NodeBatches(sizes, 10, 0, epoch=1))
    with pytest.raises(ValueError, match="most_nodes is 0"):
        NodeBatches(sizes, 0)


@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_processes_share_each_batch_and_its_mean(world_size: int) -> None:
    """The mean over the processes of a sum of theirs, divided by the mean count, is the mean over the batch."""
    sizes = torch.randint(1, 9, (50,), generator=torch.Generator().manual_seed(0))
    losses = torch.rand(50, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    whole = list(NodeBatches(sizes, 20, 0))
    shares = [NodeBatches(sizes, 20, 0, rank=rank, world_size=world_size) for rank in range(world_size)]
    assert {len(share) for share in shares} == {len(whole)}
    for index, rows in enumerate(whole):
        parts = [share.batches[index] for share in shares]
        assert sorted({i for part in parts for i in part}) == sorted(rows)
        sums = [losses[part].sum() / share.mean_counts[index] for part, share in zip(parts, shares, strict=True)]
        torch.testing.assert_close(sum(sums) / world_size, losses[rows].mean())
    with pytest.raises(ValueError, match="rank is 2 and world_size is 2"):
        NodeBatches(sizes, 20, rank=2, world_size=2)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_torch_loader_gives_planned_batches(workers: int) -> None:
    data = TreeDataset(TREES, list("aabbcabc"))
    data = data.within(data.vocabulary())
    encoder = make_encoder("tree_lstm", data.trees.vocabulary, 4)
    collate = Collate(["a", "b"], encoder)
    loader = DataLoader(data, batch_sampler=NodeBatches(data.sizes, 30), collate_fn=collate, num_workers=workers)
    found = list(loader)
    assert len(found) > 1
    assert [tree for part in found for tree in unbatch(part.trees)] == TREES
    assert torch.cat([part.labels for part in found]).tolist() == [0, 0, 1, 1, UNSEEN, 0, 1, UNSEEN]
    assert [depth for part in found for depth in part.groups.tolist()] == [tree.depth for tree in TREES]
    assert all(part.inputs is part.planned for part in found)
    for part in found:  # subtrees are shared here and not there: the last bit may differ
        torch.testing.assert_close(encoder(part.inputs), encoder(part.trees), rtol=0, atol=1e-6)
    shuffled = DataLoader(data, batch_size=3, shuffle=True, collate_fn=collate)
    assert sum(len(part.labels) for part in shuffled) == 8


def test_labels_are_classes_or_numbers() -> None:
    assert label_numbers(["b", "c", None], ["a", "b"]).tolist() == [1, UNSEEN, UNSEEN]
    numbers = label_numbers(["1.5", None], None)
    assert numbers[0] == 1.5
    assert numbers[1].isnan()
    for label in ("x", "nan", "inf", "1_000", "\uff11", "1e40", "-1e40"):
        with pytest.raises(ValueError, match="a label is not a number that float32 can hold"):
            label_numbers(["1", label], None)


def test_a_label_is_a_number_where_a_leaf_would_be_one_that_float32_holds() -> None:
    texts = ["1", "-1.5", "+.5e3", "3.4e38", "-3.4e38", "nan", "inf", "1_000", " 1", "\uff11", "0x1", "1e39", "-1e40"]
    reading = Reading(numbers=True)
    data = TreeDataset([Tree("leaf", token=text) for text in texts], texts, reading=reading)
    leaves = [text for text, (tree, _) in zip(texts, data, strict=True) if tree.value is not None]
    assert leaves == [*texts[:5], "1e39", "-1e40"]
    kept = with_labels(data, numbers=True)
    assert kept.labels == [*texts[:5], " 1"]
    assert [bad.line for bad in kept.bad] == [6, 7, 8, 10, 11, 12, 13]
    assert with_labels(data, numbers=False).labels == [text for text in texts if text != "nan"]


def test_dgls_own_loader_reads_the_view() -> None:
    dgl = pytest.importorskip("dgl", reason="DGL is not installed")
    from dgl.dataloading import GraphDataLoader

    data = TreeDataset(TREES, list("abababab"))
    graphs = Graphs(data.within(data.vocabulary()), ["a", "b"])
    graph, label = graphs[3]
    assert isinstance(graph, dgl.DGLGraph)
    assert (graph.num_nodes(), int(label)) == (int(data.sizes[3]), 1)
    for together, labels in GraphDataLoader(graphs, batch_size=4):
        assert together.batch_size == len(labels) == 4
        assert {"function", "token"} <= set(together.ndata)
        assert "slot" in together.edata


def test_the_description_says_what_is_there() -> None:
    said = describe(TreeDataset([*TREES, *TREES[:2]], [str(i % 3) for i in range(10)]), min_count=9)
    for part in (
        "10 trees",
        "depth of the trees:",
        "children of the inner nodes:",
        "functions, each with its number of children",
        "fit would read these tokens as <unk>",
        "duplicates: 20.0% of the examples",
        "labels: 3 different labels on 10 of 10 examples",
        "a tree of median size:",
    ):
        assert part in said
    numbers = describe(TreeDataset(TREES * 3, [i / 7 for i in range(24)]), 1)
    assert "numbers from 0 to 3.28571" in numbers


def test_a_description_of_a_part_counts_functions_that_it_has_not() -> None:
    data = TreeDataset([Tree("w", token="b"), Tree("x", [Tree("w", token="a")])])
    assert re.search(r"x/1 +0", describe(data.select([0]), 1))


def test_a_histogram_of_few_wide_nodes_keeps_the_narrow_ones_apart() -> None:
    leaf = Tree("w", token="a")
    said = describe(TreeDataset([Tree("f", [leaf] * width) for width in (1, 1, 2, 3, 4, 40)]), 1)
    [table] = re.findall(r"children of the inner nodes:\n(.*?)\n\n", said, re.DOTALL)
    counts = [line.replace("#", "").rsplit(maxsplit=1) for line in table.splitlines()]
    assert [(name.strip(), count) for name, count in counts] == [
        ("1", "2"),
        ("2", "1"),
        ("3 to 4", "2"),
        ("5 to 8", "0"),
        ("9 to 16", "0"),
        ("17 to 32", "0"),
        ("33 to 40", "1"),
    ]


def test_a_drawn_tree_is_cut() -> None:
    assert draw(Tree("add", (Tree("var", token="x"), Tree("num", value=2.5)))).splitlines() == [
        "  add",
        "  ├─ var 'x'",
        "  └─ num 2.5",
    ]
    wide = Tree("f", [Tree("var", token="x")] * 50)
    assert draw(wide, most=10).splitlines()[-1] == "  ... 41 more nodes"


def test_a_batch_that_fits_exactly_takes_the_last_example_too() -> None:
    assert list(NodeBatches(torch.tensor([4, 6, 10, 5, 6]), 10)) == [[0, 1], [2], [3], [4]]


def test_the_group_of_a_pair_is_the_depth_of_its_deeper_tree() -> None:
    shallow, deep = TREES[0], TREES[5]
    data = TreeDataset([(shallow, deep), (deep, shallow), (shallow, shallow)], ["a", "b", "a"])
    labelled = Collate(["a", "b"])(data)
    assert labelled.groups.tolist() == [5, 5, 0]


def test_a_leaf_with_a_number_gets_no_token() -> None:
    tree = Tree("f", (Tree("n", value=2.5), Tree("Pass")))
    data = TreeDataset([tree])
    assert data[0][0] == Tree("f", (Tree("n", value=2.5), Tree("Pass", token="Pass")))


def test_a_token_of_an_inner_node_stays_a_token_whatever_it_is_written_like() -> None:
    tree = Tree("nmod", (Tree("nummod", token="7"),), token="12")
    data = TreeDataset([tree], reading=Reading(numbers=True))
    assert data[0][0] == Tree("nmod", (Tree("nummod", value=7.0),), token="12")


def test_functions_that_no_tree_has_give_no_arities() -> None:
    common, rare = Tree("f", (Tree("w", token="a"),)), Tree("g", (Tree("w", token="a"), Tree("w", token="a")))
    data = TreeDataset([common, common, common, rare, rare])
    some = data.select([0, 1, 2])  # whose own vocabulary still has g
    assert some.vocabulary(min_count=2, unk=True).functions == ((UNKNOWN, 0), (UNKNOWN, 1), ("f", 1), ("w", 0))


@pytest.mark.parametrize(
    ("children", "wanted"),
    [
        ("a", "f(a <unk>)"),
        ("a b", "f(a b)"),
        ("a b c", "f(a b c)"),
        ("a b c d", "f(a b <unk>(c d))"),
        ("a b c d e f", "f(a b <unk>(c d <unk>(e f)))"),
    ],
)
def test_numbers_of_children_that_a_model_lacks_are_padded_or_nested(children: str, wanted: str) -> None:
    def leaf(name: str) -> Tree:
        return Tree("w", token=name)

    def text(tree: Tree) -> str:
        inner = " ".join(map(text, tree.children))
        return tree.token or (f"{tree.function}({inner})" if inner else tree.function)

    known = [Tree("f", tuple(map(leaf, names))) for names in ("ab", "abc", "def")]
    vocabulary = TreeDataset(known).vocabulary(unk=True)
    tree = Tree("f", tuple(map(leaf, children.split())))
    moved = TreeDataset([known[0], tree]).within(vocabulary)
    assert not moved.bad
    assert text(unbatch(moved.trees)[1]) == wanted
    assert moved.as_read()[1][0] == tree


def test_labels_are_those_of_the_roots_of_pairs_of_the_first_of_each() -> None:
    trees = [Tree("leaf", token="x", label=label) for label in (5, 4, 3, None, 1, 0)]
    assert TreeDataset(trees).labels == ["5", "4", "3", None, "1", "0"]
    assert TreeDataset(list(zip(trees[::2], trees[1::2], strict=True))).labels == ["5", "3", "1"]


@pytest.mark.parametrize(
    ("least", "rare"),
    [
        (2, "1 tokens occur only once; fit would read these tokens as <unk> (16.7% of the nodes with a token)"),
        (
            3,
            "2 tokens occur fewer than 3 times; fit would read these tokens as <unk> (50.0% of the nodes with a token)",
        ),
    ],
)
def test_tokens_below_the_least_count_would_be_unknown(least: int, rare: str) -> None:
    leaves = [Tree("leaf", token=token) for token in "abbccc"]
    assert f"\n  {rare}" in describe(TreeDataset([Tree("f", leaves)]), least)


def test_a_text_in_place_of_a_tree_is_refused_by_its_place() -> None:
    with pytest.raises(TypeError, match="tree 2 is a str; read it first"):
        TreeDataset([Tree("x"), "x + y"], ["a", "b"])  # type: ignore[list-item]


@pytest.mark.parametrize("i", [1, 5, -2])
def test_an_example_that_is_not_there_is_named(i: int) -> None:
    data = TreeDataset([Tree("a")], ["x"])
    with pytest.raises(IndexError, match=rf"^there is no example {i}; the length of the data set is 1$"):
        data[i]
    with pytest.raises(IndexError, match=rf"^there is no graph {i}; the length of the data set is 1$"):
        Graphs(data, ["x"])[i]
    assert data[-1] == data[0]
