"""``python -m tasks.listops.lengths``: draw accuracy by words out of ``lengths.tsv``.

Its rows are of trainings of several weeks and machines, so that no one folder has them all.
"""

import argparse
import csv
from pathlib import Path

from dgltree.plotting import charts
from tasks.listops.variants import AXIS, LOGARITHMIC

TABLE = Path(__file__).parent / "lengths.tsv"
"""Accuracy in % on the published set, by the most words of an expression."""
STEM = Path(__file__).parent / "pictures" / "lengths"


def by_words() -> dict[str, charts.Series]:
    """Network to {most words: (accuracy, 0)}."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        (_, *words), *rows = csv.reader(file, delimiter="\t")
    return {
        name: {float(most): (float(cell) / 100, 0.0) for most, cell in zip(words, cells, strict=True)}
        for name, *cells in rows
    }


def main(arguments: list[str] | None = None) -> None:
    """Write the picture."""
    argparse.ArgumentParser(
        prog="python -m tasks.listops.lengths",
        description="Draw accuracy by words out of lengths.tsv, to tasks/listops/pictures/lengths.",
    ).parse_args(arguments)
    figure = charts.accuracy_by(AXIS, by_words(), log=LOGARITHMIC)
    print(*charts.save(figure, STEM), sep="\n")


if __name__ == "__main__":
    main()
