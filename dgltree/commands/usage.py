"""What a command took: said on the standard error when it ends."""

import sys
import time
from collections.abc import Callable


def stopwatch() -> Callable[[int, str], None]:
    """Start; the result says how many of something there were a second since, and the most memory that was held."""
    start = time.perf_counter()

    def say(count: int, what: str) -> None:
        seconds = time.perf_counter() - start
        print(f"{count:,} {what} in {seconds:.1f} s, {count / seconds:,.0f} a second{_memory()}", file=sys.stderr)

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
