"""Models by name or file: what comes with the package, and the user's own."""

from pathlib import Path
from typing import TypeVar

import torch

from dgltree.models.checkpoint import load_model
from dgltree.models.tree_model import EquationModel, PairModel, TreeModel
from dgltree.ranking.pretrained.files import FOLDER, LISTOPS, LOGIC, model_file
from dgltree.ranking.pretrained.published import load_published

M = TypeVar("M", bound=TreeModel)
TORCH_MAGIC = bytes.fromhex("80028a0a6cfc9c46f920")  # how a legacy torch file begins, as the published weights are


def open_model(name_or_file: str | Path = "default") -> EquationModel:
    """:func:`open_any` for a model of equations; ``ValueError`` for another one.

    Examples:
        >>> import dgltree
        >>> type(dgltree.open_model()).__name__
        'EquationModel'
    """
    model = open_any(name_or_file)
    if not isinstance(model, EquationModel):
        raise ValueError(
            f"{name_or_file} reads no equations but classifies into {', '.join(model.classes)}: use dgltree.load"
        )
    return model


def open_any(name_or_file: str | Path) -> TreeModel:
    """A shipped model by its name, else a file: one that dgltree saved, or published weights of the Tree-SMU papers.

    Weights that are kept in 16 bits are computed with in float32.

    Raises ``FileNotFoundError`` if there is neither, and ``ValueError`` as ``dgltree.load`` and
    ``dgltree.load_published`` do.
    """
    path = model_file(name_or_file)
    with path.open("rb") as file:
        is_torch = file.read(len(TORCH_MAGIC)) == TORCH_MAGIC
    return _in_float32(load_published(path) if is_torch else load_model(path))


def logic_model() -> PairModel:
    """The shipped Ordered Memory, trained on logic: which of seven relations holds between two formulas."""
    model = load_model(FOLDER / LOGIC)
    assert isinstance(model, PairModel)
    return model


def listops_model() -> TreeModel:
    """The shipped Efficient Beam Tree, trained on ListOps: which digit a nested list is worth."""
    return load_model(FOLDER / LISTOPS)


def _in_float32(model: M) -> M:
    return model.float() if next(model.parameters()).dtype in (torch.float16, torch.bfloat16) else model
