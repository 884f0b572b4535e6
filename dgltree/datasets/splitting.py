"""Examples are split into those that are trained on, chosen by, and tested on.

They are dealt out by a hash of their group or tree, so that further examples never move those that were there; or in
parts of about the same size and the same labels. Neither tears a group, or equal trees, apart.
"""

from collections.abc import Hashable, Iterator, Sequence
from hashlib import blake2b
from typing import Literal

import numpy as np

from dgltree.batching.subtrees import Named, digests, scattered
from dgltree.datasets.settings import SYNONYMS, key_of
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.read.leaf_values import number

SplitRule = Literal["hash", "stratified"]
SPLITS = ("train", "validation", "test")
TENTH = 10
MIN_HASHED_EXAMPLES = 200
"""Examples from which on a hash deals them out: of fewer, parts are too unequal."""
MIN_HASHED_UNITS = 50
"""Groups or different trees from which on a hash deals them out."""
MOST_STRATA = 0.1
"""Different labels an example up to which each is dealt out evenly; of more, labels are numbers or names."""
JITTER = 0.7
"""How much, as an exponent, the size of a unit is changed by chance before the larger ones are dealt out first."""
STEP = 0x9E3779B97F4A7C15


def split(
    dataset: TreeDataset, seed: int, names: Sequence[str] = SPLITS, rule: SplitRule | None = None
) -> dict[str, TreeDataset]:
    """Return the splits of a data set by their names: by its own column, else by chance.

    By chance a tenth each is for validation and test. What belongs to one group stays together, and where there are no
    groups equal trees do, so that none is trained on and tested on; more than a tenth of all examples that belong
    together are trained on. A column that names no examples for validation gets a tenth of the training examples. Fewer
    than ten examples are too few.

    By the rule "hash" each group or tree goes where its hash and the seed send it, so that further examples never move
    those that were there, unless a group grows beyond a tenth; classes may be shared out unevenly. By the rule
    "stratified" each part has about the same share of each class, and further examples move others.

    Args:
        dataset: to be split.
        seed: of the choice.
        names: of those that are wanted of a choice by chance; what is not is trained on.
        rule: of a choice by chance; None: "hash" from 200 examples in 50 groups (or different trees) on.

    Raises ``ValueError`` for an unknown name in the column, and where a split would have no examples.
    """
    if any(dataset.splits):
        rows_of = _by_column(dataset)
        if "validation" not in rows_of:
            train = dataset.select(rows_of.pop("train"))
            train.splits = [None] * len(train)
            others = {name: dataset.select(rows) for name, rows in rows_of.items()}
            return split(train, seed, SPLITS[:2], rule) | others
    elif (rule or rule_for(dataset)) == "hash":
        rows_of = _by_hash(dataset, seed, names)
    else:
        rows_of = _by_chance(dataset, seed, names)
    for name in SPLITS[:2]:
        if not rows_of.get(name):
            raise ValueError(_too_few(f"a {name} set", dataset))
    return {name: dataset.select(rows) for name, rows in rows_of.items()}


def rule_for(dataset: TreeDataset) -> SplitRule:
    """Return the rule by which a data set is split unless one is named."""
    if len(dataset) < MIN_HASHED_EXAMPLES:
        return "stratified"
    return "hash" if len(np.unique(unit_keys(dataset))) >= MIN_HASHED_UNITS else "stratified"


def _by_column(dataset: TreeDataset) -> dict[str, list[int]]:
    """Return the rows of each split that the column names, without the splits that have none."""
    rows_of: dict[str, list[int]] = {name: [] for name in SPLITS}
    for i, name in enumerate(dataset.splits):
        known = SYNONYMS.get((name or "").lower())
        if known is None:
            raise ValueError(f"line {dataset.lines[i]}: the split is {name!r}; it must be one of {', '.join(SYNONYMS)}")
        rows_of[known].append(i)
    if not rows_of["train"]:
        raise ValueError("the split column has no training examples")
    return {name: rows for name, rows in rows_of.items() if rows}


def _by_hash(dataset: TreeDataset, seed: int, names: Sequence[str]) -> dict[str, list[int]]:
    """Return the rows of each split that gets any: a tenth of the hashes for each name but the first."""
    keys = unit_keys(dataset)
    _, unit, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    tenth_of = hashed_parts(keys, TENTH, seed)
    too_large_to_hold_out = sizes[unit] > len(keys) // TENTH
    tenth_of[too_large_to_hold_out] = -1

    held_out = {name: np.flatnonzero(tenth_of == tenth) for tenth, name in enumerate(names[1:])}
    train = np.flatnonzero((tenth_of < 0) | (tenth_of >= len(held_out)))
    return {name: rows.tolist() for name, rows in ({"train": train} | held_out).items() if len(rows)}


def unit_keys(data: TreeDataset) -> np.ndarray:
    """Return (E,) uint64, equal for examples that stay together: of one group, and without a group with equal trees."""
    keys = tree_keys(data)
    for i, group in enumerate(data.groups):
        if group is not None:
            digest = blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            keys[i] = int.from_bytes(digest, "little")
    return keys


def tree_keys(data: TreeDataset) -> np.ndarray:
    """Return (E,) uint64, equal for examples of equal trees, in any file and however numbers at leaves are read."""
    keys = np.zeros(len(data), np.uint64)
    for digests_of_side in tree_digests(data.by_value()).T:
        keys = scattered(keys + np.uint64(STEP)) ^ digests_of_side
    return scattered(keys)


def hashed_parts(keys: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return (E,) int64, the part of each key, from 0 to ``count`` - 1: a function of the key and the seed alone."""
    seeded = scattered(scattered(keys) + np.uint64(STEP * (seed + 1) % 2**64))
    return (seeded % np.uint64(count)).astype(np.int64)


def _by_chance(dataset: TreeDataset, seed: int, names: Sequence[str]) -> dict[str, list[int]]:
    """Return the rows of the training set and of the sets that are held out, fewer than named if units are few."""
    part = stratify(dataset, TENTH, seed, most=max(1, len(dataset) // TENTH))
    filled: list[int] = []
    if len(dataset) >= TENTH:
        filled = [tenth for tenth in range(TENTH - 1, 0, -1) if (part == tenth).any()]  # few groups fill fewer parts
    part_of = dict(zip(names[1:], filled, strict=False))
    held_out = list(part_of.values())

    part = _with_enough(part, units_of(dataset), held_out)
    rows_of = {"train": np.flatnonzero(~np.isin(part, held_out)).tolist()}
    for name, tenth in part_of.items():
        rows_of[name] = np.flatnonzero(part == tenth).tolist()
    return rows_of


def stratify(dataset: TreeDataset, count: int, seed: int, most: int | None = None) -> np.ndarray:
    """Return (E,) int64, the part of each example, from 0 to ``count`` - 1.

    Units of several examples are dealt out first, about the largest first, each to where the classes stay most even.
    Then single examples are dealt out in turn, sorted by their class.

    Args:
        dataset: the examples.
        count: of the parts.
        seed: of the choice.
        most: examples of a unit from which on it goes to part 0: larger than a part should be.
    """
    units = units_of(dataset)
    strata = _strata(dataset)
    sizes = np.bincount(units)
    rng = np.random.default_rng(seed)
    part = np.zeros(len(sizes), np.int64)
    dealt_out = np.ones(len(sizes), bool) if most is None else sizes <= most

    several = np.flatnonzero((sizes > 1) & dealt_out)
    jittered_sizes = sizes[several] * np.exp(JITTER * rng.random(len(several)))
    several = several[np.argsort(-jittered_sizes, kind="stable")]
    part[several] = _greedy(units, strata, several, count)

    single = np.flatnonzero((sizes == 1) & dealt_out)
    stratum = np.zeros(len(sizes), np.int64)
    stratum[units] = strata  # of a unit of one example its label
    single = single[np.lexsort((rng.random(len(single)), stratum[single]))]
    part[single] = np.arange(len(single)) % count
    return part[units]


def units_of(dataset: TreeDataset) -> np.ndarray:
    """Return (E,) int64, equal numbers from 0 for examples that stay together: of one group, else with equal trees."""
    if any(group is not None for group in dataset.groups):
        names = [f"#{i}" if group is None else f"={group}" for i, group in enumerate(dataset.groups)]
        return np.unique(names, return_inverse=True)[1]
    return np.unique(first_equal(dataset), axis=0, return_inverse=True)[1].reshape(-1)


def _strata(dataset: TreeDataset) -> np.ndarray:
    """Return (E,) int64: equal numbers for equal classes, all 0 if labels are numbers or as good as unique."""
    labels = ["" if label is None else label for label in dataset.labels]
    names, codes = np.unique(labels, return_inverse=True)
    values = [number(str(name)) for name in names]
    if all(value is not None for value in values):
        is_numeric = any(not float(value).is_integer() for value in values)  # type: ignore[arg-type]
    else:
        is_numeric = False
    if is_numeric or len(names) > max(2, MOST_STRATA * len(labels)):
        return np.zeros(len(labels), np.int64)
    return codes


def _greedy(units: np.ndarray, strata: np.ndarray, order: np.ndarray, count: int) -> np.ndarray:
    """Return (len(order),) int64: each unit in turn goes where the classes and sizes of the parts stay most even.

    Even is the least sum of squares of what the parts hold of each class and of all examples. Of its growth
    (held + share)^2 - held^2, only held * share differs between parts.
    """
    labels = int(strata.max()) + 1
    examples = np.zeros((int(units.max()) + 1, labels + 1))
    np.add.at(examples, (units, strata), 1)
    examples[:, -1] = examples[:, :-1].sum(1)
    shares = examples / examples.sum(0).clip(min=1)  # of a class, and in the last column of all examples
    held = np.zeros((count, labels + 1))
    part = np.empty(len(order), np.int64)
    for i, unit in enumerate(order):
        growth = (held * shares[unit]).sum(1)
        part[i] = np.argmin(growth)
        held[part[i]] += shares[unit]
    return part


def _with_enough(part: np.ndarray, units: np.ndarray, held_out: Sequence[int]) -> np.ndarray:
    """Return the parts, where one that is held out and has less than half of a tenth gets the unit nearest to a tenth.

    Where nearly all groups are larger than a tenth, what is left over for it would be a handful of examples.
    """
    part = part.copy()
    wanted = len(part) / TENTH
    sizes = np.bincount(units)
    for tenth in held_out:
        count = int((part == tenth).sum())
        held_out_of_unit = np.bincount(units, np.isin(part, held_out))
        free = np.flatnonzero(held_out_of_unit == 0)
        if 2 * count >= wanted or len(free) <= 1:
            continue
        nearest = free[np.argmin(abs(sizes[free] + count - wanted))]
        if wanted / 2 <= sizes[nearest] + count < 2 * wanted - count:
            part[units == nearest] = tenth
    return part


def folds(dataset: TreeDataset, count: int, seed: int) -> list[TreeDataset]:
    """Return the data set ``count`` times, each with another part for testing and a tenth of the rest for validation.

    Every example is tested once. Raises ``ValueError`` for a column of splits, which says otherwise, for fewer than two
    folds, and where there is too little to deal out.
    """
    if count < 2:
        raise ValueError(f"folds is {count}; it must be 2 or more")
    if any(dataset.splits):
        raise ValueError("folds make their own splits, but the data has a split column; leave out folds or the column")
    part = stratify(dataset, count, seed)
    copies = []
    for fold in range(count):
        rest = np.flatnonzero(part != fold)
        rows_of = _by_chance(dataset.select(rest.tolist()), seed, SPLITS[:2])
        if not rows_of["train"] or not rows_of.get("validation") or len(rest) == len(dataset):
            raise ValueError(_too_few(f"{count} folds", dataset))
        names = np.full(len(dataset), "test", object)
        names[rest[rows_of["train"]]] = "train"
        names[rest[rows_of["validation"]]] = "validation"
        copy = dataset.select(range(len(dataset)))
        copy.splits = names.tolist()
        copies.append(copy)
    return copies


def _too_few(what: str, dataset: TreeDataset) -> str:
    kinds = int(units_of(dataset).max()) + 1
    together = f"{kinds} groups that stay together (equal trees, or --group-by)"
    return f"too few examples for {what}: {len(dataset)} in {together}"


def count_shared_groups(splits: dict[str, TreeDataset]) -> dict[str, int]:
    """Return how many groups, or else files, of each other split have examples in the training split too."""
    groups_of: dict[str, set[str]] = {}
    for name, data in splits.items():
        groups_of[name] = {group or file for group, file in zip(data.groups, data.files, strict=True)} - {""}
    train = groups_of.pop("train")
    return {name: len(groups & train) for name, groups in groups_of.items()}


def count_shared_examples(splits: dict[str, TreeDataset]) -> dict[str, int]:
    """Return how many examples of each other split are in the training split too, trees and all, as they were read.

    Labels do not count.
    """
    digests_of_all = np.concatenate([tree_digests(data.as_read()) for data in splits.values()])
    trees = np.unique(digests_of_all, axis=0, return_inverse=True)[1].reshape(-1)
    ends = np.cumsum([len(data) for data in splits.values()])
    trees_of = dict(zip(splits, np.split(trees, ends[:-1]), strict=True))
    train = trees_of.pop("train")
    return {name: int(np.isin(trees, train).sum()) for name, trees in trees_of.items()}


def count_contradicted(data: TreeDataset, digests_of_trees: np.ndarray | None = None) -> int:
    """Return how many examples have trees that occur with another label, too; those without a label do not count.

    Args:
        data: the examples.
        digests_of_trees: (E, 1 or 2) uint64, of :func:`tree_digests` if they were made already.
    """
    if digests_of_trees is None:
        digests_of_trees = tree_digests(data)
    labelled: list[int] = []
    labels: list[int] = []
    codes: dict[Hashable, int] = {}
    for i, label in enumerate(data.labels):
        if label is not None:
            labelled.append(i)
            labels.append(codes.setdefault(key_of(label), len(codes)))
    trees = np.unique(digests_of_trees[labelled], axis=0, return_inverse=True)[1].reshape(-1)
    tree_and_label = np.unique(np.column_stack([trees, labels]), axis=0).astype(np.int64)
    labels_of_tree = np.bincount(tree_and_label[:, 0])
    return int((labels_of_tree[trees] > 1).sum())


def tree_digests(data: TreeDataset) -> np.ndarray:
    """Return (E, 1 or 2) uint64, a digest of each tree of each example: equal for equal trees, in any data set."""
    of_roots = [of_nodes[roots] for of_nodes, roots in node_digests(data)]
    return np.concatenate(of_roots).reshape(-1, data.each)


def first_equal(data: TreeDataset) -> np.ndarray:
    """Return (E, 1 or 2) int64, for each tree the first node of the data set that is the root of an equal one."""
    different, index = np.unique(tree_digests(data), return_inverse=True)
    first = np.full(len(different), np.iinfo(np.int64).max)
    nodes_before = 0
    for of_nodes, _ in node_digests(data):
        candidate = np.searchsorted(different, of_nodes).clip(max=len(different) - 1)
        nodes = np.flatnonzero(different[candidate] == of_nodes)
        np.minimum.at(first, candidate[nodes], nodes_before + nodes)
        nodes_before += len(of_nodes)
    return first[index].reshape(-1, data.each)


def node_digests(data: TreeDataset) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the digests of all nodes, and the roots, block after block. No data set needs to fit into memory."""
    named = Named.of(data.own_vocabulary)
    for block in data.blocks():
        yield digests(block.trees, named), block.trees.roots.numpy()
