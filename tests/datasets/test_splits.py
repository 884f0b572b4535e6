"""Which examples are trained on, chosen by, and tested on."""

import pytest

from dgltree import Tree, TreeDataset
from dgltree.datasets import split
from dgltree.datasets.splitting import count_shared_examples, count_shared_groups, folds


def numbered(count: int) -> TreeDataset:
    return TreeDataset([Tree("f", (Tree("w", token=str(i)),)) for i in range(count)], [i % 2 for i in range(count)])


def test_splits_by_chance_are_disjoint_tenths_that_depend_on_the_seed() -> None:
    data = numbered(100)
    splits = split(data, seed=0)
    assert {name: len(examples) for name, examples in splits.items()} == {"train": 80, "validation": 10, "test": 10}
    assert sorted(line for examples in splits.values() for line in examples.lines) == list(range(1, 101))
    assert splits["test"].lines == split(data, seed=0)["test"].lines != split(data, seed=1)["test"].lines


def test_equal_trees_stay_in_one_split() -> None:
    data = TreeDataset([Tree("f", (Tree("w", token=str(i % 40)),)) for i in range(400)])
    splits = split(data, seed=3)
    assert count_shared_examples(splits) == {"validation": 0, "test": 0}
    assert sum(map(len, splits.values())) == 400


def test_a_column_of_splits_has_the_word_and_what_it_lacks_is_taken_from_training() -> None:
    data = numbered(40)
    data.splits = ["dev" if i < 4 else "test" if i < 10 else "Train" for i in range(40)]
    assert {name: len(examples) for name, examples in split(data, 0).items()} == {
        "validation": 4,
        "test": 6,
        "train": 30,
    }
    data.splits = ["test" if i < 10 else "train" for i in range(40)]
    splits = split(data, 0)
    assert {name: len(examples) for name, examples in splits.items()} == {"train": 27, "validation": 3, "test": 10}
    assert splits["test"].lines == list(range(1, 11))
    data.splits[7] = "held-out"
    with pytest.raises(ValueError, match="line 8: the split is 'held-out'; it must be one of train"):
        split(data, 0)
    data.splits = ["test"] * 40
    with pytest.raises(ValueError, match="no training examples"):
        split(data, 0)
    with pytest.raises(ValueError, match="too few examples for a"):
        split(numbered(3), 0)


def test_examples_that_stand_in_two_splits_are_counted() -> None:
    data = numbered(6)
    splits = {"train": data.select([0, 1, 2]), "validation": data.select([2, 3]), "test": data.select([0, 1, 4])}
    assert count_shared_examples(splits) == {"validation": 1, "test": 2}
    often = {"train": data.select([0, 1]), "validation": data.select([0] * 5), "test": data.select([1, 2, 1, 0])}
    assert count_shared_examples(often) == {"validation": 5, "test": 3}
    assert count_shared_examples({"train": often["validation"], "test": data.select([0, 1])}) == {"test": 1}


def test_the_seed_of_a_split_is_that_of_the_choice_of_validation_too() -> None:
    data = numbered(100)
    data.splits = ["test" if i < 10 else "train" for i in range(100)]
    chosen = [split(data, seed)["validation"].lines for seed in (0, 1, 0)]
    assert chosen[0] == chosen[2] != chosen[1]
    assert split(data, 0)["test"].lines == split(data, 1)["test"].lines


def test_a_split_without_examples_is_refused_or_left_out() -> None:
    for count in range(1, 12):
        data = numbered(count)
        try:
            splits = split(data, 0)
        except ValueError as error:
            assert "too few examples for a" in str(error)
            assert count < 11
        else:
            assert all(len(examples) for examples in splits.values())
            assert sum(map(len, splits.values())) == count
    data = numbered(4)
    data.splits = ["dev", "train", "Training", "val"]
    assert {name: len(examples) for name, examples in split(data, 0).items()} == {"train": 2, "validation": 2}


def test_pairs_that_share_one_tree_alone_are_different_examples() -> None:
    trees = [Tree("f", (Tree("w", token=str(i)),)) for i in range(6)]
    train = TreeDataset([(trees[0], trees[1]), (trees[2], trees[3])])
    other = TreeDataset([(trees[0], trees[4]), (trees[5], trees[1]), (trees[1], trees[0]), (trees[0], trees[1])])
    assert count_shared_examples({"train": train, "test": other}) == {"test": 1}
    left = TreeDataset([(trees[0], Tree("f", (Tree("w", token=f"r{i}"),))) for i in range(100)])
    assert {name: len(examples) for name, examples in split(left, 0).items()} == {
        "train": 80,
        "validation": 10,
        "test": 10,
    }


def test_classes_are_dealt_out_evenly() -> None:
    labels = ["rare" if i % 10 == 0 else "often" for i in range(1000)]
    data = TreeDataset([Tree("f", (Tree("w", token=str(i)),)) for i in range(1000)], labels)
    splits = split(data, 5, rule="stratified")
    assert {name: examples.labels.count("rare") for name, examples in splits.items()} == {
        "train": 80,
        "validation": 10,
        "test": 10,
    }


def test_many_equal_trees_are_trained_on() -> None:
    tokens = [0] * 300 + list(range(1, 101))
    data = TreeDataset([Tree("f", (Tree("w", token=str(i)),)) for i in tokens])
    for seed in range(5):
        assert {name: len(examples) for name, examples in split(data, seed, rule="stratified").items()} == {
            "train": 380,
            "validation": 10,
            "test": 10,
        }


def test_a_group_stays_in_one_split_and_folds_test_each_example_once() -> None:
    groups = [f"file{i % 30}" for i in range(300)]
    trees = [Tree("f", (Tree("w", token=str(i)),)) for i in range(300)]
    data = TreeDataset(trees, [i % 2 for i in range(300)], groups=groups)
    splits = split(data, 0)
    assert count_shared_groups(splits) == {"validation": 0, "test": 0}
    assert sum(map(len, splits.values())) == 300
    found = folds(data, 5, 0)
    assert len(found) == 5
    tested = [line for each in found for line, name in zip(each.lines, each.splits, strict=True) if name == "test"]
    assert sorted(tested) == list(range(1, 301))
    for each in found:
        parts = split(each, 0)
        assert count_shared_groups(parts) == {"validation": 0, "test": 0}
        assert len(parts["test"]) == 60
        assert len(parts["validation"]) in (20, 30)
    assert count_shared_groups(split(TreeDataset(trees, groups=None), 0)) == {"validation": 0, "test": 0}
    torn = {"train": data.select([0, 1, 2]), "test": data.select([30, 31, 33])}
    assert count_shared_groups(torn) == {"test": 2}


def test_groups_of_unlike_sizes_make_parts_of_like_sizes_and_classes() -> None:
    groups = [f"file{k}" for k in range(60) for _ in range(1 + k * k // 50)]
    count = len(groups)
    labels = ["rare" if int(group[4:]) % 4 == 0 else "often" for group in groups]
    data = TreeDataset([Tree("f", (Tree("w", token=str(i)),)) for i in range(count)], labels, groups=groups)
    sizes = [each.splits.count("test") for each in folds(data, 5, 0)]
    assert max(sizes) < 1.2 * min(sizes)
    rare = [
        sum(1 for i in range(count) if each.splits[i] == "test" and labels[i] == "rare") for each in folds(data, 5, 0)
    ]
    assert max(rare) < 1.5 * min(rare)
    chosen = {tuple(split(data, seed)["test"].lines) for seed in range(4)}
    assert len(chosen) == 4


def test_folds_that_cannot_be_are_refused() -> None:
    data = numbered(40)
    with pytest.raises(ValueError, match="folds is 1; it must be 2 or more"):
        folds(data, 1, 0)
    with pytest.raises(ValueError, match="too few examples for 5 folds: 6 in"):
        folds(numbered(6), 5, 0)
    data.splits = ["train"] * 40
    with pytest.raises(ValueError, match="the data has a split column"):
        folds(data, 2, 0)


def test_a_few_large_groups_still_make_all_splits() -> None:
    """Fewer groups than tenths, some of them larger than a tenth."""
    trees = [Tree("f", [Tree("w", token=str(i))]) for i in range(100)]
    groups = [str(i // 11 if i < 88 else 8 + (i - 88) // 4) for i in range(100)]
    data = TreeDataset(trees, ["a", "b"] * 50, groups=groups)
    for seed in range(5):
        parts = split(data, seed)
        assert sorted(parts) == ["test", "train", "validation"]
        assert sum(map(len, parts.values())) == 100
        assert count_shared_groups(parts) == {"validation": 0, "test": 0}


def test_where_nearly_all_groups_are_large_those_nearest_to_a_tenth_are_held_out() -> None:
    """The sizes of twelve packages: what is no larger than a tenth would leave six examples for validation."""
    sizes = [391, 372, 298, 160, 155, 154, 153, 6, 1]
    groups = [str(k) for k, size in enumerate(sizes) for _ in range(size)]
    data = TreeDataset([Tree("f", (Tree("w", token=str(i)),)) for i in range(len(groups))], groups=groups)
    for seed in range(4):
        parts = split(data, seed)
        assert {len(parts[name]) // 10 for name in ("validation", "test")} <= {15, 16}
        assert count_shared_groups(parts) == {"validation": 0, "test": 0}
        assert sum(map(len, parts.values())) == len(groups)
    assert len(split(data, 0, ("train", "validation"))["train"]) > 1400
