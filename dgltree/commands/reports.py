"""Reports on the standard error when a command ends: which records were bad, and what it took."""

import sys
import time
from collections.abc import Callable, Sequence

from dgltree.datasets.formats import Bad
from dgltree.datasets.formats.format import in_order
from dgltree.datasets.loading.from_file import MAX_LISTED_RECORDS
from dgltree.support.durations import in_seconds


class BadRecords:
    """Records of a file that cannot be read, as they are found.

    Args:
        file: as it was given.
        strict: whether the first one is an error.
    """

    def __init__(self, file: str, strict: bool) -> None:
        self.file = file
        self.strict = strict
        self.count = 0
        self.told = 0

    def __call__(self, bad: Sequence[Bad], count: int | None = None) -> None:
        """Tell of some more; of ``count``, if these are not all of them. ``ValueError`` with ``strict``."""
        for each in in_order(bad):
            text = each.at(self.file)
            if self.strict:
                raise ValueError(text)
            if self.told < MAX_LISTED_RECORDS:
                print(f"dgltree: {text}", file=sys.stderr)
                self.told += 1
        self.count += len(bad) if count is None else count

    def close(self) -> None:
        """To be called after the last record."""
        if self.count > self.told:
            print(f"dgltree: {self.file}: {self.count - self.told} more records could not be read", file=sys.stderr)


def report_bad(file: str, bad: Sequence[Bad], strict: bool = False) -> None:
    """Say what could not be read of a whole file."""
    report = BadRecords(file, strict)
    report(bad)
    report.close()


def stopwatch() -> Callable[[int, str], None]:
    """Start; the result says how many of something there were a second since, and the most memory that was held."""
    start = time.perf_counter()

    def say(count: int, what: str) -> None:
        seconds = time.perf_counter() - start
        print(
            f"{count:,} {what} in {in_seconds(seconds)} s, {count / seconds:,.0f} a second{_memory()}", file=sys.stderr
        )

    return say


def _memory() -> str:
    try:
        import resource
    except ImportError:  # on Windows
        return ""
    unit = 1 if sys.platform == "darwin" else 1024
    both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    own, readers = (resource.getrusage(who).ru_maxrss * unit for who in both)
    return f"; peak memory {own / 1e6:,.0f} MB" + (
        f", {readers / 1e6:,.0f} MB in each reading process" if readers else ""
    )
