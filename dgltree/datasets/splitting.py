"""Examples are split into those that are trained on, chosen by, and tested on.

They are dealt out by a hash of their group or tree, so that further examples never move those that were there; or in
parts of about the same size and the same labels. Neither tears a group, or equal trees, apart.
"""

from collections.abc import Iterator, Sequence
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
    """The splits of a data set by their names: by its own column, else by chance.

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
        found = _by_column(dataset)
        if "validation" not in found:
            train = dataset.select(found.pop("train"))
            train.splits = [None] * len(train)
            rest = {name: dataset.select(rows) for name, rows in found.items()}
            return split(train, seed, SPLITS[:2], rule) | rest
    else:
        chosen = _by_hash if (rule or rule_for(dataset)) == "hash" else _by_chance
        found = chosen(dataset, seed, names)
    for name in SPLITS[:2]:
        if not found.get(name):
            raise ValueError(_too_few(f"a {name} set", dataset))
    return {name: dataset.select(rows) for name, rows in found.items()}


def rule_for(dataset: TreeDataset) -> SplitRule:
    """The rule by which a data set is split unless one is named."""
    if len(dataset) < MIN_HASHED_EXAMPLES:
        return "stratified"
    return "hash" if len(np.unique(unit_keys(dataset))) >= MIN_HASHED_UNITS else "stratified"


def _by_column(dataset: TreeDataset) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {name: [] for name in SPLITS}
    for i, name in enumerate(dataset.splits):
        if (name or "").lower() not in SYNONYMS:
            raise ValueError(f"line {dataset.lines[i]}: the split is {name!r}; it must be one of {', '.join(SYNONYMS)}")
        found[SYNONYMS[str(name).lower()]].append(i)
    if not found["train"]:
        raise ValueError("the split column has no training examples")
    return {name: rows for name, rows in found.items() if rows}


def _by_hash(dataset: TreeDataset, seed: int, names: Sequence[str]) -> dict[str, list[int]]:
    keys = unit_keys(dataset)
    _, unit, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    part = np.where(sizes[unit] > len(keys) // TENTH, -1, hashed_parts(keys, TENTH, seed))
    held_out = {name: part == tenth for tenth, name in enumerate(names[1:])}
    train = ~np.any(list(held_out.values()), axis=0) if held_out else np.ones(len(keys), bool)
    return {name: np.flatnonzero(rows).tolist() for name, rows in ({"train": train} | held_out).items() if rows.any()}


def unit_keys(data: TreeDataset) -> np.ndarray:
    """(E,) uint64, equal for examples that stay together: of one group, and without a group with equal trees."""
    keys = tree_keys(data)
    for i, group in enumerate(data.groups):
        if group is not None:
            keys[i] = int.from_bytes(blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    return keys


def tree_keys(data: TreeDataset) -> np.ndarray:
    """(E,) uint64, equal for examples of equal trees, in any file and however numbers at leaves are read."""
    found = np.zeros(len(data), np.uint64)
    for side in tree_digests(data.by_value()).T:
        found = scattered(found + np.uint64(STEP)) ^ side
    return scattered(found)


def hashed_parts(keys: np.ndarray, count: int, seed: int) -> np.ndarray:
    """(E,) int64, the part of each key, from 0 to ``count`` - 1: a function of the key and the seed alone."""
    drawn = scattered(scattered(keys) + np.uint64(STEP * (seed + 1) % 2**64))
    return (drawn % np.uint64(count)).astype(np.int64)


def _by_chance(dataset: TreeDataset, seed: int, names: Sequence[str]) -> dict[str, list[int]]:
    part = stratify(dataset, TENTH, seed, most=max(1, len(dataset) // TENTH))
    filled = [tenth for tenth in range(TENTH - 1, 0, -1) if (part == tenth).any()]  # few groups fill fewer parts
    filled = filled if len(dataset) >= TENTH else []
    held_out = dict(zip(names[1:], filled, strict=False))
    part = _with_enough(part, units_of(dataset), list(held_out.values()))
    found = {name: np.flatnonzero(part == tenth).tolist() for name, tenth in held_out.items()}
    return {"train": np.flatnonzero(~np.isin(part, list(held_out.values()))).tolist(), **found}


def stratify(dataset: TreeDataset, count: int, seed: int, most: int | None = None) -> np.ndarray:
    """(E,) int64, the part of each example, from 0 to ``count`` - 1.

    Args:
        dataset: the examples.
        count: of the parts.
        seed: of the choice.
        most: examples of a unit from which on it goes to part 0: larger than a part should be.
    """
    units, strata = units_of(dataset), _strata(dataset)
    sizes = np.bincount(units)
    rng = np.random.default_rng(seed)
    part = np.zeros(len(sizes), np.int64)
    fixed = np.zeros(len(sizes), bool) if most is None else sizes > most
    large = np.flatnonzero((sizes > 1) & ~fixed)
    large = large[np.argsort(-sizes[large] * np.exp(JITTER * rng.random(len(large))), kind="stable")]
    part[large] = _greedy(units, strata, large, count)
    single = np.flatnonzero((sizes == 1) & ~fixed)
    own = np.zeros(len(sizes), np.int64)
    own[units] = strata  # of a single one its label
    single = single[np.lexsort((rng.random(len(single)), own[single]))]
    part[single] = np.arange(len(single)) % count
    return part[units]


def units_of(dataset: TreeDataset) -> np.ndarray:
    """(E,) int64, equal numbers from 0 for examples that stay together: of one group, else with equal trees."""
    if any(group is not None for group in dataset.groups):
        names = [f"#{i}" if group is None else f"={group}" for i, group in enumerate(dataset.groups)]
        return np.unique(names, return_inverse=True)[1]
    return np.unique(first_equal(dataset), axis=0, return_inverse=True)[1].reshape(-1)


def _strata(dataset: TreeDataset) -> np.ndarray:
    """(E,) int64: equal numbers for equal classes, all 0 if labels are numbers or as good as unique."""
    labels = ["" if label is None else label for label in dataset.labels]
    names, codes = np.unique(labels, return_inverse=True)
    values = [number(str(name)) for name in names]
    numbers = all(value is not None for value in values) and any(not float(value).is_integer() for value in values)  # type: ignore[arg-type]
    if numbers or len(names) > max(2, MOST_STRATA * len(labels)):
        return np.zeros(len(labels), np.int64)
    return codes


def _greedy(units: np.ndarray, strata: np.ndarray, order: np.ndarray, count: int) -> np.ndarray:
    """(len(order),) int64: each unit in turn goes where the classes and the sizes of the parts stay most even."""
    labels = int(strata.max()) + 1
    table = np.zeros((int(units.max()) + 1, labels + 1))
    np.add.at(table, (units, strata), 1)
    table[:, -1] = table[:, :-1].sum(1)
    shares = table / table.sum(0).clip(min=1)  # of all examples of a class, and of all examples
    held = np.zeros((count, labels + 1))
    found = np.empty(len(order), np.int64)
    for i, unit in enumerate(order):
        found[i] = np.argmin(
            (held * shares[unit]).sum(1)
        )  # the growth of the squares, except for what is the same anywhere
        held[found[i]] += shares[unit]
    return found


def _with_enough(part: np.ndarray, units: np.ndarray, held_out: Sequence[int]) -> np.ndarray:
    """The parts, where one that is held out and has less than half of a tenth gets the group nearest to a tenth.

    Where nearly all groups are larger than a tenth, what is left over for it would be a handful of examples.
    """
    wanted, part = len(part) / TENTH, part.copy()
    sizes = np.bincount(units)
    for tenth in held_out:
        count = int((part == tenth).sum())
        free = np.flatnonzero(np.bincount(units, np.isin(part, held_out)) == 0)
        if 2 * count < wanted and len(free) > 1:
            nearest = free[np.argmin(abs(sizes[free] + count - wanted))]
            if wanted / 2 <= sizes[nearest] + count < 2 * wanted - count:
                part[units == nearest] = tenth
    return part


def folds(dataset: TreeDataset, count: int, seed: int) -> list[TreeDataset]:
    """The data set ``count`` times, each with another part for testing and a tenth of the rest for validation.

    Every example is tested once. Raises ``ValueError`` for a column of splits, which says otherwise, for fewer than two
    folds, and where there is too little to deal out.
    """
    if count < 2:
        raise ValueError(f"folds is {count}; it must be 2 or more")
    if any(dataset.splits):
        raise ValueError("folds make their own splits, but the data has a split column; leave out folds or the column")
    part = stratify(dataset, count, seed)
    found = []
    for fold in range(count):
        rest = np.flatnonzero(part != fold)
        chosen = _by_chance(dataset.select(rest.tolist()), seed, SPLITS[:2])
        if not chosen["train"] or not chosen.get("validation") or len(rest) == len(dataset):
            raise ValueError(_too_few(f"{count} folds", dataset))
        copy = dataset.select(range(len(dataset)))
        names = np.full(len(dataset), "test", object)
        names[rest[chosen["train"]]], names[rest[chosen["validation"]]] = "train", "validation"
        copy.splits = names.tolist()
        found.append(copy)
    return found


def _too_few(what: str, dataset: TreeDataset) -> str:
    kinds = int(units_of(dataset).max()) + 1
    together = f"{kinds} groups that stay together (equal trees, or --group-by)"
    return f"too few examples for {what}: {len(dataset)} in {together}"


def count_shared_groups(splits: dict[str, TreeDataset]) -> dict[str, int]:
    """How many groups of the other splits, or else files of a folder, have examples in the training split too."""
    by_split = {
        name: {group or file for group, file in zip(data.groups, data.files, strict=True)} - {""}
        for name, data in splits.items()
    }
    train = by_split.pop("train")
    return {name: len(groups & train) for name, groups in by_split.items()}


def count_shared_examples(splits: dict[str, TreeDataset]) -> dict[str, int]:
    """How many examples of the other splits are in the training split too, trees and all, as they were read.

    Labels do not count.
    """
    kinds = np.unique(
        np.concatenate([tree_digests(data.as_read()) for data in splits.values()]), axis=0, return_inverse=True
    )[1]
    ends = np.cumsum([len(data) for data in splits.values()])
    by_split = dict(zip(splits, np.split(kinds.reshape(-1), ends[:-1]), strict=True))
    train = by_split.pop("train")
    return {name: int(np.isin(rows, train).sum()) for name, rows in by_split.items()}


def count_contradicted(data: TreeDataset, digests_of_trees: np.ndarray | None = None) -> int:
    """How many examples have trees that occur with another label, too; those without a label do not count.

    Args:
        data: the examples.
        digests_of_trees: (E, 1 or 2) uint64, of :func:`tree_digests` if they were made already.
    """
    if digests_of_trees is None:
        digests_of_trees = tree_digests(data)
    labels = [None if label is None else key_of(label) for label in data.labels]
    codes = {label: i for i, label in enumerate(dict.fromkeys(label for label in labels if label is not None))}
    code = np.array([-1 if label is None else codes[label] for label in labels])
    kinds = np.unique(digests_of_trees, axis=0, return_inverse=True)[1].reshape(-1)[code >= 0]
    code = code[code >= 0]
    lowest, highest = np.full(len(data), len(codes)), np.full(len(data), -1)
    np.minimum.at(lowest, kinds, code)
    np.maximum.at(highest, kinds, code)
    return int((lowest[kinds] != highest[kinds]).sum())


def tree_digests(data: TreeDataset) -> np.ndarray:
    """(E, 1 or 2) uint64, a digest of each tree of each example: equal for equal trees, in any data set."""
    return np.concatenate([of_nodes[roots] for of_nodes, roots in node_digests(data)]).reshape(-1, data.each)


def first_equal(data: TreeDataset) -> np.ndarray:
    """(E, 1 or 2) int64, for each tree the first node of the data set that is the root of an equal one."""
    known, which = np.unique(tree_digests(data), return_inverse=True)
    first, before = np.full(len(known), np.iinfo(np.int64).max), 0
    for of_nodes, _ in node_digests(data):
        place = np.searchsorted(known, of_nodes).clip(max=len(known) - 1)
        nodes = np.flatnonzero(known[place] == of_nodes)
        np.minimum.at(first, place[nodes], before + nodes)
        before += len(of_nodes)
    return first[which].reshape(-1, data.each)


def node_digests(data: TreeDataset) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The digests of all nodes, and the roots, block after block. No data set needs to fit into memory."""
    named = Named.of(data.own_vocabulary)
    for block in data.blocks():
        yield digests(block.trees, named), block.trees.roots.numpy()
