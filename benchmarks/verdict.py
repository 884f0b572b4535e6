"""Where equations hold: time to read a line and judge it."""

import time
from collections.abc import Iterator

from benchmarks.row import Row
from benchmarks.verdicts.mutations import equation
from dgltree import verify, write_equation

LINES = 1_000
MEDIAN, LATE = (20, 30), (200, 300)
"""Milliseconds: the aim, and the most."""


def rows(device: str, repeats: int) -> Iterator[Row]:
    """The rows of the suite; of CPU time, and once a line, because the judge remembers nothing between two."""
    del device, repeats
    lines = [write_equation(equation(number, seed=0)) for number in range(LINES)]
    verify(lines[0])  # imports
    seconds = []
    for line in lines:
        start = time.process_time()
        verify(line)
        seconds.append(time.process_time() - start)
    seconds.sort()
    work = {"lines": LINES / sum(seconds)}
    for name, share, (aim, least) in (("median", 0.5, MEDIAN), ("95 % are under", 0.95, LATE)):
        each = 1000 * seconds[int(share * (LINES - 1))]
        yield Row(f"verify, {LINES:,} lines, {name}", each, "ms CPU", aim, least, falling=True, work=work)
        work = {}
