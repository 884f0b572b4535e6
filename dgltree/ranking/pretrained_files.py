"""The files of models and the lists of fillers: those that come with the package, by name, and the user's own."""

from importlib.resources import files
from pathlib import Path

from dgltree.read.infix import read_infix
from dgltree.read.text import read_text
from dgltree.trees.tree import Tree

FOLDER = Path(str(files("dgltree"))) / "data"
# The shipped models that read sequences.
LOGIC = "logic.safetensors"
LISTOPS = "listops.safetensors"


def model_names() -> list[str]:
    """The shipped models of equations."""
    return sorted(path.stem for path in FOLDER.glob("*.safetensors") if path.name not in (LOGIC, LISTOPS))


def model_file(name_or_file: str | Path) -> Path:
    """The file with the weights of a model. Raises ``FileNotFoundError`` if there is none."""
    path = Path(name_or_file)
    if str(name_or_file) in model_names():
        path = FOLDER / f"{name_or_file}.safetensors"
    if not path.is_file():
        names = ", ".join(model_names()) or "none"
        raise FileNotFoundError(f"{name_or_file}: no such file, and no shipped model of that name (there is: {names})")
    return path


def shipped_fillers() -> list[Tree]:
    """The fillers that ``dgltree complete`` offers: leaves, depth 1, and common forms of depth 2.

    Examples:
        >>> import dgltree
        >>> len(dgltree.shipped_fillers())
        4748
    """
    return read_fillers(FOLDER / "fillers.txt")


def read_fillers(path: str | Path) -> list[Tree]:
    """Trees of a UTF-8 file with one infix expression a line; empty lines are passed over.

    Raises ``ValueError`` naming file, line and column, also for a file without fillers.
    """
    fillers = []
    for number, line in enumerate(read_text(path).splitlines()):
        if not line.strip():
            continue
        try:
            fillers.append(read_infix(line))
        except ValueError:
            _raise_for(path, "\n" * number + line)
    if not fillers:
        raise ValueError(f"{path}: no fillers; write one infix expression per line")
    return fillers


def _raise_for(path: str | Path, text: str) -> None:
    """Read a faulty line again, after as many line breaks as in the file, so that the error names its line there."""
    try:
        read_infix(text)
    except ValueError as error:
        raise ValueError(f"{path}, {error}") from None
