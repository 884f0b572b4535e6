"""Which examples have a label that can be used."""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy

from dgltree.datasets.formats.format import Bad, in_order
from dgltree.datasets.settings import (
    Reading,
    class_numbers,
    label_number,
    merge_labels,
    missing_texts,
    number,
    other_spelling,
)
from dgltree.datasets.tree_dataset import TreeDataset

MAX_NAMED_LABELS = 5
"""Labels that a message names."""


def with_labels(data: TreeDataset, numbers: bool) -> TreeDataset:
    """The examples with a label, which is a number if ``numbers`` are asked for; the others are in ``bad``.

    Raises ``ValueError`` if there are none.
    """
    kept, bad = select_labelled(data, numbers)
    if kept is None:
        raise ValueError(f"no example can be used: {bad[0].where}: {bad[0].message} ({where(data.reading)})")
    if bad:
        kept.bad = in_order([*data.bad, *bad])
    return kept


def select_labelled(data: TreeDataset, numbers: bool) -> tuple[TreeDataset | None, list[Bad]]:
    """The examples with such a label, or None, and the faults of the others."""
    missing = missing_texts(data.reading.missing)
    wrong = {i: why for i, label in enumerate(data.labels) if (why := _wrong(label, numbers, missing))}
    if not wrong:
        return data, []
    bad = [data.bad_at(i, f"{data.ids[i]}: {why}" if data.ids[i] else why) for i, why in wrong.items()]
    rows = [i for i in range(len(data)) if i not in wrong]
    return (data.select(rows) if rows else None), bad


def where(reading: Reading) -> str:
    """Where labels were looked for, and how to name another place."""
    if reading.label_from:
        return f"--label-from {reading.label_from} matched no record"
    return (
        f"labels are read from the column {reading.label!r}, or from the CoNLL-U comment of that name; choose another "
        "column with --label, or another source with --label-from"
    )


def present(data: TreeDataset) -> list[str]:
    """The labels that are present, without the texts that mean a missing one."""
    missing = missing_texts(data.reading.missing)
    return [label for label in data.labels if label is not None and label.strip() not in missing]


def absent(data: TreeDataset) -> str:
    """How many labels mean that there is none, in a sentence; empty for none."""
    missing = missing_texts(data.reading.missing)
    counts = Counter(label for label in data.labels if label is not None and label.strip() in missing)
    if not counts:
        return ""
    spelt = ", ".join(f"{label} ({count:,})" for label, count in counts.most_common())
    return f"labels read as missing: {spelt}; --missing sets these labels"


def check_spelling(data: TreeDataset) -> None:
    """``ValueError`` for labels that are all numbers, some of them not written as such: nobody said what is meant."""
    labels = set(present(data))
    others = sorted(label for label in labels if number(label.strip()) is None)
    if others and all(map(other_spelling, others)):
        raise ValueError(
            f"{len(others):,} of {len(labels):,} different labels are numbers with {other_spelling(others[0])}, such "
            f"as {others[0]!r:.60}; write numbers as 1234.5 to predict them, or read the labels as classes with the "
            "task classify (for pairs: pair)"
        )


def unify_labels(files: Mapping[str, TreeDataset], classes: Sequence[str]) -> tuple[dict[str, TreeDataset], str]:
    """Data sets in which labels that are the same have one text; and which are, in a sentence, empty for none.

    Labels are the same if they differ only in blanks around them, in how letters with accents are encoded, in how a
    number is written (``0`` and ``0.0``), or true and false in capitals. One that is among ``classes`` keeps its text.
    """
    names = merge_labels([data.labels for data in files.values()], classes)
    if not names:
        return dict(files), ""
    found = {}
    for split, data in files.items():
        found[split] = copy(data)
        found[split].labels = [None if label is None else names.get(label, label) for label in data.labels]
    told = ", ".join(f"{label!r} as {name!r}" for label, name in sorted(names.items())[:MAX_NAMED_LABELS])
    rest = f" and {len(names) - MAX_NAMED_LABELS:,} more" if len(names) > MAX_NAMED_LABELS else ""
    return found, f"different spellings of a label are read as one class: {told}{rest}"


def check_known(labels: Sequence[str | None], classes: Sequence[str]) -> None:
    """``ValueError`` if there are classes, and not one of the labels is among them."""
    number_of = class_numbers(classes)
    if classes and labels and all(label is None or number_of(label) is None for label in labels):
        there = sorted({label for label in labels if label is not None})
        raise ValueError(
            f"none of the labels is a class of the model: the labels are {_some(there)}, the classes are "
            f"{_some(classes)}; name another column with --label"
        )


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(f"{name!r:.60}" for name in names[:MAX_NAMED_LABELS])
    return f"{shown} and {len(names) - MAX_NAMED_LABELS:,} more" if len(names) > MAX_NAMED_LABELS else shown


def _wrong(label: str | None, numbers: bool, missing: frozenset[str]) -> str | None:
    if label is None:
        return "no label"
    if label.strip() in missing:
        return f"the label {label!r} stands for a missing label (--missing)"
    if numbers and label_number(label.strip()) is None:
        how = other_spelling(label)
        hint = f": it has {how}; write numbers as in 1234.5" if how else ""
        return f"the label {label!r} is not a number that float32 can hold{hint}"
    return None
