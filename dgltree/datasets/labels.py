"""Which examples have a label that can be used."""

from dgltree.datasets.formats.format import Bad, in_order
from dgltree.datasets.settings.field_texts import label_number
from dgltree.datasets.settings.reading import Reading
from dgltree.datasets.tree_dataset import TreeDataset


def with_labels(data: TreeDataset, numbers: bool) -> TreeDataset:
    """The examples with a label, which is a number where ``numbers`` are asked for; the others are in ``bad``.

    Raises ``ValueError`` where there are none.
    """
    kept, bad = labelled(data, numbers)
    if kept is None:
        raise ValueError(f"no example can be used: {bad[0].where}: {bad[0].message} ({where(data.reading)})")
    if bad:
        kept.bad = in_order([*data.bad, *bad])
    return kept


def labelled(data: TreeDataset, numbers: bool) -> tuple[TreeDataset | None, list[Bad]]:
    """The examples with such a label, or None, and the faults of the others."""
    wrong = {i: why for i, label in enumerate(data.labels) if (why := _wrong(label, numbers))}
    if not wrong:
        return data, []
    bad = [data.bad_at(i, f"{data.ids[i]}: {why}" if data.ids[i] else why) for i, why in wrong.items()]
    rows = [i for i in range(len(data)) if i not in wrong]
    return (data.select(rows) if rows else None), bad


def where(reading: Reading) -> str:
    """Where labels were looked for, and how to name another place."""
    if reading.label_from:
        return f"--label-from {reading.label_from} found none in any record"
    return (
        f"labels are read from the column {reading.label!r}, or the comment of that name in CoNLL-U; "
        "--label names another one, --label-from other places"
    )


def _wrong(label: str | None, numbers: bool) -> str | None:
    if label is None:
        return "no label"
    if numbers and label_number(label) is None:
        return f"the label {label!r} is not a number that float32 can hold"
    return None
