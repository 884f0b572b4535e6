"""Trees to vectors."""

from typing import Any, cast

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch, as_batch
from dgltree.cells import Aggregation, Cell, DownwardCell
from dgltree.encoders.encoder import Encoder
from dgltree.engine.aggregation import aggregation_named, name_of
from dgltree.engine.planned import PlannedBatch, plan
from dgltree.engine.propagate import propagate, root_states


class TreeEncoder(Encoder):
    """Vectors of trees, by a cell along the given tree: those of the roots, or pooled ones; all by ``node_states``.

    Examples:
        >>> import dgltree
        >>> from dgltree.cells import ChildSumTreeLSTM
        >>> from dgltree.encoders import TreeEncoder
        >>> trees = [dgltree.read_infix(text) for text in ("sin(x) + 3", "x*3")]
        >>> vocabulary = dgltree.Vocabulary.from_trees(trees)
        >>> encoder = TreeEncoder(ChildSumTreeLSTM(vocabulary, 16), pooling="mean")
        >>> encoder(dgltree.batch(trees, vocabulary)).shape
        torch.Size([2, 16])

    Args:
        cell: the cell.
        recompute: as in :func:`dgltree.propagate`: less memory, more time.
        pooling: "sum", "mean", "max", "min", "attention", or an own :class:`dgltree.cells.Aggregation` of size n: the
            vector of a tree is this aggregation of the states of its nodes. None: the state of its root.
        context: a cell from the roots to the leaves, by which the state of a node is that in its context. That of a
            root is what it is without.

    See also: :func:`dgltree.encoders.make_encoder`, by name.
    """

    gives_nodes = True

    def __init__(
        self,
        cell: Cell,
        recompute: bool = False,
        *,
        pooling: str | Aggregation | None = None,
        context: DownwardCell | None = None,
    ) -> None:
        super().__init__()
        self.cell, self.recompute, self.context = cell, recompute, context
        self.pool = None if pooling is None else aggregation_named(pooling, cell.hidden_size)
        self.vocabulary, self.config = cell.vocabulary, cell.config
        if self.pool is not None:
            self.config["pooling"] = name_of(self.pool)
        if context is not None:
            self.config["context"] = True

    def forward(self, batch: Any, share: bool = False) -> Tensor:
        """(B, n), one row per tree; ``share`` as in :func:`dgltree.propagate`."""
        if self.pool is None:
            return root_states(batch, self.cell, share, self.recompute)
        batch = batch if isinstance(batch, PlannedBatch) else as_batch(batch, "the encoder")
        h = self.node_states(batch, share)
        sizes = batch.batch.sizes if isinstance(batch, PlannedBatch) else batch.sizes
        tree = torch.arange(len(sizes), device=h.device).repeat_interleave(sizes.to(h.device), output_size=len(h))
        return cast(Tensor, self.pool({"h": h}, tree, len(sizes))["h"])

    def plan(self, batch: TreeBatch, share: bool) -> PlannedBatch:
        return plan(batch, self.cell, share, downward=self.context)

    def node_states(self, batch: Any, share: bool = False) -> Tensor:
        """(N, n), one row per node in public numbering; ``share`` as in :func:`dgltree.propagate`."""
        states = propagate(batch, self.cell, share=share, recompute=self.recompute)
        if self.context is not None:
            down, again = self.context, self.recompute
            states = propagate(batch, down, share=share, recompute=again, direction="down", up=states)
        return states["h"]
