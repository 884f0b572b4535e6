"""Which examples are trained on, chosen by, and tested on."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from dgltree.datasets.splitting.duplicates import tree_digests
from dgltree.datasets.splitting.hashed_split import MIN_HASHED_EXAMPLES, MIN_HASHED_UNITS, hashed_parts, unit_keys
from dgltree.datasets.splitting.stratified_split import stratify, units_of
from dgltree.datasets.tree_dataset import TreeDataset

SplitRule = Literal["hash", "stratified"]
SPLITS = ("train", "validation", "test")
SYNONYMS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("valid", "validation", "val", "dev"), "validation"),
    "test": "test",
}
"""The values allowed in a column of splits."""
TENTH = 10


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
            rest = {name: dataset.select(rows) for name, rows in found.items()}
            return split(_without_column(train), seed, SPLITS[:2], rule) | rest
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


def _by_hash(dataset: TreeDataset, seed: int, names: Sequence[str]) -> dict[str, list[int]]:
    keys = unit_keys(dataset)
    _, unit, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    part = np.where(sizes[unit] > len(keys) // TENTH, -1, hashed_parts(keys, TENTH, seed))
    held_out = {name: part == tenth for tenth, name in enumerate(names[1:])}
    train = ~np.any(list(held_out.values()), axis=0) if held_out else np.ones(len(keys), bool)
    return {name: np.flatnonzero(rows).tolist() for name, rows in ({"train": train} | held_out).items() if rows.any()}


def _by_column(dataset: TreeDataset) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {name: [] for name in SPLITS}
    for i, name in enumerate(dataset.splits):
        if (name or "").lower() not in SYNONYMS:
            raise ValueError(f"line {dataset.lines[i]}: the split is {name!r}; it must be one of {', '.join(SYNONYMS)}")
        found[SYNONYMS[str(name).lower()]].append(i)
    if not found["train"]:
        raise ValueError("the split column has no training examples")
    return {name: rows for name, rows in found.items() if rows}


def _without_column(dataset: TreeDataset) -> TreeDataset:
    dataset.splits = [None] * len(dataset)
    return dataset


def _by_chance(dataset: TreeDataset, seed: int, names: Sequence[str]) -> dict[str, list[int]]:
    part = stratify(dataset, TENTH, seed, most=max(1, len(dataset) // TENTH))
    filled = [tenth for tenth in range(TENTH - 1, 0, -1) if (part == tenth).any()]  # few groups fill fewer parts
    filled = filled if len(dataset) >= TENTH else []
    held_out = dict(zip(names[1:], filled, strict=False))
    part = _with_enough(part, units_of(dataset), list(held_out.values()))
    found = {name: np.flatnonzero(part == tenth).tolist() for name, tenth in held_out.items()}
    return {"train": np.flatnonzero(~np.isin(part, list(held_out.values()))).tolist(), **found}


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
        raise ValueError("folds make their own splits, but the data has a split column; leave one of them out")
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
