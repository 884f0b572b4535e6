"""A file with trees is read by its format; a new one is a class in a file of its own, and a line in :data:`FORMATS`.

Kinds of files without trees that we read are refused with what would be right.
"""

from pathlib import Path

from dgltree.datasets.formats.brackets import BracketBlocks
from dgltree.datasets.formats.code import CppSources, CSources, JavaScriptSources, JavaSources
from dgltree.datasets.formats.conllu import CoNLLU
from dgltree.datasets.formats.csv import CSV
from dgltree.datasets.formats.format import Bad, Example, Format
from dgltree.datasets.formats.json_document import JSONDocument
from dgltree.datasets.formats.json_lines import JSONLines
from dgltree.datasets.formats.markup import HTMLSources, XMLSources
from dgltree.datasets.formats.newick import NewickBlocks
from dgltree.datasets.formats.parquet import Parquet
from dgltree.datasets.formats.python import PythonSources
from dgltree.datasets.formats.records import check_features
from dgltree.datasets.formats.source import TOO_LONG, Source, files_of, kind_of, kinds_in
from dgltree.datasets.formats.tree_lines import SMILESLines, TreeLines
from dgltree.datasets.formats.tsv import TSV
from dgltree.datasets.settings import Reading

FORMATS: tuple[type[Format], ...] = (
    Parquet,  # first: its bytes may look like anything
    CoNLLU,
    TSV,
    CSV,
    JSONDocument,
    JSONLines,
    PythonSources,
    CSources,
    CppSources,
    JavaSources,
    JavaScriptSources,
    XMLSources,
    HTMLSources,
    NewickBlocks,
    BracketBlocks,
    SMILESLines,
    TreeLines,  # takes what no other one does
)
"""The formats in the order in which they are asked whether the first lines are theirs."""
NO_TEXT = {
    b"\x1f\x8b": "gzip data",
    b"PK\x03\x04": "a zip archive",
}
"""First bytes of what is not UTF-8 text."""


def open_format(path: str | Path, reading: Reading) -> Format:
    """A file, a folder or a stream in its format: by its suffix, else by its first lines.

    Raises ``FileNotFoundError``, and ``ValueError`` for an empty file, for a kind of file that is not read, and for a
    table without the column of the trees.
    """
    source = Source.at(path, reading.max_line)
    found = _format_of(source, reading).open(source, reading)
    if found.column_names is not None:
        check_features(source.path, found.column_names, reading)
    return found


def _format_of(source: Source, reading: Reading) -> type[Format]:
    path = Path(source.path)
    if source.stream is None and path.is_dir():
        return _of_folder(path)
    kind = kind_of(path)
    if kind in REFUSED:
        raise ValueError(f"{path}: a {kind} file is {REFUSED[kind]}")
    for known in FORMATS:
        if kind in known.suffixes:
            return known
    found = next(known for known in FORMATS if known.fits(source, reading))
    if found is not Parquet:
        _check_text(source)
    return found


def _of_folder(path: Path) -> type[Format]:
    """The one format that a folder has files of. Raises ``ValueError`` for none or several."""
    found = {
        known: suffixes
        for known in FORMATS
        if known.folders and any(True for _ in files_of(path, known.suffixes))
        for suffixes in ["/".join(known.suffixes)]
    }
    found = {known: suffixes for known, suffixes in found.items() if not known.aside} or found
    if len(found) > 1:
        found = {known: suffixes for known, suffixes in found.items() if _has_own(known, path)}
    if not found:
        read = ", ".join(suffix for known in FORMATS if known.folders for suffix in known.suffixes[:1])
        kinds = kinds_in(path)
        way = "; write JSON documents into one .jsonl file, one per line, with their labels" if ".json" in kinds else ""
        raise ValueError(f"{path}: no files of trees in this folder; {read} files are read, and it holds {kinds}{way}")
    if len(found) > 1:
        raise ValueError(
            f"{path}: the folder contains several kinds of files, {' and '.join(found.values())}; give a folder with "
            f"one kind"
        )
    return next(iter(found))


def _has_own(known: type[Format], path: Path) -> bool:
    """Whether a folder has files of a format that are of no other one."""
    own = tuple(suffix for suffix in known.suffixes if suffix not in known.shared)
    return any(True for _ in files_of(path, own))


def _check_text(source: Source) -> None:
    """``ValueError`` for what is not text."""
    [first] = source.first(1)
    for begin, what in NO_TEXT.items():
        if first.startswith(begin):
            raise ValueError(f"{source.path}: {what}; expected UTF-8 text")
    if b"\0" in first and first != TOO_LONG:
        raise ValueError(f"{source.path}: binary data; expected UTF-8 text")


SHEET = "a spreadsheet; save the sheet as CSV"
ARCHIVE = "an archive; unpack it (single files compressed as .gz, .bz2 or .xz are read as they are)"
PICKLED = (
    "pickled or binary data, which is never unpickled; write the trees as text, for example one S-expression per line"
)
MARKUP = "markup, which is not supported as a notation; write its trees as JSON or S-expressions"
SOURCE = (
    "source code of an unsupported language (Python, C, C++, Java and JavaScript are supported); parse it, and write "
    "its trees as S-expressions or JSON"
)
DOCUMENT = "a document; save its trees as text"
TEXT = "text without trees; expected a table, or one tree per line"
TABLE = "a table in an unsupported format; save it as CSV or Parquet"
REFUSED = {
    **dict.fromkeys((".xlsx", ".xls", ".ods", ".numbers"), SHEET),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar", ".zst", ".whl", ".lz4"), ARCHIVE),
    **dict.fromkeys(
        (".pkl", ".pickle", ".pt", ".pth", ".bin", ".npy", ".npz", ".h5", ".hdf5", ".safetensors"), PICKLED
    ),
    **dict.fromkeys((".yaml", ".yml", ".toml", ".rst"), MARKUP),
    **dict.fromkeys((".ts", ".go", ".rs", ".rb", ".jl", ".r"), SOURCE),
    **dict.fromkeys((".pdf", ".doc", ".docx", ".odt", ".png", ".jpg", ".jpeg", ".svg"), DOCUMENT),
    **dict.fromkeys((".md", ".markdown", ".log"), TEXT),
    **dict.fromkeys((".feather", ".arrow", ".orc", ".avro", ".sqlite", ".db", ".dta", ".sav"), TABLE),
    ".ipynb": "a notebook; save it as a Python file (jupyter nbconvert --to script)",
    ".pyc": "compiled Python; give the .py file",
}
"""Suffix to what such a file is, and what would be right."""
__all__ = ["FORMATS", "Bad", "Example", "Format", "open_format"]
