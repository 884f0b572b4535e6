"""Splits by a hash: further rows never move those that were there."""

import hashlib

import numpy as np
import pytest

from dgltree import Tree, TreeDataset
from dgltree.datasets import split
from dgltree.datasets.splitting import (
    MIN_HASHED_EXAMPLES,
    MIN_HASHED_UNITS,
    hashed_parts,
    rule_for,
    tree_keys,
    unit_keys,
)


def rows(first: int, last: int, group: int = 0) -> TreeDataset:
    """Trees of numbers; ``group`` > 0 puts that many rows in a row into a group."""
    trees = [Tree("f", (Tree("w", token=str(i)), Tree("w", token=str(i % 7)))) for i in range(first, last)]
    groups = [f"g{i // group}" for i in range(first, last)] if group else None
    return TreeDataset(
        trees, [i % 2 for i in range(first, last)], ids=[f"r{i}" for i in range(first, last)], groups=groups
    )


def part_of(data: TreeDataset, seed: int = 0) -> dict[str, str]:
    return {str(id_): name for name, some in split(data, seed).items() for id_ in some.ids}


@pytest.mark.slow
@pytest.mark.parametrize("group", [0, 4])
def test_ten_thousand_rows_and_a_tenth_more_five_times_move_none(group: int) -> None:
    before = part_of(rows(0, 10_000, group))
    count = 10_000
    for _ in range(5):
        count += count // 10
        now = part_of(rows(0, count, group))
        assert {id_: now[id_] for id_ in before} == before
        tested = {id_ for id_, name in before.items() if name == "test"}
        assert not tested & {id_ for id_, name in now.items() if name == "train"}
        before = now
    shares = np.unique(list(before.values()), return_counts=True)[1] / len(before)
    np.testing.assert_allclose(shares, [0.1, 0.8, 0.1], atol=0.015)  # test, train, validation


def test_the_stratified_rule_moves_rows_which_is_why_there_is_the_other() -> None:
    moved = 0
    for seed in range(3):
        old, new = (split(data, seed, rule="stratified") for data in (rows(0, 3000), rows(0, 3300)))
        moved += len(set(old["test"].ids) & set(new["train"].ids))
    assert moved > 300


def test_where_a_row_goes_depends_on_its_tree_and_the_seed_alone() -> None:
    data = rows(0, 1000)
    mixed = data.select(np.random.default_rng(0).permutation(1000))
    assert part_of(data) == part_of(mixed)
    assert part_of(data) != part_of(data, seed=1)
    digests = [hashlib.sha256(str(part_of(data, seed)).encode()).hexdigest() for seed in range(20)]
    assert len(set(digests)) == 20


def test_where_a_row_goes_does_not_depend_on_how_its_numbers_are_read() -> None:
    data = rows(0, 300)
    np.testing.assert_array_equal(tree_keys(data), tree_keys(data.with_numbers()))
    np.testing.assert_array_equal(tree_keys(data), tree_keys(data.within(data.vocabulary(unk=True, min_count=2))))
    assert len(np.unique(tree_keys(data))) == 300


def test_keys_of_pairs_have_an_order() -> None:
    one, other = Tree("a", token="1"), Tree("b", token="2")
    keys = tree_keys(TreeDataset([(one, other), (other, one), (one, one), (other, other), (one, other)]))
    assert len(set(keys.tolist())) == 4
    assert keys[0] == keys[4]


def test_parts_are_drawn_evenly_and_independently_of_each_other_by_seed() -> None:
    keys = np.arange(100_000, dtype=np.uint64)  # keys that are no hashes: the permutation alone must scatter them
    first, second = hashed_parts(keys, 10, 0), hashed_parts(keys, 10, 1)
    table = np.zeros((10, 10))
    np.add.at(table, (first, second), 1)
    chi = float(((table - 1000) ** 2 / 1000).sum())
    assert 40 < chi < 170  # 99 degrees of freedom


def test_few_rows_and_few_groups_are_dealt_out_evenly() -> None:
    assert rule_for(rows(0, MIN_HASHED_EXAMPLES - 1)) == "stratified"
    assert rule_for(rows(0, MIN_HASHED_EXAMPLES)) == "hash"
    assert rule_for(rows(0, 1000, group=1000 // (MIN_HASHED_UNITS - 1))) == "hash"
    assert rule_for(rows(0, 1000, group=50)) == "stratified"
    assert {name: len(some) for name, some in split(rows(0, 100), 0).items()} == {
        "train": 80,
        "validation": 10,
        "test": 10,
    }


def test_a_group_stays_together_and_one_above_a_tenth_is_trained_on() -> None:
    data = rows(0, 1000, group=5)
    data.groups = ["large" if i < 150 else group for i, group in enumerate(data.groups)]
    for seed in range(5):
        parts = {name: set(some.groups) for name, some in split(data, seed).items()}
        assert "large" in parts["train"]
        assert not parts["train"] & parts["test"] and not parts["train"] & parts["validation"]
    assert len(np.unique(unit_keys(data))) == 1 + 170
