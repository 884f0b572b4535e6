"""Which trees are chosen, and what of a batch is theirs."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.run_lengths import ranges


def choose_rows(
    rows: Sequence[int] | Sequence[bool] | np.ndarray | Tensor, count: int, what: str, whole: str
) -> np.ndarray:
    """The numbers (len,) int64 of the chosen ones of ``count`` things: given as numbers, or as a mask of booleans.

    ``what`` and ``whole`` name them and what they are in.

    Raises ``ValueError`` for none, for a number that is none of a thing, and for a mask of another length;
    ``TypeError`` for numbers that are not whole, and where booleans and numbers are mixed.
    """
    if not isinstance(rows, Tensor | np.ndarray):
        rows = list(rows)
        if len({isinstance(row, bool | np.bool_) for row in rows}) > 1:
            raise TypeError(f"{what}: booleans and numbers are mixed; give a mask, or numbers")
    which = np.asarray(rows.cpu() if isinstance(rows, Tensor) else rows)
    if which.ndim != 1:
        raise ValueError(f"{what} has shape {which.shape}; it is one list of numbers, or a mask ({count},)")
    if which.dtype == bool:
        if len(which) != count:
            raise ValueError(f"{what} is a mask of {len(which)} entries; {whole} has {count}")
        which = np.flatnonzero(which)
    if not len(which):
        raise ValueError("no trees: give the number of at least one")
    if which.dtype.kind not in "iu":
        raise TypeError(f"{what} has {which.dtype} entries; give whole numbers, or a mask of booleans")
    if which.min() < 0 or which.max() >= count:
        raise ValueError(f"{what} run from {which.min()} to {which.max()}; {whole} has 0 to {count - 1}")
    return which.astype(np.int64)


def choose_columns(batch: Any, which: np.ndarray) -> tuple[dict[str, Any], Callable[[Tensor], Tensor]]:
    """The tensors of a ``TreeBatch`` of some trees, by their names, and what takes their rows of a column of nodes.

    ``which`` (len,) int64 are their numbers. Raises ``ValueError`` if roots are not one per tree.
    """
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

    columns = {
        "function": nodes(batch.function).long(),
        "token": nodes(batch.token).long(),
        "child_ptr": on_device(np.concatenate([[0], np.cumsum(pointer[node + 1] - pointer[node])])),
        "child_index": batch.child_index.index_select(0, edge_index) + shift,
        "level": nodes(batch.level).long(),
        "roots": on_device(roots[which] + new - old),
        "sizes": on_device(size),
        "label": nodes(batch.label).long(),
        "value": None if batch.value is None else nodes(batch.value),
        "x": None if batch.x is None else nodes(batch.x),
    }
    return columns, nodes
