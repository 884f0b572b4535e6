"""The split of a training is a table in its folder, which a later training or evaluation takes over."""

import csv
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dgltree.datasets.splitting import SPLITS, SYNONYMS, TENTH, hashed_parts, tree_digests, tree_keys, unit_keys
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.support.files import replacing
from dgltree.training.folder import SETTINGS_FILE, SPLIT_FILE, TRAINED_ON, split_seed

MAX_TABLE_EXAMPLES = 1_000_000
"""Examples up to which a table is written."""
COLUMNS = ("split", "tree", "group", "id", "line")
MAX_DIGESTS = 1_000_000
"""Training examples up to which their digests are kept, 8 bytes per tree."""


def write_split(splits: Mapping[str, TreeDataset], folder: Path) -> None:
    """Write which example is in which split, or no file for very many examples.

    ``tree`` is a hash of the example's trees (of a pair both), which does not depend on how numbers are read.
    """
    (folder / SPLIT_FILE).unlink(missing_ok=True)
    if sum(map(len, splits.values())) > MAX_TABLE_EXAMPLES:
        return
    with replacing(folder / SPLIT_FILE) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
        rows.writerow(COLUMNS)
        for name, data in splits.items():
            keys = map("{:016x}".format, tree_keys(data).tolist())
            for key, group, id_, line in zip(keys, data.groups, data.ids, data.lines, strict=True):
                rows.writerow([name, key, "" if group is None else f"={group}", id_ or "", line])


@dataclass(frozen=True)
class EarlierSplit:
    """The split of an earlier training.

    Args:
        trees: the split of each tree by its key; of several the one held out longest (test, then validation).
        groups: the same of each group.
        seed: of its choice by chance.
    """

    trees: dict[int, str]
    groups: dict[str, str]
    seed: int

    @classmethod
    def of(cls, folder: Path) -> "EarlierSplit":
        """Read that of a folder of ``dgltree fit``.

        Raises ``FileNotFoundError`` for none, and ``ValueError`` for a damaged one.
        """
        trees: dict[int, str] = {}
        groups: dict[str, str] = {}
        for split, key, group, _, _ in _read_rows(folder):
            name = split if split in SPLITS[:2] else "test"  # tests may have names of their own
            _hold(trees, int(key, 16), name)
            if group:
                _hold(groups, group[1:], name)
        return cls(trees, groups, split_seed(folder))

    def known(self, data: TreeDataset) -> list[str | None]:
        """The earlier split of each example with an earlier tree; None for others."""
        return [self.trees.get(key) for key in tree_keys(data).tolist()]

    def continued(self, data: TreeDataset) -> dict[str, TreeDataset]:
        """A data set with further examples: earlier ones stay in their split, and others are dealt out by their hash.

        An example of an earlier group goes with it; a new group goes where one of its trees was held out, if one was.

        Raises ``ValueError`` if a split has no examples.
        """
        keys = unit_keys(data)
        names = np.array([*SPLITS[1:], *["train"] * (TENTH - 2)])
        parts = dict(zip(keys.tolist(), names[hashed_parts(keys, TENTH, self.seed)].tolist(), strict=True))
        of_units: dict[int, str] = {}
        for unit, before in zip(keys.tolist(), self.known(data), strict=True):
            if before is not None:
                _hold(of_units, unit, before)
        for unit, group in zip(keys.tolist(), data.groups, strict=True):
            if group in self.groups:
                of_units[unit] = self.groups[group]
        parts |= of_units
        found = {name: [i for i, unit in enumerate(keys.tolist()) if parts[unit] == name] for name in SPLITS}
        for name in SPLITS[:2]:
            if not found[name]:
                raise ValueError(f"the earlier split puts none of these {len(data)} examples into the {name} set")
        return {name: data.select(rows) for name, rows in found.items() if rows}


def select_split(data: TreeDataset, folder: Path, name: str) -> TreeDataset:
    """The examples of a file that an earlier training had in one of its splits.

    An example is the same if its trees are, and its id, or without one its line. They are those of the split, or fewer,
    if the file is another one or has changed.

    Raises ``FileNotFoundError`` for a folder that keeps no split, and ``ValueError`` for a damaged one, for a split
    that it does not have and for a file without examples of the split.
    """
    rows = list(_read_rows(folder))
    name = SYNONYMS.get(name, name)
    names = list(dict.fromkeys(split for split, *_ in rows))
    if name not in names:
        raise ValueError(f"{folder / SPLIT_FILE} has no split {name!r:.60}; its splits are {', '.join(names)}")
    kept = {(int(key, 16), id_ or line) for split, key, _, id_, line in rows if split == name}
    keys = zip(tree_keys(data).tolist(), data.ids, data.lines, strict=True)
    found = [i for i, (key, id_, line) in enumerate(keys) if (key, id_ or str(line)) in kept]
    if not found:
        raise ValueError(
            f"none of the {len(data):,} examples is in the {name} split of {folder}; give the file that the model was "
            "trained on"
        )
    return data.select(found)


def count_split(folder: Path, name: str) -> int:
    """How many examples a split of an earlier training has."""
    return sum(split == SYNONYMS.get(name, name) for split, *_ in _read_rows(folder))


def earlier(folder: Path) -> EarlierSplit | None:
    """The split of a folder; None if it keeps none."""
    with suppress(FileNotFoundError):
        return EarlierSplit.of(folder)
    return None


def _read_rows(folder: Path) -> Iterator[list[str]]:
    """The rows of the table of a folder: split, tree, group, id and line.

    Raises ``FileNotFoundError`` for a folder without one, and ``ValueError`` for a damaged one.
    """
    file = folder / SPLIT_FILE
    if not file.exists():
        begun = (folder / SETTINGS_FILE).exists()
        why = "its training has not begun" if begun else "'dgltree fit' did not write this folder"
        raise FileNotFoundError(f"{folder}: no {SPLIT_FILE} in it ({why})")
    with file.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines, delimiter="\t")
        try:
            if tuple(next(rows, ())) != COLUMNS:
                raise ValueError(f"its columns are not {', '.join(COLUMNS)}")
            for row in rows:
                if len(row) != len(COLUMNS):
                    raise ValueError(f"{len(row)} columns of {len(COLUMNS)}")
                int(row[COLUMNS.index("tree")], 16)
                yield row
        except (ValueError, csv.Error) as error:
            raise ValueError(f"{file}: damaged at line {rows.line_num} ({error})") from None


def _hold(held: dict[Any, str], key: Any, name: str) -> None:
    """Note the split of a key, unless one is noted that is held out longer."""
    held[key] = max(held.get(key, name), name, key=SPLITS.index)


def remember(train: TreeDataset, folder: Path) -> None:
    """Write the digests of the trees of a training set as they were read, by which an evaluation finds them again.

    Of very many examples no file is left.
    """
    (folder / TRAINED_ON).unlink(missing_ok=True)
    if len(train) > MAX_DIGESTS:
        return
    with replacing(folder / TRAINED_ON) as beside, beside.open("wb") as file:
        np.save(file, np.unique(tree_digests(train.as_read()), axis=0), allow_pickle=False)


def also_trained_on(data: TreeDataset, folder: Path) -> int:
    """How many examples of a data set have the trees of a training example; 0 if no digests were kept.

    Raises ``ValueError`` for a damaged file.
    """
    file = folder / TRAINED_ON
    if not file.exists():
        return 0
    try:
        kept = np.load(file, allow_pickle=False)
        if kept.dtype != np.uint64 or kept.ndim != 2 or kept.shape[1] != data.each:
            raise ValueError(f"the digests have type {kept.dtype} and shape {kept.shape}")
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{file}: damaged ({error}); delete it to evaluate without this check") from None
    digests = set(map(tuple, kept.tolist()))
    return sum(tuple(row) in digests for row in tree_digests(data.as_read()).tolist())
