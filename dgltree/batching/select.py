"""Some trees of a batch as a batch: how a data set that was flattened once becomes batches."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.run_lengths import ranges


def select(batch: TreeBatch, trees: Sequence[int] | np.ndarray | Tensor) -> TreeBatch:
    """The given trees of a batch, in the given order, on its device: what ``batch`` makes of them, without the trees.

    Linear in the nodes selected, some millions a second where flattening trees makes about one. A batch
    over the arrays of a file may have int32; what is selected has int64. Numbers of duplicate subtrees
    (:func:`dgltree.batching.subtrees.number_subtrees`) go along.

    Raises ``ValueError`` for no trees, for a number that is none of a tree, and for a batch whose roots are not one a
    tree, as those of a user's graph may be.
    """
    which = np.asarray(trees.cpu() if isinstance(trees, Tensor) else trees, np.int64)
    count = len(batch)
    if not len(which):
        raise ValueError("no trees: give the number of at least one")
    if which.min() < 0 or which.max() >= count:
        raise ValueError(f"trees run from {which.min()} to {which.max()}; the batch has 0 to {count - 1}")
    starts, sizes, roots, pointer = (
        tensor.cpu().numpy() for tensor in (batch.starts, batch.sizes, batch.roots, batch.child_ptr)
    )
    size, old = sizes[which].astype(np.int64), starts[which].astype(np.int64)
    new = np.cumsum(size) - size
    node = ranges(old, size)
    edges = pointer[old + size] - pointer[old]
    edge = ranges(pointer[old], edges)

    def on_device(array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(batch.device)

    node_index, edge_index, shift = map(on_device, (node, edge, np.repeat(new - old, edges)))

    def nodes(column: Tensor) -> Tensor:
        return column.index_select(0, node_index)

    selected = TreeBatch(
        function=nodes(batch.function).long(),
        token=nodes(batch.token).long(),
        child_ptr=on_device(np.concatenate([[0], np.cumsum(pointer[node + 1] - pointer[node])])),
        child_index=batch.child_index.index_select(0, edge_index) + shift,
        level=nodes(batch.level).long(),
        roots=on_device(roots[which] + new - old),
        sizes=on_device(size),
        label=nodes(batch.label).long(),
        value=None if batch.value is None else nodes(batch.value),
        x=None if batch.x is None else nodes(batch.x),
        vocabulary=batch.vocabulary,
    )
    subtree = batch.subtree
    return selected if subtree is None else selected.with_subtrees(nodes(subtree))
