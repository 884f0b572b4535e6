"""An encoder and a readout together: what is trained, saved and ranked with."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import ClassVar

import torch
from torch import Tensor, nn

from dgltree.batching.batch import TreeBatch
from dgltree.cells import Cell
from dgltree.encoders import Encoder, Planned, TreeEncoder
from dgltree.models.readouts import EquationReadout
from dgltree.support.torch_internals import without_autocast

NO_GRAPH = (
    "a tree model cannot be scripted: which products it computes depends on the shape of each tree; dgltree.export "
    "writes it as an ONNX graph whose inputs are the trees"
)


class TreeModel(nn.Module):
    """An encoder of trees and a readout of their states.

    Examples:
        >>> import dgltree
        >>> from dgltree.encoders import make_encoder
        >>> from dgltree.models import ClassifierReadout, TreeModel
        >>> trees = [dgltree.read_infix(text) for text in ("sin(x) + 3", "x*3")]
        >>> vocabulary = dgltree.Vocabulary.from_trees(trees)
        >>> model = TreeModel(make_encoder("tree_lstm", vocabulary, 16), ClassifierReadout(16, classes=3))
        >>> model(dgltree.batch(trees, vocabulary)).shape  # logits, (trees, classes)
        torch.Size([2, 3])

    Args:
        encoder: of the trees.
        readout: of the states.
        classes: the names of the readout's classes, if it has classes.

    See also: :func:`dgltree.save`; :func:`dgltree.fit`, which trains one.
    """

    each: ClassVar[int] = 1
    """Trees of an example."""

    def __init__(
        self,
        encoder: Encoder,
        readout: nn.Module,
        classes: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.readout = readout
        self.classes = tuple(classes)

    def __prepare_scriptable__(self) -> None:
        """Called by ``torch.jit.script``. Raises ``NotImplementedError``: a pass follows the shape of its trees."""
        raise NotImplementedError(NO_GRAPH)

    def forward(
        self,
        batch: TreeBatch | Planned,
        share: bool = False,
        features: Tensor | None = None,
    ) -> Tensor:
        """Logits (E, C), or numbers (E,), one per example of ``each`` trees.

        Args:
            batch: E * each trees.
            share: whether each duplicate subtree is computed once.
            features: (E, F) those of the columns next to the trees, if the readout is for n + F numbers.

        Raises ``ValueError`` as the encoder and :meth:`read_out` do.
        """
        return self.read_out(self.encoder(batch, share), features)

    def read_out(self, states: Tensor, features: Tensor | None = None) -> Tensor:
        """Logits (E, C), or numbers (E,), of states that an encoder gave.

        Args:
            states: (E * each, n) floating, those of an example's trees one after the other.
            features: (E, F) numbers, which are joined to every state of their example; None: none.

        Raises ``ValueError`` unless features are one row per example, and for states that are not two per pair.
        """
        if features is not None:
            examples = len(features)
            if len(states) != self.each * examples:
                raise ValueError(
                    f"features of {examples} examples need {self.each * examples} states; found {len(states)} states"
                )
            features = features.to(states.dtype).repeat_interleave(self.each, 0)
            states = torch.cat([states, features], -1)
        return self._read_out(states)

    def _read_out(self, states: Tensor) -> Tensor:
        return self.readout(states)


class PairModel(TreeModel):
    """An encoder of pairs of trees and a readout of their two states: (P, C) for P pairs, of equations (P,)."""

    each = 2

    def _read_out(self, states: Tensor) -> Tensor:
        """Logits of the states of roots 2i and 2i + 1."""
        count = len(states)
        if count % 2:
            raise ValueError(
                f"{count} trees cannot be divided into pairs; give the two trees of each pair one after the other"
            )
        return self.readout(states[::2], states[1::2])


class EquationModel(PairModel):
    """An encoder of the two sides of an equation and a readout of their states."""

    readout: EquationReadout

    def __init__(self, encoder: Encoder, readout: EquationReadout) -> None:
        super().__init__(encoder, readout)

    @property
    def cell(self) -> Cell:
        """The cell of a tree encoder. Raises ``ValueError`` for another encoder, which has none, or several."""
        if not isinstance(self.encoder, TreeEncoder):
            raise ValueError(
                f"this model has a {type(self.encoder).__name__}, which has no cell; use a model with a TreeEncoder"
            )
        if self.encoder.rounds:
            count = len(self.encoder.cells)
            raise ValueError(
                f"this model has {count} cells, one per round, but ranking needs a single cell; use rounds=1"
            )
        return self.encoder.cell


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """A block in which a model is in evaluation mode, without gradients or autocast.

    Every part leaves it in the mode that it was in.
    """
    modes = [(part, part.training) for part in model.modules()]
    device = next(model.parameters()).device
    model.eval()
    try:
        with torch.no_grad(), without_autocast(device):
            yield
    finally:
        for part, training in modes:
            part.training = training


def kept_generators() -> AbstractContextManager[None]:
    """A block after which torch's generators are in the state of before, whatever is seeded or drawn in it."""
    gpus = range(0)
    if torch.cuda.is_initialized():
        gpus = range(torch.cuda.device_count())
    return torch.random.fork_rng(devices=gpus)
