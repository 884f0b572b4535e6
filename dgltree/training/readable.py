"""Whether a file was read in its own notation: one that reads few of its records was detected by chance."""

from dgltree.datasets.formats import open_format
from dgltree.datasets.formats.records import Records
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.read.notations import told

MOST_BAD = 0.1
"""Which share of the records may be unreadable in a notation that was detected."""


def check_readable(data: TreeDataset) -> None:
    """``ValueError`` where over a tenth of a file's records could not be read, and nobody named its notation.

    It says how many of the first trees each notation reads.
    """
    bad, count = len(data.bad), len(data) + len(data.bad)
    if data.detected_in is None or bad <= MOST_BAD * count:
        return
    file = open_format(data.detected_in, data.reading)
    texts = file.sample_texts()[0] if isinstance(file, Records) and file.source.stream is None else []
    of_sample = f" (of the first {len(texts)}: {told(texts)})" if texts else ""
    raise ValueError(
        f"{data.detected_in}: {bad:,} of {count:,} records ({bad / count:.1%}) could not be read as "
        f"{data.reading.notation}, which was detected{of_sample}; first {data.bad[0].where}: {data.bad[0].message}. "
        f"Name the right notation, or --notation {data.reading.notation} to leave these records out"
    )
