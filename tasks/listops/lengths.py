"""``python -m tasks.listops.lengths``: draw accuracy by words out of the table on docs/results.md.

Its rows are of trainings of several weeks and machines, so that no one folder has them all.
"""

import argparse
from pathlib import Path

from dgltree.plotting import charts
from tasks.listops.variants import AXIS, LOGARITHMIC

PAGE = Path(__file__).parents[2] / "docs" / "results.md"
HEAD = "| by words, up to |"
STEM = Path(__file__).parent / "pictures" / "lengths"


def by_words(page: str) -> dict[str, charts.Series]:
    """Network to {most words: (accuracy, 0)}, of the one table with this head; ``ValueError`` if there is none."""
    start = page.find(HEAD)
    if start < 0:
        raise ValueError(f"the page has no table that begins with {HEAD}")
    table = page[start:].split("\n\n")[0].splitlines()
    head, _, *rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table]
    words = [float(cell.replace(",", "")) for cell in head[1:]]
    return {
        name: {most: (float(cell) / 100, 0.0) for most, cell in zip(words, cells, strict=True) if cell}
        for name, *cells in rows
    }


def main(arguments: list[str] | None = None) -> None:
    """Write the picture."""
    argparse.ArgumentParser(
        prog="python -m tasks.listops.lengths",
        description="Draw accuracy by words out of the table on docs/results.md, to tasks/listops/pictures/lengths.",
    ).parse_args(arguments)
    figure = charts.accuracy_by(AXIS, by_words(PAGE.read_text(encoding="utf-8")), log=LOGARITHMIC)
    print(*charts.save(figure, STEM), sep="\n")


if __name__ == "__main__":
    main()
