"""Blanked equations in files of the published form."""

import re
from dataclasses import dataclass
from pathlib import Path

from dgltree.read.preorder import BlankExample, read_blanks


@dataclass(frozen=True)
class Blank:
    """An example, and its place: the number in its file's name, and its place in the concatenated depth lists."""

    file: int
    index: int
    example: BlankExample


def read_folder(folder: Path) -> list[Blank]:
    """The examples of all ``*_N.json`` files of a folder, in the order of N."""
    numbered = sorted(
        (int(found[1]), path) for path in folder.glob("*.json") if (found := re.search(r"_(\d+)$", path.stem))
    )
    if not numbered:
        raise ValueError(f"{folder}: no files named *_N.json with blanked equations")
    return [Blank(n, i, example) for n, path in numbered for i, example in enumerate(read_blanks(path))]
