"""Which examples have a label that can be used."""

from dgltree.datasets.formats import Bad
from dgltree.datasets.numbers import label_number
from dgltree.datasets.tree_dataset import TreeDataset


def with_labels(data: TreeDataset, numbers: bool) -> TreeDataset:
    """The examples with a label, which is a number where ``numbers`` are asked for; the others are in ``bad``.

    Raises ``ValueError`` where there are none.
    """
    wrong = {i: why for i, label in enumerate(data.labels) if (why := _wrong(label, numbers))}
    if not wrong:
        return data
    bad = [Bad(data.lines[i], f"{data.ids[i]}: {why}" if data.ids[i] else why) for i, why in wrong.items()]
    if len(bad) == len(data):
        hint = f"labels stand in the column {data.reading.label!r}, or in the one that --label names"
        raise ValueError(f"no example can be used: line {bad[0].line}: {bad[0].message} ({hint})")
    kept = data.select([i for i in range(len(data)) if i not in wrong])
    kept.bad = sorted([*data.bad, *bad])
    return kept


def _wrong(label: str | None, numbers: bool) -> str | None:
    if label is None:
        return "no label"
    if numbers and label_number(label) is None:
        return f"the label {label!r} is no number, or none of 32 bits"
    return None
