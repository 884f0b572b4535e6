"""Several batches as one."""

from collections.abc import Iterable

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch


def join(batches: Iterable[TreeBatch]) -> TreeBatch:
    """The trees of several batches of one vocabulary as one batch, in their order, on their device.

    Examples:
        >>> import dgltree
        >>> trees = [dgltree.read_infix(text) for text in ("sin(x) + 3", "x*3")]
        >>> batch = dgltree.batch(trees, dgltree.Vocabulary.from_trees(trees))
        >>> dgltree.batching.join([batch[1], batch[0]]) == batch[[1, 0]]
        True

    Numbers of leaves (``value``) are NaN where a batch has none. Numbers of duplicate subtrees are not kept:
    :func:`dgltree.batching.number_subtrees` counts them over the whole.

    Raises ``ValueError`` for no batches, for other vocabularies or devices, and if only some have input vectors ``x``,
    or vectors of another width or dtype; ``TypeError`` for what is not a batch.

    See also: ``batch[...]`` of :class:`dgltree.TreeBatch`, the way back.
    """
    parts = list(batches)
    _check(parts)
    first = parts[0]

    names = ["function", "token", "level", "sizes", "label"]
    if first.x is not None:
        names.append("x")
    columns = {}
    for name in names:
        columns[name] = torch.cat([getattr(part, name) for part in parts])
    # What holds indices of nodes or edges is moved by the nodes or edges of the parts before.
    pointers = [first.child_ptr[:1]]
    child_indices = []
    roots = []
    first_node = 0
    first_edge = 0
    for part in parts:
        pointers.append(part.child_ptr[1:] + first_edge)
        child_indices.append(part.child_index + first_node)
        roots.append(part.roots + first_node)
        first_node += part.num_nodes
        first_edge += len(part.child_index)

    value = None
    if any(part.value is not None for part in parts):
        value = torch.cat([_numbers(part) for part in parts])
    return TreeBatch(
        **columns,
        child_ptr=torch.cat(pointers),
        child_index=torch.cat(child_indices),
        roots=torch.cat(roots),
        value=value,
        vocabulary=first.vocabulary,
    )


def _numbers(part: TreeBatch) -> Tensor:
    if part.value is not None:
        return part.value
    return torch.full(
        (part.num_nodes,),
        torch.nan,
        dtype=torch.float64,
        device=part.device,
    )


def _check(parts: list[TreeBatch]) -> None:
    """Raise the errors of :func:`join`."""
    if not parts:
        raise ValueError("no batches: give at least one")
    first = parts[0]
    for i, part in enumerate(parts):
        if not isinstance(part, TreeBatch):
            raise TypeError(f"batch {i} is a {type(part).__name__}; join takes batches, dgltree.batch takes trees")
        if part.vocabulary != first.vocabulary:
            raise ValueError(
                f"batch {i} has a different vocabulary from batch 0: flatten the trees of both batches with one "
                "vocabulary"
            )
        if part.device != first.device:
            raise ValueError(f"batch {i} is on {part.device}, but batch 0 is on {first.device}: use batch.to(...)")
        if _described(part.x) != _described(first.x):
            raise ValueError(f"batch {i} has x of {_described(part.x)}, but batch 0 has x of {_described(first.x)}")


def _described(x: Tensor | None) -> str:
    if x is None:
        return "no node"
    return f"width {x.shape[1]} and {x.dtype}"
