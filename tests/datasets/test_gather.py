"""The parts of a file in one store, which need not fit into memory."""

from pathlib import Path

import numpy as np
import pytest
import torch
from disks import full_disk
from helpers import random_tree
from own_trees import table, written

from dgltree import Tree, TreeDataset, Vocabulary, batch, unbatch
from dgltree.datasets import tree_dataset
from dgltree.datasets.loading import columns_on_disk, from_file
from dgltree.datasets.loading.columns_on_disk import SpilledColumn
from dgltree.datasets.loading.flatten import ParsedChunk
from dgltree.datasets.loading.from_file import Gathering, Stored
from dgltree.datasets.settings import Reading

TREES = [random_tree(depth, 3, seed) for seed, depth in enumerate([0, 1, 2, 3, 4, 5, 3, 2])]


def gathered(*parts: list[Tree]) -> Stored:
    """Parts, each of which has a vocabulary of its own."""
    gathering, first = Gathering(), 1
    for trees in parts:
        count, none = len(trees), [None] * len(trees)
        flat = batch(trees, Vocabulary.from_trees(trees))
        labels = [None if i % 3 == 0 else f"é{i}" for i in range(count)]
        gathering.add(ParsedChunk(flat, list(range(first, first + count)), labels, none, none, none, [""] * count))
        first += count
    return gathering.finish(Reading())


@pytest.fixture(params=[False, True], ids=["in memory", "in files"])
def _spilled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(columns_on_disk, "HELD", 8)
        monkeypatch.setattr(columns_on_disk, "BLOCK", 3)


@pytest.mark.usefixtures("_spilled")
def test_gathered_parts_are_the_batch_of_all_trees() -> None:
    stored = gathered(TREES[:3], TREES[3:4], TREES[4:])
    assert unbatch(stored.trees) == TREES
    assert {array.dtype.name for name, array in stored.arrays.items() if "." not in name} == {"int32"}
    assert stored.columns["labels"] == [None, "é1", "é2", None, None, "é1", "é2", None]
    assert stored.columns["labels"].select(np.array([5, 0, 1]))[1:] == [None, "é1"]
    assert stored.columns["lines"] == [1, 2, 3, 4, 5, 6, 7, 8] != stored.columns["lines"][1:]
    assert stored.columns["files"] == [""] * 8


@pytest.mark.usefixtures("_spilled")
def test_values_and_labels_survive_in_parts_with_and_without_them() -> None:
    trees = [
        Tree("f", (Tree("n", value=2.5), Tree("v", token="x"))),
        Tree("v", token="y", label=4),
        Tree("n", value=-1.0),
    ]
    stored = gathered(*([tree] for tree in trees))
    assert unbatch(stored.trees) == trees
    assert stored.arrays["value"].dtype == np.float64
    assert stored.trees.label.tolist() == [-100, -100, -100, 4, -100]


@pytest.mark.usefixtures("_spilled")
def test_what_32_bits_cannot_hold_has_64(monkeypatch: pytest.MonkeyPatch) -> None:
    column = SpilledColumn()
    for number in (5, -(2**31), 2**31 - 1):
        column.append(np.array([number]))
        assert column.array().dtype == np.int32
    column.append(np.array([2**31, 7]))
    assert column.array().dtype == np.int64
    assert column.array().tolist() == [5, -(2**31), 2**31 - 1, 2**31, 7]
    monkeypatch.setattr(columns_on_disk, "LAST", 8)  # as if 32 bits ended there
    stored = gathered(TREES[:3], TREES[3:])
    assert unbatch(stored.trees) == TREES
    wide = {name for name, array in stored.arrays.items() if array.dtype == np.int64}
    assert {"child_ptr", "child_index", "roots"} <= wide
    assert "function" not in wide


def test_a_full_disk_is_said_with_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_on_disk, "HELD", 8)
    with (
        full_disk(),
        pytest.raises(OSError, match=r"temporary files is full: .*set TMPDIR to another folder"),
    ):
        gathered(TREES)


def fields(data: TreeDataset) -> dict[str, torch.Tensor]:
    return data.trees._tensors()


@pytest.mark.usefixtures("_spilled")
def test_batches_from_a_file_are_those_of_trees_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_dataset, "BLOCK", 40)
    path = written(tmp_path, "trees.tsv", table(60) + "bad\tx+\tpos\n")
    first, unkept, again = (TreeDataset.from_file(path, cached=cached) for cached in (True, False, True))
    trees = [again[i][0] for i in range(60)]
    plain = TreeDataset(trees, list(again.labels), ids=list(again.ids))
    vocabulary = plain.vocabulary(min_count=2, unk=True)
    rows = torch.randperm(60, generator=torch.Generator().manual_seed(0)).tolist()
    expected = plain.within(vocabulary).select(rows)
    for data in (first, unkept, again):
        assert data._flat.function.dtype == torch.int32
        assert len(list(data.blocks())) > 5
        assert data.vocabulary(min_count=2, unk=True) == vocabulary
        found = data.within(vocabulary).select(rows)
        assert {tensor.dtype for tensor in fields(found).values()} == {torch.int64}
        for name, tensor in fields(expected).items():
            assert torch.equal(fields(found)[name], tensor), name
        assert (found.labels, found.ids) == (expected.labels, expected.ids)
        assert data.bad[0].line == 62


def test_a_cache_is_mapped_and_outlives_its_file(tmp_path: Path) -> None:
    path = written(tmp_path, "trees.tsv", table(60))
    TreeDataset.from_file(path)
    data = TreeDataset.from_file(path)
    if (maps := Path("/proc/self/maps")).exists():
        assert str(from_file.cache_path(path)) in maps.read_text(encoding="utf-8")
    expected = data[59]
    data = TreeDataset.from_file(path)
    path.write_text(table(5), encoding="utf-8")
    assert len(TreeDataset.from_file(path)) == 5
    assert data[59] == expected
