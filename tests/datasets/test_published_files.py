"""Own trees read the published files as they stand."""

from pathlib import Path

import pytest

from dgltree import Tree, TreeDataset
from dgltree.read.bracket import iter_sst

pytestmark = pytest.mark.data


def test_the_sentiment_treebank(published: Path) -> None:
    data = TreeDataset.from_file(published / "sst" / "dev.txt", cached=False)
    trees = list(iter_sst((published / "sst" / "dev.txt").read_text(encoding="utf-8")))
    assert (data.reading.notation, len(data), data.bad) == ("sst", 1101, [])
    assert [data[i] for i in range(0, 1101, 100)] == [(tree, str(tree.label)) for tree in trees[::100]]


def test_the_pairs_of_logic(published: Path) -> None:
    data = TreeDataset.from_file(published / "logic" / "test7", columns="label,left,right", cached=False)
    lines = (published / "logic" / "test7").read_text(encoding="utf-8").splitlines()
    assert (data.reading.notation, data.each, len(data)) == ("brackets", 2, len(lines))
    assert data.labels == [line.split("\t")[0] for line in lines]


@pytest.mark.slow
def test_list_operations(published: Path) -> None:
    file = published / "listops" / "test_d20s.tsv"
    data = TreeDataset.from_file(file, columns="label,tree", cached=False)
    assert (len(data), data.bad, len(set(data.labels))) == (10_000, [], 10)
    tree = data[0][0]
    assert isinstance(tree, Tree)
    assert max(len(node.children) for node in tree.preorder()) == 2
