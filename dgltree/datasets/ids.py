"""Ids that stood before: an example's is its own."""

from collections.abc import Sequence

from dgltree.datasets.formats import Bad


class Ids:
    """The ids of a file, as far as it was read."""

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}

    def repeated(self, ids: Sequence[str | None], lines: Sequence[int]) -> dict[int, Bad]:
        """Those of the next examples whose id stood before, by their numbers."""
        found = {}
        for i, (name, line) in enumerate(zip(ids, lines, strict=True)):
            if name is not None and name in self.lines:
                found[i] = Bad(line, f"the id {name!r} stands on line {self.lines[name]} already")
            elif name is not None:
                self.lines[name] = line
        return found
