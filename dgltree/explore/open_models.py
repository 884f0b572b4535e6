"""The models that were named at the start are opened, each with its name on the page; it can look into no others."""

import re
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dgltree.cells import CELLS
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import SequenceEncoder, TreeEncoder
from dgltree.encoders.sequence.neural_data_router import SequenceNeuralDataRouter
from dgltree.models.tree_model import EquationModel, TreeModel
from dgltree.ranking.pretrained import listops_model, logic_model, open_any, open_model
from dgltree.training.model_files import check_answers

if TYPE_CHECKING:
    from dgltree.training.trained_model import TrainedModel

DEFAULT, LOGIC, LISTOPS = "default", "logic", "listops"
"""Names of the shipped models."""
SHIPPED = {DEFAULT: "shipped", LOGIC: "logic", LISTOPS: "ListOps"}
KINDS = {
    "tree_rnn": "Tree-RNN",
    "tree_lstm": "Tree-LSTM",
    "child_sum": "Child-sum Tree-LSTM",
    "stack_tree_rnn": "Stack Tree-RNN",
    "stack_tree_lstm": "Stack Tree-LSTM",
    "tree_smu": "Tree-SMU",
    "tree_cell": "Tree cell",
    "grc": "Gated recursive cell",
    "ordered_memory": "Ordered Memory",
    "on_lstm": "ON-LSTM",
    "beam_tree": "Beam Tree",
    "efficient_beam_tree": "Efficient Beam Tree",
    "crvnn": "CRvNN",
}
"""The usual names; those of other cells and encoders are written as in their registries."""
ADVICE = re.compile(r"\. (?=[A-Z])|; (?=give|name|use|write) ?")
"""The beginning of what a message advises, which are options of other commands."""


@dataclass
class OwnTrees:
    """A model that ``fit`` made, with its trees."""

    folder: Path
    trained: "TrainedModel"
    path: str | None
    """The file of the trees, or a folder."""
    data: TreeDataset | None
    """Trees to look at, as the file has them; None if no file was named."""
    unread: str = ""
    """Why the model cannot read the file of trees that was named."""

    @property
    def file(self) -> str | None:
        """The name of the file alone."""
        return None if self.path is None else Path(self.path).name


@dataclass
class Opened:
    """Models by the names that the page has for them."""

    equations: dict[str, EquationModel] = field(default_factory=dict)
    sequences: dict[str, TreeModel] = field(default_factory=dict)
    own_trees: dict[str, OwnTrees] = field(default_factory=dict)


def open_all(models: Sequence[str], trees: str | None = None) -> Opened:
    """The shipped models, and those named: files of weights, and folders that ``fit`` wrote.

    Args:
        models: names of shipped models, files and folders.
        trees: a file of trees for the folders, read as each one's training file was.

    A model that cannot read the file of trees is shown without them, with a warning.

    Raises ``FileNotFoundError`` and ``ValueError`` as opening them does, and ``ValueError`` for a file of trees without
    a folder, for one that no model can read, and for a model that there is no room for.
    """
    opened = Opened()
    opened.equations[DEFAULT] = open_model(DEFAULT)
    opened.sequences[LOGIC] = logic_model()
    opened.sequences[LISTOPS] = listops_model()
    for name in dict.fromkeys(models):
        if name != DEFAULT:
            _open(name, trees, opened)
    if trees is not None and not opened.own_trees:
        raise ValueError(f"{trees}: also name the folder that 'dgltree fit' wrote, because its model reads the trees")
    unread = {name: own.unread for name, own in opened.own_trees.items() if own.unread}
    if unread and len(unread) == len(opened.own_trees):
        raise ValueError(f"{next(iter(unread.values()))}; give --trees in the format of the training file")
    for name, reason in unread.items():
        warnings.warn(f"{name} is shown without trees, because it cannot read the file: {reason}", stacklevel=2)
    return opened


def _open_folder(folder: str, trees: str | None, opened: Opened) -> TreeModel:
    """The model of a folder of ``fit`` or ``embed``, whose imports bring what models of equations do not need."""
    from dgltree.training.trained_model import TrainedModel
    from dgltree.training.unlabelled_model import UnlabelledModel, finds_trees

    if finds_trees(folder):
        return UnlabelledModel.load(folder).model.model
    check_answers(folder)
    trained = TrainedModel.load(folder)
    read = None if trees is None else _read_trees(trees, trained)
    own = (
        OwnTrees(Path(folder), trained, None, None, read)
        if isinstance(read, str)
        else OwnTrees(Path(folder), trained, trees, read)
    )
    opened.own_trees[_free(folder, opened.own_trees)] = own
    return trained.model


def _open(name: str, trees: str | None, opened: Opened) -> None:
    model = _open_folder(name, trees, opened) if Path(name).is_dir() else open_any(name)
    if isinstance(model, EquationModel):
        model.cell  # noqa: B018 (raises for an encoder without one)
        opened.equations[_free(name, opened.equations)] = model
    elif isinstance(model.encoder, SequenceEncoder) and (
        model.encoder.induces_trees or isinstance(model.encoder.core, SequenceNeuralDataRouter)
    ):
        opened.sequences[_free(name, opened.sequences)] = model
    elif not Path(name).is_dir():
        raise ValueError(
            f"{name}: give a model of equations, an encoder that induces trees, a Neural Data Router, or a folder of "
            "fit"
        )


def _read_trees(path: str, trained: "TrainedModel") -> TreeDataset | str:
    """The trees of a file as the model's training file was read, or why it cannot be, without advice on options.

    A file of pairs for a model of single trees, and one without any label that the model can predict, cannot be read.
    """
    try:
        data = TreeDataset.from_file(path, cached=False, progress=True, named=False, **trained.reading.to_json())
        trained.check_kind(data)
        trained.objective.labelled(data)
        return data
    except ValueError as error:
        return ADVICE.split(str(error))[0]


def _free(path: str, taken: Collection[str]) -> str:
    """A short name that no other model has."""
    parts = Path(path).resolve().with_suffix("").parts
    for length in range(1, len(parts)):
        if (name := "/".join(parts[-length:])) not in taken:
            return name
    return path


def title(name: str, model: TreeModel) -> str:
    """``Tree-LSTM, shipped``: the kind of network, and where it comes from or what it was trained on."""
    return f"{_kind(model)}, {SHIPPED.get(name, name)}"


def _kind(model: TreeModel) -> str:
    encoder = model.encoder
    if isinstance(encoder, SequenceEncoder):
        return KINDS.get(encoder.name, encoder.name)
    assert isinstance(encoder, TreeEncoder)
    own = type(encoder.cell)
    return next((KINDS.get(name, name) for name, cell in CELLS.items() if cell is own), own.__name__)
