"""Several batches as one."""

from collections.abc import Iterable
from itertools import accumulate

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

    Numbers of leaves (``value``) are NaN where a batch has none. Numbers of equal subtrees are not kept:
    :func:`dgltree.batching.number_subtrees` counts them over the whole.

    Raises ``ValueError`` for no batches, for other vocabularies or devices, and if only some have input vectors ``x``,
    or vectors of another width or dtype; ``TypeError`` for what is not a batch.

    See also: :func:`dgltree.select`, the way back.
    """
    parts = list(batches)
    _check(parts)
    nodes = _starts([part.num_nodes for part in parts])
    edges = _starts([len(part.child_index) for part in parts])

    def column(name: str) -> Tensor:
        return torch.cat([getattr(part, name) for part in parts])

    def shifted(name: str, starts: list[int]) -> Tensor:
        return torch.cat([getattr(part, name) + start for part, start in zip(parts, starts, strict=True)])

    values = [part.value if part.value is not None else _no_numbers(part) for part in parts]
    ends = [part.child_ptr[1:] + start for part, start in zip(parts, edges, strict=True)]
    return TreeBatch(
        function=column("function"),
        token=column("token"),
        child_ptr=torch.cat([parts[0].child_ptr[:1], *ends]),
        child_index=shifted("child_index", nodes),
        level=column("level"),
        roots=shifted("roots", nodes),
        sizes=column("sizes"),
        label=column("label"),
        value=None if all(part.value is None for part in parts) else torch.cat(values),
        x=None if parts[0].x is None else column("x"),
        vocabulary=parts[0].vocabulary,
    )


def _starts(counts: list[int]) -> list[int]:
    """The number of the first of each part."""
    return [0, *accumulate(counts[:-1])]


def _no_numbers(part: TreeBatch) -> Tensor:
    return torch.full((part.num_nodes,), torch.nan, dtype=torch.float64, device=part.device)


def _check(parts: list[TreeBatch]) -> None:
    """The errors of :func:`join`."""
    if not parts:
        raise ValueError("no batches: give at least one")
    for i, part in enumerate(parts):
        if not isinstance(part, TreeBatch):
            raise TypeError(f"batch {i} is a {type(part).__name__}; join takes batches, dgltree.batch takes trees")
        if part.vocabulary != parts[0].vocabulary:
            raise ValueError(f"batch {i} has a different vocabulary from batch 0: flatten the trees of both in one")
        if part.device != parts[0].device:
            raise ValueError(f"batch {i} is on {part.device}, batch 0 on {parts[0].device}: use batch.to(...)")
        own, others = (None if x is None else (x.shape[1:], x.dtype) for x in (part.x, parts[0].x))
        if own != others:
            raise ValueError(f"batch {i} has x of {_described(part.x)}, batch 0 of {_described(parts[0].x)}")


def _described(x: Tensor | None) -> str:
    return "no node" if x is None else f"width {x.shape[1]} and {x.dtype}"
