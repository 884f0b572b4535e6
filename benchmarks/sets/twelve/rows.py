"""The examples of a set as trees with numbers for labels, and three splits that keep groups together."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import dgltree
from benchmarks.sets.records import LabelledRecord, sample
from benchmarks.sets.splits import split_groups
from benchmarks.sets.twelve.names import NUMBERS, SETS
from dgltree.trees.tree import Tree

SEEDS = (0, 1, 2)


class LabelledTree(NamedTuple):
    """An example: its place in the set, its tree as ``dgltree fit`` reads it, its number or the place of its class."""

    place: int
    tree: Tree
    label: float


class TreeParts(NamedTuple):
    """The examples of a split."""

    train: list[LabelledTree]
    validation: list[LabelledTree]
    test: list[LabelledTree]


def records(name: str, data: Path | None) -> list[LabelledRecord]:
    """The examples of a set. Raises ``ValueError`` for a set of the published data without their folder."""
    each = SETS[name]
    if each.published and data is None:
        raise ValueError(f"{name} needs the folder of the published data")
    return sample(each.records(data) if each.published else each.records(), each.most)


def split(found: Sequence[LabelledRecord], seed: int) -> tuple[list[int], list[int], list[int]]:
    """The places of the examples to train on, to validate on and to test on."""
    return split_groups(range(len(found)), lambda place: found[place].group, seed)


def fingerprint(found: Sequence[LabelledRecord], places: Sequence[int]) -> str:
    """The first digits of the SHA-256 of labels and trees."""
    text = "".join(f"{found[place].label}\t{found[place].trees[0]}\n" for place in places)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def write(found: Sequence[LabelledRecord], splits: tuple[Sequence[int], ...], file: Path) -> None:
    """A file for ``dgltree fit`` with a label, a group and a split for each example."""
    of = {place: name for name, places in zip(TreeParts._fields, splits, strict=True) for place in places}
    with file.open("w", encoding="utf-8") as opened:
        for place, record in enumerate(found):
            more = {"label": record.label, "group": record.group, "split": of[place]}
            if file.suffix == ".conllu":
                comments = "".join(f"# {key} = {value}\n" for key, value in more.items())
                opened.write(f"{comments}{record.trees[0]}\n")
            else:
                opened.write(json.dumps(more | {"tree": record.trees[0]}) + "\n")


def read(name: str, file: Path, splits: tuple[Sequence[int], ...]) -> tuple[TreeParts, list[str]]:
    """The parts of what :func:`write` wrote, and the classes. Raises ``ValueError`` if not all of it can be read."""
    options = SETS[name].options
    data = dgltree.TreeDataset.from_file(file, notation=options[1] if options else None)
    if data.bad:
        raise ValueError(f"{file}: {data.bad[0].message}")
    labels = [str(label) for label in data.labels]
    classes = [] if name in NUMBERS else sorted(set(labels))
    rows = [
        LabelledTree(place, tree, float(classes.index(label) if classes else label))
        for place, label in enumerate(labels)
        if isinstance(tree := data[place][0], Tree)
    ]
    return TreeParts(*([rows[place] for place in places] for places in splits)), classes
