"""Records that cannot be read or answered: the first few are told on the standard error, and how many there are."""

import sys
from collections.abc import Sequence

from dgltree.datasets.formats import Bad
from dgltree.datasets.formats.format import in_order
from dgltree.datasets.from_file import FEW


class BadRecords:
    """Those of a file, as they are found.

    Args:
        file: as it was given.
        strict: whether the first one is an error.
    """

    def __init__(self, file: str, strict: bool) -> None:
        self.file, self.strict, self.count, self.told = file, strict, 0, 0

    def __call__(self, bad: Sequence[Bad], count: int | None = None) -> None:
        """Tell of some more; of ``count``, where these are not all of them. ``ValueError`` with ``strict``."""
        for each in in_order(bad):
            text = each.at(self.file)
            if self.strict:
                raise ValueError(text)
            if self.told < FEW:
                print(f"dgltree: {text}", file=sys.stderr)
                self.told += 1
        self.count += len(bad) if count is None else count

    def close(self) -> None:
        """To be called behind the last record."""
        if self.count > self.told:
            print(f"dgltree: {self.file}: {self.count - self.told} more could not be read", file=sys.stderr)


def report_bad(file: str, bad: Sequence[Bad], strict: bool = False) -> None:
    """Say what could not be read of a whole file."""
    report = BadRecords(file, strict)
    report(bad)
    report.close()
