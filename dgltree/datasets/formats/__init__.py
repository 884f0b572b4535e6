"""Kinds of files with trees. A new one is a class in a file of its own, and a line in :data:`FORMATS`."""

from pathlib import Path

from dgltree.datasets.formats.conllu import CoNLLU
from dgltree.datasets.formats.format import Bad, Example, Format
from dgltree.datasets.formats.json_lines import JSONLines
from dgltree.datasets.formats.parquet import Parquet
from dgltree.datasets.formats.python import PythonSources
from dgltree.datasets.formats.source import Source
from dgltree.datasets.formats.tree_lines import TreeLines
from dgltree.datasets.formats.tsv import TSV
from dgltree.datasets.reading import Reading

FORMATS: tuple[type[Format], ...] = (
    Parquet,  # first: its bytes may look like anything
    CoNLLU,
    TSV,
    JSONLines,
    PythonSources,
    TreeLines,  # takes what no other one does
)
"""In the order in which they are asked whether a first line is theirs."""


def open_format(path: str | Path, reading: Reading) -> Format:
    """A file, a folder or a stream in its format: by its suffix, else by its first line.

    Raises ``FileNotFoundError``, and ``ValueError`` for an empty file and for a table without the column of the trees.
    """
    source = Source.at(path, reading.max_line)
    return _format_of(source, reading).open(source, reading)


def _format_of(source: Source, reading: Reading) -> type[Format]:
    path = Path(source.path)
    folder = source.stream is None and path.is_dir()
    for known in FORMATS:
        if known.folders if folder else path.suffix.lower() in known.suffixes:
            return known
    title = source.title()
    return next(known for known in FORMATS if known.begins(title, reading))


__all__ = ["FORMATS", "Bad", "Example", "Format", "open_format"]
