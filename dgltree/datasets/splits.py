"""Which examples are trained on, chosen by, and tested on."""

from collections.abc import Sequence

import torch
from torch import Tensor

from dgltree.batching.subtrees import number_subtrees
from dgltree.datasets.flat import join
from dgltree.datasets.tree_dataset import TreeDataset

NAMES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("valid", "validation", "val", "dev"), "valid"),
    "test": "test",
}
TENTH = 10


def split(dataset: TreeDataset, seed: int, parts: Sequence[str] = ("train", "valid", "test")) -> dict[str, TreeDataset]:
    """The parts of a data set: by its own column, else by chance.

    By chance a tenth each is for validation and test. Equal trees stay together, so that none is trained on and tested
    on; a column that names no examples for validation gets a tenth of the training examples.

    Args:
        dataset: to be parted.
        seed: of the choice.
        parts: those that are wanted of a choice by chance; what is not is trained on.

    Raises ``ValueError`` for an unknown name in the column, and where a part would have no examples.
    """
    if any(dataset.splits):
        found = _by_column(dataset)
        if "valid" not in found:
            train = dataset.select(found.pop("train"))
            rest = {name: dataset.select(rows) for name, rows in found.items()}
            return split(_without_column(train), seed, ("train", "valid")) | rest
    else:
        found = _by_chance(dataset, seed, parts)
    for name in ("train", "valid"):
        if not found.get(name):
            raise ValueError(f"{len(dataset)} examples leave none for the part {name!r}")
    return {name: dataset.select(rows) for name, rows in found.items() if rows}


def _by_column(dataset: TreeDataset) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for i, name in enumerate(dataset.splits):
        if (name or "").lower() not in NAMES:
            raise ValueError(f"line {dataset.lines[i]}: the split is {name!r}; it is one of {', '.join(NAMES)}")
        found.setdefault(NAMES[str(name).lower()], []).append(i)
    if "train" not in found:
        raise ValueError("the column of splits names no examples to train on")
    return found


def _without_column(dataset: TreeDataset) -> TreeDataset:
    dataset.splits = [None] * len(dataset)
    return dataset


def _by_chance(dataset: TreeDataset, seed: int, parts: Sequence[str]) -> dict[str, list[int]]:
    kinds = _kinds(number_subtrees(dataset.trees).number[dataset.trees.roots].view(-1, dataset.each))
    count = int(kinds.max()) + 1
    place = torch.randperm(count, generator=torch.Generator().manual_seed(seed))[kinds] * TENTH // count
    held_out = {name: TENTH - 1 - i for i, name in enumerate(parts[1:])}
    found = {name: torch.nonzero(place == tenth).flatten().tolist() for name, tenth in held_out.items()}
    return {"train": torch.nonzero(place < TENTH - len(held_out)).flatten().tolist(), **found}


def shared_examples(parts: dict[str, TreeDataset]) -> dict[str, int]:
    """How many examples of the other parts stand in the training part too, trees and all; labels do not count."""
    flat = join([part.trees for part in parts.values()])
    each = next(iter(parts.values())).each
    kinds = _kinds(number_subtrees(flat).number[flat.roots].view(-1, each))
    by_part = dict(zip(parts, kinds.split([len(part) for part in parts.values()]), strict=True))
    train = by_part.pop("train")
    return {name: int(torch.isin(rows, train).sum()) for name, rows in by_part.items()}


def _kinds(numbers: Tensor) -> Tensor:
    """(E,) int64: equal numbers, from 0, for equal rows."""
    return torch.unique(numbers, dim=0, return_inverse=True)[1]
