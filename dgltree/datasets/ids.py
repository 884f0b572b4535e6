"""Ids, of which each names one record."""

from collections.abc import Sequence

from dgltree.datasets.formats import Bad


class Ids:
    """The ids of a file, as far as it was read."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}

    def repeated(self, ids: Sequence[str | None], lines: Sequence[int], files: Sequence[str]) -> dict[int, Bad]:
        """Those of the next examples whose id occurred before, by their numbers."""
        found = {}
        for i, (name, line, file) in enumerate(zip(ids, lines, files, strict=True)):
            if name is not None and name in self.places:
                found[i] = Bad(
                    line,
                    f"the id {name!r} was already used in {self.places[name]}; each record needs an id of its own",
                    file,
                )
            elif name is not None:
                self.places[name] = Bad(line, "", file).where
        return found
