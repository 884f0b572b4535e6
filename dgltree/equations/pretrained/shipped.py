"""Models by name or file, and lists of fillers: what comes with the package, and the user's own."""

from importlib.resources import files
from pathlib import Path
from typing import TypeVar

import torch

from dgltree.equations.pretrained.published import load_published
from dgltree.models.checkpoint import load
from dgltree.models.tree_model import EquationModel, PairModel, TreeModel
from dgltree.read.infix import read_infix
from dgltree.read.text import read_text
from dgltree.trees.tree import Tree

FOLDER = Path(str(files("dgltree"))) / "data"
LOGIC = "logic.safetensors"
M = TypeVar("M", bound=TreeModel)
TORCH_MAGIC = bytes.fromhex("80028a0a6cfc9c46f920")  # how a legacy torch file begins, as the published weights are


def model_names() -> list[str]:
    """The shipped models of equations."""
    return sorted(path.stem for path in FOLDER.glob("*.safetensors") if path.name != LOGIC)


def open_model(name_or_file: str | Path = "default") -> EquationModel:
    """:func:`open_any` for a model of equations; ``ValueError`` for another one."""
    model = open_any(name_or_file)
    if not isinstance(model, EquationModel):
        raise ValueError(f"{name_or_file} reads no equations, it tells {', '.join(model.classes)}: use dgltree.load")
    return model


def open_any(name_or_file: str | Path) -> TreeModel:
    """A shipped model by its name, else a file: one that dgltree saved, or published weights of the Tree-SMU papers.

    Weights that are kept in 16 bits are computed with in float32.

    Raises ``FileNotFoundError`` where there is neither, and ``ValueError`` as ``dgltree.load`` and
    ``dgltree.load_published`` do.
    """
    path = model_file(name_or_file)
    with path.open("rb") as file:
        is_torch = file.read(len(TORCH_MAGIC)) == TORCH_MAGIC
    return _in_float32(load_published(path) if is_torch else load(path))


def model_file(name_or_file: str | Path) -> Path:
    """Where the weights of a model are; ``FileNotFoundError`` where there are none."""
    path = Path(name_or_file)
    if str(name_or_file) in model_names():
        path = FOLDER / f"{name_or_file}.safetensors"
    if not path.is_file():
        names = ", ".join(model_names()) or "none"
        raise FileNotFoundError(f"{name_or_file}: no such file, and no shipped model of that name (there is: {names})")
    return path


def logic_model() -> PairModel:
    """The shipped Ordered Memory, trained on logic: which of seven relations holds between two formulas."""
    model = load(FOLDER / LOGIC)
    assert isinstance(model, PairModel)
    return model


def shipped_fillers() -> list[Tree]:
    """The fillers that ``dgltree complete`` offers: leaves, depth 1, and common forms of depth 2."""
    return read_fillers(FOLDER / "fillers.txt")


def read_fillers(path: str | Path) -> list[Tree]:
    """Trees of a UTF-8 file with one infix expression a line; empty lines are passed over.

    Raises ``ValueError`` naming file, line and column, also for a file without fillers.
    """
    fillers = []
    for number, line in enumerate(read_text(path).splitlines()):
        if line.strip():
            try:
                fillers.append(read_infix(line))
            except ValueError:
                _fail(path, "\n" * number + line)
    if not fillers:
        raise ValueError(f"{path}: no fillers; write one infix expression a line")
    return fillers


def _in_float32(model: M) -> M:
    return model.float() if next(model.parameters()).dtype in (torch.float16, torch.bfloat16) else model


def _fail(path: str | Path, text: str) -> None:
    """Read a faulty line once more, where it stands in the file, so that the error names its line there."""
    try:
        read_infix(text)
    except ValueError as error:
        raise ValueError(f"{path}, {error}") from None
